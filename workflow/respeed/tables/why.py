"""Why each speedup is what it is, theirs and ours, as factors that multiply to it: results/tables/why.csv.

What the factors are says tables/breakdown.py. In a table that tells algorithms apart, a speedup of ours over our CPU is
the paper's kind, each side with its own algorithm (tables/factors.py). Over a row of the paper, the algorithm's factor
is what theirs takes over ours on our row; what is left then also has their language and precision in it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from respeed.estimators.rounds import CellKey, CellRounds
from respeed.model.paper import Experiment, Paper
from respeed.tables.breakdown import Breakdown, Ratio, Side, break_down
from respeed.tables.ceilings import ceilings_of
from respeed.tables.cells import Cell
from respeed.tables.factors import Factors
from respeed.tables.published import PAPER
from respeed.tables.speedups import CPU_ARCHITECTURES, Speedup

# The row and the base of each, as people say it; theirs first.
COMPARISONS = {
    "theirs": ("GPU there", "CPU there"),
    "ours": ("GPU here", "CPU here"),
    "cpu over their cpu": ("CPU here", "CPU there"),
    "cpu over their gpu": ("CPU here", "GPU there"),
    "gpu over their gpu": ("GPU here", "GPU there"),
}
DEVICE_ARCHITECTURES = ("gpu", "tpu")

Place = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class _Column:
    """One case of one machine, or of the paper: the measured cells in the paper's precision, and the FLOP of its
    seconds."""

    machine: str
    paper: Paper
    experiment: Experiment
    case: str
    cells: list[Cell]
    work: float | None

    @property
    def where(self) -> tuple[str, str, str, str]:
        return self.machine, self.paper.name, self.experiment.name, self.case

    def fastest(self, *, cpu: bool) -> Cell | None:
        return _fastest([cell for cell in self.cells if cell.is_cpu == cpu])


@dataclass(frozen=True)
class _Known:
    """What other tables say, by machine, paper, experiment, case and profile; of speedups also by algorithm."""

    rounds: Mapping[CellKey, CellRounds]
    speedups: Mapping[tuple[Place, str], Speedup]
    factors: Mapping[Place, Factors]


def make_why(
    cells: list[Cell],
    rounds: Mapping[CellKey, CellRounds],
    papers: Mapping[str, Paper],
    speedups: list[Speedup],
    factors: list[Factors],
    smoke: bool,
) -> list[Breakdown]:
    """For every table with printed seconds and every case: the paper's own speedup, then each machine's rows."""
    measured: dict[tuple[str, str, str], dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if cell.seconds and cell.in_full_precision:
            measured[cell.paper, cell.experiment, cell.case][cell.machine].append(cell)
    known = _Known(
        rounds,
        {((row.machine, row.paper, row.experiment, row.case, row.profile), row.algorithm): row for row in speedups},
        {(row.machine, row.paper, row.experiment, row.case, row.profile): row for row in factors},
    )
    found: list[Breakdown] = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            if any(key[0] == experiment.name for key in paper.published):
                for case in experiment.case_names(smoke):
                    machines = measured[paper.name, experiment.name, case]
                    work = _work(experiment, machines)
                    found += _theirs(_Column(PAPER, paper, experiment, case, [], work))
                    for machine, mine in machines.items():
                        found += _ours(_Column(machine, paper, experiment, case, mine, work), known)
    return found


def _work(experiment: Experiment, machines: Mapping[str, list[Cell]]) -> float | None:
    """FLOP of the case's seconds, on whatever machine it was measured; algorithms differ in theirs."""
    if experiment.algorithms:
        return None
    return next((cell.work for mine in machines.values() for cell in mine if cell.work), None)


def _theirs(column: _Column) -> Iterator[Breakdown]:
    gpu, cpu = _printed(column, DEVICE_ARCHITECTURES), _printed(column, CPU_ARCHITECTURES)
    if gpu and cpu:
        text = column.paper.printed_speedup(column.experiment.name, column.case, gpu[0])
        ratio = Ratio(cpu[1].seconds / gpu[1].seconds, same_work=not column.experiment.algorithms)
        yield break_down(column.where, "theirs", gpu[1], cpu[1], ratio, text)


