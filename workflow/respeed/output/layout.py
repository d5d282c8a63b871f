"""The parts of pages: a paper's first page, and the section of each of its tables."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from statistics import median
from typing import Any
from urllib.parse import quote

from respeed.analysis.cells import reference
from respeed.analysis.claims import say_precision
from respeed.analysis.controls import count_controls
from respeed.analysis.neighbours import SLOWED
from respeed.analysis.speedups import Samples
from respeed.analysis.tables import Cell, group_by
from respeed.model import Experiment, Paper
from respeed.output.claims import lay_out_claims
from respeed.output.finding import explain_largest, find, lay_out_answers, lay_out_why
from respeed.output.published import lay_out_published
from respeed.output.results import Results
from respeed.output.table import Table
from respeed.paths import results_folder
from respeed.text import format_share, join_words

# A function that writes a table in one format.
Write = Callable[[Table], Any]


def front(results: Results, paper: Paper, write: Write) -> dict[str, Any]:
    """Return a paper's first page, its tables in the format of `write`: findings, claims, our numbers' precision."""
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
        "claims": write(claims) if claims.lines or claims.notes else "",
        "forest": [forest] if claims.lines else [],
        "drawn": next(filter(None, pictures), []),
        "answers": list(map(write, lay_out_answers(results, paper))),
        "why": explain_largest(results, paper),
        "precision": _precision(results, paper),
    }


def _precision(results: Results, paper: Paper) -> list[str]:
    """Return for each machine how well its numbers of a paper are known."""
    texts = []
    samples = Samples(results.table("rounds"))
    is_first = paper is next(iter(results.papers.values()))
    for machine in results.machines:
        cells = results.rows(Cell, machine=machine)
        settled = say_precision(paper, cells)
        if not settled:
            continue
        controls = count_controls(cells, samples) if is_first and not results.smoke else ""
        sentences = filter(None, [settled, controls, _say_neighbours(cells)])
        texts.append(f"{results.aliases[machine]}: {' '.join(sentences)}")
    return texts


def _say_neighbours(cells: Sequence[Cell]) -> str:
    """Say how slow the reference product was on a machine's CPU rows, and how far times were corrected; or nothing."""
    on_cpu = [cell for cell in cells if cell.is_cpu]
    timed = [cell for cell in on_cpu if cell.seconds and cell.slowness and cell.threads]
    slowest: dict[str, float] = {}
    for row in group_by(timed, attrgetter("profile")).values():
        slowness = median(cell.slowness or 1.0 for cell in row)
        if slowness > SLOWED:
            first = row[0]
            cores = "one core" if first.threads == 1 else f"{first.threads} cores"
            name = f"{first.package}, {cores}"
            slowest[name] = max(slowness, slowest.get(name, SLOWED))
    if not slowest:
        return ""
    speeds = [f"{1 / slowness:.2f} ({name})" for name, slowness in slowest.items()]
    correction = max((cell.seconds_measured or 0.0) / (cell.seconds or 1.0) for cell in timed) - 1
    return (
        f"Neighbours on the host slowed a reference product to {join_words(speeds)} of its fastest; "
        f"times are corrected for that, by up to {format_share(correction)}."
    )


def section(results: Results, paper: Paper, experiment: Experiment, write: Write) -> dict[str, Any]:
    """Return the section of one table: the table with our rows, the factors, and a figure for each machine."""
    tables = [lay_out_published(results, paper, experiment), lay_out_why(results, paper, experiment)]
    return {
        "title": experiment.title,
        "caveats": list(experiment.caveats),
        "tables": [write(table) for table in tables if table and table.lines],
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
    path = results_folder(results.smoke) / "figures" / paper.name / f"{name}.svg"
    return {"path": str(path), "alt": f"Chart: {title}, by case. Its numbers are in the tables."}
