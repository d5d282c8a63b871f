"""The roofline of a machine, log-log: what its rows can do at most, every case a point beneath; the paper's in grey.

Colour tells the package, a broken line and hollow markers one core, a marker's shape the table that the case is of.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from respeed.analysis.columns import rows_of
from respeed.analysis.labels import PAPER
from respeed.analysis.roofline import corners, hardware_roofs, highest_roofs, lowest_shares, roof_at
from respeed.figures.axis import ends_of, ticks_of, write_ticks
from respeed.figures.labels import LEADER, Label, along, label_ends, make_label, write_label
from respeed.figures.looks import DASHED, ONE_CORE, SOLID, Look
from respeed.figures.style import (
    INCH,
    INK,
    MARGIN,
    MARKERS,
    PAGE,
    THEIRS,
    TICK_SIZE,
    finish,
    head_lines,
    new_figure,
    place_axes,
    write_head,
)
from respeed.figures.text import plain, width_of
from respeed.model.paper import CPU_ARCHITECTURES, Paper
from respeed.numbers import format_number, format_share

# Points: the axes, below them the ticks, and each line of the key with what is between two of its entries.
PLOT, FOOT, KEY, GAP = 235.0, 14.0, 14.0, 18.0
# What the axes show if there is neither a roof nor a point.
WITHOUT = [1.0, 1000.0]
# As a share of the axis: a name that begins there would reach beyond it.
NEAR_END = 0.75
# The colour of a package that the tables of this machine do not know.
OTHER = INK


def draw_roofline(
    paper: Paper,
    ours: pd.DataFrame,
    theirs: pd.DataFrame,
    colors: Mapping[tuple[str, bool], str],
    stamp: str,
) -> Figure:
    """Draw one machine's cases of a paper in one precision, and the paper's own."""
    roofs = [(one, _look(one, THEIRS)) for one in rows_of(hardware_roofs(paper))]
    roofs += [(one, _look(one, _color(one, colors))) for one in rows_of(highest_roofs(ours))]
    points = [*rows_of(ours), *rows_of(theirs)]
    tables = list(dict.fromkeys(point.experiment for point in points))
    markers = dict(zip(tables, MARKERS * len(tables), strict=False))
    ridges = [one.peak_gflops / one.bandwidth_gbytes for one, _ in roofs]
    x_ends = ends_of(ridges + [one.intensity for one in points] or WITHOUT)
    y_ends = ends_of([one.peak_gflops for one, _ in roofs] + [one.gflops for one in points] or WITHOUT)
    labels = [make_label(f"{one.label}: {format_number(one.peak_gflops)}", look) for one, look in roofs]
    key = [Label((plain(paper.experiments[name].title),), Look(INK, mark)) for name, mark in markers.items()]

    title = f"{paper.year} and now: how near each case came to its roof"
    note = (
        "GFLOP/s by FLOP for each byte that a step must move. A line is the most that a row can do; the paper in grey. "
        "Broken lines and open marks: one core."
    )
    head, foot = head_lines(title, note)[2], FOOT + KEY * len(_lines_of(key))
    left = max(width_of(f"{tick:,.12g}", TICK_SIZE) for tick in ticks_of(*y_ends)) + 6
    right = LEADER + max((label.width for label in labels), default=0.0) + MARGIN
    figure, axes = new_figure((head + PLOT + foot) / INCH)
    write_head(figure, title, note)
    place_axes(figure, axes, left=left, right=right, bottom=foot, top=head)
    axes.set(xscale="log", yscale="log", xlim=x_ends, ylim=y_ends)
    write_ticks(axes.xaxis, x_ends, "")
    write_ticks(axes.yaxis, y_ends, "")
    for one, look in roofs:
        axes.plot(*zip(*corners(one, *x_ends), strict=True), color=look.color, linestyle=look.line, linewidth=1.2)
    for point in points:  # theirs on top: there are few
        color = THEIRS if point.machine == PAPER else _color(point, colors)
        look = Look(color, markers[point.experiment], filled=point.architecture != ONE_CORE)
        axes.plot(point.intensity, point.gflops, linestyle="", **look.mark(4.0))
    _name_lowest(axes, theirs, x_ends)
    ends = [(PAGE - right, along(float(roof_at(one, x_ends[1])), y_ends, foot, PLOT)) for one, _ in roofs]
    label_ends(figure, labels, ends, PAGE - right + LEADER, foot, foot + PLOT + 4)
    for number, line in enumerate(_lines_of(key)):
        x = 4.0
        for label in line:
            write_label(figure, label, x, foot - FOOT - KEY * (number + 0.5))
            x += label.width + GAP
    return finish(figure, axes, stamp)


def _look(roof: Any, color: str) -> Look:
    return Look(color, "None", line=DASHED if roof.architecture == ONE_CORE else SOLID)


def _color(roof: Any, colors: Mapping[tuple[str, bool], str]) -> str:
    return colors.get((roof.package, roof.architecture in CPU_ARCHITECTURES), OTHER)


def _name_lowest(axes: Axes, theirs: pd.DataFrame, ends: tuple[float, float]) -> None:
    """Of the paper, the case farthest below each roof; near the right end, where the roofs' labels are, to its left."""
    for point in rows_of(lowest_shares(theirs)):
        is_near = along(point.intensity, ends, 0, 1) > NEAR_END
        axes.annotate(
            f"{plain(point.case)}: {format_share(point.share)}",
            (point.intensity, point.gflops),
            (-6 if is_near else 6, 0),
            ha="right" if is_near else "left",
            textcoords="offset points",
            color=THEIRS,
            fontsize=TICK_SIZE,
            va="center_baseline",
        )


def _lines_of(key: Sequence[Label]) -> list[list[Label]]:
    """The key in lines as wide as the page."""
    lines: list[list[Label]] = []
    room = 0.0
    for label in key:
        if label.width + GAP > room:
            lines.append([])
            room = PAGE
        lines[-1].append(label)
        room -= label.width + GAP
    return lines
