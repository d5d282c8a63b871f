"""What the HTML pages show: tables in the paper's shape, every cell, every speedup."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from respeed.model.paper import Experiment, Paper
from respeed.tables.cells import Cell
from respeed.tables.html import Entry, Line, Page, split_number
from respeed.tables.numbers import format_measured, format_measured_speedup, format_number, format_speedup
from respeed.tables.published import PAPER, PublishedTable, Row
from respeed.tables.speedups import Speedup

Rows = TypeVar("Rows", Cell, Speedup)

OPEN = "In italics: a number that has no interval, because too few rounds were clean."


def cite(paper: Paper) -> str:
    """A paper as people name it: Raina, Madhavan and Ng (2009)."""
    *others, last = (name.split()[-1] for name in paper.authors)
    return f"{', '.join(others)} and {last} ({paper.year})" if others else f"{last} ({paper.year})"


def make_published_page(paper: Paper, table: PublishedTable, left_out: int) -> Page:
    """The paper's rows and ours among one another: seconds, then speedups, and below what is missing."""
    experiment = paper.experiments[table.experiment]
    theirs = any(row.source == PAPER for row in table.rows)
    groups = tuple(
        (title, tuple(_published_line(paper, row) for row in table.rows if row.kind == kind))
        for kind, title in (("seconds", ""), ("speedup", "Speedup"))
    )
    return Page(
        title=experiment.title,
        caption=_unit(experiment) + (f"; {cite(paper)} in grey, measured here in blue" if theirs else "") + ".",
        head=("Row", "Whose", *table.cases),
        groups=groups,
        notes=(*_missing(table.rows), *_about(line for _, lines in groups for line in lines), *_others(left_out)),
        data=f"{table.experiment}.csv",
    )


def make_cells_page(papers: dict[str, Paper], cells: Sequence[Cell], left_out: int, smoke: bool) -> Page:
    """Every cell that was tried, table by table; what was not run is a line below."""
    tried = [cell for cell in cells if cell.status != "not-run"]
    groups = tuple(
        (title, tuple(_cell_line(cell, smoke) for cell in group)) for title, group in _by_table(papers, tried)
    )
    return Page(
        title="Every cell",
        caption="Seconds as in the table of that name. Published: the paper's own.",
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
            split_number(format_measured_speedup(row.speedup, row.speedup_low, row.speedup_high, bare=smoke)),
            Entry(base),
            split_number(format_speedup(row.published)),
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


def _published_line(paper: Paper, row: Row) -> Line:
    is_theirs = row.source == PAPER
    # A speedup has no package, and a label of ours names its own.
    small = row.package if is_theirs and row.package != row.architecture else ""
    return Line(
        (
            Entry(row.architecture, small),
            Entry(f"paper, {paper.year}" if is_theirs else row.source),
            *(split_number(value) for value in row.values),
        ),
        "theirs" if is_theirs else "ours",
    )


def _missing(rows: Iterable[Row]) -> list[str]:
    """One line for each row that has no time at all, with its reason; its speedups have the same."""
    found = (row for row in rows if row.kind == "missing" and row.package)
    return [f"{row.architecture}, on {row.source}: {'; '.join(dict.fromkeys(row.values))}." for row in found]


def _about(lines: Iterable[Line]) -> tuple[str, ...]:
    return (OPEN,) if any(entry.kind == "open" for line in lines for entry in line.entries) else ()


def _others(left_out: int) -> tuple[str, ...]:
    return (f"The rows of {left_out} other machines are in the file below.",) if left_out else ()


def _unit(experiment: Experiment) -> str:
    return f"Seconds for {experiment.examples:,} examples" if experiment.examples else "Seconds of one step"


def _number(value: float | None) -> Entry:
    return Entry("" if value is None else format_number(value), kind="number")
