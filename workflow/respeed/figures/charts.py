"""Charts of rows and cases: a mark for each row in every case, joined by a line where the cases have an order."""

import math
from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.figure import Figure

from respeed.figures.style import (
    LABEL_LETTERS,
    QUIET,
    THEIRS,
    Look,
    add_legend,
    fold,
    legend_lines,
    new_figure,
    set_log,
)

# Of a frame of points: the key of its row, the case, and a number with its 95 % interval.
POINT = ["row", "case", "value", "low", "high"]
# Letters of the names of all cases that stand beside one another.
NAME_LETTERS = 64
# An axis shows at least such a factor: what noise does to equal numbers is no picture.
LEAST_FACTOR = 1.5


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    key: str
    label: str
    look: Look


@dataclass(frozen=True)
class Chart:
    """What a figure of rows and cases shows.

    `cases` are all columns in their order, `rows` those with `points` (POINT), `base` what lies at 1, `suffix` stands
    behind each number of the axis. Lines join the points of a row if it `is_ordered`. With nothing to show, `why_empty`
    says so.
    """

    title: str
    note: str
    cases: tuple[str, ...]
    rows: tuple[Row, ...]
    points: pd.DataFrame
    is_ordered: bool = False
    suffix: str = ""
    base: str = ""
    why_empty: str = "nothing measured yet"


def draw_chart(chart: Chart, stamp: str) -> Figure:
    """Draw the rows of a chart along its cases, with bars for their intervals."""
    base = [(chart.base, Look(THEIRS))] if chart.base and chart.rows else []
    looks = [row.look if chart.is_ordered else replace(row.look, line="") for row in chart.rows]
    entries = [*zip([row.label for row in chart.rows], looks, strict=True), *base]
    figure, axes = new_figure(chart.title, chart.note, legend_lines([label for label, _ in entries]), stamp)
    if not chart.rows:
        axes.set_axis_off()
        axes.text(0.5, 0.5, chart.why_empty, ha="center", va="center", color=QUIET, transform=axes.transAxes)
        return figure
    for place, (row, look) in enumerate(zip(chart.rows, looks, strict=True)):
        points = chart.points[chart.points["row"] == row.key]
        # Where no line joins them, the rows of a case stand beside one another.
        shift = 0.0 if chart.is_ordered else 0.8 * ((place + 0.5) / len(chart.rows) - 0.5)
        x = points["case"].map(chart.cases.index) + shift
        bars = [(points["value"] - points["low"]).fillna(0), (points["high"] - points["value"]).fillna(0)]
        axes.errorbar(x, points["value"], bars, elinewidth=2.5, markersize=4.5, linewidth=1.2, **look.marks)
    if chart.base:
        axes.axhline(1.0, color=THEIRS, linewidth=0.9, zorder=1)
    low, high = _ends(chart)
    axes.set(yscale="log", ylim=(low, high), xlim=(-0.6, len(chart.cases) - 0.4))
    set_log(axes.yaxis, chart.suffix)
    letters = NAME_LETTERS // len(chart.cases)
    is_long = max(map(len, chart.cases)) > 2 * letters
    names = [fold(case, LABEL_LETTERS if is_long else letters) for case in chart.cases]
    axes.set_xticks(range(len(names)), names, rotation=30 if is_long else 0, ha="right" if is_long else "center")
    if is_long:
        for label in axes.get_xticklabels():
            label.set_rotation_mode("anchor")
    axes.grid(visible=False, axis="x")
    add_legend(figure, entries)
    return figure


def _ends(chart: Chart) -> tuple[float, float]:
    """Return the ends of an axis that shows all numbers."""
    every = chart.points[["value", "low", "high"]].to_numpy(float).ravel()
    numbers = [number for number in (*every, *[1.0] * bool(chart.base)) if number > 0]
    low, high = min(numbers), max(numbers)
    room = max(math.sqrt(LEAST_FACTOR * low / high), (high / low) ** 0.06, 1.0)
    return low / room, high * room
