"""Tables as HTML files that stand alone: for a browser, and for the report that Snakemake makes.

Nothing in them comes from elsewhere, and all text is escaped. A table is a frame of Values, as a published one is: its
index has what tells groups apart, the heading of the group, which may be empty, how the row looks (theirs, ours,
missing, claim or detail), and its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.filters import do_mark_safe

from respeed.analysis import cost
from respeed.analysis.cells import PAPER, reference
from respeed.analysis.claims import fold_claims
from respeed.analysis.columns import rows_of
from respeed.model.paper import Paper
from respeed.output.published import FoldedTable, groups_of
from respeed.records.store import write_text
from respeed.text import (
    NO_INTERVAL,
    Value,
    format_number,
    format_speedup,
    format_whole_share,
    measured_value,
)

OPEN = "In italics: a number that has no interval, because too few rounds were clean."
NONE_YET = "No claim has been tested yet."


def templates(escaping: Callable[[str], str]) -> Environment:
    """The templates beside this file; all that they show is escaped so, but for what is marked safe."""
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=lambda value: value if hasattr(value, "__html__") else do_mark_safe(escaping(str(value))),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )


HTML = templates(escape)


@dataclass(frozen=True)
class Page:
    """A page with one table, whose first column, the names of its rows, is headed `names`. `notes` stand below it,
    `data` is the name of the file that has the same for other programs."""

    title: str
    caption: str
    table: pd.DataFrame
    notes: Sequence[str] = ()
    data: str = ""
    names: str = "Row"
    is_sortable: bool = True


def make_table(rows: Sequence[tuple[tuple[Any, str, str, str], Mapping[str, Value]]]) -> pd.DataFrame:
    """The frame of rows, each with its index (group, heading, look and name) and its fields by the heads of their
    columns."""
    index = pd.MultiIndex.from_tuples([place for place, _ in rows], names=["group", "heading", "look", "name"])
    return pd.DataFrame([fields for _, fields in rows], index, dtype=object)


def write_page(path: Path, page: Page, stamp: str) -> None:
    """Write the page; a `stamp` stands above all else. Without a row there is no table, only the notes."""
    write_text(path, _fill("page.jinja", page, stamp))


def render_table(page: Page) -> str:
    """The table alone, as a part of another page."""
    return _fill("table.jinja", page)


def _fill(template: str, page: Page, stamp: str = "") -> str:
    numbers = [(name, any(value.kind == "number" for value in column)) for name, column in page.table.items()]
    groups = groups_of(page.table)
    return HTML.get_template(template).render(
        page=page, stamp=stamp, head=[(page.names, False), *numbers], groups=groups, open=NO_INTERVAL
    )


def words(text: str, small: str = "", kind: str = "words") -> Value:
    """A field of a page that is no number: words, range or verdict."""
    return Value(text, small, kind=kind)


def make_published_page(folded: FoldedTable, data: str) -> Page:
    """The paper's rows, then ours, and below what is missing."""
    places = [(at[0], at[1], "theirs" if at[0] == PAPER else "ours", at[3]) for at in folded.numbers.index]
    return Page(
        title=folded.title,
        caption=f"{folded.unit[0].upper()}{folded.unit[1:]}. Grey: {folded.reference}. Blue: measured here.",
        table=folded.numbers.set_axis(pd.MultiIndex.from_tuples(places, names=folded.numbers.index.names)),
        notes=[f"{note.mark} {note.text}".strip() for note in folded.notes],
        data=data,
    )


