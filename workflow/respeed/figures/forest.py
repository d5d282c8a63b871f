"""The forest plot of a paper's claims: in each line our number with its interval, the paper's, and the verdict."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from respeed.analysis.claims import ANOTHER_SHAPE, LARGER, NOT_FAIR, REPRODUCED, SMALLER, WEAKLY
from respeed.analysis.tables import ClaimRow, group_by
from respeed.figures.style import INK, LINE, QUIET, fold, mark_ticks, new_figure
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
# Letters in a line of a label beside its number, and of a label without a number.
NARROW = 40
WIDE = 100
# By so much lines of a label are as far apart as those of the axis.
SPACING = 1.1
# Inches above the first line, and below the last one without the note; lines between two machines.
ABOVE = 0.25
BELOW = 0.3
BETWEEN = 0.4
NOTE = "Dot and bar: here, with the interval by which the verdict is made. Stroke: the paper. Hollow: no interval."
IN_DOUBT = " *: in doubt; the page of claims case by case says why."


def draw_forest(results: Results, paper: Paper, claims: Sequence[ClaimRow]) -> Figure:
    """Draw the rows of claims.csv in `claims`, under the name of each machine: a line for each number and verdict."""
    note = NOTE + IN_DOUBT if any(row.doubt for row in claims) else NOTE
    figure, axes = new_figure("", note, results.stamp)
    for x, text in {CLAIM: "claim", OURS: "here, low to high", VERDICT: "verdict"}.items():
        _write(axes, x, -0.5, text, color=QUIET)
    _write(axes, THEIRS_END, -0.5, "paper", color=QUIET, ha="right")
    top = -BETWEEN
    for machine, rows in group_by(claims, attrgetter("machine")).items():
        top += BETWEEN
        name = fold(results.describe(machine), WIDE)
        top += _write_label(axes, CLAIM, top, name, weight="bold")
        for row in rows:
            top += _draw_row(axes, top, row, name_claim(paper, row))
    axes.set(xscale="log", ylim=(top, 0), yticks=[])
    axes.grid(visible=False)
    mark_ticks(axes.xaxis)
    below = BELOW + LINE * (1 + figure.get_supxlabel().count("\n"))
    height = ABOVE + LINE * top + below
    figure.set_layout_engine("none")
    figure.set_figheight(height)
    begin, end = AXIS
    axes.set_position((begin, below / height, end - begin, LINE * top / height))
    return figure


def _draw_row(axes: Axes, top: float, row: ClaimRow, name: str) -> int:
    """Draw a row of claims.csv below `top`, and return its height in lines of text."""
    # Of a claim about several numbers, of which one was measured here, the line of the case has the numbers.
    speedup = row.speedup if row.is_one_number else None
    label = fold(name, NARROW if speedup else WIDE)
    height = _write_label(axes, CASE if row.case else CLAIM, top, label)
    middle = top + height / 2
    color = VERDICTS.get(row.verdict, QUIET)
    verdict = f"{row.verdict}*" if row.doubt else row.verdict
    _write(axes, VERDICT, middle, verdict, color=color, weight="normal" if row.case else "bold")
    if speedup:
        ends = [row.speedup_low or speedup, row.speedup_high or speedup]
        axes.plot(ends, [middle, middle], color=color, linewidth=2.5, solid_capstyle="butt", clip_on=False)
        face = color if row.speedup_low else "white"
        axes.plot(speedup, middle, "o", color=color, markersize=4.0, markerfacecolor=face, clip_on=False)
        _write(axes, OURS, middle, row.here, color=color)
        _write(axes, THEIRS_END, middle, format_number(row.published_low) or NOTHING, ha="right")
    if speedup and row.published_low:
        axes.plot(row.published_low, middle, color=INK, marker="|", markersize=8, markeredgewidth=1.6, clip_on=False)
    return height


def _write_label(axes: Axes, x: float, top: float, label: str, **look: Any) -> int:
    """Write a label below a line of the axis, and return its height in lines."""
    height = 1 + label.count("\n")
    _write(axes, x, top + height / 2, label, linespacing=SPACING, **look)
    return height


def _write(axes: Axes, x: float, line: float, text: str, **look: Any) -> None:
    """Write a text at a share of the figure's width, and at a line of the axis."""
    transform = blended_transform_factory(axes.figure.transFigure, axes.transData)
    axes.text(x, line, text, va="center", transform=transform, **look)
