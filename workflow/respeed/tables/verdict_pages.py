"""What a paper claims beside what came out, as HTML: a page of its own, and the first thing in the report."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import pandas as pd

from respeed.analysis.columns import rows_of
from respeed.analysis.labels import reference
from respeed.model.paper import Paper
from respeed.tables.html import Entry, Line, Page

NONE_YET = "No claim has been tested yet."


def make_claims_page(papers: Mapping[str, Paper], verdicts: pd.DataFrame) -> Page:
    """Every claim, machine by machine, with the cases below it that were measured."""
    groups = tuple(
        (_whose(papers, *key), tuple(_line(row) for row in rows if row.here or not row.case))
        for key, rows in _by_paper(verdicts)
    )
    return Page(
        title="What was claimed, and what came out",
        caption="Each claim of a paper, held against what was measured.",
        head=("Claim", "Published", "Here", "Verdict"),
        groups=groups,
        notes=() if len(verdicts) else (NONE_YET,),
        data="claims.csv",
        is_sortable=False,
    )


def make_front_tables(papers: Mapping[str, Paper], verdicts: pd.DataFrame, machine: str) -> list[Page]:
    """The claims alone, those with a number of ours first: a table a paper and machine, that of `machine` first."""
    found = [
        (key, sorted((row for row in rows if not row.case), key=lambda row: not row.here))
        for key, rows in _by_paper(verdicts)
    ]
    return [
        Page(
            title="",
            caption=_whose(papers, *key),
            head=("Claim", "Published", "Here", "Verdict"),
            groups=(("", tuple(_claim_line(row) for row in rows)),),
            is_sortable=False,
        )
        for key, rows in sorted(found, key=lambda one: one[0][0] != machine)
    ]


def _by_paper(verdicts: pd.DataFrame) -> list[tuple[tuple[str, str], list[Any]]]:
    ordered = sorted(rows_of(verdicts), key=lambda row: (row.machine, row.paper))
    return [(key, list(rows)) for key, rows in groupby(ordered, key=lambda row: (row.machine, row.paper))]


def _whose(papers: Mapping[str, Paper], machine: str, paper: str) -> str:
    return f"{reference(papers[paper])}, repeated on {machine}"


def _line(row: Any) -> Line:
    if not row.case:
        return _claim_line(row)
    verdict = Entry(row.verdict, row.reason, kind="verdict")
    numbers = (Entry(text, kind="range") for text in (row.published, row.here))
    return Line((Entry(row.case), *numbers, verdict), "detail")


def _claim_line(row: Any) -> Line:
    why = " ".join(f"{text[0].upper()}{text[1:].rstrip('.')}." for text in (row.reason, row.instead) if text)
    verdict = Entry(row.verdict, why, kind="verdict")
    return Line((Entry(row.says), Entry(row.published, kind="range"), Entry(row.here, kind="range"), verdict), "claim")
