"""The figure of bench/limits.py scaling: three panels of relative costs beside the straight line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from respeed.analysis.estimates import estimate_location
from respeed.figures.style import COLORS, MARKERS, PNG_DPI, WIDTH, set_look

HEIGHT = 3.4  # inches
# Factor between the places of two rows at the same tick.
SHIFT = 1.06
# Around the medians. A round that was disturbed may lie anywhere; those beyond are triangles at the edge.
ROOM = 1.25
LABELS = {"openblas": "OpenBLAS", "torch": "PyTorch"}


@dataclass(frozen=True)
class Series:
    """x -> the cost of every round. `threads` is None where x is their number."""

    backend: str
    threads: int | None
    costs: Mapping[int, Sequence[float]]

    @property
    def label(self) -> str:
        number = {None: "", 1: ", one core"}.get(self.threads, f", {self.threads} cores")
        return LABELS[self.backend] + number


@dataclass(frozen=True)
class Panel:
    """Costs along an axis whose places are `ticks`."""

    title: str
    axis: str
    ticks: Mapping[int, str]
    series: Sequence[Series]


def draw_scaling(panels: Sequence[Panel]) -> Figure:
    """Medians joined by lines, their 95 % intervals as bars, every round as a dot; 1 is perfect proportion."""
    set_look()
    widths = [max(3.2, len(panel.ticks)) for panel in panels]
    figure, places = plt.subplots(
        1, len(panels), figsize=(WIDTH, HEIGHT), sharey=True, layout="constrained", width_ratios=widths
    )
    medians = [estimate_location(c).value for panel in panels for row in panel.series for c in row.costs.values()]
    edges = (min(1, *medians) / ROOM, max(medians) * ROOM)
    looks = dict(zip(LABELS, zip(COLORS, MARKERS, strict=False), strict=False))
    for axes, panel in zip(places, panels, strict=True):
        for number, series in enumerate(panel.series):
            _draw_series(axes, series, number - (len(panel.series) - 1) / 2, edges, *looks[series.backend])
        axes.axhline(1, color="0.2", linewidth=0.8, zorder=1.5, label="straight line")
        _label_panel(axes, panel)
    places[0].set_ylabel("cost per unit of work, relative")
    places[0].set_yscale("log")
    # Most of what is to be seen lies between 1 and 2.
    places[0].yaxis.set_major_locator(LogLocator(subs=[1, 1.5, 2, 3, 5, 7]))
    places[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    places[0].yaxis.set_minor_formatter(NullFormatter())
    places[0].set_ylim(*edges)
    handles, labels = places[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_series(axes: Axes, series: Series, place: float, edges: tuple[float, float], color: str, marker: str) -> None:
    one = series.threads == 1
    # Side by side, not upon one another: on a logarithmic axis a factor moves all places alike.
    xs = [x * SHIFT**place for x in series.costs]
    medians = [estimate_location(costs) for costs in series.costs.values()]
    rounds = [(x, cost) for x, costs in zip(xs, series.costs.values(), strict=True) for cost in costs]
    axes.plot(*zip(*rounds, strict=True), ".", color=color, alpha=0.35, markersize=3)
    bottom, top = edges
    for shape, edge, beyond in (
        ("v", bottom * 1.02, [x for x, cost in rounds if cost < bottom]),
        ("^", top / 1.02, [x for x, cost in rounds if cost > top]),
    ):
        axes.plot(beyond, [edge] * len(beyond), shape, color=color, alpha=0.7, markersize=4)
    for x, median in zip(xs, medians, strict=True):
        if median.low and median.high:
            axes.vlines(x, median.low, median.high, color=color, linewidth=2.5, alpha=0.5)
    axes.plot(
        xs, [median.value for median in medians], color=color, linestyle=":" if one else "-", linewidth=1.2,
        marker=marker, markersize=4, markerfacecolor="white" if one else color, label=series.label,
    )  # fmt: skip


def _label_panel(axes: Axes, panel: Panel) -> None:
    axes.set_xscale("log")
    turned = max(map(len, panel.ticks.values())) > 3
    how: dict[str, Any] = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    axes.set_xticks(list(panel.ticks), list(panel.ticks.values()), **how)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(panel.axis)
    axes.set_title(panel.title, loc="left")
    margin = max(1.3, (max(panel.ticks) / min(panel.ticks)) ** 0.08)
    axes.set_xlim(min(panel.ticks) / margin, max(panel.ticks) * margin)


def save_scaling(figure: Figure, path: Path) -> None:
    """Write the figure as .svg, without what a browser does not need, or as .png."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # No fixed date or program: the same facts make the same file.
    figure.savefig(path, dpi=PNG_DPI, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
    if path.suffix == ".svg":
        path.write_text(slim_svg(path.read_text()))


def slim_svg(text: str) -> str:
    """Without comments, metadata, ids that nothing refers to and line ends, places to a hundredth of a point."""
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    used = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r'\sid="([\w.-]+)"', lambda found: found[0] if found[1] in used else "", text)
    places = r'(?<=[\s"])(?:d|x|y|transform)="[^"]*translate[^"]*"|(?<=[\s"])(?:d|x|y)="[^"]*"'
    text = re.sub(places, lambda found: re.sub(r"-?\d+\.\d{3,}(?!\d)", _hundredths, found[0]), text)
    text = re.sub(r'(?<=\s)d="[^"]*"', lambda found: re.sub(r"\s*([MLQCZz])\s*", r"\1", found[0]), text)
    text = re.sub(r'(?<=\s)style="[^"]*"', lambda found: re.sub(r"([:;]) ", r"\1", found[0]), text)
    text = re.sub(r"\s*\n\s*", " ", text).replace("> <", "><").strip() + "\n"
    # A hundred points of one style say so once.
    alike = r'<g( clip-path="[^"]*")>((?:<use [^>]*?style="([^"]*)"/>)(?:<use [^>]*?style="\3"/>)*)</g>'
    return re.sub(alike, lambda found: f'<g{found[1]} style="{found[3]}">{_without_style(found[2])}</g>', text)


def _hundredths(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def _without_style(text: str) -> str:
    return re.sub(r' style="[^"]*"', "", text)
