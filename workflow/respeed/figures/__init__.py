"""Figures, drawn from tables. No arithmetic here: what is drawn was derived there."""

from collections.abc import Collection, Iterator
from pathlib import Path

from matplotlib.figure import Figure

from respeed.analysis.cells import PAPER
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.roofline import make_history, make_roofline
from respeed.figures.charts import draw_chart
from respeed.figures.machine import chart_rates, chart_scaling, draw_history, draw_roofline
from respeed.figures.results import Outcome, Results, load_results
from respeed.figures.style import save_figure
from respeed.figures.timings import chart_speedup, color_packages
from respeed.paths import results_folder


def build_figures(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> None:
    """Write results/figures/<paper>/<experiment>/<machine>-speedup, <paper>/<machine>-roofline and
    <machine>-{scaling,rates}, each as .svg, .pdf and .png; of a paper that asks for it also <paper>/history.

    Of all machines while they are few, or else of `machine` (see schedule.selection).
    """
    folder = results_folder(smoke) / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for path, figure in _figures(load_results(smoke, machine, papers)):
        save_figure(figure, folder / path)


def _figures(results: Results) -> Iterator[tuple[Path, Figure]]:
    """Yield each figure with the place where it is written."""
    stamp, cells = results.stamp, results.table("cells")
    colors, machines = color_packages(cells), list(dict.fromkeys(cells["machine"]))
    for paper in results.papers.values():
        of_paper = results.table("cells", paper=paper.name)
        points = make_roofline(of_paper, {paper.name: paper})
        for name in machines:
            for experiment in paper.experiments.values():
                chart = chart_speedup(Outcome(results, paper, experiment, name), colors)
                yield Path(paper.name, experiment.name, f"{name}-speedup"), draw_chart(chart, stamp)
            ours = (points["machine"] == name) & (points["precision"] == FULL_PRECISION)
            shown = points[ours | (points["machine"] == PAPER)]
            yield Path(paper.name, f"{name}-roofline"), draw_roofline(paper, shown, colors, stamp)
        if paper.history:
            history = make_history(paper, of_paper, results.table("rounds"))
            yield Path(paper.name, "history"), draw_history(paper, history, stamp)
    for name in results.machines:
        yield Path(f"{name}-scaling"), draw_chart(chart_scaling(name, results.table("scaling", name)), stamp)
        yield Path(f"{name}-rates"), draw_chart(chart_rates(name, results.table("rates", name)), stamp)
