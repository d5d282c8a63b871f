"""What a machine can do at most. Its roofline, log-log: every case a point beneath; the paper's in grey. And its
hardware sheet: what more threads bring, and what products reach.

In a roofline colour tells the package, a broken line and hollow markers one core, a marker's shape the table that the
case is of. The history of a paper's rows by years ends with the machines.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from respeed.analysis.cells import PAPER
from respeed.analysis.columns import rows_of
from respeed.analysis.hardware_sheet import INTERVAL, PRODUCT, STEP, place_of, why_no_curve
from respeed.analysis.roofline import corners, hardware_roofs, highest_roofs, lowest_shares, roof_at
from respeed.figures.charts import ONE_CORE, POINT, Chart, Row, draw_marks
from respeed.figures.labels import DASHED, SOLID, Label, Look, label_ends, make_label, move_apart, room_for, write_label
from respeed.figures.style import (
    COLORS,
    COLUMN,
    INK,
    LEADING,
    MARKERS,
    PALE,
    THEIRS,
    TICK_SIZE,
    Canvas,
    Margins,
    Page,
    ends_of,
    plain,
    set_ticks,
    ticks_of,
    width_of,
    width_of_ticks,
)
from respeed.model.paper import CPU_ARCHITECTURES, Paper
from respeed.text import format_number, format_share

# Points: the axes, below them the ticks, and each line of the key with what is between two of its entries.
PLOT, FOOT, KEY, GAP = 235.0, 14.0, 14.0, 18.0
# What the axes show if there is neither a roof nor a point.
WITHOUT = [1.0, 1000.0]

# Many counts of threads are too near one another for all of them to stand at the axis.
MOST_TICKS = 9


def draw_roofline(
    paper: Paper, points: pd.DataFrame, colors: Mapping[tuple[str, bool], str], stamp: str, page: Page = COLUMN
) -> Figure:
    """Draw the `points` of a paper and of one machine, rows of roofline.csv, beneath their roofs."""
    theirs = points["machine"] == PAPER
    roofs = pd.concat([hardware_roofs(paper), highest_roofs(points[~theirs])], ignore_index=True)
    looks = [_look(roof, colors) for roof in rows_of(roofs)]
    labels = [
        make_label(f"{roof.label}: {format_number(roof.peak_gflops)}", look)
        for roof, look in zip(rows_of(roofs), looks, strict=True)
    ]
    tables = list(dict.fromkeys([*points.loc[~theirs, "experiment"], *points.loc[theirs, "experiment"]]))
    markers = dict(zip(tables, MARKERS * len(tables), strict=False))
    key = [Label((plain(paper.experiments[name].title),), Look(INK, mark)) for name, mark in markers.items()]
    ridges = roofs["peak_gflops"] / roofs["bandwidth_gbytes"]
    x_ends = ends_of([*ridges, *points["intensity"]] or WITHOUT)
    y_ends = ends_of([*roofs["peak_gflops"], *points["gflops"]] or WITHOUT)
    left, right = width_of_ticks(ticks_of(*y_ends)), room_for(labels)

    def margins_at(width: float) -> Margins:
        return Margins(page.least(PLOT), left=left, right=right, foot=FOOT + KEY * len(_lines_of(key, width)))

    note = (
        "GFLOP/s by FLOP for each byte that a step must move. A line is the most that a row can do; the paper in grey. "
        "Broken lines and open marks: one core."
    )
    title = f"{paper.year} and now: how near each case came to its roof"
    canvas = Canvas(page, title + (", GFLOP/s by FLOP a byte" if page.shape else ""), note, margins_at)
    axes = canvas.axes
    marks = [replace(_look(point, colors), marker=markers[point.experiment]) for point in rows_of(points)]
    drawn = points.assign(x=points["intensity"], y=points["gflops"], program="", row=[str(mark) for mark in marks])
    # Theirs on top: there are few.
    drawn = drawn.sort_values("machine", key=lambda names: names == PAPER, kind="stable")
    draw_marks(axes, drawn, {str(mark): mark for mark in marks}, joined=False, size=4.0)
    axes.set(xscale="log", yscale="log", xlim=x_ends, ylim=y_ends)
    set_ticks(axes.xaxis, ticks_of(*x_ends))
    set_ticks(axes.yaxis, ticks_of(*y_ends))
    for roof, look in zip(rows_of(roofs), looks, strict=True):
        dashes = (0, look.dashes) if look.dashes else "-"
        axes.plot(*zip(*corners(roof, *x_ends), strict=True), color=look.color, linestyle=dashes, linewidth=1.2)
    _name_lowest(canvas, points[theirs])
    edge = canvas.width - canvas.right
    label_ends(canvas, labels, [(edge, canvas.y_of(roof_at(roof, x_ends[1]))) for roof in rows_of(roofs)])
    _write_key(canvas, key)
    return canvas.finish(stamp)


def draw_history(paper: Paper, points: pd.DataFrame, stamp: str, page: Page = COLUMN) -> Figure:
    """Draw a paper's rows by their years, and the machines: `points` as `make_history` makes them. A shape is a kind, a
    colour a machine; a thin line joins the rows that were faster than all before, and these have their names."""
    tables = [paper.experiments[name] for name in paper.history]
    unit = next((one.unit.name for one in tables if one.unit.counted), "GFLOP/s")
    machines = [name for name in dict.fromkeys(points["machine"]) if name != PAPER]
    colors = {PAPER: THEIRS, **dict(zip(machines, COLORS * len(machines), strict=False))}
    marks = dict(zip(sorted(set(points["kind"])), MARKERS, strict=False))
    key = [Label((plain(kind),), Look(INK, mark, not kind.startswith("one"))) for kind, mark in marks.items()]
    points = points.assign(x=points["year"], y=points["rate"], program="", row=points["machine"] + points["kind"])
    looks = {
        one.row: Look(colors[one.machine], marks[one.kind], not one.kind.startswith("one")) for one in rows_of(points)
    }
    theirs, leaders = points["machine"] == PAPER, points[points["leads"]]
    ours = list(rows_of(points[~theirs]))
    labels = [make_label(f"{one.machine}, {one.kind}: {format_number(one.rate)}", looks[one.row]) for one in ours]
    ends = ends_of([*points["rate"]] or WITHOUT)
    left, right = width_of_ticks(ticks_of(*ends)), room_for(labels)
    plot = max(page.least(PLOT), sum(label.height for label in labels))

    def margins_at(width: float) -> Margins:
        return Margins(plot, left=left, right=right, foot=FOOT + KEY * len(_lines_of(key, width)))

    note = f"{unit} by year: the paper's rows in grey, and in colour the machines here, when they were measured."
    first, last = min(points["year"], default=2000), max(points["year"], default=2001)
    title = f"{paper.title}: {first} to {last}{f', {unit}' if page.shape else ''}"
    canvas = Canvas(page, title, note, margins_at)
    axes = canvas.axes
    # To the left of the first ones stand their names.
    names = leaders.loc[leaders["year"] == first, "label"]
    room = max((width_of(plain(name), TICK_SIZE) for name in names), default=0.0) + GAP
    years = max(1, last - first) * room / (canvas.length - 1.5 * room)
    axes.set(xscale="log", yscale="log", xlim=(first - years, last + 0.5 * years), ylim=ends)
    set_ticks(axes.yaxis, ticks_of(*ends))
    every = math.ceil((last - first + 1) * (width_of("2026", TICK_SIZE) + 6) / (canvas.length - room))
    axes.set_xticks(range(first, last + 1, every), map(str, range(first, last + 1, every)))
    axes.grid(visible=False, axis="x")
    axes.minorticks_off()
    sns.lineplot(leaders, x="x", y="y", units="kind", estimator=None, drawstyle="steps-post", color=PALE,
                 linewidth=1.0, zorder=1, legend=False, ax=axes)  # fmt: skip
    draw_marks(axes, points[theirs], looks, joined=False, size=3.0)
    draw_marks(axes, points[~theirs], looks, joined=False, size=6.0)
    _name_leaders(canvas, leaders)
    label_ends(canvas, labels, [(canvas.x_of(one.year), canvas.y_of(one.rate)) for one in ours])
    _write_key(canvas, key)
    return canvas.finish(stamp)


def _name_leaders(canvas: Canvas, leaders: pd.DataFrame) -> None:
    """To the left of each and a little above, where nothing faster is; of two that would lie on one another the
    faster."""
    written: list[Bbox] = []
    for one in rows_of(leaders.sort_values("rate", ascending=False)):
        x, y, width = canvas.x_of(one.year) - 5, canvas.y_of(one.rate) + 5, width_of(plain(one.label), TICK_SIZE)
        box = Bbox.from_bounds(x - width, y, width, LEADING * TICK_SIZE)
        if not box.count_overlaps(written):
            written.append(box)
            canvas.write(x, y, plain(one.label), align="right", color=THEIRS, size=TICK_SIZE, zorder=5)


def _write_key(canvas: Canvas, key: Sequence[Label]) -> None:
    for number, line in enumerate(_lines_of(key, canvas.width)):
        x = 4.0
        for label in line:
            write_label(canvas, label, x, canvas.foot - FOOT - KEY * (number + 0.5))
            x += label.width + GAP


def _look(roof: Any, colors: Mapping[tuple[str, bool], str]) -> Look:
    """Of a roof, or of a point beneath it; a package that the tables of this machine do not know is dark."""
    one = roof.architecture == ONE_CORE
    color = colors.get((roof.package, roof.architecture in CPU_ARCHITECTURES), INK)
    return Look(THEIRS if roof.machine == PAPER else color, filled=not one, dashes=DASHED if one else SOLID)


def _name_lowest(canvas: Canvas, theirs: pd.DataFrame) -> None:
    """Of the paper, the case farthest below each roof; near the right end, where the roofs' labels are, to its left."""
    points = list(rows_of(lowest_shares(theirs)))
    wanted = [canvas.y_of(point.gflops) for point in points]
    ys = move_apart(wanted, [LEADING * TICK_SIZE] * len(points), canvas.foot, canvas.foot + canvas.plot)
    for point, y in zip(points, ys, strict=True):
        x, text = canvas.x_of(point.intensity), f"{plain(point.case)}: {format_share(point.share)}"
        beyond = x + 6 + width_of(text, TICK_SIZE) > canvas.left + canvas.length
        side, align = (-6, "right") if beyond else (6, "left")
        canvas.write(x + side, y, text, align=align, color=THEIRS, size=TICK_SIZE, zorder=5)


