"""Charts of rows and cases: a mark for each row in every case, joined by a line if the cases have an order.

The chart of a table shows what each row does in a second, or how many times as fast as a row of the paper it is. The
colour shows the package, or is grey for the paper; small marks and broken lines show one core; hollow, pale marks show
numbers without an interval; the shape of a mark shows the row.
"""

from dataclasses import dataclass
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from respeed.analysis.cells import PAPER, label_row, reference
from respeed.analysis.columns import any_rows_of
from respeed.analysis.estimates import FULL_PRECISION
from respeed.figures.style import (
    LABEL_LETTERS,
    MARKERS,
    ONE_CORE,
    THEIR_MARKERS,
    THEIRS,
    UNSURE,
    Colors,
    Look,
    finish,
    fold,
    look_of,
    mark_ticks,
    new_figure,
)
from respeed.model import Experiment, Names, Paper, number_bytes
from respeed.output.layout import Shown

# The columns of a frame of points: the key of the row, the case, and a number with its 95 % interval.
POINT = ["row", "case", "value", "low", "high"]
# Letters that fit on one axis, for the names of all cases together.
NAME_LETTERS = 64
NOTE = "Bars: 95 % intervals. Hollow: no interval. Small: one core."
# More of the paper's rows than these would hide ours.
MOST_THEIRS = 12
# More names than these would lie far from the ends of their lines; the least way from name to name is a share of the
# axis.
MOST_AT_ENDS, LEAST_GAP = 12, 0.09
# Two cases nearer than this factor have no order that a line could show.
APART = 1.15


@dataclass(frozen=True)
class Row:
    """One row of a chart; its `key` is the `row` of its points."""

    key: str
    label: str
    look: Look


@dataclass(frozen=True)
class Chart:
    """The contents of a figure of rows and cases.

    `cases` are the labels of the horizontal axis, in order; `points` has the columns POINT. Lines join the points of a
    row if `is_ordered`; a line at 1 is drawn if `has_base`.
    """

    title: str
    note: str
    x_title: str
    y_title: str
    cases: Names
    rows: tuple[Row, ...]
    points: pd.DataFrame
    is_ordered: bool = False
    has_base: bool = False


def draw_chart(chart: Chart, stamp: str) -> Figure:
    """Draw the rows of a chart along its cases, with bars for the intervals of numbers."""
    figure, axes = new_figure(chart.title, chart.note, stamp)
    is_long = any(len(row.label) > LABEL_LETTERS for row in chart.rows)
    has_key = is_long or not chart.is_ordered or len(chart.rows) > MOST_AT_ENDS
    for place, row in enumerate(chart.rows):
        points = chart.points[chart.points["row"] == row.key]
        look = row.look if chart.is_ordered else row.look | {"linestyle": ""}
        # Without lines, the rows of a case are drawn side by side.
        shift = 0.0 if chart.is_ordered else 0.8 * ((place + 0.5) / len(chart.rows) - 0.5)
        x = points["case"].map(chart.cases.index) + shift
        bars = [(points["value"] - points["low"]).fillna(0), (points["high"] - points["value"]).fillna(0)]
        axes.errorbar(x, points["value"], bars, fmt="none", elinewidth=2.5, ecolor=look["color"], clip_on=False)
        # The paper's numbers have no interval, and need none.
        is_sure = points["low"].notna() | (look["color"] == THEIRS)
        label = fold(row.label) if has_key else None
        axes.plot(x, points["value"], label=label, clip_on=False, markevery=is_sure.tolist(), **look)
        if not is_sure.all():
            axes.plot(x[~is_sure], points["value"][~is_sure], clip_on=False, **look | UNSURE)
    if chart.has_base:
        axes.axhline(1.0, color=THEIRS, linewidth=0.9, zorder=1)
    numbers = np.append(chart.points[POINT[2:]].to_numpy(float), [1.0] * chart.has_base)
    axes.set(yscale="log", xlim=(-0.6, len(chart.cases) - 0.4))
    mark_ticks(axes.yaxis, numbers[numbers > 0])
    letters = NAME_LETTERS // len(chart.cases)
    leans = any(len(word) > letters for case in chart.cases for word in case.split())
    angle, side, letters = (30, "right", LABEL_LETTERS) if leans else (0, "center", letters)
    names = [fold(case, letters) for case in chart.cases]
    axes.set_xticks(range(len(names)), names, rotation=angle, ha=side, rotation_mode="anchor")
    axes.grid(visible=False, axis="x")
    if not has_key:
        _name_ends(axes, chart)
    return finish(figure, chart.x_title, chart.y_title)


