"""How a row is told from others, and labels beside what they name, with a thin line to it where they had to move."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from respeed.figures.style import INK, LEADING, QUIET, SIZE, THEIRS, TICK_SIZE, Canvas, break_lines, width_of

LABEL_WIDTH = 125.0
LEADER, MARK = 12.0, 7.0
TICK, NAME_GAP = 8.0, 6.0
SOLID, DASHED, DASH_DOT = (), (4.0, 2.0), (6.0, 1.5, 1.0, 1.5)
STROKES = ("x", "+", "1", "2", "3", "4", "")  # markers that are lines, or nothing
LARGER = {"*": 1.7}  # of the same size, it looks smaller than others


@dataclass(frozen=True)
class Look:
    """Of a row: `dashes` as matplotlib has them, or none; a `pale` row is drawn behind the others, and has no label."""

    color: str
    marker: str = ""
    filled: bool = True
    dashes: tuple[float, ...] = SOLID
    pale: bool = False

    def marks(self, size: float = 4.5) -> dict[str, Any]:
        """What matplotlib is told of its line and marks, but for the colour."""
        stroke = self.marker in STROKES
        # Open marks lie beneath full ones, so that both are seen.
        return {
            "linestyle": (0, self.dashes) if self.dashes else "-",
            "marker": self.marker,
            "markersize": size * LARGER.get(self.marker, 1.0),
            "markeredgecolor": "white" if self.filled and not stroke else "auto",
            "markeredgewidth": 0.5 if self.filled and not stroke else 1.1,
            "markerfacecolor": "auto" if self.filled else "white",
            "alpha": 0.3 if self.pale else 1.0,
            "zorder": 3.0 if self.pale else 4.0 if self.filled else 3.5,
        }


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


def write_label(canvas: Canvas, label: Label, x: float, y: float) -> None:
    """Mark and words, `x` the middle of the mark and `y` that of the height."""
    look = label.look
    if look.marker:
        canvas.draw([(x, y)], **look.marks() | {"color": look.color, "linestyle": ""})
    color = THEIRS if look.color == THEIRS else INK
    write_lines(canvas, label.lines, x + MARK, y, size=SIZE, color=color)


def write_lines(canvas: Canvas, lines: Sequence[str], x: float, y: float, **look: Any) -> None:
    """Lines of text, `y` the middle of their height."""
    for number, line in enumerate(lines):
        canvas.write(x, y + ((len(lines) - 1) / 2 - number) * LEADING * SIZE, line, **look)


def label_ends(canvas: Canvas, labels: Sequence[Label], ends: Sequence[tuple[float, float]]) -> None:
    """Write labels one below another to the right of the axes, as near as can be to the ends of their lines."""
    x = canvas.width - canvas.right + LEADER
    heights = [label.height for label in labels]
    ys = move_apart([y for _, y in ends], heights, canvas.foot - 4, canvas.foot + canvas.plot + 4)
    for label, end, y in zip(labels, ends, ys, strict=True):
        canvas.draw([end, (x - LEADER / 2, y), (x, y)], color=label.look.color, linewidth=0.5)
        write_label(canvas, label, x, y)


def room_for(labels: Sequence[Label]) -> float:
    """Points that labels need beside the axes."""
    return LEADER + max((label.width for label in labels), default=0.0) + 2


def break_names(names: Sequence[str], width: float) -> list[list[str]]:
    """Names of cases for an axis of that length: whole if all have room, or else in lines, never turned."""
    whole = [break_lines(name, TICK_SIZE, 1e4) for name in names]
    if sum(width_of(lines[0], TICK_SIZE) + NAME_GAP for lines in whole) <= width:
        return whole
    return [break_lines(name, TICK_SIZE, width / len(names) - NAME_GAP, most=4) for name in names]


def write_names(canvas: Canvas, names: Sequence[list[str]], places: Sequence[float]) -> None:
    """Write the names below their places on the axis, moved apart, with a tick to each."""
    widths = [max(width_of(line, TICK_SIZE) for line in lines) + NAME_GAP for lines in names]
    moved, bottom = move_apart(places, widths, -NAME_GAP / 2, canvas.width), canvas.foot
    for lines, place, x in zip(names, places, moved, strict=True):
        canvas.draw([(place, bottom), (place, bottom - TICK / 2), (x, bottom - TICK)], color=QUIET, linewidth=0.6)
        for number, line in enumerate(lines):
            y = bottom - TICK - LEADING * TICK_SIZE * (number + 0.7)
            canvas.write(x, y, line, align="center", size=TICK_SIZE)


def move_apart(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Middles of labels of the given sizes, in the order of what is wanted, none on another, all from `low` to `high`.

    The sum of squares of the moves is the least that it can be; if there is no room for all, they begin at `low` and go
    beyond `high`.
    """
    if not wanted:
        return []
    order = np.argsort(wanted, kind="stable")
    widths = np.array(sizes)[order]
    # Each may be so far from the first, at least: without these offsets, labels that would cross have one place.
    offsets = np.concatenate([[0.0], np.cumsum((widths[1:] + widths[:-1]) / 2)])
    middles = isotonic_regression(np.array(wanted)[order] - offsets).x
    first, last = low + widths[0] / 2, high - widths[-1] / 2 - offsets[-1]
    placed = np.empty(len(order))
    placed[order] = np.maximum(first, np.minimum(last, middles)) + offsets
    return placed.tolist()


def stack_up(lefts: Sequence[float], widths: Sequence[float], heights: Sequence[float]) -> list[float]:
    """How high labels stand, each to the right of a line that rises to it, so that no line crosses a label.

    A label stands above those whose lines it would lie across; the one furthest to the right stands lowest.
    """
    bottoms = [0.0] * len(lefts)
    done: list[int] = []
    for place in sorted(range(len(lefts)), key=lambda place: lefts[place], reverse=True):
        right = lefts[place] + widths[place]
        bottoms[place] = max((bottoms[other] + heights[other] for other in done if lefts[other] < right), default=0.0)
        done.append(place)
    return bottoms
