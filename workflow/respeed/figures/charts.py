"""Charts of rows and cases: a mark for each row in every case, joined by a line if the cases have an order.

The chart of a table shows what each row does in a second, or how many times as fast as one base it is. The colour
shows the package, or is grey for the paper; hollow marks and broken lines show one core; the shape of a mark shows the
row.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from respeed.analysis.cells import PAPER, label_row, reference
from respeed.analysis.columns import any_rows_of
from respeed.analysis.estimates import FULL_PRECISION
from respeed.figures.style import (
    COLORS,
    LABEL_LETTERS,
    MARKERS,
    ONE_CORE,
    QUIET,
    THEIR_MARKERS,
    THEIRS,
    Colors,
    Look,
    finish,
    fold,
    look_of,
    make_look,
    new_figure,
)
from respeed.model import Experiment, Names, Paper, number_bytes
from respeed.output.layout import Shown

# The columns of a frame of points: the key of the row, the case, and a number with its 95 % interval.
POINT = ["row", "case", "value", "low", "high"]
# Letters that fit on one axis, for the names of all cases together.
NAME_LETTERS = 64
# An axis spans at least this factor, so that two of the numbers 1, 2, 5, 10, ... lie on it wherever it begins.
LEAST_FACTOR = 6.0
# More of the paper's rows than these would hide ours.
MOST_THEIRS = 12
# More names than these would lie far from the ends of their lines; the least way from name to name is a share of the
# axis.
MOST_AT_ENDS, LEAST_GAP = 12, 0.075
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
    row if `is_ordered`; a line at 1 is drawn if `has_base`. A chart without rows shows `why_empty`.
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
    why_empty: str = "nothing measured yet"


def draw_chart(chart: Chart, stamp: str) -> Figure:
    """Draw the rows of a chart along its cases, with bars for the intervals of numbers."""
    figure, axes = new_figure(chart.title, chart.note, stamp)
    if not chart.rows:
        axes.set_axis_off()
        axes.text(0.5, 0.5, chart.why_empty, ha="center", va="center", color=QUIET, transform=axes.transAxes)
        return figure
    is_long = any(len(row.label) > LABEL_LETTERS for row in chart.rows)
    has_key = is_long or not chart.is_ordered or len(chart.rows) > MOST_AT_ENDS
    for place, row in enumerate(chart.rows):
        points = chart.points[chart.points["row"] == row.key]
        look = row.look if chart.is_ordered else row.look | {"linestyle": ""}
        # Without lines, the rows of a case are drawn side by side.
        shift = 0.0 if chart.is_ordered else 0.8 * ((place + 0.5) / len(chart.rows) - 0.5)
        x = points["case"].map(chart.cases.index) + shift
        bars = [(points["value"] - points["low"]).fillna(0), (points["high"] - points["value"]).fillna(0)]
        axes.errorbar(x, points["value"], bars, fmt="none", elinewidth=2.5, ecolor=look["color"])
        axes.plot(x, points["value"], label=fold(row.label) if has_key else None, **look)
    if chart.has_base:
        axes.axhline(1.0, color=THEIRS, linewidth=0.9, zorder=1)
    numbers = np.append(chart.points[POINT[2:]].to_numpy(float), [1.0] * chart.has_base)
    low, high = numbers[numbers > 0].min(), numbers[numbers > 0].max()
    room = max((LEAST_FACTOR * low / high) ** 0.5, (high / low) ** 0.06)
    axes.set(yscale="log", ylim=(low / room, high * room), xlim=(-0.6, len(chart.cases) - 0.4))
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
    heights = ((np.log(ends) - low) / (high - low)).to_numpy(copy=True)
    for place in range(1, len(heights)):
        heights[place] = max(heights[place], heights[place - 1] + LEAST_GAP)
    heights[-1] = min(heights[-1], 1.0)
    for place in reversed(range(len(heights) - 1)):
        heights[place] = min(heights[place], heights[place + 1] - LEAST_GAP)
    rows = {row.key: row for row in chart.rows}
    for key, height in zip(ends.index, heights, strict=True):
        row = rows[str(key)]
        axes.text(1.01, height, fold(row.label), va="center", color=row.look["color"], transform=axes.transAxes)


@dataclass(frozen=True)
class Outcome:
    """The results of one table on one machine."""

    results: Shown
    paper: Paper
    experiment: Experiment
    machine: str

    def table(self, name: str) -> pd.DataFrame:
        """Return the rows of a tidy table that belong to this experiment and machine."""
        return self.results.table(name, machine=self.machine, paper=self.paper.name, experiment=self.experiment.name)

    @property
    def cases(self) -> Names:
        """Return the names of the table's cases."""
        return self.experiment.case_names()

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Return the table's cells, with a column `row`: the profile, and the algorithm if the table has several."""
        cells = self.table("cells")
        return cells.assign(row=cells["profile"] + (" " + cells["algorithm"] if self.experiment.algorithms else ""))


