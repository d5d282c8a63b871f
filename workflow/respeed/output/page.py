"""Pages that begin with a finding: the results' README, and pages for browsers and for reviewers.

The page for browsers needs no other file. All its text is escaped, and it runs no scripts but its own.
"""

import hashlib
import json
import shutil
from base64 import b64encode
from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from respeed.analysis.cells import label_row, reference
from respeed.analysis.claims import list_cases, say_published
from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.rounds import CELL
from respeed.analysis.tables import TABLES, Cell, ClaimRow
from respeed.analysis.trace import measure_command
from respeed.errors import UserError
from respeed.model import Experiment, Paper
from respeed.output.layout import front, section
from respeed.output.machines import lay_out_machine, lay_out_machines, lay_out_protocol, say_time
from respeed.output.published import lay_out_published, with_package
from respeed.output.results import Results
from respeed.output.table import escape_markdown, templates, to_html, to_markdown
from respeed.protocol import SMOKE_STAMP
from respeed.text import counted, format_speedup, group_thousands, measured_time

# The columns of a cell, beside its key, and of a round that the page's script reads.
CELL_FIELDS = [
    "label", "work", "flops", "seconds", "seconds_low", "seconds_high", "gflops", "peak_share",
    "expected_seconds", "unexpected", "published_seconds", "published_row", "status", "reason", "command",
]  # fmt: skip
ROUND_FIELDS = [
    "cell", "round", "session", "started", "step_seconds", "step_seconds_measured", "blocks", "discarded", "causes",
    "reason", "record",
]  # fmt: skip
# The width of a terminal, up to this: longer lines are hard to read.
WIDEST = 100


def make_readme(results: Results) -> str:
    """Return the README of the results: for each paper its findings, claims, figures, and links to its tables."""
    papers = [(front(results, paper, to_markdown), paper) for paper in results.papers.values()]
    page = templates(escape_markdown).get_template("readme.jinja")
    return page.render(papers=papers, stamp=results.stamp)


def make_review(results: Results) -> str:
    """Return the page for reviewers of an artifact.

    The page has claims and results, machines and versions, steps with their times, cells that were not measured and
    why, and deviations from the papers' protocols.
    """
    papers = []
    rounds = results.table("rounds")
    for paper in results.papers.values():
        of_paper = rounds[rounds["paper"] == paper.name]
        durations = {name: say_time(group) for name, group in of_paper.groupby("experiment")}
        cells = results.rows(Cell, paper=paper.name)
        untimed = [cell for cell in cells if not cell.seconds]
        facts = front(results, paper, to_markdown) | {"took": durations, "untimed": untimed}
        papers.append((facts, paper))
    return (
        templates(escape_markdown)
        .get_template("review.jinja")
        .render(
            papers=papers,
            machines=[to_markdown(lay_out_machine(results, name)) for name in results.machines],
            stamp=results.stamp,
            smoke=results.smoke,
            version=version("respeed"),
            commits=sorted(rounds["commit"].unique()),
            took=say_time(rounds),
        )
    )


def describe_paper(paper: Paper) -> str:
    """Return a paper's claims and tables in Markdown, made from the paper's files alone, to proofread these files."""
    results = Results({paper.name: paper}, [], False, {name: make_frame([], name) for name in TABLES})
    published = {}
    for name, claim in paper.claims.items():
        published[name] = say_published(list_cases(claim, paper))
    tables = [lay_out_published(results, paper, experiment) for experiment in paper.experiments.values()]
    texts = [to_markdown(table) for table in tables if table.lines]
    page = templates(escape_markdown).get_template("paper.jinja")
    return page.render(paper=paper, reference=reference(paper), published=published, tables=texts)


def make_page(results: Results) -> str:
    """Return the page for browsers: findings, and tables in the paper's shape; its script adds claims and charts.

    The page's policy names the checksums of its scripts, so that a browser runs no other script and loads nothing.
    """
    sections = []
    for paper in results.papers.values():
        for experiment in paper.experiments.values():
            part = section(results, paper, experiment, to_html)
            if part["tables"]:
                sections.append(part | {"table": f"{paper.name}/{experiment.name}"})
    tables = [lay_out_machines(results)]
    tables += [lay_out_machine(results, name) for name in results.machines]
    tables += map(lay_out_protocol, results.papers.values())
    scripts = [*read_vega(), Path(__file__).with_suffix(".js").read_text(encoding="utf-8")]
    checksums = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    page = templates(escape).get_template("page.jinja")
    return page.render(
        papers=[front(results, paper, to_html) for paper in results.papers.values()],
        sections=sections,
        others=[(table.title, to_html(table)) for table in tables if table.lines],
        stamp=results.stamp,
        data=make_data(results),
        scripts=scripts,
        checksums=checksums,
    )


