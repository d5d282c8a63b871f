"""What people read of the tables: in the paper's shape as Markdown, LaTeX and HTML, and as pages for a browser."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from respeed.analysis.build import Tables, make_tables
from respeed.analysis.cells import reference
from respeed.analysis.claims import fold_claims, summarize
from respeed.analysis.columns import rows_of
from respeed.model.paper import Paper
from respeed.output.html import (
    HTML,
    NONE_YET,
    make_cells_page,
    make_claims_page,
    make_cost_page,
    make_front_tables,
    make_published_page,
    make_speedups_page,
    render_table,
    templates,
    write_page,
)
from respeed.output.markdown_latex import FORMS, escape_markdown, write_latex, write_markdown
from respeed.output.published import describe_machine, fold, make_published, write_published_csv
from respeed.paths import results_folder
from respeed.protocol import SMOKE_STAMP
from respeed.records.store import write_text
from respeed.schedule.selection import machines_in_full, papers_shown, profiles_shown, told_shown
from respeed.schedule.spec import choose_current


def read_tables(smoke: bool, only: Collection[str] | None = None, papers: Collection[str] | None = None) -> Tables:
    """Every tidy table of the records of all machines, or of `only` those, and of the chosen `papers` (see
    schedule.selection)."""
    return make_tables(smoke, papers_shown(smoke, papers), profiles_shown(), told_shown(), choose_current, only)


def build_tables(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> None:
    """Write results/tables: the tidy tables, each published table as .csv, .md, .tex and .html, and other pages; and
    results/README.md.

    All machines are in each .csv; in what people read, those that are shown in full (see schedule.selection).
    """
    tables = read_tables(smoke, papers=papers)
    origins = {row.machine: row for row in rows_of(tables["hardware"])}
    folder = results_folder(smoke) / "tables"
    tables.write(folder)
    in_full, stamp = machines_in_full(smoke, machine), SMOKE_STAMP if smoke else ""
    for paper in tables.papers.values():
        for experiment in paper.experiments.values():
            table = make_published(paper, experiment, tables["cells"], tables["speedups"], smoke)
            folded = fold(table, paper, experiment, smoke, origins, in_full, stamp)
            path = folder / paper.name / experiment.name
            write_published_csv(table, path.with_name(f"{path.name}.csv"), experiment.case_names(smoke))
            write_text(path.with_name(f"{path.name}.md"), write_markdown(folded))
            for ending, form in FORMS.items():
                label = f"tab:{paper.name}-{experiment.name}"
                write_text(path.with_name(f"{path.name}{ending}.tex"), write_latex(folded, label, form))
            page = make_published_page(folded, f"{experiment.name}.csv")
            write_page(path.with_name(f"{path.name}.html"), page, stamp)
    write_pages(folder, tables, origins, in_full, stamp, machine)
    readme = make_readme(tables.papers, tables["claims"], origins, in_full, stamp)
    write_text(results_folder(smoke) / "README.md", readme)


def write_pages(
    folder: Path,
    tables: Tables,
    origins: Mapping[str, Any],
    in_full: Sequence[str],
    stamp: str,
    machine: str | None = None,
) -> None:
    """Write claims.html, cells.html, speedups.html, cost.html and front.html of the machines `in_full`.

    front.html is a part of a page: Snakemake's report begins with it, and it with `machine`.
    """
    first = machine if machine and machine in in_full else next(iter(in_full), "")
    papers, left_out, smoke = tables.papers, len(origins) - len(in_full), tables.smoke
    cells, speedups, claims, costs = (
        tables[name][tables[name]["machine"].isin(in_full)] for name in ("cells", "speedups", "claims", "cost")
    )
    for name, page in {
        "claims": make_claims_page(papers, claims),
        "cells": make_cells_page(papers, cells, left_out, smoke),
        "speedups": make_speedups_page(papers, speedups, left_out, smoke),
        "cost": make_cost_page(papers, list(rows_of(costs)), left_out, smoke),
    }.items():
        write_page(folder / f"{name}.html", page, stamp)
    facts = {
        "stamp": stamp,
        "papers": [(reference(p), p.title, p.claim, summarize(first, p, cells, claims)[0]) for p in papers.values()],
        "here": describe_machine(first, origins).replace(":", ",", 1) if first in origins else "",
        "tables": [render_table(page) for page in make_front_tables(papers, claims, first)],
        "none_yet": NONE_YET,
    }
    write_text(folder / "front.html", HTML.get_template("front.jinja").render(facts))


def make_readme(
    papers: Mapping[str, Paper], claims: pd.DataFrame, origins: Mapping[str, Any], in_full: Sequence[str], stamp: str
) -> str:
    """For each paper its claims, what came out on the machines `in_full`, a picture, and where the tables are. Claims
    that a machine has an answer to lead."""
    whole = sorted(rows_of(fold_claims(claims, papers)), key=lambda row: not row.here)
    facts = [
        {
            "name": paper.name,
            "title": paper.title,
            "reference": reference(paper),
            "links": [(text, quote(address, safe=":/")) for text, address in paper.links.items()],
            "claim": paper.claim,
            "machines": [
                {
                    "name": machine,
                    "described": describe_machine(machine, origins),
                    "claims": [row for row in whole if (row.paper, row.machine) == (paper.name, machine)],
                }
                for machine in in_full
            ],
            "shown": next((one for one in paper.experiments.values() if paper.prints(one.name)), None),
            "tables": list(paper.experiments.values()),
        }
        for paper in papers.values()
    ]
    return templates(escape_markdown).get_template("readme.jinja").render(papers=facts, stamp=stamp)