def chart_speedup(outcome: Outcome, colors: Colors) -> Chart:
    """Return the chart of a table: GFLOP/s, if every row does the same work and all of it is counted; or else speedups.

    Speedups are over one base for all rows. The base is the paper's fastest CPU row, or if no CPU row is printed, the
    paper's fastest row. If the paper prints no number, the base is this machine's fastest CPU row, or if a claim of the
    table has an `over_case`, as for cores or replicas, each row's own rate in that case.
    """
    cells, note = outcome.cells[outcome.cells["seconds"] > 0], ["Bars: 95 % intervals. Hollow: one core."]
    work = work_of(outcome.results.table("cells", paper=outcome.paper.name, experiment=outcome.experiment.name))
    theirs = printed_cells(outcome.paper, work)
    theirs["row"] = f"{PAPER} " + theirs["profile"]
    if outcome.experiment.algorithms:
        full = cells[cells["precision"] == FULL_PRECISION]
        cells = cells[cells["row"].isin(_fastest(full, ["algorithm", "is_cpu"]))]
        note.append("Of each algorithm the rows that are fastest in most cases.")
    is_rate = bool(len(theirs) and not outcome.experiment.algorithms and work["flops"].notna().all())
    if is_rate:
        points, y_title = _rates(pd.concat([theirs, cells], ignore_index=True), work), "GFLOP/s"
    else:
        points, base = _over_own(outcome, cells) if theirs.empty else _over_theirs(theirs, cells)
        y_title = f"times as fast as {base}"
    if len(theirs):
        note.append(f"Grey: {reference(outcome.paper)}.")
    if (count := theirs["row"].nunique()) > MOST_THEIRS:
        theirs = theirs[theirs["row"].isin(_fastest(theirs, ["year"]))]
        note.append(f"Of the paper's {count} rows the fastest of each year.")
    theirs = theirs.assign(label=theirs["label"] + ", " + theirs["year"].astype(str))
    rows = [
        Row(row.row, row.label, look_of(row, colors, marker))
        for shown, markers in ((theirs, THEIR_MARKERS), (cells, MARKERS))
        for row, marker in zip(any_rows_of(shown.drop_duplicates("row")), cycle(markers), strict=False)
    ]
    points = points[points["row"].isin([row.key for row in rows]) & (points["value"] > 0)]
    cases, is_ordered = order_cases(outcome, work)
    shown = [case for case in cases if case in set(points["case"])]
    is_total = shown == [outcome.experiment.total_case]
    words = outcome.experiment.column_words()
    return Chart(
        title=f"{outcome.experiment.title} on {outcome.machine}",
        note=" ".join(note),
        x_title=(outcome.experiment.total if is_total else outcome.experiment.axis) or "case",
        y_title=y_title,
        cases=tuple(words[case] for case in shown),
        rows=tuple(row for row in rows if row.key in set(points["row"])),
        points=points.assign(case=points["case"].map(words))[POINT],
        is_ordered=is_ordered,
        has_base=not is_rate,
        why_empty="nothing to compare yet",
    )


