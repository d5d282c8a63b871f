"""What people read of the tables in a browser: one page that stands alone, and the beginning of Snakemake's report.

Nothing in them comes from elsewhere, and all text is escaped.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.filters import do_mark_safe

from respeed.analysis.cells import PAPER, reference
from respeed.analysis.columns import TABLES, rows_of
from respeed.model.paper import Paper
from respeed.output.published import FoldedTable, groups_of
from respeed.text import Value, format_number, measured_value


def templates(escaping: Callable[[str], str]) -> Environment:
    """Return the templates beside this file; all that they show is escaped so, but for what is marked safe."""
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=lambda value: value if hasattr(value, "__html__") else do_mark_safe(escaping(str(value))),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )


HTML = templates(escape)
# A row of a section: how it looks (theirs, ours, missing, claim or detail), its name and its fields.
Line = tuple[str, str, Sequence[Value]]


@dataclass(frozen=True)
class Section:
    """A table of the page with its title and caption. The first of the heads is that of the rows' names; rows stand in
    groups, each under a heading, which may be empty; `notes` stand below."""

    title: str
    caption: str
    head: Sequence[str]
    groups: Sequence[tuple[str, Sequence[Line]]]
    notes: Sequence[str] = ()


def render_page(title: str, stamp: str, sections: Sequence[Section]) -> str:
    """Return the page; a `stamp` stands above all else."""
    return HTML.get_template("page.jinja").render(title=title, stamp=stamp, sections=sections)


def render_front(stamp: str, here: str, papers: Sequence[tuple[str, str, str, str, Section]]) -> str:
    """Return the part of a page that Snakemake's report begins with.

    Of each paper: its reference, title and claim, the counts of what came out on the machine `here`, and its claims.
    """
    return HTML.get_template("front.jinja").render(stamp=stamp, here=here, papers=papers)


def words(text: str, small: str = "", kind: str = "words") -> Value:
    """Return a field that is no number: words, range or verdict."""
    return Value(text, small, kind=kind)


def published_section(folded: FoldedTable) -> Section:
    """Return the paper's rows, then ours, and below what is missing."""
    looks = ["theirs" if source == PAPER else "ours" for source in folded.numbers.index.get_level_values("source")]
    numbers = folded.numbers.reset_index("kind", drop=True).set_index(pd.Index(looks, name="look"), append=True)
    return Section(
        title=folded.title,
        caption=f"{folded.unit[0].upper()}{folded.unit[1:]}. Grey: {folded.reference}. Blue: measured here.",
        head=["Row", *map(str, folded.numbers)],
        groups=groups_of(numbers.reorder_levels(["source", "heading", "look", "label"])),
        notes=[f"{note.mark} {note.text}".strip() for note in folded.notes],
    )


def claims_section(papers: Mapping[str, Paper], verdicts: pd.DataFrame) -> Section:
    """Return every claim, machine by machine, with the cases below it that were measured."""
    rows = [row for row in rows_of(verdicts) if row.here or not row.case]
    place = attrgetter("machine", "paper")
    groups = [
        (f"{reference(papers[paper])}, repeated on {machine}", [_claim(row) for row in mine])
        for (machine, paper), mine in groupby(sorted(rows, key=place), key=place)
    ]
    caption = "Each claim of a paper, held against what was measured."
    return Section("Claims and verdicts", caption, ["Claim", "Published", "Here", "Verdict"], groups)


def _claim(row: Any) -> Line:
    """Return of a claim as a whole what it says, and of its verdict all that can be said; of a case its name. What can
    be said without a number of ours stands in its place."""
    here = words(row.here, kind="range") if row.here else words(row.instead)
    fields = words(row.published, kind="range"), here, words(row.verdict, row.reason, kind="verdict")
    return "detail" if row.case else "claim", row.case or row.says, fields


def cells_section(papers: Mapping[str, Paper], cells: pd.DataFrame, speedups: pd.DataFrame) -> Section:
    """Return every cell that was tried, table by table, with its speedup over the fastest CPU row of its machine."""
    both = cells.merge(speedups, on=TABLES["cells"].key, suffixes=("", "_speedup"), validate="1:1")
    rows = rows_of(both[both["status"] != "not-run"])
    place = attrgetter("machine", "paper", "experiment")
    groups = [
        (f"{papers[paper].experiments[name].title}, on {machine}", [_cell(row) for row in mine])
        for (machine, paper, name), mine in groupby(sorted(rows, key=place), key=place)
    ]
    head = [
        "Row",
        "Case",
        "Seconds",
        "Published",
        "Rounds",
        "GFLOP/s",
        "Of peak",
        "Speedup",
        "Cost",
        "Joules",
        "Status",
    ]
    caption = "Seconds of a step, or of as many examples as the table counts. Published: the paper's own."
    return Section("Every cell", caption, head, groups)


def _cell(row: Any) -> Line:
    fields: Iterable[Value] = (
        words(row.case),
        measured_value(row.seconds, row.seconds_low, row.seconds_high),
        Value(format_number(row.published_seconds)),
        Value(str(row.rounds or "")),
        Value(format_number(row.gflops)),
        Value(format_number(row.peak_share)),
        measured_value(row.speedup, row.speedup_low, row.speedup_high, unit="x"),
        Value(f"{format_number(row.cost)} {row.currency}".strip()),
        measured_value(row.joules, row.joules_low, row.joules_high),
        words(row.status, row.reason),
    )
    return "ours" if row.seconds else "missing", row.label, list(fields)