def _lines_of(key: Sequence[Label], width: float) -> list[list[Label]]:
    """The key in lines as wide as the page."""
    lines: list[list[Label]] = []
    room = 0.0
    for label in key:
        if label.width + GAP > room:
            lines.append([])
            room = width
        lines[-1].append(label)
        room -= label.width + GAP
    return lines


def chart_scaling(machine: str, scaling: pd.DataFrame) -> tuple[Chart, dict[str, float]]:
    """The speedup of a step and of its products over one thread beside the ideal, and where each number of threads lies
    along the axis: both axes are logarithmic, so that the ideal is a straight line. With one core alone, no curve."""
    timed = scaling[scaling["speedup"] > 0].sort_values("threads", kind="stable")
    counts = sorted(set(timed["threads"]))
    if len(counts) < 2:
        timed, counts = timed[:0], []
    ideal = pd.DataFrame({"threads": counts, "speedup": list(map(float, counts))}).assign(row="ideal", speedups="")
    timed = timed.assign(row=timed["size"] + " " + timed["what"])
    drawn, rows = pd.concat([timed, ideal], ignore_index=True), []
    for size, what in dict.fromkeys(zip(scaling["size"], scaling["what"], strict=True)):
        place, is_step = list(dict.fromkeys(scaling["size"])).index(size), what == STEP
        look = Look(COLORS[place % len(COLORS)], MARKERS[place], is_step, SOLID if is_step else DASHED)
        rows.append(Row(f"{size} {what}", f"{what[0].upper()}{what[1:]}, {size}", look))
    points = pd.DataFrame(
        {
            "row": drawn["row"], "case": drawn["threads"].map(_count_name), "value": drawn["speedup"],
            "low": drawn.get("speedup_low"), "high": drawn.get("speedup_high"), "program": "",
            "rounds": [tuple(map(float, text.split())) for text in drawn["speedups"]],
        },
        columns=POINT,
    )  # fmt: skip
    there = set(points["row"])
    chart = Chart(
        title=f"{machine}: what more threads bring",
        note="How many times as fast so many threads are as one, each number in processes of its own, a core a thread. "
        "Broken: the products of a step alone. Grey: the ideal.",
        cases=tuple(map(_count_name, counts)),
        rows=tuple(row for row in (*rows, Row("ideal", "ideal", Look(THEIRS))) if row.key in there),
        points=points,
        suffix="x",
        why_empty=why_no_curve(scaling),
        ticks=tuple(map(float, counts[-MOST_TICKS:])),
        bars=_bars_of(set(timed["speedup_ends"]) - {""}),
        dots="passes",
    )
    return chart, {_count_name(count): float(count) for count in counts}


