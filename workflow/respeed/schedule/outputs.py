"""The files that the rules `tables` and `figures` make, and how Snakemake's HTML report shows them."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from respeed.analysis.columns import TABLES as TIDY_TABLES
from respeed.model.paper import Paper
from respeed.records.store import why_no_learning
from respeed.schedule.workflow import Workflow

# Snakemake's HTML report lists categories, and the files in each, in the order of their names.
CLAIMS, TABLES, FIGURES, LEARNING, CELLS, DATA, SHEETS = (
    "1 Claims", "2 Tables", "3 Figures", "4 What is learned", "5 Every cell", "6 Data", "7 Machines",
)  # fmt: skip
# What every published table is beside HTML and CSV: Markdown, and LaTeX for a page, a column and slides.
TEXTS = (".md", ".tex", "-narrow.tex", "-slide.tex")
# The tables of all papers that are pages, and those that the report shows as data.
PAGES = {"cells": "Seconds", "speedups": "Speedups", "cost": "Cost and energy"}
SHOWN = {
    "claims": "Claims and verdicts",
    "cells": "Every cell: seconds",
    "speedups": "Every cell: speedups",
    "cost": "Every cell: cost and energy",
    "why": "Every speedup as factors",
    "roofline": "Rates beneath their roofs",
    "rates": "What each machine reaches",
    "scaling": "What more threads bring",
}
# What is drawn of every table, of every program that learns, of a paper, and of a machine's hardware sheet.
DRAWN = {"seconds": "Times or rates", "speedup": "Speedups"}
LEARNED = {"learning": "What is left to explain", "learned": "Pictures of what was learned"}
OF_PAPER = {"roofline": "roofline"}
OF_MACHINE = {"scaling": "What more threads bring", "rates": "What a product reaches"}
# Of a smoke run no ratio of times is shown.
RATIOS = ("-speedup", "-scaling")
# What every figure is beside an SVG: for LaTeX, a page, and slides.
ENDINGS = (".pdf", ".png", "-slide.svg", "-slide.png")

# Braces would be wildcards to Snakemake, and it writes labels into a script as they are.
_AS_TEXT = str.maketrans(
    "{}<>", "()\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
)

# Snakemake's flag of a file with its caption, category, folder and columns: the same path, as its HTML report shows it.
Report = Callable[..., Any]


def table_files(run: Workflow, report: Report) -> list[Any]:
    """What the rule `tables` makes."""
    folder, show = f"{run.results}/tables", partial(_show, report)
    tables = [(f"{folder}/{paper}/{name}", *_titles(run, paper, name)) for paper, name in run.experiments]
    return [
        show(f"{folder}/claims.html", "claims", CLAIMS, Table=SHOWN["claims"]),
        *(show(f"{path}.html", "table", TABLES, paper, Table=title) for path, paper, title in tables),
        *(show(f"{folder}/{name}.html", name, CELLS, Table=title) for name, title in PAGES.items()),
        *(
            show(f"{path}.csv", "data", DATA, paper, Table=title, File=f"{Path(path).name}.csv")
            for path, paper, title in tables
        ),
        *(
            show(f"{folder}/{name}.csv", "data", DATA, "All papers", Table=title, File=f"{name}.csv")
            for name, title in SHOWN.items()
        ),
        *(f"{path}{ending}" for path, _, _ in tables for ending in TEXTS),
        *(f"{folder}/{name}.csv" for name in TIDY_TABLES if name not in SHOWN),
        f"{folder}/front.html",
        f"{run.results}/README.md",
    ]


def figure_files(run: Workflow, report: Report) -> list[Any]:
    """What the rule `figures` makes; of a run that does not measure, what is there."""
    folder, learned, made = f"{run.results}/figures", _learned(run), []

    def add(
        where: str, drawn: Mapping[str, str], caption: str, category: str, paper: str | None = None, **table: str
    ) -> None:
        for machine in run.machines:
            if drawn is LEARNED and (machine, *where.split("/")) not in learned:
                continue
            path = "/".join(filter(None, [folder, where, machine]))
            for figure, title in drawn.items():
                if run.smoke and f"-{figure}" in RATIOS:
                    continue
                labels = table | {"Shows": title, "Machine": machine}
                made.append(_show(report, f"{path}-{figure}.svg", caption, category, paper, **labels))
                made.extend(f"{path}-{figure}{ending}" for ending in ENDINGS)

    for paper, name in run.experiments:
        of_paper, title = _titles(run, paper, name)
        add(f"{paper}/{name}", DRAWN, "figure", FIGURES, of_paper, Table=title)
        add(f"{paper}/{name}", LEARNED, "learning", LEARNING, of_paper, Table=title)
    for shown in run.papers.values():
        add(shown.name, OF_PAPER, "roofline", FIGURES, _title(shown), Table="all")
        if shown.history:
            path, labels = f"{folder}/{shown.name}/history", {"Table": "all", "Shows": "History", "Machine": "all"}
            made.append(_show(report, f"{path}.svg", "history", FIGURES, _title(shown), **labels))
            made.extend(f"{path}{ending}" for ending in ENDINGS)
    add("", OF_MACHINE, "sheet", SHEETS)
    return [path for path in made if run.measures or os.path.exists(path)]


def front_page(run: Workflow) -> dict[str, str]:
    """What report/captions/workflow.rst needs: a part of a page, and the figure that stands below it, with its text."""
    paper, experiment = run.experiments[0]
    title = run.papers[paper].experiments[experiment].title
    machine = run.machine if run.machine in run.machines or not run.machines else run.machines[0]
    kind, says = ("seconds", "times or rates") if run.smoke else ("speedup", "speedups")
    return {
        "front": f"{run.results}/tables/front.html",
        "figure": f"{run.results}/figures/{paper}/{experiment}/{machine}-{kind}.svg",
        "figure_says": f"{title}: {says} on {machine}.",
    }


def _learned(run: Workflow) -> set[tuple[str, ...]]:
    """(machine, paper, experiment) of everything learned that figures are drawn of."""
    found = [path for machine in run.machines for path in Path(run.records).glob(f"{machine}/*/*/learning.json")]
    there = {path for path in found if why_no_learning(path, run.smoke) is None}
    return {path.relative_to(run.records).parts[:3] for path in {*run.learning_records, *there}}


def _titles(run: Workflow, paper: str, experiment: str) -> tuple[str, str]:
    """What the report calls the folder of a paper, and a table of it, with its place in the paper."""
    experiments = run.papers[paper].experiments
    place = str(list(experiments).index(experiment) + 1).zfill(len(str(len(experiments))))
    return _title(run.papers[paper]), f"{place} {experiments[experiment].title}"


def _title(paper: Paper) -> str:
    return f"{paper.title} ({paper.year})"


def _show(report: Report, path: str, caption: str, category: str, folder: str | None = None, **labels: str) -> Any:
    """The path as Snakemake's HTML report shows it; the caption's place is seen from the rules."""
    return report(
        path,
        caption=f"../../report/captions/{caption}.rst",
        category=category,
        subcategory=folder.translate(_AS_TEXT) if folder else None,
        labels={key: text.translate(_AS_TEXT) for key, text in labels.items()},
    )
