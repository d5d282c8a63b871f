"""Draws the figures of every machine that is shown in full."""

from itertools import pairwise

from respeed.estimators.speedup import FULL_PRECISION
from respeed.figures.learning import draw_curves, draw_pictures
from respeed.figures.roofline import draw_roofline
from respeed.figures.seconds import draw_seconds
from respeed.figures.speedup import draw_speedup
from respeed.figures.style import save_figure
from respeed.model.paper import Experiment
from respeed.model.timing import SMOKE_STAMP
from respeed.plan.machines import machines_in_full
from respeed.record.paths import results_folder
from respeed.tables.build import Tables, make_tables
from respeed.tables.cells import Cell
from respeed.tables.others import read_others
from respeed.tables.published import PAPER

# Two cases nearer than this factor would lie on one another.
APART = 1.15


def build_figures(smoke: bool, machine: str | None = None) -> None:
    """Write results/figures/<paper>/<experiment>/<machine>-{seconds,speedup,learning,learned}.{svg,png}, and
    results/figures/<paper>/<machine>-roofline.{svg,png}.

    Of all machines while they are few, or else of `machine`, all others together behind it (see plan.machines).
    """
    in_full = machines_in_full(smoke, machine)
    tables, others = make_tables(smoke, in_full), read_others(smoke, in_full)
    stamp = SMOKE_STAMP if smoke else ""
    for paper in tables.papers.values():
        for experiment in paper.experiments.values():
            seconds, factors = (others.spread_of(kind, paper.name, experiment.name) for kind in ("seconds", "speedup"))
            for machine in dict.fromkeys(cell.machine for cell in tables.cells):
                where = (machine, paper.name, experiment.name)
                cells = [cell for cell in tables.cells if (cell.machine, cell.paper, cell.experiment) == where]
                speedups = [row for row in tables.speedups if (row.machine, row.paper, row.experiment) == where]
                positions, ordered = place_cases(experiment, cells, smoke)
                folder = results_folder(smoke) / "figures" / paper.name / experiment.name
                save_figure(
                    draw_seconds(paper, experiment, cells, positions, stamp, lines=ordered, spreads=seconds),
                    folder / f"{machine}-seconds",
                )
                save_figure(
                    draw_speedup(paper, experiment, speedups, positions, stamp, lines=ordered, spreads=factors),
                    folder / f"{machine}-speedup",
                )
    _build_rooflines(tables, stamp)
    _build_learning(tables, stamp)


def _build_rooflines(tables: Tables, stamp: str) -> None:
    points = [point for point in tables.roofline if point.precision == FULL_PRECISION]
    for paper in tables.papers.values():
        theirs = [point for point in points if (point.machine, point.paper) == (PAPER, paper.name)]
        for machine in dict.fromkeys(cell.machine for cell in tables.cells):
            ours = [point for point in points if (point.machine, point.paper) == (machine, paper.name)]
            place = results_folder(tables.smoke) / "figures" / paper.name / f"{machine}-roofline"
            save_figure(draw_roofline(paper, ours, theirs, stamp), place)


def _build_learning(tables: Tables, stamp: str) -> None:
    for record in tables.learning:
        paper = tables.papers.get(record["paper"])
        experiment = paper.experiments.get(record["experiment"]) if paper else None
        if experiment is None:
            continue
        place = results_folder(tables.smoke) / "figures" / record["paper"] / record["experiment"] / record["machine"]
        save_figure(draw_curves(experiment, record, stamp), place.with_name(f"{place.name}-learning"))
        save_figure(draw_pictures(experiment, record, stamp), place.with_name(f"{place.name}-learned"))


def place_cases(experiment: Experiment, cells: list[Cell], smoke: bool) -> tuple[dict[str, float], bool]:
    """Where each case lies along the logarithmic axis, and whether lines may join them.

    At its arithmetic work; where that is not known (sparsities, which are ordered) or hardly tells two cases apart
    (which are not), one after another at equal distances.
    """
    cases = experiment.case_names(smoke)
    work = {cell.case: cell.work for cell in cells if cell.work}
    if all(case in work for case in cases):
        placed = {case: work[case] for case in sorted(cases, key=lambda case: work[case])}
        if all(right > APART * left for left, right in pairwise(placed.values())):
            return placed, True
    return {case: 2.0**position for position, case in enumerate(cases)}, not work
