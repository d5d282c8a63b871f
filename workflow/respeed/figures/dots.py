"""A chart whose cases have no order: a line of the page for each, with a dot for every row."""

from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from respeed.figures.apart import stack_up
from respeed.figures.axis import ends_of, write_ticks
from respeed.figures.chart import Chart, Series
from respeed.figures.labels import Label, along, draw_leader, make_label, write_label
from respeed.figures.style import (
    GRID,
    INCH,
    MARGIN,
    PAGE,
    PALE,
    SIZE,
    THEIRS,
    finish,
    head_lines,
    new_figure,
    place_axes,
    write_head,
    write_text,
)
from respeed.figures.text import LEADING, break_lines, width_of

NAME_WIDTH = 130.0  # points
# The dots of a case lie below one another so far apart, as far as the page has room.
STEP, LEAST_STEP, ROOM, TALLEST = 4.2, 2.2, 8.0, 310.0
FOOT = 14.0


@dataclass(frozen=True)
class Row:
    """One line of the page: dots at heights from its middle, in points upwards."""

    name: tuple[str, ...]
    height: float
    dots: tuple[tuple[Series, int, float], ...]  # the series, the number of its point, how high
    spread: Any = None


def draw_dots(chart: Chart, stamp: str) -> Figure:
    """Cases from above; of a single case, a row of the table on each line."""
    rows = _rows(chart)
    alone = len(chart.cases) == 1
    named = [one for one in chart.labelled if not (alone and one.points)]
    labels = [make_label(one.label, one.look) for one in named]
    ends = ends_of(chart.values)
    left = max(width_of(line, SIZE) for row in rows for line in row.name) + 10
    anchors = [_anchor(one, chart) for one in named]
    length = _length(labels, [along(anchor, ends, 0, 1) for anchor in anchors], left)
    xs = [along(anchor, ends, left, length) for anchor in anchors]
    ups = stack_up(xs, [label.width + 4 for label in labels], [label.height for label in labels])
    stack = max((up + label.height for up, label in zip(ups, labels, strict=True)), default=0) + 4
    plot = sum(row.height for row in rows)
    head = head_lines(chart.title, chart.how_to_read)[2]
    figure, axes = new_figure((head + stack + plot + FOOT) / INCH)
    write_head(figure, chart.title, chart.how_to_read)
    place_axes(figure, axes, left=left, right=PAGE - left - length, bottom=FOOT, top=head + stack)
    axes.set(xscale="log", xlim=ends, ylim=(0, plot))
    axes.set_yticks([])
    axes.minorticks_off()
    write_ticks(axes.xaxis, ends, chart.suffix)
    if chart.base:
        axes.axvline(chart.base[0], color=THEIRS, linewidth=0.9, zorder=1.5)
    middles = _draw_rows(figure, axes, rows, left, plot)
    for label, one, x, up in zip(labels, named, xs, ups, strict=True):
        y = FOOT + plot + 4 + up + label.height / 2
        draw_leader(figure, [(x, _foot_of_leader(one, rows, middles, plot)), (x, y)], label.look.color)
        write_label(figure, label, x, y)
    return finish(figure, axes, stamp)


def _rows(chart: Chart) -> list[Row]:
    if len(chart.cases) == 1:
        case = chart.cases[0]
        made = [
            Row(tuple(break_lines(one.label, SIZE, NAME_WIDTH)), 15.0, ((one, place, 0.0),))
            for one in chart.series
            for place, point in enumerate(one.points)
            if point.case == case
        ]
        spread = chart.spreads.get(case)
        many = [Row((f"{spread.machines} machines",), 15.0, (), spread)] if spread else []
        return [_tall_enough(row) for row in (*made, *many)]
    step = min(STEP, (TALLEST / len(chart.cases) - ROOM) / max(1, len(chart.series)))
    step = max(LEAST_STEP, step)
    rows = []
    for case in chart.cases:
        found = [(one, place) for one in chart.series for place, point in enumerate(one.points) if point.case == case]
        dots = tuple((one, place, ((len(found) - 1) / 2 - number) * step) for number, (one, place) in enumerate(found))
        name = tuple(break_lines(case, SIZE, NAME_WIDTH))
        rows.append(_tall_enough(Row(name, step * max(2, len(found)) + ROOM, dots, chart.spreads.get(case))))
    return rows


def _tall_enough(row: Row) -> Row:
    return Row(row.name, max(row.height, LEADING * SIZE * len(row.name) + 3), row.dots, row.spread)


def _anchor(one: Series, chart: Chart) -> float:
    """Where on the axis the label of a series stands: at its ceiling, or else at its uppermost dot."""
    if one.ceiling or not one.points:
        return one.ceiling or (chart.base or (1.0,))[0]
    return min(one.points, key=lambda point: chart.cases.index(point.case)).value


def _length(labels: list[Label], shares: list[float], left: float) -> float:
    """Of the axis: the page's, but for what the labels need that begin at such shares of it."""
    whole = PAGE - left - 3 * MARGIN
    rooms = [(PAGE - left - label.width - MARGIN) / share for label, share in zip(labels, shares, strict=True)]
    return min([whole, *rooms])


def _draw_rows(figure: Figure, axes: Axes, rows: list[Row], left: float, plot: float) -> list[float]:
    """Their names and dots; the middle of each row, in points up the axis."""
    middles, top = [], plot
    for row in rows:
        middle = top - row.height / 2
        top -= row.height
        middles.append(middle)
        axes.axhline(top, color=GRID, linewidth=0.6, zorder=0.5)
        for number, line in enumerate(row.name):
            up = ((len(row.name) - 1) / 2 - number) * LEADING * SIZE
            write_text(figure, left - 8, FOOT + middle + up, line, align="right", size=SIZE)
        if row.spread:
            spread = row.spread
            axes.hlines(middle, spread.lowest, spread.highest, color=PALE, linewidth=3, zorder=1)
            axes.hlines(middle, spread.lower_quartile, spread.upper_quartile, color=PALE, linewidth=9, zorder=1)
            axes.plot(spread.median, middle, "|", color=THEIRS, markersize=9, zorder=1.5)
        for one, place, up in row.dots:
            _draw_dot(axes, one, place, middle + up)
    return middles


def _draw_dot(axes: Axes, one: Series, place: int, y: float) -> None:
    point, look = one.points[place], one.look
    if point.low and point.high:
        axes.hlines(y, point.low, point.high, color=look.color, linewidth=2.5, alpha=0.35, zorder=2)
    axes.plot(point.rounds, [y] * len(point.rounds), ".", color=look.color, alpha=0.4, markersize=2.5, zorder=2.5)
    axes.plot(point.value, y, linestyle="", zorder=3 if look.pale else 4, **look.mark())


def _foot_of_leader(one: Series, rows: list[Row], middles: list[float], plot: float) -> float:
    """How far down a label's line goes: through all rows where it is a ceiling, to the uppermost dot where not."""
    if one.ceiling:
        return FOOT
    for row, middle in zip(rows, middles, strict=True):
        for other, _, up in row.dots:
            if other is one:
                return FOOT + middle + up
    return FOOT + plot
