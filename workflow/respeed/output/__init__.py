"""The tables for people: each in the paper's shape and in several formats, and all on one page for a browser."""

from collections.abc import Collection
from pathlib import Path

from respeed.analysis.build import Tables, make_tables
from respeed.analysis.columns import ANEW, load_tables
from respeed.analysis.counts import count_cases
from respeed.errors import UserError
from respeed.output.layout import Shown, lay_out_published
from respeed.output.page import make_page, make_readme, make_review
from respeed.output.table import to_csv, to_latex, to_markdown
from respeed.paths import results_folder, write_text
from respeed.shown import Asked, machines_shown, notes_shown, papers_shown, profiles_shown


def read_tables(smoke: bool, only: Collection[str] = (), papers: Collection[str] | None = None) -> Tables:
    """Return every tidy table of the chosen `papers` (see `papers_shown`), for the machines in `only` or for all."""
    return make_tables(smoke, papers_shown(smoke, papers), profiles_shown(), notes_shown(), only, count_cases)


def build_tables(asked: Asked) -> None:
    """Write results/tables: the tidy tables, and each published table as .csv, .md and .tex.

    Also write results/README.md, and from the tidy tables as they were written results/tables.html, for browsers.
    """
    machines = machines_shown(asked.smoke, asked.machine, asked.show)
    tables, results = read_tables(asked.smoke, machines, asked.papers), results_folder(asked.smoke)
    folder = results / "tables"
    tables.write(folder)
    shown = Shown(tables.papers, machines, asked.smoke, tables.frames)
    for paper in tables.papers.values():
        for experiment in paper.experiments.values():
            path = folder / paper.name / experiment.name
            table = lay_out_published(shown, paper, experiment)
            to_csv(table, path.with_name(f"{path.name}.csv"))
            write_text(path.with_name(f"{path.name}.md"), to_markdown(table, shown.stamp))
            write_text(path.with_name(f"{path.name}.tex"), to_latex(table, shown.stamp))
    write_text(results / "README.md", make_readme(shown))
    write_text(results / "tables.html", make_page(load_shown(asked)))


def build_review(asked: Asked) -> Path:
    """Write report/REVIEW.md, or report/REVIEW-smoke.md, from the tables that exist; return its path."""
    path = Path("report") / f"REVIEW{'-smoke' if asked.smoke else ''}.md"
    write_text(path, make_review(load_shown(asked)))
    return path


def load_shown(asked: Asked) -> Shown:
    """Read the tidy tables that were written, and return them with the papers and machines to show.

    Raises UserError if a table is missing, or the tables lack a machine, such as one whose folder was renamed.
    """
    folder = results_folder(asked.smoke) / "tables"
    tables = load_tables(folder)
    shown = machines_shown(asked.smoke, asked.machine, asked.show)
    if missing := [name for name in shown if name not in set(tables["facts"]["machine"])]:
        raise UserError(f"{folder}: has nothing of {', '.join(missing)}; {ANEW}")
    return Shown(papers_shown(asked.smoke, asked.papers), shown, asked.smoke, tables)
