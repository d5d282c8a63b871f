"""What Snakemake's HTML report calls what it shows, and in which order."""

from respeed.schedule.workflow import Workflow

# It lists categories, and the files in each, in the order of their names.
CLAIMS, TABLES, FIGURES, LEARNING, CELLS, DATA, MACHINES = (
    "1 Claims", "2 Tables", "3 Figures", "4 What is learned", "5 Every cell", "6 Data", "7 Machines",
)  # fmt: skip

# The folder of the data that are of all papers.
ALL = "All papers"
TIDY = {
    "claims": "Claims and verdicts",
    "cells": "Every cell: seconds",
    "speedups": "Every cell: speedups",
    "cost": "Every cell: cost and energy",
    "why": "Every speedup as factors",
    "roofline": "Rates beneath their roofs",
    "rates": "What each machine reaches",
    "scaling": "What more threads bring",
}
# What is drawn of a machine's hardware sheet.
SHEET = {"scaling": "What more threads bring", "rates": "What a product reaches"}
# What is drawn of every table, and of every program that learns.
DRAWN = {"seconds": "Times or rates", "speedup": "Speedups"}
LEARNED = {"learning": "What is left to explain", "learned": "Pictures of what was learned"}

# What every figure is beside an SVG: for LaTeX, a page, and slides.
ENDINGS = (".pdf", ".png", "-slide.svg", "-slide.png")

# Braces would be wildcards to Snakemake, and it writes labels into a script as they are.
_AS_TEXT = str.maketrans(
    {
        "{": "(",
        "}": ")",
        "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
        ">": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    }
)


def label_experiment(run: Workflow, paper: str, experiment: str, **more: str) -> dict[str, str]:
    """The columns of a file's row: the title of its table, with its place in the paper, and `more`."""
    experiments = run.papers[paper].experiments
    place = str(list(experiments).index(experiment) + 1).zfill(len(str(len(experiments))))
    table = f"{place} {experiments[experiment].title}"
    return {key: text.translate(_AS_TEXT) for key, text in ({"Table": table} | more).items()}


def label_paper(run: Workflow, paper: str) -> str:
    """The folder of a paper's files, where there are several papers."""
    return f"{run.papers[paper].title} ({run.papers[paper].year})".translate(_AS_TEXT)


def front_page(run: Workflow) -> dict[str, str]:
    """What report/captions/workflow.rst needs: a part of a page, and the figure that stands below it, with its text."""
    paper, experiment = run.experiments[0]
    title = run.papers[paper].experiments[experiment].title
    return {
        "front": f"{run.results}/tables/front.html",
        "figure": f"{run.results}/figures/{paper}/{experiment}/{run.machine}-speedup.svg",
        "figure_says": f"{title}: speedups on {run.machine}.",
    }