def _name_ends(axes: Axes, chart: Chart) -> None:
    """Write the name of each row beside the end of its line, with room between the names."""
    points = chart.points.assign(place=chart.points["case"].map(chart.cases.index)).sort_values("place", kind="stable")
    ends = points.drop_duplicates("row", keep="last").set_index("row")["value"].sort_values(kind="stable")
    low, high = np.log(axes.get_ylim())
    least = LEAST_GAP * np.arange(len(ends))
    heights = np.maximum.accumulate((np.log(ends) - low) / (high - low) - least) + least
    heights = np.minimum(heights, 1.0 - least[::-1])
    rows = {row.key: row for row in chart.rows}
    for key, height in zip(ends.index, heights, strict=True):
        row = rows[str(key)]
        axes.text(1.01, height, fold(row.label), va="center", color=row.look["color"], transform=axes.transAxes)


def chart_table(shown: Shown, paper: Paper, experiment: Experiment, machine: str, colors: Colors) -> Chart:
    """Return the chart of a table on a machine: GFLOP/s, if all rows do the same counted work; or else speedups.

    Speedups are over one base for all rows: the paper's fastest CPU row, or if no CPU row is printed, its fastest row.
    """
    cells = shown.table("cells", paper=paper.name, experiment=experiment.name)
    note = [NOTE, f"Grey: {reference(paper)}."]
    work = work_of(cells)
    cells = cells[(cells["machine"] == machine) & (cells["seconds"] > 0)]
    cells = cells.assign(row=cells["profile"] + (" " + cells["algorithm"] if experiment.algorithms else ""))
    theirs = printed_cells(paper, work)
    theirs["row"] = f"{PAPER} " + theirs["profile"]
    if experiment.algorithms:
        full = cells[cells["precision"] == FULL_PRECISION]
        cells = cells[cells["row"].isin(_fastest(full, ["algorithm", "is_cpu"]))]
        note.append("Of each algorithm the rows that are fastest in most cases.")
    is_rate = not experiment.algorithms and bool(work["flops"].notna().all())
    points, y_title = _rates(theirs, cells, work) if is_rate else _speedups(theirs, cells)
    if (count := theirs["row"].nunique()) > MOST_THEIRS:
        theirs = theirs[theirs["row"].isin(_fastest(theirs, ["year"]))]
        note.append(f"Of the paper's {count} rows the fastest of each year.")
    theirs = theirs.assign(label=theirs["label"] + ", " + theirs["year"].astype(str))
    rows = [
        Row(row.row, row.label, look_of(row, colors, marker))
        for side, markers in ((theirs, THEIR_MARKERS), (cells, MARKERS))
        for row, marker in zip(any_rows_of(side.drop_duplicates("row")), cycle(markers), strict=False)
    ]
    points = points[points["row"].isin([row.key for row in rows]) & (points["value"] > 0)]
    cases, is_ordered = order_cases(experiment, work)
    words = experiment.column_words()
    return Chart(
        title=f"{experiment.title} on {shown.aliases[machine]}",
        note=" ".join(note),
        x_title=experiment.axis or "case",
        y_title=y_title,
        cases=tuple(words[case] for case in cases if case in set(points["case"])),
        rows=tuple(row for row in rows if row.key in set(points["row"])),
        points=points.assign(case=points["case"].map(words))[POINT],
        is_ordered=is_ordered,
        has_base=not is_rate,
    )


