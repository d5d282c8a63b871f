"""Draws a chart in the form that its cases ask for."""

from matplotlib.figure import Figure

from respeed.figures.chart import Chart
from respeed.figures.dots import draw_dots
from respeed.figures.lines import draw_lines
from respeed.figures.style import (
    INCH,
    PAGE,
    QUIET,
    SIZE,
    finish,
    head_lines,
    new_figure,
    place_axes,
    write_head,
    write_text,
)

EMPTY = 40.0  # points


def draw_chart(chart: Chart, places: dict[str, float], ordered: bool, stamp: str) -> Figure:
    """Lines along an axis where several cases are `ordered`, with a place for each of them, or else dots."""
    if not chart.cases:
        return _draw_nothing(chart, stamp)
    if ordered and len(chart.cases) > 1 and set(chart.cases) <= set(places):
        return draw_lines(chart, places, stamp)
    return draw_dots(chart, stamp)


def _draw_nothing(chart: Chart, stamp: str) -> Figure:
    head = head_lines(chart.title, chart.how_to_read)[2]
    figure, axes = new_figure((head + EMPTY) / INCH)
    write_head(figure, chart.title, chart.how_to_read)
    place_axes(figure, axes, left=0, right=0, bottom=0, top=head)
    axes.set_axis_off()
    write_text(figure, PAGE / 2, EMPTY / 2, chart.why_empty, align="center", size=SIZE, color=QUIET)
    return finish(figure, axes, stamp)
