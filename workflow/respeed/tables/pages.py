"""What the HTML pages show: tables in the paper's shape, every cell, every speedup."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeVar

from respeed.model.paper import Paper
from respeed.numbers import format_measured, format_number, format_speedup
from respeed.tables.cells import Cell
from respeed.tables.folded import FoldedTable
from respeed.tables.folded import Line as FoldedLine
from respeed.tables.html import Entry, Line, Page, split_number
from respeed.tables.speedups import Speedup

Rows = TypeVar("Rows", Cell, Speedup)

OPEN = "In italics: a number that has no interval, because too few rounds were clean."


def make_published_page(folded: FoldedTable, data: str) -> Page:
    """The paper's rows, then ours, and below what is missing."""
    return Page(
        title=folded.title,
        caption=f"{folded.unit[0].upper()}{folded.unit[1:]}. Grey: {folded.reference}. Blue: measured here.",
        head=("Row", *folded.columns),
        groups=tuple(
            (group.heading, tuple(_published_line(line, theirs=group.is_theirs) for line in group.lines))
            for group in folded.groups
        ),
        notes=tuple(f"{note.mark} {note.text}".strip() for note in folded.notes),
        data=data,
    )


def make_cells_page(papers: dict[str, Paper], cells: Sequence[Cell], left_out: int, smoke: bool) -> Page:
    """Every cell that was tried, table by table; what was not run is a line below."""
    tried = [cell for cell in cells if cell.status != "not-run"]
    groups = tuple(
        (title, tuple(_cell_line(cell, smoke) for cell in group)) for title, group in _by_table(papers, tried)
    )
    return Page(
        title="Every cell",
        caption="Seconds of a step, or of as many examples as the table counts. Published: the paper's own.",
        head=("Row", "Case", "Seconds", "Published", "Rounds", "GFLOP/s", "Of peak", "Status"),
        groups=groups,
        notes=(*_not_run(cells), *_about(line for _, lines in groups for line in lines), *_others(left_out)),
        data="cells.csv",
    )


def make_speedups_page(papers: dict[str, Paper], speedups: Sequence[Speedup], left_out: int, smoke: bool) -> Page:
    """Every row that has a time over the fastest CPU row of its machine."""
    labels: dict[tuple[str, ...], str] = {
        (row.machine, row.paper, row.experiment, *row.row): row.label for row in speedups
    }
    timed = [row for row in speedups if row.speedup]
    groups = tuple(
        (title, tuple(_speedup_line(row, labels, smoke) for row in group)) for title, group in _by_table(papers, timed)
    )
    return Page(
        title="Every speedup",
        caption="The fastest CPU row of the same machine over each row. Published: the paper's own.",
        head=("Row", "Case", "Speedup", "Over", "Published", "Verdict"),
        groups=groups,
        notes=(*_about(line for _, lines in groups for line in lines), *_others(left_out)),
        data="speedups.csv",
    )


def _by_table(papers: dict[str, Paper], rows: list[Rows]) -> list[tuple[str, list[Rows]]]:
    """The rows of each table of each machine under its title, and its machine where there are several."""
    several = len({row.machine for row in rows}) > 1
    found = []
    for (machine, paper, experiment), group in groupby(rows, key=lambda row: (row.machine, row.paper, row.experiment)):
        title = papers[paper].experiments[experiment].title
        found.append((f"{title}, on {machine}" if several else title, list(group)))
    return found


def _cell_line(cell: Cell, smoke: bool) -> Line:
    return Line(
        (
            Entry(cell.label),
            Entry(cell.case),
            split_number(format_measured(cell.seconds, cell.seconds_low, cell.seconds_high, bare=smoke)),
            _number(cell.published_seconds),
            Entry(str(cell.rounds) if cell.rounds else "", kind="number"),
            _number(cell.gflops),
            Entry(f"{100 * cell.peak_share:.0f} %" if cell.peak_share else "", kind="number"),
            Entry(cell.status, cell.reason),
        ),
        "ours" if cell.seconds else "missing",
    )


def _speedup_line(row: Speedup, labels: Mapping[tuple[str, ...], str], smoke: bool) -> Line:
    base = labels.get((row.machine, row.paper, row.experiment, row.base_profile, row.base_algorithm), "")
    return Line(
        (
            Entry(row.label),
            Entry(row.case),
            split_number(format_measured(row.speedup, row.speedup_low, row.speedup_high, unit="x", bare=smoke)),
            Entry(base),
            replace(split_number(format_speedup(row.published)), small=row.published_precisions),
            Entry(row.verdict, row.reason),
        ),
        "ours",
    )


def _not_run(cells: Iterable[Cell]) -> list[str]:
    """A line for each reason: which profiles of which machine it kept from running."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for cell in cells:
        if cell.status == "not-run":
            found.setdefault((cell.machine, cell.reason), {})[cell.profile] = None
    return [f"Not run on {machine}: {', '.join(names)} ({reason})." for (machine, reason), names in found.items()]


def _published_line(line: FoldedLine, *, theirs: bool) -> Line:
    values = (Entry(value.text, value.interval or value.mark, "number") for value in line.values)
    return Line((Entry(line.label), *values), "theirs" if theirs else "ours")


def _about(lines: Iterable[Line]) -> tuple[str, ...]:
    return (OPEN,) if any(entry.kind == "open" for line in lines for entry in line.entries) else ()


def _others(left_out: int) -> tuple[str, ...]:
    return (f"The rows of {left_out} other machines are in the file below.",) if left_out else ()


def _number(value: float | None) -> Entry:
    return Entry("" if value is None else format_number(value), kind="number")
