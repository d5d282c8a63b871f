"""Pages that begin with a finding: the results' README, and pages for browsers and for reviewers.

The page for browsers needs no other file. All its text is escaped, and it runs no scripts but its own.
"""

import hashlib
import shutil
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from importlib.metadata import version
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd

from respeed.analysis.cells import label_row, reference
from respeed.analysis.claims import list_cases, say_published
from respeed.analysis.columns import make_frame
from respeed.analysis.hardware import has_changes, say_source
from respeed.analysis.tables import TABLES, Cell, CellKey, ClaimRow, Round, group_by
from respeed.analysis.trace import measure_command
from respeed.errors import UserError
from respeed.model import Experiment, Paper
from respeed.output.layout import Facts, fronts, section
from respeed.output.machines import lay_out_machine, lay_out_protocol, say_time
from respeed.output.published import lay_out_published, with_package
from respeed.output.results import Results
from respeed.output.table import escape_markdown, templates
from respeed.paths import RUN
from respeed.protocol import SMOKE_STAMP
from respeed.text import counted, format_speedup, group_thousands, join_words, measured_time

# The fields of a cell and of a round that the page's script reads.
CELL_FIELDS = [
    *CellKey._fields, "label", "work", "flops", "seconds", "seconds_low", "seconds_high", "gflops", "peak_share",
    "expected_seconds", "unexpected", "published_seconds", "published_row", "status", "reason",
]  # fmt: skip
ROUND_FIELDS = [
    "round", "session", "started", "step_seconds", "step_seconds_measured", "blocks", "discarded", "causes", "reason",
    "record",
]  # fmt: skip
# The width of a terminal, up to this: longer lines are hard to read.
WIDEST = 100


def make_readme(results: Results) -> str:
    """Return the README of the results: for each paper its findings, claims, figures, and links to its tables."""
    page = templates(escape_markdown).get_template("readme.jinja")
    return page.render(papers=fronts(results), results=results)


def make_review(results: Results) -> str:
    """Return the page for reviewers of an artifact.

    The page has claims and results, machines and versions, steps with their times, cells that were not measured and
    why, and deviations from the papers' protocols.
    """
    rounds = results.table("rounds")
    untimed = [cell for cell in results.rows(Cell) if not cell.seconds]
    page = templates(escape_markdown).get_template("review.jinja")
    return page.render(
        papers=fronts(results),
        results=results,
        untimed=group_by(untimed, attrgetter("paper")),
        machines=[lay_out_machine(results, name) for name in results.machines],
        version=version("respeed"),
        commits=[say_source(commit) for commit in sorted(rounds["commit"].unique())],
        earlier=_say_earlier(rounds),
        took=say_time(rounds),
        durations={table: say_time(group) for table, group in rounds.groupby(["paper", "experiment"])},
    )


def _say_earlier(rounds: pd.DataFrame) -> list[str]:
    """Return a sentence for each machine with rounds of a program that no commit has."""
    sentences = []
    for machine, of_machine in rounds.drop_duplicates(["machine", "record"]).groupby("machine"):
        changed = of_machine[of_machine["commit"].map(has_changes)]
        if len(changed):
            sources = join_words([say_source(commit) for commit in sorted(changed["commit"].unique())])
            numbers = f"{len(changed)} of {counted(len(of_machine), 'round')}"
            sentences.append(f"{machine}: {numbers} by {sources}")
    return sentences


def describe_paper(paper: Paper) -> str:
    """Return a paper's claims and tables in Markdown, made from the paper's files alone, to proofread these files."""
    frames = {name: make_frame([], declared) for name, declared in TABLES.items()}
    results = Results({paper.name: paper}, [], False, frames)
    published = {}
    for name, claim in paper.claims.items():
        published[name] = say_published(list_cases(claim, paper))
    tables = [lay_out_published(results, paper, experiment) for experiment in paper.experiments.values()]
    page = templates(escape_markdown).get_template("paper.jinja")
    return page.render(paper=paper, reference=reference(paper), published=published, tables=tables)


