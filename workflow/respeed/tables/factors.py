"""What of a speedup is the algorithm and what the hardware: results/tables/factors.csv.

Where the paper's CPU rows run another algorithm than its accelerator's, its speedup is a product of two:

    t(CPU, its algorithm) / t(device, the device's algorithm)
        = t(CPU, its algorithm) / t(CPU, the device's algorithm)     the algorithm's factor
        * t(CPU, the device's algorithm) / t(device, ...)            the hardware's factor

both CPU times those of the profile that is fastest with the CPU's algorithm, of those that run the device's as well.
Each is estimated from rounds, so that they multiply only up to what such estimates differ by.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from respeed.estimators.intervals import Estimate
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import compare_rounds
from respeed.model.paper import Experiment, Paper
from respeed.tables.cells import Cell
from respeed.tables.fastest import fastest_cell
from respeed.tables.speedups import published_speedup_of

COLUMNS = (
    "machine", "paper", "experiment", "case", "profile", "base_profile", "speedup", "speedup_low",
    "speedup_high", "algorithm_factor", "algorithm_low", "algorithm_high", "hardware_factor", "hardware_low",
    "hardware_high", "published",
)  # fmt: skip


@dataclass(frozen=True)
class Factors:
    """One row: the paper's kind of speedup of a profile that runs the accelerator's algorithm, and its factors.

    `base_profile` is the fastest CPU row with the CPU's algorithm; the device's algorithm is compared on it, too.
    """

    machine: str
    paper: str
    experiment: str
    case: str
    profile: str
    base_profile: str
    speedup: float
    speedup_low: float | None
    speedup_high: float | None
    algorithm_factor: float
    algorithm_low: float | None
    algorithm_high: float | None
    hardware_factor: float
    hardware_low: float | None
    hardware_high: float | None
    published: float | None
    label: str


def algorithms_of(experiment: Experiment, rows: Collection[str]) -> set[str]:
    """The algorithms whose numbers the paper prints in any of these rows."""
    return {name for name, one in experiment.algorithms.items() if set(one.published_for) & set(rows)}


def make_factors(cells: list[Cell], rounds: Mapping[CellKey, CellRounds], papers: Mapping[str, Paper]) -> list[Factors]:
    """A row for every measured cell of the accelerator's algorithm, in tables that tell algorithms apart."""
    found: list[Factors] = []
    for (_, paper_name, name, _), group in groupby(
        cells, key=lambda cell: (cell.machine, cell.paper, cell.experiment, cell.case)
    ):
        paper = papers[paper_name]
        found += _of_column([cell for cell in group if cell.seconds], rounds, paper, paper.experiments[name])
    return found


def _of_column(
    column: list[Cell], rounds: Mapping[CellKey, CellRounds], paper: Paper, experiment: Experiment
) -> Iterator[Factors]:
    theirs = {
        kind: algorithms_of(experiment, rows) for kind, rows in (("cpu", paper.cpu_rows), ("device", paper.device_rows))
    }
    both = {cell.profile for cell in column if cell.algorithm in theirs["device"]}
    base = fastest_cell(
        cell
        for cell in column
        if cell.profile in both and cell.is_cpu and cell.in_full_precision and cell.algorithm in theirs["cpu"]
    )
    same = next(
        (cell for cell in column if base and cell.profile == base.profile and cell.algorithm in theirs["device"]), None
    )
    if base is None or same is None or theirs["cpu"] == theirs["device"]:
        return
    for cell in column:
        if cell.algorithm in theirs["device"]:
            whole, algorithm, hardware = (
                compare_rounds(rounds[slow.key], rounds[fast.key])
                for slow, fast in ((base, cell), (base, same), (same, cell))
            )
            yield Factors(
                cell.machine, cell.paper, cell.experiment, cell.case, cell.profile, base.profile,
                *_three(whole), *_three(algorithm), *_three(hardware),
                published_speedup_of(cell, paper),
                f"{cell.label} (CPU: {base.profile})",
            )  # fmt: skip


def _three(estimate: Estimate) -> tuple[float, float | None, float | None]:
    return estimate.value, estimate.low, estimate.high
