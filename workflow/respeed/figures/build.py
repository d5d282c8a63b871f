"""Draws the figures of every machine that is shown in full."""

from collections.abc import Collection, Mapping

from respeed.analysis.labels import PAPER
from respeed.estimators.speedup import FULL_PRECISION
from respeed.figures.axis import place_cases
from respeed.figures.draw import draw_chart
from respeed.figures.learning import draw_curves, draw_pictures
from respeed.figures.looks import color_packages
from respeed.figures.reached import draw_reached
from respeed.figures.roofline import draw_roofline
from respeed.figures.scaling import draw_scaling
from respeed.figures.seconds import chart_seconds
from respeed.figures.speedup import chart_speedup
from respeed.figures.style import save_figure
from respeed.model.paper import Experiment, Paper
from respeed.paths import results_folder
from respeed.protocol import SMOKE_STAMP
from respeed.schedule.machines import machines_in_full
from respeed.tables.build import Tables, make_tables
from respeed.tables.others import Others, read_others
from respeed.tables.shown_speedups import shown_speedups


def build_figures(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> None:
    """Write results/figures/<paper>/<experiment>/<machine>-{seconds,speedup,learning,learned}.{svg,pdf,png}, and
    results/figures/<paper>/<machine>-roofline.{svg,pdf,png}; and of its hardware sheet
    results/figures/<machine>-{scaling,rates}.{svg,pdf,png}.

    Of all machines while they are few, or else of `machine`, all others together behind it (see schedule.machines).
    """
    in_full = machines_in_full(smoke, machine)
    tables, others = make_tables(smoke, in_full, papers), read_others(smoke, in_full)
    stamp = SMOKE_STAMP if smoke else ""
    colors = color_packages(tables.cells)
    for paper in tables.papers.values():
        for experiment in paper.experiments.values():
            for name in dict.fromkeys(cell.machine for cell in tables.cells):
                _build_pair(tables, others, paper, experiment, name, colors, stamp)
    _build_rooflines(tables, colors, stamp)
    _build_learning(tables, stamp)
    _build_sheets(tables, stamp)


def _build_pair(
    tables: Tables,
    others: Others,
    paper: Paper,
    experiment: Experiment,
    machine: str,
    colors: Mapping[tuple[str, bool], str],
    stamp: str,
) -> None:
    where = (machine, paper.name, experiment.name)
    cells = [cell for cell in tables.cells if (cell.machine, cell.paper, cell.experiment) == where]
    spreads = others.spread_of("seconds", paper.name, experiment.name)
    places, ordered = place_cases(experiment, cells, tables.smoke)
    shown = shown_speedups(tables, others, paper, experiment.name, machine)
    folder = results_folder(tables.smoke) / "figures" / paper.name / experiment.name
    for name, chart in (
        ("seconds", chart_seconds(tables, paper, experiment, machine, cells, colors, spreads)),
        ("speedup", chart_speedup(paper, experiment, machine, cells, shown, colors)),
    ):
        save_figure(draw_chart(chart, places, ordered, stamp), folder / f"{machine}-{name}")


def _build_rooflines(tables: Tables, colors: Mapping[tuple[str, bool], str], stamp: str) -> None:
    points = tables.roofline
    points = points[(points["precision"] == FULL_PRECISION) | (points["machine"] == PAPER)]
    for paper in tables.papers.values():
        theirs = points[(points["machine"] == PAPER) & (points["paper"] == paper.name)]
        for machine in dict.fromkeys(cell.machine for cell in tables.cells):
            ours = points[(points["machine"] == machine) & (points["paper"] == paper.name)]
            place = results_folder(tables.smoke) / "figures" / paper.name / f"{machine}-roofline"
            save_figure(draw_roofline(paper, ours, theirs, colors, stamp), place)


def _build_learning(tables: Tables, stamp: str) -> None:
    for record in tables.learning:
        paper = tables.papers.get(record["paper"])
        experiment = paper.experiments.get(record["experiment"]) if paper else None
        if experiment is None:
            continue
        place = results_folder(tables.smoke) / "figures" / record["paper"] / record["experiment"] / record["machine"]
        save_figure(draw_curves(experiment, record, stamp), place.with_name(f"{place.name}-learning"))
        save_figure(draw_pictures(experiment, record, stamp), place.with_name(f"{place.name}-learned"))


def _build_sheets(tables: Tables, stamp: str) -> None:
    folder = results_folder(tables.smoke) / "figures"
    for machine in tables.origins:
        scaled = [row for row in tables.scaling if row.machine == machine]
        reached = [row for row in tables.reached if row.machine == machine]
        save_figure(draw_scaling(machine, scaled, stamp), folder / f"{machine}-scaling")
        save_figure(draw_reached(machine, reached, stamp), folder / f"{machine}-rates")
