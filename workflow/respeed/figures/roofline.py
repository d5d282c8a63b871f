"""The roofline of a machine, log-log: what its rows can do at most, every case a point beneath; the paper's in grey.

Colour tells the package, a broken line and hollow markers one core, a marker's shape the table that the case is of.
"""

from collections.abc import Iterable
from typing import Any

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from respeed.figures.style import MARKERS, THEIRS, finish, new_figure
from respeed.model.paper import Paper
from respeed.tables.numbers import format_number, format_share
from respeed.tables.roofline import Point, Roof, highest_roofs, lowest_shares, paper_roofs

Color = str | tuple[float, float, float]

HEIGHT = 4.6  # inches: more than other figures, for the rates of many years
# How far the axes go beyond the outermost corner and point, as a factor; and from which to which if there is neither.
BEYOND, WITHOUT = 1.6, [1.0, 1000.0]
# The height of a label at a line, and the way to it, in parts of the axes.
LINE, AWAY = 0.043, 0.03
# Names are texts, whatever is in them; a longer one would leave no room for what is drawn.
TEXT: dict[str, Any] = {"fontsize": 7.5, "va": "center", "parse_math": False}
LONGEST = 32


def draw_roofline(paper: Paper, ours: list[Point], theirs: list[Point], stamp: str) -> Figure:
    """Draw one machine's cases of a paper in one precision, and the paper's own."""
    figure, axes = new_figure()
    figure.set_figheight(HEIGHT)
    roofs, grey = highest_roofs(ours), paper_roofs(paper)
    packages = list(dict.fromkeys(roof.package for roof in roofs))
    colors: dict[str, Color] = dict(zip(packages, sns.color_palette(n_colors=len(packages)), strict=True))
    tables = list(dict.fromkeys(point.experiment for point in (*ours, *theirs)))
    markers = dict(zip(tables, MARKERS * len(tables), strict=False))
    _set_limits(axes, [*roofs, *grey], [*ours, *theirs])
    for one in grey:
        _draw_roof(axes, one, THEIRS)
    for one in roofs:
        _draw_roof(axes, one, colors[one.package])
    for point in ours:
        _draw_point(axes, point, colors[point.roof.package], markers[point.experiment])
    for point in theirs:  # on top: there are few
        _draw_point(axes, point, THEIRS, markers[point.experiment])
    for point in lowest_shares(theirs):
        _name_point(axes, point)
    _label_roofs(axes, [(one, THEIRS) for one in grey] + [(one, colors[one.package]) for one in roofs])
    _add_key(figure, [(paper.experiments[name].title, marker) for name, marker in markers.items()])
    axes.set_xlabel("FLOP a byte that a step must move")
    axes.set_ylabel("GFLOP/s")
    axes.set_title("How near each case came to its roof", loc="left")
    return finish(figure, axes, stamp)


def _set_limits(axes: Axes, roofs: list[Roof], points: list[Point]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    across = [roof.ridge for roof in roofs] + [point.intensity for point in points] or WITHOUT
    up = [roof.peak_gflops for roof in roofs] + [point.gflops for point in points] or WITHOUT
    axes.set_xlim(min(across) / BEYOND, max(across) * BEYOND)
    axes.set_ylim(min(up) / BEYOND, max(up) * BEYOND)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=[1, 3]))
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.tick_params(which="minor", left=True, bottom=True, length=2, color="0.6")


def _draw_roof(axes: Axes, roof: Roof, color: Color) -> None:
    style = "--" if roof.architecture == "single-cpu" else "-"
    axes.plot(*zip(*roof.corners(*axes.get_xlim()), strict=True), color=color, linestyle=style, linewidth=1.2)


def _draw_point(axes: Axes, point: Point, color: Color, marker: str) -> None:
    fill = "white" if point.roof.architecture == "single-cpu" else color
    axes.plot(
        point.intensity, point.gflops, marker, color=color, markerfacecolor=fill, markersize=4, markeredgewidth=0.8
    )


def _name_point(axes: Axes, point: Point) -> None:
    text = f"{_shorten(point.case)}: {format_share(point.share)}"
    axes.annotate(text, (point.intensity, point.gflops), (5, 0), textcoords="offset points", color=THEIRS, **TEXT)


def _label_roofs(axes: Axes, roofs: list[tuple[Roof, Color]]) -> None:
    """Each roof's name and peak at its right end, moved apart where two would lie on one another."""
    place = axes.transScale + axes.transLimits
    ends = [float(place.transform((1.0, roof.at(axes.get_xlim()[1])))[1]) for roof, _ in roofs]
    for (roof, color), end, height in zip(roofs, ends, _move_apart(ends, LINE), strict=True):
        text = f"{_shorten(roof.label)}: {format_number(roof.peak_gflops)}"
        axes.plot([1, 1 + AWAY], [end, height], color=color, linewidth=0.6, transform=axes.transAxes, clip_on=False)
        axes.text(1 + 1.3 * AWAY, height, text, color=color, transform=axes.transAxes, **TEXT)


def _shorten(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _move_apart(heights: list[float], gap: float) -> list[float]:
    """The heights in their order, each at least `gap` from the next, as little moved as can be: groups that would
    overlap are spread about their own middle."""
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    groups: list[list[float]] = []
    for rank, index in enumerate(order):
        groups.append([heights[index] - rank * gap])
        while len(groups) > 1 and _middle(groups[-2]) > _middle(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    moved = [_middle(group) for group in groups for _ in group]
    return [moved[order.index(index)] + order.index(index) * gap for index in range(len(heights))]


def _middle(values: list[float]) -> float:
    return sum(values) / len(values)


def _add_key(figure: Figure, markers: Iterable[tuple[str, str]]) -> None:
    """Which marker is which table, below the axes."""
    handles = [
        Line2D([], [], color="0.2", marker=marker, linestyle="", markersize=4, label=title) for title, marker in markers
    ]
    if handles:
        key = figure.legend(
            handles=handles, loc="outside lower left", ncols=2, frameon=False, handletextpad=0.2, fontsize=8
        )
        for text in key.get_texts():
            text.set_parse_math(False)
