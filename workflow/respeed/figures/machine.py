"""What a machine can do at most: its roofline, log-log, with every case a point beneath and the paper's in grey; the
history of a paper's rows by years, which ends with the machines; and its hardware sheet.

In a roofline colour tells the package, a broken line and hollow markers one core, a marker's shape the table that the
case is of.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from respeed.analysis.cells import PAPER
from respeed.analysis.columns import rows_of
from respeed.analysis.hardware_sheet import PRODUCT, STEP, place_of, why_no_curve
from respeed.analysis.roofline import corners, hardware_roofs, highest_roofs
from respeed.figures.charts import POINT, Chart, Row
from respeed.figures.style import (
    COLORS,
    INK,
    MARKERS,
    PALE,
    THEIRS,
    Look,
    add_legend,
    legend_lines,
    new_figure,
    set_log,
)
from respeed.figures.timings import ONE_CORE
from respeed.model.paper import CPU_ARCHITECTURES, Paper
from respeed.text import format_number

# What the axes show if there is neither a roof nor a point.
WITHOUT = [1.0, 1000.0]
# How far an axis goes beyond what it shows.
ROOM = 1.4


def draw_roofline(
    paper: Paper, points: pd.DataFrame, colors: Mapping[tuple[str, bool], str], stamp: str
) -> Figure:  # fmt: skip
    """Draw the `points` of a paper and of one machine, as `make_roofline` gives them, beneath their roofs."""
    theirs = points["machine"] == PAPER
    roofs = pd.concat([hardware_roofs(paper), highest_roofs(points[~theirs])], ignore_index=True)
    tables = dict.fromkeys([*points.loc[~theirs, "experiment"], *points.loc[theirs, "experiment"]])
    markers = dict(zip(tables, cycle(MARKERS), strict=False))
    entries = [(f"{roof.label}: {format_number(roof.peak_gflops)}", _look(roof, colors)) for roof in rows_of(roofs)]
    entries += [(paper.experiments[name].title, Look(INK, mark, line="")) for name, mark in markers.items()]
    note = (
        "GFLOP/s by FLOP for each byte that a step must move. A line is the most that a row can do; the paper in grey. "
        "Broken lines and open marks: one core."
    )
    title = f"{paper.year} and now: how near each case came to its roof"
    figure, axes = new_figure(title, note, legend_lines([label for label, _ in entries]), stamp)
    ridges = roofs["peak_gflops"] / roofs["bandwidth_gbytes"]
    x, y = [*ridges, *points["intensity"]] or WITHOUT, [*roofs["peak_gflops"], *points["gflops"]] or WITHOUT
    left, right = min(x) / ROOM, max(x) * ROOM
    for roof in rows_of(roofs):
        axes.plot(*zip(*corners(roof, left, right), strict=True), linewidth=1.2, **_look(roof, colors).marks)
    # Theirs on top: there are few.
    for point in rows_of(points.sort_values("machine", key=lambda names: names == PAPER, kind="stable")):
        look = replace(_look(point, colors), marker=markers[point.experiment], line="")
        axes.plot(point.intensity, point.gflops, markersize=4.5, zorder=3, **look.marks)
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(min(y) / ROOM, max(y) * ROOM))
    set_log(axes.xaxis)
    set_log(axes.yaxis)
    add_legend(figure, entries)
    return figure


def _look(roof: Any, colors: Mapping[tuple[str, bool], str]) -> Look:
    """Return the look of a roof, or of a point beneath it; a package that no table of the machine has is dark."""
    is_one = roof.architecture == ONE_CORE
    color = colors.get((roof.package, roof.architecture in CPU_ARCHITECTURES), INK)
    return Look(THEIRS if roof.machine == PAPER else color, is_hollow=is_one, line="--" if is_one else "-")


def draw_history(paper: Paper, points: pd.DataFrame, stamp: str) -> Figure:
    """Draw a paper's rows by their years, and the machines: `points` as `make_history` makes them. A shape is a kind, a
    colour a machine; a thin line joins the rows that were faster than all before, and these have their names."""
    tables = [paper.experiments[name] for name in paper.history]
    unit = next((one.unit.name for one in tables if one.unit.counted), "GFLOP/s")
    colors = {PAPER: THEIRS} | dict(zip(sorted(set(points["machine"]) - {PAPER}), cycle(COLORS), strict=False))
    marks = dict(zip(sorted(set(points["kind"])), MARKERS, strict=False))
    ours = points[points["machine"] != PAPER]
    entries = [(kind, Look(INK, mark, kind.startswith("one"), "")) for kind, mark in marks.items()]
    looks = [Look(colors[one.machine], marks[one.kind], one.kind.startswith("one"), "") for one in rows_of(ours)]
    labels = [f"{one.machine}, {one.kind}: {format_number(one.rate)}" for one in rows_of(ours)]
    entries += zip(labels, looks, strict=True)
    note = f"{unit} by year: the paper's rows in grey, and in colour the machines here, when they were measured."
    first, last = min(points["year"], default=2000), max(points["year"], default=2001)
    figure, axes = new_figure(
        f"{paper.title}: {first} to {last}", note, legend_lines([label for label, _ in entries]), stamp
    )
    leaders = points[points["leads"]]
    for _, kind in leaders.groupby("kind", sort=False):
        axes.step(kind["year"], kind["rate"], where="post", color=PALE, linewidth=1.0, zorder=1)
    for one in rows_of(points):
        look = Look(colors[one.machine], marks[one.kind], one.kind.startswith("one"), "")
        axes.plot(one.year, one.rate, markersize=3.0 if one.machine == PAPER else 6.0, zorder=3, **look.marks)
    # To the right of each and a little above; of several that were as fast in one year, the fastest.
    for one in rows_of(leaders.sort_values("rate").drop_duplicates("year", keep="last")):
        axes.annotate(one.label, (one.year, one.rate), (-3, 3), textcoords="offset points", ha="right", fontsize=7.0,
                      color=THEIRS)  # fmt: skip
    axes.set(yscale="log", xlim=(first - 0.25 * (last - first + 1), last + 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    set_log(axes.yaxis)
    axes.grid(visible=False, axis="x")
    add_legend(figure, entries)
    return figure


def chart_scaling(machine: str, scaling: pd.DataFrame) -> Chart:
    """Return the speedup of a step and of its products over one thread beside the ideal; with one core alone, none."""
    timed = scaling[scaling["speedup"] > 0].sort_values("threads", kind="stable")
    counts = sorted(set(timed["threads"]))
    if len(counts) < 2:
        timed, counts = timed[:0], []
    ideal = pd.DataFrame({"row": "ideal", "threads": counts, "speedup": list(map(float, counts))})
    drawn = pd.concat([timed.assign(row=timed["size"] + " " + timed["what"]), ideal], ignore_index=True)
    rows, sizes = [], list(dict.fromkeys(scaling["size"]))
    for size, what in dict.fromkeys(zip(timed["size"], timed["what"], strict=True)):
        place, is_step = sizes.index(size), what == STEP
        look = Look(COLORS[place % len(COLORS)], MARKERS[place], not is_step, "-" if is_step else "--")
        rows.append(Row(f"{size} {what}", f"{what[0].upper()}{what[1:]}, {size}", look))
    numbers = {"value": drawn["speedup"], "low": drawn["speedup_low"], "high": drawn["speedup_high"]}
    return Chart(
        title=f"{machine}: what more threads bring",
        note="How many times as fast so many threads are as one, each number in processes of its own, a core a thread. "
        "Broken: the products of a step alone. Grey: the ideal. Bars: 95 % intervals, or of few passes all of them.",
        cases=tuple(map(_count_name, counts)),
        rows=(*rows, Row("ideal", "ideal", Look(THEIRS))) if rows else (),
        points=drawn.assign(case=drawn["threads"].map(_count_name), **numbers)[POINT],
        is_ordered=True,
        suffix="x",
        why_empty=why_no_curve(scaling),
    )


def _count_name(count: int) -> str:
    """Return a number of threads as it stands at the axis: the first one says what they are."""
    return "1 thread" if count == 1 else str(count)


def chart_rates(machine: str, rates: pd.DataFrame) -> Chart:
    """Return what square products reach in each precision on one core, all cores and every device: what else a machine
    reaches is in other units."""
    timed = rates[(rates["what"] == PRODUCT) & (rates["value"] > 0)]
    points = timed.assign(
        row=[place_of(row) for row in rows_of(timed)], case=timed["package"] + ", " + timed["precision"]
    )
    looks = points.drop_duplicates("row")
    rows = tuple(
        Row(name, name, Look(COLORS[place % len(COLORS)], MARKERS[place % len(MARKERS)], threads == 1))
        for place, (name, threads) in enumerate(zip(looks["row"], looks["threads"].fillna(0), strict=True))
    )
    return Chart(
        title=f"{machine}: what a square product reaches",
        note="GFLOP/s by library and precision. Hollow: one core. Bars: 95 % intervals, or of few passes all of them.",
        cases=tuple(dict.fromkeys(points["case"])),
        rows=rows,
        points=points[POINT].reset_index(drop=True),
    )
