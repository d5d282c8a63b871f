"""The contents of the report as one plain structure of formatted texts, for the templates in report/."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from respeed.model import Experiment, Paper
from respeed.output.layout import (
    Shown,
    front,
    lay_out_cost,
    lay_out_machine,
    lay_out_machines,
    lay_out_protocol,
    section,
)
from respeed.output.table import to_typst
from respeed.paths import results_folder
from respeed.text import join_words


def make_context(shown: Shown) -> dict[str, Any]:
    """Return the contents of the report's facts file, ready for JSON."""
    dates = sorted(shown.table("rounds")["started"].str[:10])
    machines = lay_out_machines(shown), lay_out_cost(shown)
    told = {paper.name: _tables(shown, paper) for paper in shown.papers.values()}
    others = [table for paper in shown.papers.values() for table in paper.experiments.values()
              if table not in told[paper.name]]  # fmt: skip
    return {
        "stamp": shown.stamp,
        "version": version("respeed"),
        "date": [int(part) for part in dates[-1].split("-")] if dates else None,
        "papers": [_paper(shown, paper, told[paper.name]) for paper in shown.papers.values()],
        "page": f"{results_folder(shown.smoke)}/tables.html",
        "elsewhere": join_words([table.title for table in others]),
        "machines": [to_typst(table) for table in machines if len(table.frame)],
        "facts": [to_typst(lay_out_machine(shown, name)) for name in shown.machines],
    }


def _tables(shown: Shown, paper: Paper) -> list[Experiment]:
    """Return the tables that the paper speaks of; if none of these was measured, those that were as well."""
    cells = shown.table("cells", paper=paper.name)
    measured = {*cells.loc[cells["seconds"] > 0, "experiment"]} if paper.rows else set()
    told = {name for name in paper.experiments if paper.speaks_of(name)}
    told |= set() if told & measured else measured
    return [table for name, table in paper.experiments.items() if name in told]


def _paper(shown: Shown, paper: Paper, tables: Sequence[Experiment]) -> dict[str, Any]:
    """Return a paper's first page, a section for each of the tables, and its protocol."""
    sections = [section(shown, paper, table, to_typst) for table in tables]
    protocol = lay_out_protocol(paper, only_doubtful=True)
    return front(shown, paper, to_typst) | {
        "is_published": bool(paper.rows),
        "source": f"{', '.join(author.strip('{}') for author in paper.authors)}. {paper.venue} {paper.year}.",
        "sections": [one for one in sections if one["tables"] or paper.rows],
        "protocol": to_typst(protocol) if len(protocol.frame) else "",
    }