def read_vega() -> list[str]:
    """Return the scripts of Vega, Vega-Lite and vega-embed with their licences, as Snakemake brings them.

    Raises UserError if the installed Snakemake has them no more.
    """
    try:
        folders = [files("snakemake.assets") / "data" / name for name in ("vega", "vega-lite", "vega-embed")]
        return [
            f"/*\n{(folder / 'LICENSE').read_text('utf-8')}*/\n{(folder / f'{folder.name}.js').read_text('utf-8')}"
            for folder in folders
        ]
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise UserError(f"{error}: this Snakemake brings no Vega; install the version in requirements.lock") from None


def make_data(results: Results) -> dict[str, Any]:
    """Return what the page's script shows, for JSON: papers, tables with their cases, and parts of tidy tables.

    `rounds` names its cell by the place of the cell in `cells`.
    """
    cells = results.table("cells").reset_index(drop=True)
    rounds = results.table("rounds")
    claims = results.table("claims")
    counts = rounds.groupby(CELL).size().to_dict()
    commands = []
    for cell in rows_of(cells, Cell):
        experiment = results.papers[cell.paper].experiments[cell.experiment]
        number = counts.get(cell.key) or cell.rounds
        commands.append(measure_command(cell, experiment, number, smoke=results.smoke))
    cells["command"] = commands
    rounds = cells[CELL].assign(cell=cells.index).merge(rounds, on=CELL)
    tested = results.rows(ClaimRow)
    claims["experiment"] = [results.papers[claim.paper].claims[claim.claim].experiment for claim in tested]
    tables = []
    for paper in results.papers.values():
        tables += [_describe_table(paper, experiment) for experiment in paper.experiments.values()]
    return {
        "smoke": results.smoke,
        "machines": [[name, results.describe(name)] for name in results.machines],
        "papers": [_describe_rows(paper) for paper in results.papers.values()],
        "tables": tables,
        "cells": _for_json(cells[[*CELL, *CELL_FIELDS]]),
        "rounds": _for_json(rounds[ROUND_FIELDS]),
        "claims": _for_json(claims),
    }


def _describe_table(paper: Paper, experiment: Experiment) -> dict[str, Any]:
    """Return a table's title, its cases with their headings, and its algorithms with their labels."""
    return {
        "paper": paper.name,
        "experiment": experiment.name,
        "title": experiment.title,
        "cases": list(experiment.column_words().items()),
        "algorithms": [[program.name, program.label] for program in experiment.algorithms.values()],
    }


def _describe_rows(paper: Paper) -> dict[str, Any]:
    """Return a paper's name and reference, and its rows: their labels, and their peaks in GFLOP/s by data sheets."""
    rows = [
        {
            "name": row.name,
            "label": with_package(label_row(paper, row), row.package),
            "is_cpu": row.is_cpu,
            "peak_gflops": row.hardware.flops_per_second / 1e9 if row.hardware else None,
        }
        for row in paper.rows.values()
    ]
    return {"name": paper.name, "reference": reference(paper), "rows": rows}


def _for_json(frame: pd.DataFrame) -> Any:
    """Return a frame as `columns` and `data`, the list of its rows; a missing number is None."""
    return json.loads(frame.to_json(orient="split", index=False, double_precision=15))


def make_text(name: str, document: Mapping[str, Any]) -> str:
    """Return a document as text for a terminal, by the template `name`, such as "trace", "compare" or "claims"."""
    texts = templates(str)
    texts.globals["width"] = min(WIDEST, shutil.get_terminal_size().columns)
    texts.filters |= {"speedup": format_speedup, "thousands": group_thousands, "counted": counted}
    texts.filters["time"] = lambda seconds: measured_time(seconds, None, None).text
    stamp = f"{SMOKE_STAMP}\n\n" if document.get("smoke") else ""
    return stamp + texts.get_template(f"{name}.jinja").render(document)
