"""Charts of rows and cases: what they show, and the two forms in which seaborn draws it.

Where the cases have an order, rows are lines along it with a label at the end of each. Where they have none, each case
is a line of the page with a dot for every row.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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


def draw_chart(chart: Chart, places: dict[str, float], ordered: bool, stamp: str, page: Page = COLUMN) -> Figure:
    """Lines along an axis where several cases are `ordered`, with a place for each of them, or else dots."""
    if not chart.cases:
        canvas = Canvas(page, chart.title_on(page), chart.how_to_read, lambda _: Margins(plot=EMPTY))
        canvas.axes.set_axis_off()
        canvas.write(canvas.width / 2, canvas.plot / 2, chart.why_empty, align="center", size=SIZE, color=QUIET)
    elif ordered and len(chart.cases) > 1 and set(chart.cases) <= set(places):
        canvas = _draw_lines(chart, places, page)
    else:
        cases = sorted(chart.cases, key=lambda case: places.get(case, math.inf))
        canvas = _draw_dots(replace(chart, cases=tuple(cases)), page)
    return canvas.finish(stamp)


def draw_marks(axes: Axes, points: pd.DataFrame, looks: Mapping[str, Look], *, joined: bool, size: float = 4.5) -> None:
    """Draw `points` at their x and y, each as its `row` looks, those of a row and `program` joined by a line."""
    if points.empty:
        return
    there, colors = len(axes.lines), {row: looks[row].color for row in points["row"]}
    # With more than a colour told to seaborn, it takes several times as long.
    sns.lineplot(
        points, x="x", y="y", hue="row", units="program", estimator=None, sort=False, legend=False, palette=colors,
        linewidth=1.3 if joined else 0.0, ax=axes,
    )  # fmt: skip
    programs = points.groupby("row", sort=False)["program"].nunique()
    for line, row in zip(axes.lines[there:], programs.index.repeat(programs), strict=True):
        line.set(**looks[row].marks(size))
    axes.set(xlabel="", ylabel="")


def _draw_rows(axes: Axes, chart: Chart, points: pd.DataFrame, spread: pd.DataFrame, *, joined: bool) -> None:
    """All that lies within the axes: `points` and `spread`, each at its place `at` along the cases. These lie along the
    x-axis where marks are `joined`, and else along the other one."""
    values, across, bars = ("y", "x", axes.vlines) if joined else ("x", "y", axes.hlines)
    looks = {row.key: row.look for row in chart.rows}
    if chart.base:
        (axes.axhline if joined else axes.axvline)(chart.base[0], color=THEIRS, linewidth=0.9, zorder=1.5)
    bars(spread["at"], spread["lowest"], spread["highest"], color=PALE, linewidth=3, zorder=1)
    bars(spread["at"], spread["lower_quartile"], spread["upper_quartile"], color=PALE, linewidth=9, zorder=1)
    medians = {values: spread["median"], across: spread["at"]}
    axes.plot(medians["x"], medians["y"], "_" if joined else "|", color=THEIRS, markersize=9, zorder=1.5)
    draw_marks(axes, points.assign(**{across: points["at"], values: points["value"]}), looks, joined=joined)
    shown = points[[not (looks[row].pale and joined) for row in points["row"]]]
    known = shown[shown["low"].notna() & shown["high"].notna()]
    colors = [looks[row].color for row in known["row"]]
    bars(known["at"], known["low"], known["high"], linewidth=3.5 if joined else 2.5, color=colors, alpha=0.35, zorder=2)
    rounds = shown.explode("rounds").dropna(subset="rounds").astype({"rounds": float})
    if len(rounds):
        palette = {row: look.color for row, look in looks.items()}
        sns.scatterplot(rounds.rename(columns={"rounds": values, "at": across}), x="x", y="y", hue="row",
                        palette=palette, s=5, linewidth=0, alpha=0.4, zorder=2.5, legend=False, ax=axes)  # fmt: skip
    axes.set(xlabel="", ylabel="")


PLOT = 185.0
# Between the outermost cases and the ends of the axis, of its length.
ROOM = 0.05


def _draw_lines(chart: Chart, places: dict[str, float], page: Page) -> Canvas:
    """`places` has every case's along a logarithmic axis."""
    labels, ends = [make_label(row.label, row.look) for row in chart.labelled], chart.ends
    ticks = chart.ticks or ticks_of(*ends)
    left, right = width_of_ticks(ticks, chart.suffix), room_for(labels)
    plot = max(page.least(PLOT), sum(label.height for label in labels))

    def margins_at(width: float) -> Margins:
        foot = LEADING * TICK_SIZE * max(map(len, break_names(list(places), width - left - right))) + 10
        return Margins(plot, left=left, right=right, foot=foot)

    canvas = Canvas(page, chart.title_on(page), chart.how_to_read, margins_at)
    # Program by program from left to right; at the end the upper of the rightmost.
    points = chart.points.assign(at=chart.points["case"].map(places)).sort_values(["at", "value"], kind="stable")
    _draw_rows(canvas.axes, chart, points, chart.spread.assign(at=chart.spread["case"].map(places)), joined=True)
    low, high = min(places.values()), max(places.values())
    room = (high / low) ** (ROOM / (1 - 2 * ROOM)) if high > low else 2.0
    canvas.axes.set(xscale="log", yscale="log", xlim=(low / room, high * room), ylim=ends)
    canvas.axes.set_xticks([])
    canvas.axes.minorticks_off()
    set_ticks(canvas.axes.yaxis, ticks, chart.suffix)
    write_names(canvas, break_names(list(places), canvas.length), [canvas.x_of(place) for place in places.values()])
    tips = {one.row: (one.at, one.value) for one in rows_of(points)}
    found = [tips.get(row.key, (high * room, row.ceiling)) for row in chart.labelled]
    label_ends(canvas, labels, [(canvas.x_of(x), canvas.y_of(y)) for x, y in found])
    return canvas


