"""Labels beside what they name, with a thin line to it where they had to move."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from respeed.figures.apart import move_apart
from respeed.figures.looks import Look, swatch
from respeed.figures.style import INK, PAGE, QUIET, SIZE, THEIRS, TICK_SIZE, height_of, write_text
from respeed.figures.text import LEADING, break_lines, width_of

LABEL_WIDTH = 125.0
LEADER, MARK = 12.0, 7.0
TICK, NAME_GAP = 8.0, 6.0


@dataclass(frozen=True)
class Label:
    """The lines of a label, and the look of what it names."""

    lines: tuple[str, ...]
    look: Look

    @property
    def width(self) -> float:
        return MARK + max(width_of(line, SIZE) for line in self.lines)

    @property
    def height(self) -> float:
        return LEADING * SIZE * len(self.lines) + 1


def make_label(text: str, look: Look) -> Label:
    """A label of a row."""
    return Label(tuple(break_lines(text, SIZE, LABEL_WIDTH)), look)


def along(value: float, ends: tuple[float, float], start: float, length: float) -> float:
    """Where a value lies on a logarithmic axis: points from `start`."""
    low, high = (math.log(end) for end in ends)
    return start + length * (math.log(value) - low) / (high - low)


def draw_leader(figure: Figure, places: Sequence[tuple[float, float]], color: str, width: float = 0.5) -> None:
    """A thin line from place to place, in points."""
    height = height_of(figure)
    xs, ys = [x / PAGE for x, _ in places], [y / height for _, y in places]
    figure.add_artist(Line2D(xs, ys, color=color, linewidth=width, transform=figure.transFigure, zorder=1))


def write_label(figure: Figure, label: Label, x: float, y: float) -> None:
    """Mark and words, `x` the middle of the mark and `y` that of the height."""
    if label.look.marker != "None":
        where = {"transform": figure.transFigure, "zorder": 4}
        figure.add_artist(swatch(x / PAGE, y / height_of(figure), label.look, **where))
    for number, line in enumerate(label.lines):
        up = ((len(label.lines) - 1) / 2 - number) * LEADING * SIZE
        write_text(figure, x + MARK, y + up, line, color=THEIRS if label.look.color == THEIRS else INK, size=SIZE)


def label_ends(
    figure: Figure, labels: Sequence[Label], ends: Sequence[tuple[float, float]], x: float, low: float, high: float
) -> None:
    """Write labels one below another at `x`, as near as can be to the ends of their lines."""
    heights = [label.height for label in labels]
    ys = move_apart([y for _, y in ends], heights, low, high)
    for label, (end_x, end_y), y in zip(labels, ends, ys, strict=True):
        draw_leader(figure, [(end_x, end_y), (x - LEADER / 2, y), (x, y)], label.look.color)
        write_label(figure, label, x, y)


def break_names(names: Sequence[str], width: float) -> list[list[str]]:
    """Names of cases for an axis of that length: whole if all have room, or else in lines, never turned."""
    whole = [break_lines(name, TICK_SIZE, PAGE) for name in names]
    if sum(width_of(lines[0], TICK_SIZE) + NAME_GAP for lines in whole) <= width:
        return whole
    return [break_lines(name, TICK_SIZE, width / len(names) - NAME_GAP, most=4) for name in names]


def write_names(figure: Figure, names: Sequence[list[str]], places: Sequence[float], bottom: float) -> None:
    """Write the names below their places on an axis, moved apart, with a tick to each."""
    widths = [max(width_of(line, TICK_SIZE) for line in lines) for lines in names]
    for lines, place, x in zip(
        names, places, move_apart(places, [width + NAME_GAP for width in widths], -NAME_GAP / 2, PAGE), strict=True
    ):
        draw_leader(figure, [(place, bottom), (place, bottom - TICK / 2), (x, bottom - TICK)], QUIET, 0.6)
        for number, line in enumerate(lines):
            y = bottom - TICK - LEADING * TICK_SIZE * (number + 0.7)
            write_text(figure, x, y, line, align="center", size=TICK_SIZE)