def make_cells_page(papers: Mapping[str, Paper], cells: pd.DataFrame, left_out: int, smoke: bool) -> Page:
    """Every cell that was tried, table by table; what was not run is a line below."""
    not_run = cells["status"] == "not-run"
    rows = []
    for cell in rows_of(cells[~not_run]):
        fields = {
            "Case": words(cell.case),
            "Seconds": _measured(cell, "seconds", smoke),
            "Published": Value(format_number(cell.published_seconds)),
            "Rounds": Value(str(cell.rounds or "")),
            "GFLOP/s": Value(format_number(cell.gflops)),
            "Of peak": Value(format_whole_share(cell.peak_share) if cell.peak_share else ""),
            "Status": words(cell.status, cell.reason),
        }
        rows.append((cell, "ours" if cell.seconds else "missing", fields))
    missing = [
        f"Not run on {machine}: {', '.join(dict.fromkeys(names))} ({reason})."
        for (machine, reason), names in cells[not_run].groupby(["machine", "reason"], sort=False)["profile"]
    ]
    table, notes = _by_table(papers, rows, left_out)
    return Page(
        title="Every cell",
        caption="Seconds of a step, or of as many examples as the table counts. Published: the paper's own.",
        table=table,
        notes=[*missing, *notes],
        data="cells.csv",
    )


def make_speedups_page(papers: Mapping[str, Paper], speedups: pd.DataFrame, left_out: int, smoke: bool) -> Page:
    """Every row that has a time over the fastest CPU row of its machine."""
    place = attrgetter("machine", "paper", "experiment", "case")
    labels = {(*place(row), row.profile, row.algorithm): row.label for row in rows_of(speedups)}
    rows = []
    # Of a smoke run no ratio of times is shown.
    for row in () if smoke else rows_of(speedups[speedups["speedup"].notna()]):
        fields = {
            "Case": words(row.case),
            "Speedup": _measured(row, "speedup", smoke, unit="x"),
            "Over": words(labels[*place(row), row.base_profile, row.base_algorithm]),
            "Published": Value(format_speedup(row.published), row.published_precisions),
            "Verdict": words(row.verdict, row.reason),
        }
        rows.append((row, "ours", fields))
    table, notes = _by_table(papers, rows, left_out)
    return Page(
        title="Every speedup",
        caption="The fastest CPU row of the same machine over each row. Published: the paper's own.",
        table=table,
        notes=notes,
        data="speedups.csv",
    )


def _by_table(
    papers: Mapping[str, Paper], rows: Sequence[tuple[Any, str, Mapping[str, Value]]], left_out: int
) -> tuple[pd.DataFrame, list[str]]:
    """Rows under the title of their table, and the machine's where there are several; and what is to be said of all."""
    several = len({row.machine for row, _, _ in rows}) > 1
    found = []
    for row, look, fields in rows:
        title = papers[row.paper].experiments[row.experiment].title + f", on {row.machine}" * several
        found.append((((row.machine, row.paper, row.experiment), title, look, row.label), fields))
    is_open = any(value.interval == NO_INTERVAL for _, fields in found for value in fields.values())
    return make_table(found), [*[OPEN] * is_open, *_others(left_out)]


def _others(left_out: int) -> list[str]:
    return [f"The rows of {left_out} other machines are in the file below."] * bool(left_out)


def _measured(row: Any, name: str, bare: bool, unit: str = "", times_over: float = 1.0) -> Value:
    """A column with its interval's, such as seconds, seconds_low and seconds_high."""
    numbers = (getattr(row, column) for column in (name, f"{name}_low", f"{name}_high"))
    return measured_value(*(one and times_over * one for one in numbers), unit=unit, bare=bare)


