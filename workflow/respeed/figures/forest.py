"""The forest plot of a paper's claims: in each line our number with its interval, the paper's, and the verdict."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from respeed.analysis.claims import ANOTHER_SHAPE, LARGER, NOT_FAIR, REPRODUCED, SMALLER, WEAKLY
from respeed.analysis.tables import ClaimRow
from respeed.figures.style import INK, LINE, QUIET, UNSURE, fold, make_look, mark_ticks, new_figure
from respeed.model import Paper
from respeed.output.claims import name_claim
from respeed.output.results import Results
from respeed.text import NOTHING, format_number

# The colours of verdicts, as in report/table.typ; all others are grey.
VERDICTS = {REPRODUCED: "#1b6e3c", LARGER: "#0b5394"} | dict.fromkeys(
    (WEAKLY, SMALLER, ANOTHER_SHAPE, NOT_FAIR), "#8a4b00"
)
# Where columns begin, in shares of the figure's width: the labels of claims and of cases, our numbers and the verdicts.
CLAIM = 0.01
CASE = 0.03
OURS = 0.56
VERDICT = 0.82
# Where the paper's numbers end, and where the axis begins and ends.
THEIRS_END = 0.79
AXIS = (0.28, 0.54)
# Letters in a line of a label that stands above its number, and beside it.
WIDE = 100
NARROW = 40
# Inches above the first line, and below the last one without the note; lines between two machines.
ABOVE = 0.25
BELOW = 0.3
BETWEEN = 0.4
# Behind texts that lie over the lines of the grid.
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
NOTE = "Dot and bar: here, with the interval by which the verdict is made. Stroke: the paper. Hollow: no interval."
DOUBT_NOTE = "*: in doubt; the page of claims case by case says why."


def draw_forest(results: Results, paper: Paper, claims: Sequence[ClaimRow]) -> Figure:
    """Draw the rows of claims.csv in `claims`, under the name of each machine: a line for each number and verdict."""
    note = NOTE
    if any(row.doubt for row in claims):
        note = f"{NOTE} {DOUBT_NOTE}"
    figure, axes = new_figure("", note, results.stamp)
    figure.set_layout_engine("none")
    for x, text in {CLAIM: "claim", OURS: "here, low to high", VERDICT: "verdict"}.items():
        _write(axes, x, -0.5, text, color=QUIET)
    _write(axes, THEIRS_END, -0.5, "paper", color=QUIET, ha="right")
    lines = 0.0
    for machine, rows in groupby(claims, attrgetter("machine")):
        if lines:
            lines += BETWEEN
        name = fold(results.describe(machine), WIDE)
        height = 1 + name.count("\n")
        _write(axes, CLAIM, lines + height / 2, name, weight="bold", bbox=BEHIND)
        lines += height
        for row in rows:
            lines += _draw_row(axes, lines, row, name_claim(paper, row))
    numbers = []
    for row in claims:
        numbers += [row.published_low, row.published_high, row.speedup, row.speedup_low, row.speedup_high]
    axes.set(xscale="log", ylim=(lines, 0), yticks=[])
    mark_ticks(axes.xaxis, np.array([number for number in numbers if number]))
    below = BELOW + LINE * (1 + figure.get_supxlabel().count("\n"))
    figure.set_figheight(ABOVE + LINE * lines + below)
    share = 1 / figure.get_figheight()
    axes.set_position((AXIS[0], below * share, AXIS[1] - AXIS[0], LINE * lines * share))
    return figure


def _draw_row(axes: Axes, top: float, row: ClaimRow, name: str) -> float:
    """Draw a row of claims.csv below `top`, and return its height in lines of text."""
    label = fold(name, WIDE)
    x = CASE if row.case else CLAIM
    # Of a claim about several numbers, of which one was measured here, the line of the case has the numbers.
    has_number = row.speedup is not None and row.is_one_number
    # A long label has lines of its own, over the lines of the grid.
    above = 0
    if not has_number or len(label) > NARROW:
        above = 1 + label.count("\n")
    height = above + 1 if has_number else above
    middle = top + height - 0.5
    color = VERDICTS.get(row.verdict, QUIET)
    verdict = f"{row.verdict}*" if row.doubt else row.verdict
    _write(axes, VERDICT, middle, verdict, color=color, weight="normal" if row.case else "bold")
    _write(axes, x, top + above / 2 if above else middle, label, bbox=BEHIND)
    if has_number and row.speedup:
        _draw_number(axes, middle, row, row.speedup, color)
    if has_number and row.published_low:
        axes.plot(row.published_low, middle, color=INK, marker="|", markersize=8, markeredgewidth=1.6)
    return height


def _draw_number(axes: Axes, middle: float, row: ClaimRow, speedup: float, color: str) -> None:
    """Draw our number with its interval, and write it and the paper's."""
    look = make_look(color, "o", size=4.0) | UNSURE
    if row.speedup_low and row.speedup_high:
        ends = [row.speedup_low, row.speedup_high]
        look = make_look(color, "o", size=4.0)
        axes.plot(ends, [middle, middle], color=color, linewidth=2.5, solid_capstyle="butt")
    _write(axes, OURS, middle, row.here, color=color)
    _write(axes, THEIRS_END, middle, format_number(row.published_low) or NOTHING, ha="right")
    axes.plot(speedup, middle, **look)


def _write(axes: Axes, x: float, line: float, text: str, **look: Any) -> None:
    """Write a text at a share of the figure's width, and at a line of the axis."""
    transform = blended_transform_factory(axes.figure.transFigure, axes.transData)
    axes.text(x, line, text, va="center", transform=transform, **look)
