"""Pages that begin with a finding: the results' README, pages for browsers and reviewers, Snakemake's front page.

The page for browsers needs no other file, and all its text is escaped.
"""

import shutil
from base64 import b64encode
from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from respeed.analysis.cells import reference
from respeed.analysis.claims import say_published, state_claim
from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.tables import TABLES, Cell
from respeed.model import Paper
from respeed.output.layout import (
    Shown,
    front,
    lay_out_cost,
    lay_out_machine,
    lay_out_machines,
    lay_out_protocol,
    lay_out_published,
    say_time,
    section,
)
from respeed.output.table import escape_markdown, templates, to_html, to_markdown
from respeed.protocol import SMOKE_STAMP
from respeed.text import counted, format_speedup, group_thousands, measured_time

# The width of a terminal, up to this: longer lines are hard to read.
WIDEST = 100


def make_readme(shown: Shown) -> str:
    """Return the README of the results: for each paper its findings, claims, figures, and links to its tables."""
    papers = [(front(shown, paper, to_markdown), paper) for paper in shown.papers.values()]
    page = templates(escape_markdown).get_template("readme.jinja")
    return page.render(papers=papers, machines=shown.machines, stamp=shown.stamp)


def make_review(shown: Shown) -> str:
    """Return the page for reviewers of an artifact.

    The page has claims and results, machines and versions, steps with their times, cells that were not measured and
    why, and deviations from the papers' protocols.
    """
    papers, rounds = [], shown.table("rounds")
    for paper in shown.papers.values():
        took = {str(name): say_time(mine) for name, mine in rounds[rounds["paper"] == paper.name].groupby("experiment")}
        untimed = [cell for cell in rows_of(shown.table("cells", paper=paper.name), Cell) if not cell.seconds]
        papers.append((front(shown, paper, to_markdown) | {"took": took, "untimed": untimed}, paper))
    machines = [to_markdown(lay_out_machine(shown, name)) for name in shown.machines]
    facts = {"version": version("respeed"), "commits": sorted(rounds["commit"].unique()), "took": say_time(rounds)}
    page = templates(escape_markdown).get_template("review.jinja")
    return page.render(papers=papers, machines=machines, stamp=shown.stamp, smoke=shown.smoke, **facts)


def describe_paper(paper: Paper) -> str:
    """Return a paper's claims and tables in Markdown, made from the paper's files alone, to proofread these files."""
    shown = Shown({paper.name: paper}, [], False, {name: make_frame([], name) for name in TABLES})
    published = {name: say_published(state_claim(one, paper)) for name, one in paper.claims.items()}
    laid_out = (lay_out_published(shown, paper, one) for one in paper.experiments.values())
    tables = [to_markdown(table) for table in laid_out if len(table.frame)]
    page = templates(escape_markdown).get_template("paper.jinja")
    return page.render(paper=paper, reference=reference(paper), published=published, tables=tables)


def make_front(shown: Shown) -> str:
    """Return the beginning of Snakemake's report: each paper's findings and claims, as a piece of HTML."""
    papers = [front(shown, paper, to_html) for paper in shown.papers.values()]
    return templates(escape).get_template("front.jinja").render(papers=papers, stamp=shown.stamp)


def make_page(shown: Shown) -> str:
    """Return an HTML page of findings, claims and tables, with the figures that have been drawn."""
    papers, sections = [front(shown, paper, to_html) for paper in shown.papers.values()], []
    for paper in shown.papers.values():
        for experiment in paper.experiments.values():
            one = section(shown, paper, experiment, to_html)
            # Not as SVG: a browser without a face as narrow as that of the figures would cut off their words.
            paths = [(figure["alt"], Path(figure["path"]).with_suffix(".png")) for figure in one["figures"]]
            pictures = [(alt, b64encode(path.read_bytes()).decode()) for alt, path in paths if path.exists()]
            sections.append(one | {"pictures": pictures})
    machines = [lay_out_machines(shown), lay_out_cost(shown), *(lay_out_machine(shown, one) for one in shown.machines)]
    machines += map(lay_out_protocol, shown.papers.values())
    others = [to_html(table) for table in machines if len(table.frame)]
    page = templates(escape).get_template("page.jinja")
    return page.render(papers=papers, sections=sections, others=others, stamp=shown.stamp)


def make_text(name: str, document: Mapping[str, Any]) -> str:
    """Return a document as text for a terminal, by the template `name`, such as "trace", "compare" or "claims"."""
    texts = templates(str)
    texts.globals["width"] = min(WIDEST, shutil.get_terminal_size().columns)
    texts.filters |= {"speedup": format_speedup, "thousands": group_thousands, "counted": counted}
    texts.filters["time"] = lambda seconds: measured_time(seconds, None, None).text
    stamp = f"{SMOKE_STAMP}\n\n" if document.get("smoke") else ""
    return stamp + texts.get_template(f"{name}.jinja").render(document)
