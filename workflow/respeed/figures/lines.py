"""A chart whose cases have an order: a line for each row, its label at the end."""

from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from respeed.figures.axis import ends_of, ticks_of, write_ticks
from respeed.figures.chart import Chart, Series
from respeed.figures.labels import LEADER, along, break_names, label_ends, make_label, write_names
from respeed.figures.style import (
    INCH,
    MARGIN,
    PAGE,
    PALE,
    THEIRS,
    TICK_SIZE,
    finish,
    head_lines,
    new_figure,
    place_axes,
    write_head,
)
from respeed.figures.text import LEADING, width_of

PLOT = 185.0  # points
# Between the outermost cases and the ends of the axis, of its length.
ROOM = 0.05


def draw_lines(chart: Chart, places: dict[str, float], stamp: str) -> Figure:
    """`places` has every case's along a logarithmic axis."""
    labels = [make_label(one.label, one.look) for one in chart.labelled]
    ends = ends_of(chart.values)
    plot = max(PLOT, sum(label.height for label in labels))
    texts = [f"{tick:,.12g}{chart.suffix}" for tick in chart.ticks or ticks_of(*ends)]
    left = max(width_of(text, TICK_SIZE) for text in texts) + 6
    right = LEADER + max((label.width for label in labels), default=0) + MARGIN
    names = break_names(list(places), PAGE - left - right)
    foot = LEADING * TICK_SIZE * max(len(lines) for lines in names) + 10
    head = head_lines(chart.title, chart.how_to_read)[2]
    figure, axes = new_figure((head + plot + foot) / INCH)
    write_head(figure, chart.title, chart.how_to_read)
    place_axes(figure, axes, left=left, right=right, bottom=foot, top=head)
    span = _span(places)
    axes.set(xscale="log", yscale="log", xlim=span, ylim=ends)
    axes.set_xticks([])
    axes.minorticks_off()
    write_ticks(axes.yaxis, ends, chart.suffix, chart.ticks)
    if chart.base:
        axes.axhline(chart.base[0], color=THEIRS, linewidth=0.9, zorder=1.5)
    _draw_spreads(axes, chart, places)
    for one in chart.series:
        _draw_series(axes, one, places)
    length = PAGE - left - right
    write_names(figure, names, [along(place, span, left, length) for place in places.values()], foot)
    tips = [_tip(one, chart, places, span[1]) for one in chart.labelled]
    tips = [(along(x, span, left, length), along(y, ends, foot, plot)) for x, y in tips]
    label_ends(figure, labels, tips, PAGE - right + LEADER, foot - 4, foot + plot + 4)
    return finish(figure, axes, stamp)


def _span(places: dict[str, float]) -> tuple[float, float]:
    low, high = min(places.values()), max(places.values())
    room = (high / low) ** (ROOM / (1 - 2 * ROOM)) if high > low else 2.0
    return low / room, high * room


def _tip(one: Series, chart: Chart, places: dict[str, float], edge: float) -> tuple[float, float]:
    """The end of a line, from where its label hangs."""
    if one.points:
        return max((places[point.case], point.value) for point in one.points)
    return edge, (chart.base or (1.0,))[0]


def _draw_series(axes: Axes, one: Series, places: dict[str, float]) -> None:
    look, front = one.look, 3 if one.look.pale else 4
    points = sorted(one.points, key=lambda point: (point.program, places[point.case]))
    for _, group in groupby(points, key=lambda point: point.program):
        joined = list(group)
        axes.plot(
            [places[point.case] for point in joined], [point.value for point in joined], linestyle=look.line,
            zorder=front, **look.mark(),
        )  # fmt: skip
    if look.pale:
        return
    for point in points:
        x = places[point.case]
        if point.low and point.high:
            axes.vlines(x, point.low, point.high, color=look.color, linewidth=3.5, alpha=0.35, zorder=2)
        axes.plot([x] * len(point.rounds), point.rounds, ".", color=look.color, alpha=0.4, markersize=2.5, zorder=2.5)


def _draw_spreads(axes: Axes, chart: Chart, places: dict[str, float]) -> None:
    """Many machines as a pale bar for each case: range, middle half (wider) and median (a dash)."""
    for case, one in chart.spreads.items():
        x = places[case]
        axes.vlines(x, one.lowest, one.highest, color=PALE, linewidth=3, zorder=1)
        axes.vlines(x, one.lower_quartile, one.upper_quartile, color=PALE, linewidth=9, zorder=1)
        axes.plot(x, one.median, "_", color=THEIRS, markersize=9, zorder=1.5)