NAME_WIDTH, FOOT, MARGIN = 130.0, 14.0, 2.0
# The dots of a case lie below one another so far apart, as far as the page has room.
STEP, LEAST_STEP, BETWEEN, TALLEST, ALONE = 4.2, 2.2, 8.0, 310.0, 15.0


def _draw_dots(chart: Chart, page: Page) -> Canvas:
    """Cases from above, each a line of the page; of a single case, a line for each row of the table."""
    points = chart.points.assign(order=chart.points["case"].map(chart.cases.index), line=chart.points["case"])
    points = points.sort_values("order", kind="stable").reset_index(drop=True)
    step = max(LEAST_STEP, min(STEP, (TALLEST / len(chart.cases) - BETWEEN) / max(1, len(chart.rows))))
    step = LEAST_STEP if page.shape else step
    spread, texts = chart.spread.assign(line=chart.spread["case"]), {case: case for case in chart.cases}
    if alone := len(chart.cases) == 1:
        points["line"], spread["line"] = points["row"], spread["machines"].map("{} machines".format)
        texts = {row.key: row.label for row in chart.rows} | {line: line for line in spread["line"]}
    names = {line: break_lines(text, SIZE, NAME_WIDTH) for line, text in texts.items()}
    numbers = points["line"].value_counts()
    heights = {
        line: max(ALONE if alone else step * max(2, numbers.get(line, 0)) + BETWEEN, LEADING * SIZE * len(name) + 3)
        for line, name in names.items()
    }
    # Of a single case, the lines of the page name the rows.
    named = [row for row in chart.labelled if not alone or row.key not in set(points["row"])]
    labels, ends = [make_label(row.label, row.look) for row in named], chart.ends
    firsts = points.drop_duplicates("row").set_index("row")["value"]
    anchors = [firsts[row.key] if math.isnan(row.ceiling) else row.ceiling for row in named]
    shares = [math.log(anchor / ends[0]) / math.log(ends[1] / ends[0]) for anchor in anchors]
    left = max(width_of(text, SIZE) for name in names.values() for text in name) + 10

    def ups_at(length: float) -> list[float]:
        xs = [left + length * share for share in shares]
        return stack_up(xs, [label.width + 4 for label in labels], [label.height for label in labels])

    def margins_at(width: float) -> Margins:
        rooms = [(width - left - label.width - MARGIN) / share for label, share in zip(labels, shares, strict=True)]
        length = min([width - left - 3 * MARGIN, *rooms])
        tops = [up + label.height for up, label in zip(ups_at(length), labels, strict=True)]
        plot = sum(heights.values())
        return Margins(plot, left=left, right=width - left - length, foot=FOOT, top=max(tops, default=0.0) + 4)

    canvas = Canvas(page, chart.title_on(page), chart.how_to_read, margins_at)
    axes, scale = canvas.axes, canvas.plot / sum(heights.values())
    middles, top = {}, canvas.plot
    for line, name in names.items():
        axes.axhline(top - heights[line] * scale, color=GRID, linewidth=0.6, zorder=0.5)
        middles[line] = top - heights[line] * scale / 2
        top -= heights[line] * scale
        write_lines(canvas, name, left - 8, FOOT + middles[line], align="right", size=SIZE)
    below = points.groupby("line").cumcount() - (points["line"].map(numbers) - 1) / 2
    points["at"] = points["line"].map(middles) - below * step * scale
    _draw_rows(axes, chart, points, spread.assign(at=spread["line"].map(middles)), joined=False)
    axes.set(xscale="log", xlim=ends, ylim=(0, canvas.plot))
    axes.set_yticks([])
    axes.minorticks_off()
    set_ticks(axes.xaxis, ticks_of(*ends), chart.suffix)
    for row, label, anchor, up in zip(named, labels, anchors, ups_at(canvas.length), strict=True):
        x, y = canvas.x_of(anchor), FOOT + canvas.plot + 4 + up + label.height / 2
        mine = points.loc[points["row"] == row.key, "at"]
        # Through all lines where it is a ceiling, to the uppermost dot where not.
        foot = FOOT + (mine.iloc[0] if math.isnan(row.ceiling) else 0.0 if len(mine) else canvas.plot)
        canvas.draw([(x, foot), (x, y)], color=label.look.color, linewidth=0.5)
        write_label(canvas, label, x, y)
    return canvas
