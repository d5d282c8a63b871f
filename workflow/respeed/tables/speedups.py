"""The tidy table of all speedups over the fastest CPU row of the same machine: results/tables/speedups.csv."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from respeed.analysis.labels import across_precisions
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import Comparison, compare_column
from respeed.model.paper import Paper
from respeed.tables.cells import Cell

COLUMNS = (
    "machine", "paper", "experiment", "case", "algorithm", "profile", "precision", "base_algorithm",
    "base_profile", "speedup", "speedup_low", "speedup_high", "published", "published_precisions", "verdict", "reason",
    "confidence",
)  # fmt: skip


@dataclass(frozen=True)
class Speedup:
    """One row of speedups.csv. `verdict` is faster, slower, indistinguishable, base, unproven or none; the interval is
    one of `confidence`, at which a verdict is false in at most 5 % (estimators.speedup)."""

    machine: str
    paper: str
    experiment: str
    case: str
    algorithm: str
    profile: str
    precision: str
    base_algorithm: str
    base_profile: str
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    published: float | None
    published_precisions: str
    verdict: str
    reason: str
    confidence: float | None
    label: str
    is_cpu: bool
    workload: str

    @property
    def row(self) -> tuple[str, str]:
        """The row of its table: how it ran, and by which algorithm."""
        return self.profile, self.algorithm


def make_speedups(
    cells: list[Cell], rounds: Mapping[CellKey, CellRounds], papers: Mapping[str, Paper]
) -> list[Speedup]:
    """A speedup for every cell: the fastest CPU row in fp32 of its machine and case over it, as the paper has it.

    A row of another precision has a speedup, which its label and its column `precision` tell, and is no base.
    """
    speedups = []
    for _, group in groupby(cells, key=lambda cell: (cell.machine, cell.paper, cell.experiment, cell.case)):
        column = list(group)
        compared = compare_column({cell.key: cell.seconds for cell in column if cell.seconds}, rounds)
        named = {cell.key: cell for cell in column}
        speedups += [_speedup(cell, compared.get(cell.key), named, papers[cell.paper]) for cell in column]
    return speedups


def published_speedup(paper: Paper, experiment: str, case: str, row: str) -> float | None:
    """The paper's own, over its fastest CPU row: what its numbers make, or else what it prints."""
    made = paper.speedup(experiment, case, row, paper.cpu_rows)
    printed = paper.printed_speedup(experiment, case, row)
    return made or (printed.value if printed else None)


def published_speedup_of(cell: Cell, paper: Paper) -> float | None:
    """That of the best of the published rows that the cell answers; of rows that print nothing else, of the first."""
    rows = (cell.published_row,) if cell.published_row else cell.answers
    found = (published_speedup(paper, cell.experiment, cell.case, row) for row in rows)
    return next((value for value in found if value), None)


def _published_precisions(cell: Cell, paper: Paper) -> str:
    """Marks a printed speedup across precisions."""
    base = paper.fastest(cell.experiment, cell.case, paper.cpu_rows)
    if not (cell.published_row and base):
        return ""
    return across_precisions(paper.row(cell.published_row).precision, [base.precision])


def _speedup(cell: Cell, found: Comparison | None, column: Mapping[CellKey, Cell], paper: Paper) -> Speedup:
    why_none = "no CPU row in fp32 was measured to compare with" if cell.seconds else cell.reason
    base = column[found.base] if found else None
    return Speedup(
        machine=cell.machine,
        paper=cell.paper,
        experiment=cell.experiment,
        case=cell.case,
        algorithm=cell.algorithm,
        profile=cell.profile,
        precision=cell.precision,
        base_algorithm=base.algorithm if base else "",
        base_profile=base.profile if base else "",
        speedup=found.estimate.value if found else None,
        speedup_low=found.estimate.low if found else None,
        speedup_high=found.estimate.high if found else None,
        published=published_speedup_of(cell, paper),
        published_precisions=_published_precisions(cell, paper),
        verdict=found.verdict if found else "none",
        reason=found.reason if found else why_none,
        confidence=found.confidence if found else None,
        label=cell.label,
        is_cpu=cell.is_cpu,
        workload=cell.workload,
    )
