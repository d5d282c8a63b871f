"""Figures, drawn from tables: no time and no interval is estimated here."""

from collections.abc import Collection, Iterator
from pathlib import Path

from matplotlib.figure import Figure

from respeed.figures.charts import Outcome, chart_speedup, draw_chart
from respeed.figures.machine import (
    chart_rates,
    chart_scaling,
    draw_history,
    draw_roofline,
)
from respeed.figures.style import color_packages, save_figure
from respeed.output import load_shown
from respeed.output.layout import Shown
from respeed.paths import results_folder


def build_figures(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> None:
    """Write results/figures/<paper>/<experiment>/<machine>-speedup, <paper>/<machine>-roofline and
    <machine>-{scaling,rates}, each as .svg, .pdf and .png; of a paper that asks for it also <paper>/history.

    Of all machines while they are few, or else of `machine` (see schedule.selection).
    """
    folder = results_folder(smoke) / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for path, figure in _figures(load_shown(smoke, machine, papers)):
        save_figure(figure, folder / path)


def _figures(results: Shown) -> Iterator[tuple[Path, Figure]]:
    """Yield each figure with the place where it is written."""
    stamp, cells = results.stamp, results.table("cells")
    colors, machines = color_packages(cells), cells["machine"].unique()
    for paper in results.papers.values():
        for name in machines:
            for experiment in paper.experiments.values():
                chart = chart_speedup(Outcome(results, paper, experiment, name), colors)
                yield Path(paper.name, experiment.name, f"{name}-speedup"), draw_chart(chart, stamp)
            yield Path(paper.name, f"{name}-roofline"), draw_roofline(paper, name, cells, colors, stamp)
        if paper.history:
            of_paper, rounds = results.table("cells", paper=paper.name), results.table("rounds", paper=paper.name)
            yield Path(paper.name, "history"), draw_history(paper, of_paper, rounds, colors, stamp)
    for name in results.machines:
        yield Path(f"{name}-scaling"), draw_chart(chart_scaling(name, results.table("scaling", machine=name)), stamp)
        yield Path(f"{name}-rates"), draw_chart(chart_rates(name, results.table("rates", machine=name)), stamp)
