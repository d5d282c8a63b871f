"""The contents of the report as one plain structure of formatted texts and tables, for the templates in report/."""

from importlib.metadata import version

from respeed.analysis.tables import Cell
from respeed.model import Experiment, Paper
from respeed.output.layout import Facts, front, section
from respeed.output.machines import lay_out_machine, lay_out_protocol
from respeed.output.results import Results
from respeed.paths import RUN, results_folder


def make_context(results: Results) -> Facts:
    """Return the contents of the report's facts file, ready for JSON."""
    started = results.table("rounds")["started"]
    return {
        "stamp": results.stamp,
        "version": version("respeed"),
        "run": RUN,
        "date": max(started, default="")[:10],
        "papers": [_paper(results, paper) for paper in results.papers.values()],
        "page": f"{results_folder(results.smoke)}/tables.html",
        "facts": [lay_out_machine(results, name) for name in results.machines],
    }


def _tables(results: Results, paper: Paper) -> list[Experiment]:
    """Return the tables that the paper speaks of; if none of these was measured, those that were as well."""
    discussed = {name for name, table in paper.experiments.items() if paper.speaks_of(table)}
    cells = results.rows(Cell, paper=paper.name)
    measured = {cell.experiment for cell in cells if cell.seconds}
    if paper.rows and not discussed & measured:
        discussed |= measured
    return [table for name, table in paper.experiments.items() if name in discussed]


def _paper(results: Results, paper: Paper) -> Facts:
    """Return a paper's first page, a section for each of its tables, and its protocol."""
    sections = [section(results, paper, table) for table in _tables(results, paper)]
    authors = ", ".join(author.strip("{}") for author in paper.authors)
    return front(results, paper) | {
        "is_published": bool(paper.rows),
        "source": f"{authors}. {paper.venue} {paper.year}.",
        "sections": [part for part in sections if part["tables"] or paper.rows],
        "protocol": lay_out_protocol(paper, only_doubtful=True),
    }