def _bars_of(ends: Collection[str]) -> str:
    if INTERVAL not in ends:
        return "lowest and highest"
    return "95 % intervals" if len(ends) == 1 else "95 % intervals, or of few passes the lowest and the highest"


def _count_name(count: int) -> str:
    """As it stands at the axis: the first one says what they are."""
    return "1 thread" if count == 1 else str(count)


def chart_rates(machine: str, rates: pd.DataFrame) -> Chart:
    """What square products reach in each precision on one core, all cores and every device: what else a machine reaches
    is in other units."""
    timed = rates[(rates["what"] == PRODUCT) & (rates["value"] > 0)]
    names = [place_of(row) for row in rows_of(timed)]
    points = timed.assign(row=names, case=timed["package"] + ", " + timed["precision"], program="")
    points["rounds"] = [()] * len(points)
    looks = points.drop_duplicates("row")
    rows = tuple(
        Row(name, name, Look(COLORS[place % len(COLORS)], MARKERS[place % len(MARKERS)], filled=threads != 1))
        for place, (name, threads) in enumerate(zip(looks["row"], looks["threads"].fillna(0), strict=True))
    )
    return Chart(
        title=f"{machine}: what a square product reaches",
        note="GFLOP/s by library and precision. Hollow: one core.",
        cases=tuple(dict.fromkeys(points["case"])),
        rows=rows,
        points=points[POINT].reset_index(drop=True),
        more=", GFLOP/s",
        bars="95 % intervals, or of few passes the lowest and the highest",
    )
