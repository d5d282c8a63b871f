"""The roofline of a machine, log-log: what its rows can do at most, every case a point beneath; the paper's in grey.

Colour tells the package, a broken line and hollow markers one core, a marker's shape the table that the case is of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from respeed.analysis.columns import rows_of
from respeed.analysis.labels import PAPER
from respeed.analysis.roofline import corners, hardware_roofs, highest_roofs, lowest_shares, roof_at
from respeed.figures.charts import ONE_CORE, draw_marks
from respeed.figures.labels import DASHED, SOLID, Label, Look, label_ends, make_label, move_apart, room_for, write_label
from respeed.figures.style import (
    COLUMN,
    INK,
    LEADING,
    MARKERS,
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
from respeed.numbers import format_number, format_share

# Points: the axes, below them the ticks, and each line of the key with what is between two of its entries.
PLOT, FOOT, KEY, GAP = 235.0, 14.0, 14.0, 18.0
# What the axes show if there is neither a roof nor a point.
WITHOUT = [1.0, 1000.0]


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
    for number, line in enumerate(_lines_of(key, canvas.width)):
        x = 4.0
        for label in line:
            write_label(canvas, label, x, canvas.foot - FOOT - KEY * (number + 0.5))
            x += label.width + GAP
    return canvas.finish(stamp)


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
