"""A table in the paper's own shape: package, architecture, a column a case, a speedup row; theirs, then ours."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from respeed.analysis.labels import across_precisions, in_unit, label_row, reference, words_of_unit
from respeed.estimators.speedup import FULL_PRECISION
from respeed.model.paper import Experiment, Paper, Unit
from respeed.numbers import Value, format_speedup, group_thousands, measured_value
from respeed.tables.cells import Cell
from respeed.tables.speedups import Speedup, published_speedup

# The source of a row that is none of a machine's.
PAPER = "paper"


@dataclass(frozen=True)
class Row:
    """One row: a value for each case. `kind` is seconds, in whatever unit these are shown, or speedup."""

    source: str
    package: str
    architecture: str
    kind: str
    values: tuple[Value, ...]

    @property
    def is_missing(self) -> bool:
        """Whether no value has a number: then each is a reason."""
        return not any(value.text for value in self.values)


@dataclass(frozen=True)
class PublishedTable:
    """`columns` are the cases in words, `unit` says what is counted and for how much work, `better` whether the larger
    or the smaller number is the better one, `reference` whose table it is."""

    paper: str
    experiment: str
    title: str
    unit: str
    better: str
    reference: str
    cases: tuple[str, ...]
    columns: tuple[str, ...]
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
        rows += _machine_rows(machine, cases, cells_of[machine], experiment.unit, bare=smoke)
        rows += _speedup_rows(machine, cases, speedups_of[machine], cells_of[machine], bare=smoke)
    return PublishedTable(
        paper=paper.name,
        experiment=experiment.name,
        title=experiment.title,
        unit=words_of_unit(experiment),
        better=experiment.unit.better,
        reference=reference(paper),
        cases=cases,
        columns=_columns(experiment, cases),
        rows=tuple(rows),
    )


def _columns(experiment: Experiment, cases: tuple[str, ...]) -> tuple[str, ...]:
    """The printed column that a case answers, or if several answer one, the case's own name."""
    printed = [experiment.columns.get(case, "") for case in cases]
    many = Counter(printed)
    return tuple(
        column if column and many[column] == 1 else case.replace("-", " ")
        for case, column in zip(cases, printed, strict=True)
    )


def _paper_rows(paper: Paper, experiment: Experiment, cases: tuple[str, ...]) -> list[Row]:
    rows = []
    for row in paper.rows:
        printed = [paper.printed(experiment.name, case, row.name) for case in cases]
        if any(printed):
            values = tuple(Value(group_thousands(one.text) if one else "") for one in printed)
            rows.append(Row(PAPER, row.package, label_row(paper, row), "seconds", values))
    for row in paper.rows:
        if not row.is_cpu:
            ratios = [_printed_speedup(paper, experiment.name, case, row.name) for case in cases]
            if any(ratios):
                across = across_precisions(row.precision, _cpu_precisions(paper, experiment, cases))
                label = f"Speedup over fastest CPU ({', '.join(filter(None, [label_row(paper, row), across]))})"
                rows.append(Row(PAPER, "", label, "speedup", tuple(Value(text) for text in ratios)))
    return rows


def _cpu_precisions(paper: Paper, experiment: Experiment, cases: Iterable[str]) -> list[str]:
    """Those of the rows that speedups are over."""
    fastest = (paper.fastest(experiment.name, case, paper.cpu_rows) for case in cases)
    return list(dict.fromkeys(row.precision for row in fastest if row))


def _printed_speedup(paper: Paper, experiment: str, case: str, row: str) -> str:
    """As it was printed; where none was, what the printed numbers come to."""
    printed = paper.printed_speedup(experiment, case, row)
    return f"{printed.text}x" if printed else format_speedup(published_speedup(paper, experiment, case, row))


def _machine_rows(machine: str, cases: tuple[str, ...], cells: list[Cell], unit: Unit, *, bare: bool) -> list[Row]:
    rows = []
    for name in dict.fromkeys(cell.row for cell in cells):
        found = {cell.case: cell for cell in cells if cell.row == name}
        row = [found[case] for case in cases]
        if not row[0].in_full_precision and all(cell.seconds is None for cell in row):
            continue  # nobody asked for it; why it is missing says cells.csv
        values = tuple(_cell_value(cell, unit, bare=bare) for cell in row)
        rows.append(Row(machine, row[0].package, row[0].label, "seconds", values))
    return rows


def _speedup_rows(
    machine: str, cases: tuple[str, ...], speedups: list[Speedup], cells: list[Cell], *, bare: bool
) -> list[Row]:
    timed = {(cell.case, cell.row): cell for cell in cells}
    rows = []
    for name in dict.fromkeys(row.row for row in speedups if not row.is_cpu):
        found = {row.case: row for row in speedups if row.row == name}
        row = [found[case] for case in cases]
        if row[0].precision != FULL_PRECISION and all(item.speedup is None for item in row):
            continue
        values = tuple(_speedup_value(item, timed[item.case, name], bare=bare) for item in row)
        rows.append(Row(machine, "", f"Speedup over fastest CPU ({row[0].label})", "speedup", values))
    return rows


def _cell_value(cell: Cell, unit: Unit, *, bare: bool) -> Value:
    value, low, high = in_unit(cell, unit)
    if value is not None:
        return measured_value(value, low, high, bare=bare)
    return _reason(cell)


def _reason(cell: Cell) -> Value:
    if cell.seconds:
        return Value(reason="not known: nobody counts what this program does")
    return Value(reason=_no_time(cell.reason) if cell.status == "not-run" else f"{cell.status}: {cell.reason}")


def _speedup_value(row: Speedup, cell: Cell, *, bare: bool) -> Value:
    if row.speedup is not None:
        return measured_value(row.speedup, row.speedup_low, row.speedup_high, unit="x", bare=bare)
    return Value(reason=_no_time(row.reason)) if cell.seconds else _reason(cell)


def _no_time(reason: str) -> str:
    return reason if reason.startswith("not measured") else f"not measured: {reason}"
