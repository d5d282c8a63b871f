"""The parts of pages: a paper's first page, and the section of each of its tables."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from respeed.analysis.cells import reference
from respeed.analysis.claims import say_precision
from respeed.analysis.controls import count_controls
from respeed.analysis.neighbours import SLOWED
from respeed.analysis.tables import Cell
from respeed.model import Experiment, Paper
from respeed.output.claims import lay_out_claims
from respeed.output.finding import explain_largest, find, lay_out_answers, lay_out_why
from respeed.output.published import lay_out_published, slowdown
from respeed.output.results import Results
from respeed.paths import results_folder
from respeed.text import format_share

# What a template shows, by the name that it has there.
Facts = dict[str, Any]


def fronts(results: Results) -> list[Facts]:
    """Return the first page of every paper."""
    return [front(results, paper) for paper in results.papers.values()]


def front(results: Results, paper: Paper) -> Facts:
    """Return a paper's first page: findings, claims, and how well our numbers are known."""
    claims = lay_out_claims(results, paper)
    findings = [find(results, paper, name) for name in results.machines]
    pictures = [_pictures(results, paper, table) for table in paper.experiments.values()]
    forest = _picture(results, paper, "claims", f"Claims of {reference(paper)}")
    return {
        "name": paper.name,
        "findings": list(filter(None, findings)),
        "title": paper.title,
        "reference": reference(paper),
        "links": [(text, quote(address, safe=":/")) for text, address in paper.links.items()],
        "claim": paper.claim,
        "claims": claims,
        "forest": [forest] if claims.lines else [],
        "drawn": next(filter(None, pictures), []),
        "answers": list(lay_out_answers(results, paper)),
        "why": explain_largest(results, paper),
        "precision": _precision(results, paper),
    }


def _precision(results: Results, paper: Paper) -> list[str]:
    """Return for each machine how well its numbers of a paper are known."""
    texts = []
    is_first = paper.name == next(iter(results.papers))
    for machine in results.machines:
        cells = results.rows(Cell, machine=machine)
        settled = say_precision(paper, cells)
        if not settled:
            continue
        controls = count_controls(cells, results.samples) if is_first and not results.smoke else ""
        sentences = filter(None, [settled, controls, _say_neighbours(cells)])
        texts.append(f"{results.aliases[machine]}: {' '.join(sentences)}")
    return texts


def _say_neighbours(cells: Sequence[Cell]) -> str:
    """Say how far a machine's times were corrected for neighbours on the host; nothing if hardly."""
    largest = max(map(slowdown, cells))
    if largest <= SLOWED:
        return ""
    return f"Times are corrected for neighbours on the host, by up to {format_share(largest - 1)}."


def section(results: Results, paper: Paper, experiment: Experiment) -> Facts:
    """Return the section of one table: the table with our rows, the factors, and a figure for each machine."""
    tables = [lay_out_published(results, paper, experiment), *lay_out_why(results, paper, experiment)]
    return {
        "name": f"{paper.name}/{experiment.name}",
        "title": experiment.title,
        "caveats": experiment.caveats,
        "tables": [table for table in tables if table.lines],
        "figures": _pictures(results, paper, experiment),
    }


def _pictures(results: Results, paper: Paper, experiment: Experiment) -> list[dict[str, str]]:
    """Return the figures of a table, one for each machine of which it says something."""
    pictures = []
    for machine in results.machines:
        if results.has_figure(paper, experiment, machine):
            title = f"{experiment.title} on {results.aliases[machine]}"
            pictures.append(_picture(results, paper, f"{experiment.name}/{machine}-speedup", title))
    return pictures


def _picture(results: Results, paper: Paper, name: str, title: str) -> dict[str, str]:
    """Return the path of a figure, and the text for people who do not see it."""
    folder = results_folder(results.smoke) / "figures"
    alt = f"Chart: {title}, by case. Its numbers are in the tables."
    path = f"{paper.name}/{name}"
    return {"path": f"{folder}/{path}.svg", "name": path, "alt": alt}