def order_cases(experiment: Experiment, work: pd.DataFrame) -> tuple[list[str], bool]:
    """Return the cases in the order of an axis, and whether lines may join them.

    The cases are ordered by their FLOP, or if some FLOP are not known, as in `work`; the total comes last. Lines may
    join cases of one workload with the same text parameters if all FLOP are known, each case has more than APART times
    the FLOP of the case before, and the table has no total.
    """
    total = experiment.total_case
    flops = work[work["case"] != total].set_index("case")["flops"]
    if flops.isna().any():
        return [*flops.index, total], False
    flops = flops.sort_values(kind="stable")
    every = experiment.cases
    kinds = {(case.workload, *(one for one in case.parameters.values() if isinstance(one, str))) for case in every}
    growth = flops.div(flops.shift()).iloc[1:]
    return [*flops.index, total], bool(len(kinds) == 1 and not experiment.total and growth.min() > APART)


_PUBLISHED = ["machine", "profile", "label", "year", "package", "architecture", "is_cpu", "precision"]


def published_rows(paper: Paper) -> pd.DataFrame:
    """Return the paper's rows in the columns of cells."""
    rows = []
    for row in paper.rows.values():
        # A row that is compared with several cores, too, is not drawn as one core.
        architecture = next((one for one in row.beside if one != ONE_CORE), ONE_CORE)
        rows.append({
            "machine": PAPER, "profile": row.name, "label": label_row(paper, row), "year": row.year or paper.year,
            "package": row.package, "architecture": architecture, "is_cpu": row.is_cpu,
            "precision": row.precision or FULL_PRECISION,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=_PUBLISHED)


def printed_cells(paper: Paper, work: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's numbers for the cases of `work`, in seconds and in the columns of cells.

    A rate of operations or bytes is converted to seconds by the FLOP or bytes in `work`, which were counted here.
    """
    cells = published_rows(paper).merge(work, how="cross")
    places = zip(*(cells[name] for name in ("experiment", "case", "profile", "flops", "traffic_bytes")), strict=True)
    cells["seconds"] = pd.Series([paper.seconds(*place) for place in places], cells.index, float)
    return cells[cells["seconds"] > 0]


def work_of(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the FLOP and the bytes of each case, at 4 bytes an array element, as counted on any machine."""
    width = cells["precision"].map(number_bytes) / number_bytes(FULL_PRECISION)
    counted = cells.assign(traffic_bytes=cells["traffic_bytes"] / width)
    return counted.groupby(["experiment", "case"], sort=False, as_index=False)[["flops", "traffic_bytes"]].first()


def _fastest(cells: pd.DataFrame, by: list[str]) -> set[str]:
    """Return, for each group of cells by the columns `by`, the row that is fastest in the most cases."""
    best = cells.loc[cells.groupby([*by, "case"], sort=False)["seconds"].idxmin()]
    return set(best.groupby(by)["row"].agg(lambda rows: rows.value_counts().index[0]))


def _rates(theirs: pd.DataFrame, cells: pd.DataFrame, work: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return all rows' GFLOP/s and their intervals, by the FLOP of `work`, and the title of their axis."""
    every = pd.concat([theirs, cells], ignore_index=True)
    return _over(every, every["case"].map(work.set_index("case")["flops"]) / 1e9), "GFLOP/s"


def _speedups(theirs: pd.DataFrame, cells: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return all rows' speedups over the paper's fastest (CPU) row, taken as exact, and the title of their axis."""
    has_cpu, every = bool(theirs["is_cpu"].any()), pd.concat([theirs, cells], ignore_index=True)
    base = theirs[theirs["is_cpu"] | (not has_cpu)].groupby("case")["seconds"].min()
    title = f"times as fast as the paper's fastest {'CPU ' * has_cpu}row"
    return _over(every, every["case"].map(base)), title


def _over(cells: pd.DataFrame, base: pd.Series) -> pd.DataFrame:
    """Return the cells with `base` over their seconds, and the intervals of that."""
    times = cells[["seconds", "seconds_high", "seconds_low"]].rdiv(base, axis=0)
    return cells.assign(**times.set_axis(POINT[2:], axis=1))
