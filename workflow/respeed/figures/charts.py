"""Charts of rows and cases: what they show, and the two forms in which seaborn draws it.

Where the cases have an order, rows are lines along it with a label at the end of each. Where they have none, each case
is a line of the page with a dot for every row.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from respeed.analysis.columns import rows_of
from respeed.figures.labels import (
    Look,
    break_names,
    label_ends,
    make_label,
    room_for,
    stack_up,
    write_label,
    write_lines,
    write_names,
)
from respeed.figures.style import (
    COLUMN,
    GRID,
    LEADING,
    PALE,
    QUIET,
    SIZE,
    THEIRS,
    TICK_SIZE,
    Canvas,
    Margins,
    Page,
    break_lines,
    ends_of,
    set_ticks,
    ticks_of,
    width_of,
    width_of_ticks,
)

# Of a frame of points: the key of its row, the case, a number with its 95 % interval, the program (points of one are
# joined by a line), and the single rounds that the number was made of.
POINT = ["row", "case", "value", "low", "high", "program", "rounds"]
SPREAD = ["case", "machines", "lowest", "lower_quartile", "median", "upper_quartile", "highest"]
ONE_CORE = "single-cpu"
EMPTY = 40.0  # points


@dataclass(frozen=True)
class Row:
    """One row of a table; `ceiling` is the highest that it could be."""

    key: str
    label: str
    look: Look
    ceiling: float = math.nan


@dataclass(frozen=True)
class Chart:
    """What a figure of rows and cases shows, however it is drawn.

    A slide, which has no `note`, has `more` behind the title. `cases` are all columns in their order, `rows` those with
    `points` (POINT), `base` a number that all are relative to and what it is, `spread` how far many machines lie apart
    (SPREAD). `suffix` stands behind each number of the axis, which has these `ticks` or else round ones. `bars` and
    `dots` say what these are. With nothing to show, `why_empty` says so.
    """

    title: str
    note: str
    cases: tuple[str, ...]
    rows: tuple[Row, ...]
    points: pd.DataFrame
    more: str = ""
    suffix: str = ""
    base: tuple[float, str] | None = None
    spread: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=SPREAD))
    why_empty: str = "nothing measured yet"
    ticks: tuple[float, ...] = ()
    bars: str = "95 % intervals"
    dots: str = "rounds"

    @property
    def labelled(self) -> list[Row]:
        """The rows that have a label, and the base as one of them."""
        base = [Row("", self.base[1], Look(THEIRS), self.base[0])] if self.base and self.rows else []
        return [*(row for row in self.rows if not row.look.pale), *base]

    @property
    def how_to_read(self) -> str:
        """The note, and what the marks are that there are."""
        marks = (
            (f"Bars: {self.bars}.", self.points["low"].notna().any()),
            (f"Faint points: single {self.dots}.", (self.points["rounds"].map(len) > 1).any()),
            ("Pale: slower rows of the same algorithm.", any(row.look.pale for row in self.rows)),
        )
        return " ".join([self.note, *(text for text, there in marks if there)])

    @property
    def ends(self) -> tuple[float, float]:
        """Those of an axis that shows all numbers."""
        numbers = [*self.points[["value", "low", "high"]].to_numpy(float).flat, *self.points["rounds"].explode()]
        numbers += [*self.spread[["lowest", "highest"]].to_numpy(float).flat, *(row.ceiling for row in self.labelled)]
        return ends_of([number for number in numbers if number > 0])

    def title_on(self, page: Page) -> str:
        return self.title + (self.more if page.shape else "")

    def points_of(self, row: Row) -> pd.DataFrame:
        return self.points[self.points["row"] == row.key]


def draw_chart(chart: Chart, places: dict[str, float], ordered: bool, stamp: str, page: Page = COLUMN) -> Figure:
    """Lines along an axis where several cases are `ordered`, with a place for each of them, or else dots."""
    if not chart.cases:
        return _draw_nothing(chart, stamp, page)
    if ordered and len(chart.cases) > 1 and set(chart.cases) <= set(places):
        return _draw_lines(chart, places, stamp, page)
    return _draw_dots(chart, stamp, page)


def _draw_nothing(chart: Chart, stamp: str, page: Page) -> Figure:
    canvas = Canvas(page, chart.title_on(page), chart.how_to_read, lambda _: Margins(plot=EMPTY))
    canvas.axes.set_axis_off()
    canvas.write(canvas.width / 2, canvas.plot / 2, chart.why_empty, align="center", size=SIZE, color=QUIET)
    return canvas.finish(stamp)


def draw_marks(axes: Axes, points: pd.DataFrame, looks: Mapping[str, Look], *, joined: bool, size: float = 4.5) -> None:
    """Draw `points` at their x and y, each as its `row` looks, those of a row and `program` joined by a line."""
    kinds = {row: looks[row].marks(size) for row in points["row"]}
    for marks in dict.fromkeys(kinds.values()):
        mine = points[[kinds[row] == marks for row in points["row"]]]
        rows = list(dict.fromkeys(mine["row"]))
        sns.lineplot(
            mine, x="x", y="y", hue="row", style="row", units="program", estimator=None, sort=False, legend=False,
            palette={row: looks[row].color for row in rows}, markers={row: looks[row].marker for row in rows},
            dashes={row: looks[row].dashes for row in rows}, linewidth=1.3 if joined else 0.0, ax=axes,
            **dict(marks),
        )  # fmt: skip
    axes.set(xlabel="", ylabel="")


def _draw_rows(axes: Axes, chart: Chart, points: pd.DataFrame, *, joined: bool) -> None:
    """The marks of a chart; intervals and rounds lie along the axis of the numbers: upright where marks are joined."""
    looks = {row.key: row.look for row in chart.rows}
    draw_marks(axes, points, looks, joined=joined)
    shown = points[[not (looks[row].pale and joined) for row in points["row"]]]
    known = shown[shown["low"].notna() & shown["high"].notna()]
    bars: dict[str, Any] = {"color": [looks[row].color for row in known["row"]], "alpha": 0.35, "zorder": 2}
    if joined:
        axes.vlines(known["x"], known["low"], known["high"], linewidth=3.5, **bars)
    else:
        axes.hlines(known["y"], known["low"], known["high"], linewidth=2.5, **bars)
    rounds = shown.explode("rounds").dropna(subset="rounds")
    rounds = rounds.assign(**{"y" if joined else "x": rounds["rounds"].astype(float)})
    if len(rounds):
        palette = {row: look.color for row, look in looks.items()}
        sns.scatterplot(rounds, x="x", y="y", hue="row", palette=palette, s=5, linewidth=0, alpha=0.4, zorder=2.5,
                        legend=False, ax=axes)  # fmt: skip
    axes.set(xlabel="", ylabel="")


PLOT = 185.0
# Between the outermost cases and the ends of the axis, of its length.
ROOM = 0.05


def _draw_lines(chart: Chart, places: dict[str, float], stamp: str, page: Page) -> Figure:
    """`places` has every case's along a logarithmic axis."""
    labels, ends = [make_label(row.label, row.look) for row in chart.labelled], chart.ends
    ticks = chart.ticks or ticks_of(*ends)
    left, right = width_of_ticks(ticks, chart.suffix), room_for(labels)
    plot = max(page.least(PLOT), sum(label.height for label in labels))

    def margins_at(width: float) -> Margins:
        foot = LEADING * TICK_SIZE * max(map(len, break_names(list(places), width - left - right))) + 10
        return Margins(plot, left=left, right=right, foot=foot)

    canvas = Canvas(page, chart.title_on(page), chart.how_to_read, margins_at)
    axes = canvas.axes
    _draw_rows(axes, chart, _along(chart.points, places), joined=True)
    low, high = min(places.values()), max(places.values())
    room = (high / low) ** (ROOM / (1 - 2 * ROOM)) if high > low else 2.0
    axes.set(xscale="log", yscale="log", xlim=(low / room, high * room), ylim=ends)
    axes.set_xticks([])
    axes.minorticks_off()
    set_ticks(axes.yaxis, ticks, chart.suffix)
    if chart.base:
        axes.axhline(chart.base[0], color=THEIRS, linewidth=0.9, zorder=1.5)
    spread, xs = chart.spread, chart.spread["case"].map(places)
    axes.vlines(xs, spread["lowest"], spread["highest"], color=PALE, linewidth=3, zorder=1)
    axes.vlines(xs, spread["lower_quartile"], spread["upper_quartile"], color=PALE, linewidth=9, zorder=1)
    axes.plot(xs, spread["median"], "_", color=THEIRS, markersize=9, zorder=1.5)
    write_names(canvas, break_names(list(places), canvas.length), [canvas.x_of(place) for place in places.values()])
    tips = []
    for row in chart.labelled:
        ours = _along(chart.points_of(row), places)
        tip = (ours["x"].iloc[-1], ours["y"].iloc[-1]) if len(ours) else (high * room, row.ceiling)
        tips.append((canvas.x_of(tip[0]), canvas.y_of(tip[1])))
    label_ends(canvas, labels, tips)
    return canvas.finish(stamp)