def _ours(column: _Column, known: _Known) -> Iterator[Breakdown]:
    cpu, gpu = column.fastest(cpu=True), column.fastest(cpu=False)
    if gpu:
        yield from _over_our_cpu(column, gpu, known)
    for name, cell, architectures in (
        ("cpu over their cpu", cpu, CPU_ARCHITECTURES),
        ("cpu over their gpu", cpu, DEVICE_ARCHITECTURES),
        ("gpu over their gpu", gpu, DEVICE_ARCHITECTURES),
    ):
        theirs = _printed(column, architectures)
        if cell and theirs:
            ratio = _over_printed(column, cell, theirs[0], theirs[1].seconds)
            yield break_down(column.where, name, _side(column, cell, known), theirs[1], ratio)


def _over_our_cpu(column: _Column, gpu: Cell, known: _Known) -> Iterator[Breakdown]:
    place = (*column.where, gpu.profile)
    factors, speedup = known.factors.get(place), known.speedups.get((place, gpu.algorithm))
    if factors and gpu.algorithm in _run_by(column.experiment, DEVICE_ARCHITECTURES):
        algorithms, profile = _run_by(column.experiment, CPU_ARCHITECTURES), factors.base_profile
        ratio = Ratio(factors.speedup, factors.speedup_low, factors.speedup_high, factors.algorithm_factor)
    elif speedup and speedup.speedup:
        algorithms, profile = {speedup.base_algorithm}, speedup.base_profile
        same = speedup.base_algorithm == gpu.algorithm
        ratio = Ratio(speedup.speedup, speedup.speedup_low, speedup.speedup_high, same_work=same)
    else:
        return
    base = _fastest([cell for cell in column.cells if cell.profile == profile and cell.algorithm in algorithms])
    if base:
        yield break_down(column.where, "ours", _side(column, gpu, known), _side(column, base, known), ratio)


def _over_printed(column: _Column, cell: Cell, architecture: str, printed: float) -> Ratio:
    """Ours over a row of the paper; the interval is that of our seconds."""
    seconds, algorithms = cell.seconds or 0.0, _run_by(column.experiment, (architecture,))
    same = _fastest([one for one in column.cells if one.profile == cell.profile and one.algorithm in algorithms])
    return Ratio(
        printed / seconds,
        printed / cell.seconds_high if cell.seconds_high else None,
        printed / cell.seconds_low if cell.seconds_low else None,
        same.seconds / seconds if same and same.seconds and cell.algorithm not in algorithms else None,
        same_work=not column.experiment.algorithms,
    )


def _run_by(experiment: Experiment, architectures: tuple[str, ...]) -> set[str]:
    """The algorithms whose seconds the paper prints for any of these rows."""
    return {name for name, one in experiment.algorithms.items() if set(one.published_for) & set(architectures)}


def _printed(column: _Column, architectures: tuple[str, ...]) -> tuple[str, Side] | None:
    """The paper's fastest row of these for the case, and its name."""
    seconds = {name: column.paper.printed(column.experiment.name, column.case, name) for name in architectures}
    printed = {name: value for name, value in seconds.items() if value}
    if not printed:
        return None
    name = min(printed, key=lambda one: printed[one])
    architecture = column.paper.architecture(name)
    hardware = architecture.hardware if architecture else None
    label = architecture.label if architecture else name
    return name, Side(label, printed[name], column.work, hardware.flops_per_second if hardware else None)


def _side(column: _Column, cell: Cell, known: _Known) -> Side:
    return Side(cell.label, cell.seconds or 0.0, column.work, ceilings_of(known.rounds[cell.key]).peak)


def _fastest(cells: list[Cell]) -> Cell | None:
    return min(cells, key=lambda cell: cell.seconds or 0.0, default=None)
