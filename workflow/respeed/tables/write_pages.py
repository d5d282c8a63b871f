"""Writes the tables that people open in a browser, and what the HTML report begins with."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from respeed.analysis.columns import rows_of
from respeed.analysis.labels import reference
from respeed.records.files import write_text
from respeed.tables.cost_page import make_cost_page
from respeed.tables.folded import fold
from respeed.tables.html import render_table, write_page
from respeed.tables.pages import make_cells_page, make_published_page, make_speedups_page
from respeed.tables.verdict_pages import NONE_YET, make_claims_page, make_front_tables

if TYPE_CHECKING:
    from respeed.tables.build import Tables


def write_pages(folder: Path, tables: "Tables", in_full: Sequence[str], stamp: str, machine: str | None = None) -> None:
    """Write <paper>/<experiment>.html, claims.html, cells.html, speedups.html, cost.html and
    front.html of the machines `in_full`.

    front.html is a part of a page: Snakemake's report begins with it, and it with `machine`.
    """
    first = machine if machine and machine in in_full else next(iter(in_full), "")
    left_out = len(tables.origins) - len(in_full)
    for table in tables.published:
        page = make_published_page(fold(table, tables.origins, in_full), f"{table.experiment}.csv")
        write_page(folder / table.paper / f"{table.experiment}.html", page, stamp)
    cells = [cell for cell in tables.cells if cell.machine in in_full]
    speedups = [row for row in tables.speedups if row.machine in in_full]
    claims = tables.claims[tables.claims["machine"].isin(in_full)]
    write_page(folder / "claims.html", make_claims_page(tables.papers, claims), stamp)
    write_page(folder / "cells.html", make_cells_page(tables.papers, cells, left_out, tables.smoke), stamp)
    write_page(folder / "speedups.html", make_speedups_page(tables.papers, speedups, left_out, tables.smoke), stamp)
    costs = list(rows_of(tables.costs[tables.costs["machine"].isin(in_full)]))
    write_page(folder / "cost.html", make_cost_page(tables.papers, costs, left_out, tables.smoke), stamp)
    found = [render_table(page) for page in make_front_tables(tables.papers, claims, first)]
    write_text(folder / "front.html", _introduce(tables, first, stamp) + "".join(found or [f"<p>{NONE_YET}</p>\n"]))


def _introduce(tables: "Tables", machine: str, stamp: str) -> str:
    """Whose tables they are, and where they were run again."""
    lines = ["<h1>Published speedup tables, re-run</h1>"]
    if stamp:
        lines.append(f'<p class="stamp">{escape(stamp)}</p>')
    for paper in tables.papers.values():
        lines.append(f"<p><b>{escape(reference(paper))}</b>, <i>{escape(paper.title)}</i>: {escape(paper.claim)}</p>")
    origin = tables.origins.get(machine)
    if origin:
        with_what = ", ".join(filter(None, [origin.cpu, f"{origin.usable_cores} cores", origin.accelerators]))
        lines.append(f"<p><b>Here</b>: {escape(machine)}, {escape(with_what)}.</p>")
    return "\n".join(lines) + "\n"
