"""The tables for people: each in the paper's shape and in several formats, and all on one page for a browser."""

from collections.abc import Collection, Sequence
from pathlib import Path

from respeed.analysis.build import Tables, make_tables
from respeed.analysis.columns import load_tables
from respeed.output.layout import Shown, lay_out_published
from respeed.output.page import make_front, make_page, make_readme, make_review
from respeed.output.table import to_csv, to_latex, to_markdown
from respeed.paths import results_folder, write_text
from respeed.schedule.work import count_cases, machines_shown, notes_shown, papers_shown, profiles_shown


def read_tables(smoke: bool, only: Collection[str] = (), papers: Collection[str] | None = None) -> Tables:
    """Return every tidy table of the chosen `papers` (see `papers_shown`), for the machines in `only` or for all."""
    return make_tables(smoke, papers_shown(smoke, papers), profiles_shown(), notes_shown(), only, count_cases)


def build_tables(
    smoke: bool, machine: str | None = None, papers: Collection[str] | None = None, show: Sequence[str] = ()
) -> None:
    """Write results/tables: the tidy tables, and each published table as .csv, .md and .tex.

    Also write results/README.md, and results/front.html, the beginning of Snakemake's report. `show` and `machine` say
    which machines are in them (see `machines_shown`).
    """
    machines = machines_shown(smoke, machine, show)
    tables, results = read_tables(smoke, machines, papers), results_folder(smoke)
    folder = results / "tables"
    tables.write(folder)
    shown = Shown(tables.papers, machines, smoke, tables.frames)
    for paper in tables.papers.values():
        for experiment in paper.experiments.values():
            path = folder / paper.name / experiment.name
            table = lay_out_published(shown, paper, experiment)
            to_csv(table, path.with_name(f"{path.name}.csv"))
            write_text(path.with_name(f"{path.name}.md"), to_markdown(table, shown.stamp))
            write_text(path.with_name(f"{path.name}.tex"), to_latex(table, shown.stamp))
    write_text(results / "README.md", make_readme(shown))
    write_text(results / "front.html", make_front(shown))


def build_page(
    smoke: bool, machine: str | None = None, papers: Collection[str] | None = None, show: Sequence[str] = ()
) -> None:
    """Write results/tables.html from the tables and figures that exist.

    The page contains findings, claims, tables and figures, and needs no other file.
    """
    write_text(results_folder(smoke) / "tables.html", make_page(load_shown(smoke, machine, papers, show)))


def build_review(
    smoke: bool, machine: str | None = None, papers: Collection[str] | None = None, show: Sequence[str] = ()
) -> Path:
    """Write report/REVIEW.md, or report/REVIEW-smoke.md, from the tables that exist; return its path."""
    path = Path("report") / f"REVIEW{'-smoke' * smoke}.md"
    write_text(path, make_review(load_shown(smoke, machine, papers, show)))
    return path


def load_shown(
    smoke: bool, machine: str | None = None, papers: Collection[str] | None = None, show: Sequence[str] = ()
) -> Shown:
    """Read the tidy tables that were written, and return them with the papers and machines to show.

    Raises UserError if a table is missing.
    """
    tables = load_tables(results_folder(smoke) / "tables")
    known = set(tables["facts"]["machine"])
    machines = [name for name in machines_shown(smoke, machine, show) if name in known]
    return Shown(papers_shown(smoke, papers), machines, smoke, tables)