def chart_ladder(outcome: Outcome) -> Chart:
    """Return the chart of how many times as fast as on one thread each case is on more threads, and of the ideal.

    If rows of two libraries have the same number of threads, the faster row is shown.
    """
    cells = outcome.cells[outcome.cells["seconds"] > 0].sort_values(["threads", "seconds"], kind="stable")
    cells = cells.drop_duplicates(["case", "threads"])
    counts = sorted(set(cells["threads"]))
    base = cells["case"].map(cells[cells["threads"] == 1].set_index("case")["seconds"])
    ideal = pd.DataFrame({"row": "ideal", "threads": counts, "value": list(map(float, counts))})
    points = pd.concat([_over(cells.assign(row=cells["case"]), base), ideal], ignore_index=True)
    words = outcome.experiment.column_words()
    looks = zip(words.items(), cycle(COLORS), cycle(MARKERS), strict=False)
    rows = [Row(case, shown, make_look(color, marker)) for (case, shown), color, marker in looks]
    has_curve = len(counts) > 1
    return Chart(
        title=f"{outcome.experiment.title} on {outcome.machine}",
        note="Bars: 95 % intervals. Grey: the ideal. Each number is of processes of its own, a core a thread.",
        x_title="threads",
        y_title="times as fast as one thread",
        cases=tuple(map(str, counts)) if has_curve else (),
        rows=(*rows, Row("ideal", "ideal", make_look(THEIRS))) if has_curve else (),
        points=points.assign(case=points["threads"].astype(str))[POINT][: len(points) * has_curve],
        is_ordered=True,
        why_empty="one core: no curve" if counts == [1] else "not measured yet",
    )


def order_cases(outcome: Outcome, work: pd.DataFrame) -> tuple[list[str], bool]:
    """Return the cases in the order of an axis, and whether lines may join them.

    The cases are ordered by their FLOP, or if some FLOP are not known, as in `work`; the total comes last. Lines may
    join cases of one workload with the same text parameters if all FLOP are known, each case has more than APART times
    the FLOP of the case before, and the table has no total.
    """
    experiment, total = outcome.experiment, outcome.experiment.total_case
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


def _rates(cells: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    """Return the cells with their GFLOP/s and the intervals, by the FLOP of `work`."""
    return _over(cells, cells["case"].map(work.set_index("case")["flops"]) / 1e9)


def _over_theirs(theirs: pd.DataFrame, cells: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return all rows' speedups over the paper's fastest (CPU) row, taken as exact, and the name of that base."""
    has_cpu, every = bool(theirs["is_cpu"].any()), pd.concat([theirs, cells], ignore_index=True)
    base = theirs[theirs["is_cpu"] | (not has_cpu)].groupby("case")["seconds"].min()
    return _over(every, every["case"].map(base)), f"the paper's fastest {'CPU ' * has_cpu}row"


def _over_own(outcome: Outcome, cells: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return each cell's speedup over its base, and the name of the base.

    The base is the machine's fastest CPU row, or if a claim of the table has an `over_case`, the same row in that case.
    """
    claims = (claim for claim in outcome.paper.claims.values() if claim.experiment == outcome.experiment.name)
    words = outcome.experiment.column_words()  # tiny sizes do not have that case
    first = next((claim.over_case for claim in claims if claim.over_case in words), "")
    if not first:
        names = dict(zip(["speedup", "speedup_low", "speedup_high"], POINT[2:], strict=True))
        speedups = outcome.table("speedups").rename(columns=names)[["case", "algorithm", "profile", *names.values()]]
        return cells.merge(speedups), "this machine's fastest CPU row"
    # Rates are compared, since cases may process more and more, as with replicas.
    pace = cells.assign(pace=cells["seconds"] / cells["amount"].fillna(1.0))
    base = pace[pace["case"] == first].set_index("row")["pace"]
    over = cells["row"].map(base) * cells["amount"].fillna(1.0)
    return _over(cells, over), words[first]


def _over(cells: pd.DataFrame, base: pd.Series) -> pd.DataFrame:
    """Return the cells with `base` over their seconds, and the intervals of that."""
    times = cells[["seconds", "seconds_high", "seconds_low"]].rdiv(base, axis=0)
    return cells.assign(**times.set_axis(POINT[2:], axis=1))
