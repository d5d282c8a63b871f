"""The tables for people: each in the paper's shape and in several formats, and all on one page for a browser."""

from collections.abc import Collection
from pathlib import Path

from respeed.analysis.build import Tables, make_tables
from respeed.analysis.columns import ANEW, load_tables
from respeed.errors import UserError
from respeed.inputs.machines import PROFILE_FILES
from respeed.output.page import make_page, make_readme, make_review
from respeed.output.published import lay_out_published
from respeed.output.results import Results
from respeed.output.table import to_csv, to_latex, to_markdown
from respeed.paths import results_folder, write_text
from respeed.shown import Asked, machines_shown, papers_shown


def read_tables(smoke: bool, only: Collection[str] = (), papers: Collection[str] | None = None) -> Tables:
    """Return every tidy table of the chosen `papers` (see `papers_shown`), for the machines in `only` or for all."""
    return make_tables(smoke, papers_shown(smoke, papers), PROFILE_FILES.load_all(chosen=()), only)


def build_tables(choice: Asked) -> None:
    """Write results/tables: the tidy tables, and each published table as .csv, .md and .tex.

    Also write results/README.md and results/tables.html, for browsers. All are made from the tidy tables as written.
    """
    machines = machines_shown(choice.smoke, choice.machine, choice.show)
    folder = results_folder(choice.smoke)
    read_tables(choice.smoke, machines, choice.papers).write(folder / "tables")
    results = load_results(choice)
    for paper in results.papers.values():
        for experiment in paper.experiments.values():
            path = folder / "tables" / paper.name / f"{experiment.name}.md"
            table = lay_out_published(results, paper, experiment)
            to_csv(table, path.with_suffix(".csv"))
            write_text(path, to_markdown(table, results.stamp))
            write_text(path.with_suffix(".tex"), to_latex(table, results.stamp))
    write_text(folder / "README.md", make_readme(results))
    write_text(folder / "tables.html", make_page(results))


def build_review(choice: Asked) -> Path:
    """Write report/REVIEW.md, or report/REVIEW-smoke.md, from the tables that exist; return its path."""
    path = Path("report/REVIEW-smoke.md" if choice.smoke else "report/REVIEW.md")
    write_text(path, make_review(load_results(choice)))
    return path


def load_results(choice: Asked) -> Results:
    """Read the tidy tables that were written, and return them with the papers and machines to show.

    Raises UserError if a table is missing, or the tables lack a machine, such as one whose folder was renamed.
    """
    folder = results_folder(choice.smoke) / "tables"
    tables = load_tables(folder)
    machines = machines_shown(choice.smoke, choice.machine, choice.show)
    if missing := [name for name in machines if name not in set(tables["facts"]["machine"])]:
        raise UserError(f"{folder}: has nothing of {', '.join(missing)}; {ANEW}")
    return Results(papers_shown(choice.smoke, choice.papers), machines, choice.smoke, tables)