def make_cost_page(papers: Mapping[str, Paper], costs: Sequence[Any], left_out: int, smoke: bool) -> Page:
    """A group a case, with the rows of all machines in the order of what they cost, and where their prices are from."""
    told_of = [row for row in costs if row.cost or row.joules]
    rows, says = [], []
    for (paper, experiment, currency), table in cost.by_table(told_of, "currency").items():
        work, times_over = cost.in_bulk(table[0].work, told_of)
        name = papers[paper].experiments[experiment].title
        says += [f"{name}: {text}" for text in cost.say_who_is_cheapest(cost.cheapest_rows(table))]
        places = {case: place for place, case in enumerate(dict.fromkeys(row.case for row in table))}
        for row in sorted(table, key=lambda row: (places[row.case], row.cost or 0.0)):
            heading = f"{name}, {row.case}: {currency or 'joules'} for {work}"
            dearer = cost.times_the_cheapest(row) if row.standing != "cheapest" else None
            fields = {
                "Cost": _measured(row, "cost", smoke, times_over=times_over),
                "Times the cheapest": measured_value(*(dearer or (None, None, None)), unit="x", bare=smoke),
                "Standing": words(row.standing if row.standing != "none" else ""),
                "Speedup on its machine": _measured(row, "buys", smoke, "x") if row.verdict != "base" else Value(),
                "Joules": _measured(row, "joules", smoke, times_over=times_over),
                "Watts": Value(format_number(row.watts)),
                "Energy of": words(row.energy_of),
            }
            group = (paper, experiment, currency, row.case)
            rows.append(((group, heading, "ours", f"{row.machine}: {row.label}"), fields))
    told = [f"{machine}: {price} ({source}, {date})." for machine, price, source, date in cost.prices_told(costs)]
    missing = [f"{machine}: {why}." for machine, why in cost.prices_untold(costs)]
    missing += [f"{machine}: energy not measured: {why}." for machine, why in cost.energy_missing(costs)]
    return Page(
        title="What it costs",
        caption="Every row pays the whole machine's hour for as long as the work takes. The cheapest is that in fp32; "
        "one in another precision may be cheaper. Joules: all that the parts named used meanwhile, idle or not.",
        table=make_table(rows),
        notes=[*says, *told, *filter(None, [cost.currencies_apart(costs)]), *missing, *_others(left_out)],
        data="cost.csv",
    )


def make_claims_page(papers: Mapping[str, Paper], verdicts: pd.DataFrame) -> Page:
    """Every claim, machine by machine, with the cases below it that were measured."""
    rows = [row for row in sorted(rows_of(verdicts), key=_of_paper) if row.here or not row.case]
    return Page(
        title="What was claimed, and what came out",
        caption="Each claim of a paper, held against what was measured.",
        table=make_table([_claim(papers, row) for row in rows]),
        notes=() if rows else (NONE_YET,),
        data="claims.csv",
        names="Claim",
        is_sortable=False,
    )


def make_front_tables(papers: Mapping[str, Paper], verdicts: pd.DataFrame, machine: str) -> list[Page]:
    """The claims alone, those with a number of ours first: a table a paper and machine, that of `machine` first, with
    its heading as its caption."""
    claims = sorted(rows_of(fold_claims(verdicts, papers)), key=lambda row: (row.machine != machine, _of_paper(row)))
    pages = []
    for _, mine in groupby(claims, key=_of_paper):
        table = make_table([_claim(papers, row) for row in sorted(mine, key=lambda row: not row.here)])
        caption = table.index[0][1]
        pages.append(Page("", caption, table.rename({caption: ""}, level=1), names="Claim", is_sortable=False))
    return pages


def _of_paper(row: Any) -> tuple[str, str]:
    return row.machine, row.paper


def _claim(papers: Mapping[str, Paper], row: Any) -> tuple[tuple[Any, str, str, str], dict[str, Value]]:
    """Of a claim as a whole what it says, and of its verdict all that can be said; of a case its name. What can be said
    without a number of ours stands in its place."""
    texts = (row.reason, row.instead if row.here else "")
    why = " ".join(f"{text[0].upper()}{text[1:].rstrip('.')}." for text in texts if text)
    heading = f"{reference(papers[row.paper])}, repeated on {row.machine}"
    return (_of_paper(row), heading, "detail" if row.case else "claim", row.case or row.says), {
        "Published": words(row.published, kind="range"),
        "Here": words(row.here, kind="range") if row.here else words(row.instead),
        "Verdict": words(row.verdict, row.reason if row.case else why, kind="verdict"),
    }
