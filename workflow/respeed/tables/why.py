"""Why each speedup is what it is, theirs and ours, as factors that multiply to it: results/tables/why.csv.

What the factors are says tables/breakdown.py. In a table that tells algorithms apart, a speedup of ours over our CPU is
the paper's kind, each side with its own algorithm (tables/factors.py). Over a row of the paper, the algorithm's factor
is what theirs takes over ours on our row; what is left then also has their language and precision in it.
"""

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from respeed.analysis.labels import PAPER, label_row
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.model.paper import Experiment, Paper
from respeed.tables.breakdown import Breakdown, Ratio, Side, break_down
from respeed.tables.cells import Cell
from respeed.tables.factors import Factors, algorithms_of
from respeed.tables.fastest import fastest_cell
from respeed.tables.speedups import Speedup

# The row and the base of each, as people say it; theirs first.
COMPARISONS = {
    "theirs": ("GPU there", "CPU there"),
    "ours": ("GPU here", "CPU here"),
    "cpu over their cpu": ("CPU here", "CPU there"),
    "cpu over their gpu": ("CPU here", "GPU there"),
    "gpu over their gpu": ("GPU here", "GPU there"),
}

Place = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class _Column:
    """One case of one machine, or of the paper: the measured cells in fp32, and the FLOP and bytes of its seconds."""

    machine: str
    paper: Paper
    experiment: Experiment
    case: str
    cells: list[Cell]
    work: float | None
    traffic: float | None

    @property
    def where(self) -> tuple[str, str, str, str]:
        return self.machine, self.paper.name, self.experiment.name, self.case

    def fastest(self, *, cpu: bool) -> Cell | None:
        return fastest_cell(cell for cell in self.cells if cell.is_cpu == cpu)


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
            if paper.prints(experiment.name):
                for case in experiment.case_names(smoke):
                    machines = measured[paper.name, experiment.name, case]
                    amounts = _amounts(experiment, machines)
                    found += _theirs(_Column(PAPER, paper, experiment, case, [], *amounts))
                    for machine, mine in machines.items():
                        found += _ours(_Column(machine, paper, experiment, case, mine, *amounts), known)
    return found


def _amounts(experiment: Experiment, machines: Mapping[str, list[Cell]]) -> tuple[float | None, float | None]:
    """FLOP and bytes, in fp32, of the case's seconds, wherever it was measured; algorithms differ in theirs."""
    if experiment.algorithms:
        return None, None
    cells = [cell for mine in machines.values() for cell in mine]
    work = next((cell.work for cell in cells if cell.work), None)
    return work, next((cell.traffic_of_fp32 for cell in cells if cell.traffic_of_fp32), None)


def _theirs(column: _Column) -> Iterator[Breakdown]:
    gpu, cpu = _printed(column, column.paper.device_rows), _printed(column, column.paper.cpu_rows)
    if gpu and cpu:
        printed = column.paper.printed_speedup(column.experiment.name, column.case, gpu[0])
        ratio = Ratio(cpu[1].seconds / gpu[1].seconds, same_work=not column.experiment.algorithms)
        yield break_down(column.where, "theirs", gpu[1], cpu[1], ratio, printed.text if printed else "")


def _ours(column: _Column, known: _Known) -> Iterator[Breakdown]:
    cpu, gpu = column.fastest(cpu=True), column.fastest(cpu=False)
    if gpu:
        yield from _over_our_cpu(column, gpu, known)
    for name, cell, rows in (
        ("cpu over their cpu", cpu, column.paper.cpu_rows),
        ("cpu over their gpu", cpu, column.paper.device_rows),
        ("gpu over their gpu", gpu, column.paper.device_rows),
    ):
        theirs = _printed(column, rows)
        if cell and theirs:
            ratio = _over_printed(column, cell, theirs[0], theirs[1].seconds)
            yield break_down(column.where, name, _side(column, cell, known), theirs[1], ratio)


def _over_our_cpu(column: _Column, gpu: Cell, known: _Known) -> Iterator[Breakdown]:
    place = (*column.where, gpu.profile)
    factors, speedup = known.factors.get(place), known.speedups.get((place, gpu.algorithm))
    if factors and gpu.algorithm in algorithms_of(column.experiment, column.paper.device_rows):
        algorithms, profile = algorithms_of(column.experiment, column.paper.cpu_rows), factors.base_profile
        ratio = Ratio(factors.speedup, factors.speedup_low, factors.speedup_high, factors.algorithm_factor)
    elif speedup and speedup.speedup:
        algorithms, profile = {speedup.base_algorithm}, speedup.base_profile
        same = speedup.base_algorithm == gpu.algorithm
        ratio = Ratio(speedup.speedup, speedup.speedup_low, speedup.speedup_high, same_work=same)
    else:
        return
    base = fastest_cell(cell for cell in column.cells if cell.profile == profile and cell.algorithm in algorithms)
    if base:
        yield break_down(column.where, "ours", _side(column, gpu, known), _side(column, base, known), ratio)


def _over_printed(column: _Column, cell: Cell, row: str, printed: float) -> Ratio:
    """Ours over a row of the paper; the interval is that of our seconds."""
    seconds, algorithms = cell.seconds or 0.0, algorithms_of(column.experiment, (row,))
    same = fastest_cell(one for one in column.cells if one.profile == cell.profile and one.algorithm in algorithms)
    return Ratio(
        printed / seconds,
        printed / cell.seconds_high if cell.seconds_high else None,
        printed / cell.seconds_low if cell.seconds_low else None,
        same.seconds / seconds if same and same.seconds and cell.algorithm not in algorithms else None,
        same_work=not column.experiment.algorithms,
    )


def _printed(column: _Column, rows: Collection[str]) -> tuple[str, Side] | None:
    """The paper's fastest row of these for the case, and its name."""
    paper, experiment, case = column.paper, column.experiment, column.case
    row = paper.fastest(experiment.name, case, rows)
    seconds = paper.seconds(experiment.name, case, row.name, column.work, column.traffic) if row else None
    if not (row and seconds):
        return None
    peak = row.hardware.flops_per_second if row.hardware else None
    return row.name, Side(label_row(paper, row), seconds, column.work, peak, row.precision)


def _side(column: _Column, cell: Cell, known: _Known) -> Side:
    peaks = [time.peak for time in known.rounds[cell.key].times.values() if time.peak]
    peak = statistics.median(peaks) if peaks else None
    return Side(cell.label, cell.seconds or 0.0, column.work, peak, cell.precision)