def make_page(results: Results) -> str:
    """Return the page for browsers: findings, and tables in the paper's shape; its script adds claims and charts.

    The page's policy names the checksums of its scripts, so that a browser runs no other script and loads nothing.
    """
    sections = []
    for paper in results.papers.values():
        for experiment in paper.experiments.values():
            part = section(results, paper, experiment)
            if part["tables"]:
                sections.append(part)
    tables = [lay_out_machine(results, name) for name in results.machines]
    tables += map(lay_out_protocol, results.papers.values())
    scripts = [*read_vega(), Path(__file__).with_suffix(".js").read_text(encoding="utf-8")]
    checksums = []
    for script in scripts:
        digest = hashlib.sha256(script.encode()).digest()
        checksums.append(b64encode(digest).decode())
    page = templates(escape).get_template("page.jinja")
    return page.render(
        papers=fronts(results),
        sections=sections,
        others=tables,
        results=results,
        data=make_data(results),
        scripts=scripts,
        checksums=checksums,
    )


def read_vega() -> list[str]:
    """Return the scripts of Vega, Vega-Lite and vega-embed with their licences, as Snakemake brings them.

    Raises UserError if the installed Snakemake has them no more.
    """
    scripts = []
    try:
        for name in ("vega", "vega-lite", "vega-embed"):
            folder = files("snakemake.assets") / "data" / name
            licence = (folder / "LICENSE").read_text("utf-8")
            script = (folder / f"{name}.js").read_text("utf-8")
            scripts.append(f"/*\n{licence}*/\n{script}")
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise UserError(f"{error}: this Snakemake brings no Vega; install the version in requirements.lock") from None
    return scripts


def make_data(results: Results) -> Facts:
    """Return what the page's script shows, for JSON: papers, tables with their cases, and parts of tidy tables."""
    rounds = group_by(results.rows(Round), attrgetter("key"))
    read_cell = attrgetter(*CELL_FIELDS)
    read_round = attrgetter(*ROUND_FIELDS)
    cells = []
    for cell in results.rows(Cell):
        of_cell = rounds.get(cell.key, [])
        experiment = results.papers[cell.paper].experiments[cell.experiment]
        command = measure_command(cell, experiment, len(of_cell) or cell.rounds, smoke=results.smoke)
        cells.append([*read_cell(cell), command, list(map(read_round, of_cell))])
    claims = []
    for claim in results.rows(ClaimRow):
        experiment_name = results.papers[claim.paper].claims[claim.claim].experiment
        claims.append(asdict(claim) | {"experiment": experiment_name})
    tables = []
    for paper in results.papers.values():
        tables += [_describe_table(paper, experiment) for experiment in paper.experiments.values()]
    return {
        "smoke": results.smoke,
        "run": RUN,
        "machines": [[name, results.describe(name)] for name in results.machines],
        "papers": [_describe_rows(paper) for paper in results.papers.values()],
        "tables": tables,
        "cells": {"columns": [*CELL_FIELDS, "command", "rounds"], "data": cells},
        "rounds": ROUND_FIELDS,
        "claims": claims,
    }


def _describe_table(paper: Paper, experiment: Experiment) -> Facts:
    """Return a table's title, its cases with their headings, and its algorithms with their labels."""
    return {
        "paper": paper.name,
        "experiment": experiment.name,
        "title": experiment.title,
        "cases": list(experiment.column_words().items()),
        "algorithms": [[program.name, program.label] for program in experiment.algorithms.values()],
    }


def _describe_rows(paper: Paper) -> Facts:
    """Return a paper's name and reference, and its rows: their labels, and their peaks in GFLOP/s by data sheets."""
    rows = []
    for row in paper.rows.values():
        label = with_package(label_row(paper, row), row.package)
        peak_gflops = row.hardware.flops_per_second / 1e9 if row.hardware else None
        rows.append({"name": row.name, "label": label, "is_cpu": row.is_cpu, "peak_gflops": peak_gflops})
    return {"name": paper.name, "reference": reference(paper), "rows": rows}


def make_text(name: str, document: Mapping[str, Any]) -> str:
    """Return a document as text for a terminal, by the template `name`, such as "trace" or "claims"."""
    texts = templates(str)
    texts.globals["width"] = min(WIDEST, shutil.get_terminal_size().columns)
    texts.filters |= {"speedup": format_speedup, "thousands": group_thousands, "counted": counted}
    texts.filters["time"] = lambda seconds: measured_time(seconds, None, None).text
    stamp = f"{SMOKE_STAMP}\n\n" if document.get("smoke") else ""
    return stamp + texts.get_template(f"{name}.jinja").render(document)
