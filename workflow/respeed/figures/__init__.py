"""Figures, drawn from tables. No arithmetic here: what is drawn was derived there."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from respeed.analysis.cells import PAPER
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.roofline import make_history
from respeed.figures.charts import draw_chart
from respeed.figures.learning import draw_curves, draw_pictures
from respeed.figures.machine import chart_rates, chart_scaling, draw_history, draw_roofline
from respeed.figures.results import Outcome, Results, load_results
from respeed.figures.style import PAGES, save_figure
from respeed.figures.timings import chart_seconds, chart_speedup, color_packages, place_cases
from respeed.paths import results_folder
from respeed.schedule.outputs import RATIOS

# Draws a figure on the page that it is told by name.
Draw = Callable[..., Figure]


def build_figures(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> None:
    """Write results/figures/<paper>/<experiment>/<machine>-{seconds,speedup,learning,learned}.{svg,pdf,png}, and
    results/figures/<paper>/<machine>-roofline.{svg,pdf,png}; of a paper that asks for it
    results/figures/<paper>/history.{svg,pdf,png}; and of its hardware sheet
    results/figures/<machine>-{scaling,rates}.{svg,pdf,png}; each also for slides, <name>-slide.{svg,png}.

    Of all machines while they are few, or else of `machine`, all others together behind it (see schedule.selection).
    """
    results = load_results(smoke, machine, papers)
    for path, draw in _figures(results):
        for page in () if smoke and path.name.endswith(RATIOS) else PAGES:
            save_figure(draw(page=page), results_folder(smoke) / "figures" / path, page)


def _figures(results: Results) -> Iterator[tuple[Path, Draw]]:
    """Where each figure is written, and what draws it."""
    stamp, cells = results.stamp, results.table("cells")
    colors, machines = color_packages(cells), list(dict.fromkeys(cells["machine"]))
    for paper in results.papers.values():
        for experiment in paper.experiments.values():
            for name in machines:
                outcome = Outcome(results, paper, experiment, name)
                places, ordered = place_cases(outcome)
                for kind, chart_of in (("seconds", chart_seconds), ("speedup", chart_speedup)):
                    path, chart = Path(paper.name, experiment.name, f"{name}-{kind}"), chart_of(outcome, colors)
                    yield path, partial(draw_chart, chart, places, ordered, stamp)
        points = results.table("roofline", paper=paper.name)
        for name in machines:
            ours = (points["machine"] == name) & (points["precision"] == FULL_PRECISION)
            shown = points[ours | (points["machine"] == PAPER)]
            yield Path(paper.name, f"{name}-roofline"), partial(draw_roofline, paper, shown, colors, stamp)
        if paper.history:
            history = make_history(paper, results.table("cells", paper=paper.name), results.table("hardware"))
            yield Path(paper.name, "history"), partial(draw_history, paper, history, stamp)
    for record in results.learning:
        known = results.papers[record["paper"]].experiments if record["paper"] in results.papers else {}
        if record["experiment"] in known:
            place, experiment = Path(record["paper"], record["experiment"]), known[record["experiment"]]
            for kind, draw in (("learning", draw_curves), ("learned", draw_pictures)):
                yield place / f"{record['machine']}-{kind}", partial(draw, experiment, record, stamp)
    for name in results.table("hardware")["machine"]:
        chart, counts = chart_scaling(name, results.table("scaling", name))
        yield Path(f"{name}-scaling"), partial(draw_chart, chart, counts, True, stamp)
        chart = chart_rates(name, results.table("rates", name))
        yield Path(f"{name}-rates"), partial(draw_chart, chart, {}, False, stamp)