def _along(points: pd.DataFrame, places: dict[str, float]) -> pd.DataFrame:
    """The points with their places, program by program from left to right; at the end the upper of the rightmost."""
    found = points.assign(x=points["case"].map(places), y=points["value"])
    return found.sort_values(["x", "y"], kind="stable")


NAME_WIDTH, FOOT, MARGIN = 130.0, 14.0, 2.0
# The dots of a case lie below one another so far apart, as far as the page has room.
STEP, LEAST_STEP, BETWEEN, TALLEST, ALONE = 4.2, 2.2, 8.0, 310.0, 15.0


@dataclass(frozen=True)
class _Line:
    """One line of the page: its name, the places of its points in the chart's, and how tall it is at least."""

    name: tuple[str, ...]
    points: tuple[int, ...]
    height: float
    spread: pd.DataFrame


def _draw_dots(chart: Chart, stamp: str, page: Page) -> Figure:
    """Cases from above; of a single case, a row of the table on each line."""
    points = chart.points.assign(order=chart.points["case"].map(chart.cases.index))
    points = points.sort_values("order", kind="stable").reset_index(drop=True)
    step = max(LEAST_STEP, min(STEP, (TALLEST / len(chart.cases) - BETWEEN) / max(1, len(chart.rows))))
    step = LEAST_STEP if page.shape else step
    lines = _lines(chart, points, step)
    # Of a single case, the lines of the page name the rows.
    named = [row for row in chart.labelled if len(chart.cases) > 1 or not (points["row"] == row.key).any()]
    labels, ends = [make_label(row.label, row.look) for row in named], chart.ends
    anchors = [points.loc[points["row"] == row.key, "value"].iloc[0] if math.isnan(row.ceiling) else row.ceiling
               for row in named]  # fmt: skip
    shares = [math.log(anchor / ends[0]) / math.log(ends[1] / ends[0]) for anchor in anchors]
    left = max(width_of(text, SIZE) for line in lines for text in line.name) + 10

    def ups_at(length: float) -> list[float]:
        xs = [left + length * share for share in shares]
        return stack_up(xs, [label.width + 4 for label in labels], [label.height for label in labels])

    def margins_at(width: float) -> Margins:
        rooms = [(width - left - label.width - MARGIN) / share for label, share in zip(labels, shares, strict=True)]
        length = min([width - left - 3 * MARGIN, *rooms])
        tops = [up + label.height for up, label in zip(ups_at(length), labels, strict=True)]
        plot = sum(line.height for line in lines)
        return Margins(plot, left=left, right=width - left - length, foot=FOOT, top=max(tops, default=0.0) + 4)

    canvas = Canvas(page, chart.title_on(page), chart.how_to_read, margins_at)
    axes, scale = canvas.axes, canvas.plot / sum(line.height for line in lines)
    points["y"], top = 0.0, canvas.plot
    for line in lines:
        top -= line.height * scale
        middle = top + line.height * scale / 2
        for number, place in enumerate(line.points):
            points.loc[place, "y"] = middle + ((len(line.points) - 1) / 2 - number) * step * scale
        axes.axhline(top, color=GRID, linewidth=0.6, zorder=0.5)
        write_lines(canvas, line.name, left - 8, FOOT + middle, align="right", size=SIZE)
        axes.hlines([middle] * len(line.spread), line.spread["lowest"], line.spread["highest"], color=PALE,
                    linewidth=3, zorder=1)  # fmt: skip
        axes.hlines([middle] * len(line.spread), line.spread["lower_quartile"], line.spread["upper_quartile"],
                    color=PALE, linewidth=9, zorder=1)  # fmt: skip
        axes.plot(line.spread["median"], [middle] * len(line.spread), "|", color=THEIRS, markersize=9, zorder=1.5)
    _draw_rows(axes, chart, points.assign(x=points["value"]), joined=False)
    axes.set(xscale="log", xlim=ends, ylim=(0, canvas.plot))
    axes.set_yticks([])
    axes.minorticks_off()
    set_ticks(axes.xaxis, ticks_of(*ends), chart.suffix)
    if chart.base:
        axes.axvline(chart.base[0], color=THEIRS, linewidth=0.9, zorder=1.5)
    for row, label, anchor, up in zip(named, labels, anchors, ups_at(canvas.length), strict=True):
        x, y = canvas.x_of(anchor), FOOT + canvas.plot + 4 + up + label.height / 2
        mine = points.loc[points["row"] == row.key, "y"]
        # Through all lines where it is a ceiling, to the uppermost dot where not.
        foot = FOOT + (mine.iloc[0] if math.isnan(row.ceiling) else 0.0 if len(mine) else canvas.plot)
        canvas.draw([(x, foot), (x, y)], color=label.look.color, linewidth=0.5)
        write_label(canvas, label, x, y)
    return canvas.finish(stamp)


def _lines(chart: Chart, points: pd.DataFrame, step: float) -> list[_Line]:
    parts: list[tuple[str, tuple[int, ...], float, pd.DataFrame]] = []
    if len(chart.cases) == 1:
        labels = {row.key: row.label for row in chart.rows}
        parts += [(labels[key], (place,), ALONE, chart.spread[:0]) for place, key in enumerate(points["row"])]
        parts += [(f"{one.machines} machines", (), ALONE, chart.spread) for one in rows_of(chart.spread)]
    for case in chart.cases if len(chart.cases) > 1 else ():
        mine = tuple(points.index[points["case"] == case])
        parts.append((case, mine, step * max(2, len(mine)) + BETWEEN, chart.spread[chart.spread["case"] == case]))
    return [
        _Line(name, mine, max(height, LEADING * SIZE * len(name) + 3), spread)
        for text, mine, height, spread in parts
        if (name := tuple(break_lines(text, SIZE, NAME_WIDTH)))
    ]
