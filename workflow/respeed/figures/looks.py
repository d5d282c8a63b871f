"""How a row is told from others: colour for its package, fill and dashes for its cores, shape for the rest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

from matplotlib.lines import Line2D

from respeed.figures.style import COLORS, MARKERS, THEIR_MARKERS, THEIRS
from respeed.model.paper import Paper
from respeed.tables.cells import Cell

LineStyle = str | tuple[float, tuple[float, ...]]
SOLID, DASHED, DASH_DOT = "-", (0.0, (4.0, 2.0)), (0.0, (6.0, 1.5, 1.0, 1.5))
ONE_CORE = "single-cpu"
STROKES = {"x", "+", "1"}  # markers that are lines
LARGER = {"*": 1.7}  # of the same size, it looks smaller than others


@dataclass(frozen=True)
class Look:
    """A `pale` row is drawn behind the others, and has no label."""

    color: str
    marker: str
    filled: bool = True
    line: LineStyle = SOLID
    pale: bool = False

    def mark(self, size: float = 4.5) -> dict[str, Any]:
        """What matplotlib calls it, without a line."""
        stroke = self.marker in STROKES
        return {
            "color": self.color,
            "marker": self.marker,
            "markersize": size * LARGER.get(self.marker, 1.0),
            "markerfacecolor": self.color if self.filled else "white",
            "markeredgecolor": self.color if stroke or not self.filled else "white",
            "markeredgewidth": 1.1 if stroke or not self.filled else 0.5,
            "alpha": 0.3 if self.pale else 1.0,
        }


BASE = Look(THEIRS, "None")


def color_packages(cells: Iterable[Cell]) -> dict[tuple[str, bool], str]:
    """A colour for each package on the CPU, and one for it on an accelerator: the same in all figures."""
    packages = dict.fromkeys((cell.package, cell.is_cpu) for cell in cells)
    return {package: COLORS[place % len(COLORS)] for place, package in enumerate(packages)}


def look_at_rows(
    cells: Iterable[Cell], colors: Mapping[tuple[str, bool], str], front: set[tuple[str, str]] | None = None
) -> dict[tuple[str, str], Look]:
    """The look of each row of one table; with `front`, all other rows are pale."""
    looks: dict[tuple[str, str], Look] = {}
    markers: dict[tuple[str, ...], str] = {}
    for cell in cells:
        if cell.row in looks:
            continue
        kind = (cell.algorithm,) if cell.algorithm else (cell.package, str(cell.is_cpu), cell.precision)
        marker = markers.setdefault(kind, MARKERS[len(markers) % len(MARKERS)])
        one = cell.architecture == ONE_CORE
        line = DASHED if one else SOLID if cell.in_full_precision else DASH_DOT
        look = Look(colors[cell.package, cell.is_cpu], marker, not one, line)
        # Of two profiles that are alike in all of this, the second has another shape.
        free = (look, *(replace(look, marker=other) for other in MARKERS if other not in markers.values()))
        looks[cell.row] = next((other for other in free if other not in looks.values()), look)
    return {row: replace(look, pale=front is not None and row not in front) for row, look in looks.items()}


def look_at_theirs(paper: Paper) -> dict[str, Look]:
    """The paper's rows are grey, whatever ours are."""
    rows = zip(paper.rows, cycle(THEIR_MARKERS), strict=False)
    return {row.name: Look(THEIRS, mark, line=DASHED if row.beside[0] == ONE_CORE else SOLID) for row, mark in rows}


def swatch(x: float, y: float, look: Look, **where: Any) -> Line2D:
    """A single mark of that look."""
    return Line2D([x], [y], linestyle="", **look.mark(), **where)
