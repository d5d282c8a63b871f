"""Draws every figure of every machine that there are records of."""

from respeed.figures.seconds import draw_seconds
from respeed.figures.speedup import draw_speedup
from respeed.figures.style import save_figure
from respeed.model.paper import Experiment
from respeed.model.timing import SMOKE_STAMP
from respeed.record.paths import results_folder
from respeed.tables.build import make_tables
from respeed.tables.cells import Cell


def build_figures(smoke: bool) -> None:
    """Write results/figures/<paper>/<experiment>/<machine>-{seconds,speedup}.{svg,png}."""
    tables = make_tables(smoke)
    stamp = SMOKE_STAMP if smoke else ""
    for paper in tables.papers.values():
        for experiment in paper.experiments.values():
            for machine in dict.fromkeys(cell.machine for cell in tables.cells):
                where = (machine, paper.name, experiment.name)
                cells = [cell for cell in tables.cells if (cell.machine, cell.paper, cell.experiment) == where]
                speedups = [row for row in tables.speedups if (row.machine, row.paper, row.experiment) == where]
                positions = place_cases(experiment, cells, smoke)
                folder = results_folder(smoke) / "figures" / paper.name / experiment.name
                save_figure(draw_seconds(paper, experiment, cells, positions, stamp), folder / f"{machine}-seconds")
                save_figure(draw_speedup(paper, experiment, speedups, positions, stamp), folder / f"{machine}-speedup")


def place_cases(experiment: Experiment, cells: list[Cell], smoke: bool) -> dict[str, float]:
    """Where each case lies along the axis: at its arithmetic work or, where that is not known, one after another."""
    cases = [case.name for case in (experiment.smoke_cases if smoke else experiment.cases)]
    work = {cell.case: cell.work for cell in cells if cell.work}
    if all(case in work for case in cases):
        return {case: work[case] for case in sorted(cases, key=lambda case: work[case])}
    return {case: float(position) for position, case in enumerate(cases, start=1)}
