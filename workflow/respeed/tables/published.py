"""A table in the paper's own shape: package, architecture, a column a case, a speedup row; theirs, then ours."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace

from respeed.estimators.speedup import FULL_PRECISION
from respeed.model.paper import Experiment, Paper
from respeed.tables.cells import Cell
from respeed.tables.numbers import format_measured, format_measured_speedup, format_number, format_speedup
from respeed.tables.speedups import Speedup, published_speedup

# The source of a row that is none of a machine's.
PAPER = "paper"


@dataclass(frozen=True)
class Row:
    """One row. `values` has a text for each case; `kind` is seconds, speedup or missing (then `values` repeats why)."""

    source: str
    package: str
    architecture: str
    kind: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class PublishedTable:
    paper: str
    experiment: str
    cases: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def machines(self) -> list[str]:
        return list(dict.fromkeys(row.source for row in self.rows if row.source != PAPER))

    def only(self, machines: Collection[str]) -> "PublishedTable":
        """The paper's rows and those of `machines`."""
        return replace(self, rows=tuple(row for row in self.rows if row.source in {PAPER, *machines}))


def make_published_table(
    paper: Paper, experiment: Experiment, cells: list[Cell], speedups: list[Speedup], smoke: bool
) -> PublishedTable:
    """The table of one experiment. The paper's rows come first, for those of our cases that are its own."""
    cases = experiment.case_names(smoke)
    rows = _paper_rows(paper, experiment, cases)
    cells_of: dict[str, list[Cell]] = defaultdict(list)
    speedups_of: dict[str, list[Speedup]] = defaultdict(list)
    for cell in cells:
        if (cell.paper, cell.experiment) == (paper.name, experiment.name):
            cells_of[cell.machine].append(cell)
    for row in speedups:
        if (row.paper, row.experiment) == (paper.name, experiment.name):
            speedups_of[row.machine].append(row)
    for machine in sorted(cells_of):
        rows += _machine_rows(machine, cases, cells_of[machine], bare=smoke)
        rows += _speedup_rows(machine, cases, speedups_of[machine], bare=smoke)
    return PublishedTable(paper.name, experiment.name, cases, tuple(rows))


def _paper_rows(paper: Paper, experiment: Experiment, cases: tuple[str, ...]) -> list[Row]:
    rows = []
    for architecture in paper.architectures:
        seconds = [paper.printed(experiment.name, case, architecture.name) for case in cases]
        if any(seconds):
            values = tuple(format_number(value) if value else "" for value in seconds)
            rows.append(Row(PAPER, architecture.package, architecture.label, "seconds", values))
    for architecture in paper.architectures:
        if architecture.name in {"gpu", "tpu"}:
            ratios = [published_speedup(paper, experiment.name, case, architecture.name) for case in cases]
            if any(ratios):
                values = tuple(format_speedup(value) for value in ratios)
                rows.append(Row(PAPER, "", f"Speedup over fastest CPU ({architecture.label})", "speedup", values))
    return rows


def _machine_rows(machine: str, cases: tuple[str, ...], cells: list[Cell], *, bare: bool) -> list[Row]:
    rows = []
    for name in dict.fromkeys(cell.row for cell in cells):
        found = {cell.case: cell for cell in cells if cell.row == name}
        row = [found[case] for case in cases]
        missing = all(cell.seconds is None for cell in row)
        if missing and not row[0].in_full_precision:  # answers no row of the paper; why it is missing says cells.csv
            continue
        values = tuple(_cell_text(cell, bare=bare) for cell in row)
        rows.append(Row(machine, row[0].package, row[0].label, "missing" if missing else "seconds", values))
    return rows


def _speedup_rows(machine: str, cases: tuple[str, ...], speedups: list[Speedup], *, bare: bool) -> list[Row]:
    rows = []
    for name in dict.fromkeys(row.row for row in speedups if not row.is_cpu):
        found = {row.case: row for row in speedups if row.row == name}
        row = [found[case] for case in cases]
        missing = all(item.speedup is None for item in row)
        if missing and row[0].precision != FULL_PRECISION:
            continue
        values = tuple(
            format_measured_speedup(item.speedup, item.speedup_low, item.speedup_high, bare=bare)
            or _no_time(item.reason)
            for item in row
        )
        rows.append(
            Row(machine, "", f"Speedup over fastest CPU ({row[0].label})", "missing" if missing else "speedup", values)
        )
    return rows


def _cell_text(cell: Cell, *, bare: bool) -> str:
    if cell.seconds is not None:
        return format_measured(cell.seconds, cell.seconds_low, cell.seconds_high, bare=bare)
    return _no_time(cell.reason) if cell.status == "not-run" else f"{cell.status}: {cell.reason}"


def _no_time(reason: str) -> str:
    return reason if reason.startswith("not measured") else f"not measured: {reason}"
