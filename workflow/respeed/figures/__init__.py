"""Figures, drawn from the tidy tables. Times and intervals are estimated in `respeed.analysis`."""

from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from respeed.figures.charts import Outcome, chart_ladder, chart_speedup, draw_chart
from respeed.figures.style import color_packages, save_figure
from respeed.output import load_shown
from respeed.output.layout import Shown
from respeed.paths import results_folder
from respeed.shown import Asked


def build_figures(asked: Asked) -> None:
    """Draw every figure into results/figures, each as .svg, .pdf and .png; remove those of other machines and papers.

    The files are <paper>/<experiment>/<machine>-speedup, for the machines that are shown.
    """
    folder = results_folder(asked.smoke) / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    drawn = set[Path]()
    for path, figure in _figures(load_shown(asked)):
        save_figure(figure, folder / path)
        drawn.add(folder / path)
    for old in folder.rglob("*.*"):
        if old.with_suffix("") not in drawn:
            old.unlink()


def _figures(results: Shown) -> Iterator[tuple[Path, Figure]]:
    """Yield the path and the drawing of each figure."""
    stamp, cells = results.stamp, results.table("cells")
    colors, machines = color_packages(cells), cells["machine"].unique()
    for paper in results.papers.values():
        for name in machines:
            for experiment in (one for one in paper.experiments.values() if paper.has_figure(one)):
                outcome = Outcome(results, paper, experiment, name)
                chart = chart_ladder(outcome) if experiment.ladder else chart_speedup(outcome, colors)
                yield Path(paper.name, experiment.name, f"{name}-speedup"), draw_chart(chart, stamp)
