"""One look for all figures, and files that are the same byte for byte when the data are."""

from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from respeed.model.paper import Paper
from respeed.tables.spread import Spread

Color = tuple[float, float, float]

WIDTH, HEIGHT = 7.0, 3.7  # inches: a text column of A4
THEIRS = "0.45"  # the paper's rows are grey, whatever ours are
SPREAD = "#c3cfdd"  # many machines at once: neither the paper's nor one of ours
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
PNG_DPI = 160


def set_look() -> None:
    """What figures are drawn from now on look like."""
    sns.set_theme(context="paper", style="whitegrid", palette="colorblind", font="DejaVu Sans")
    plt.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "respeed", "axes.titleweight": "bold"})


def new_figure() -> tuple[Figure, Axes]:
    """An empty figure in the house style."""
    set_look()
    return plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")


def label_cases(axes: Axes, positions: dict[str, float]) -> None:
    """Put the cases' names at their places along a logarithmic axis."""
    axes.set_xscale("log")
    axes.set_xticks(list(positions.values()), list(positions), rotation=60, ha="right", rotation_mode="anchor")
    axes.xaxis.set_minor_locator(LogLocator(subs=[]))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.08)


def draw_row(
    axes: Axes, points: list[tuple[str, float, float]], color: Color, marker: str, label: str, *, lines: bool = True
) -> None:
    """One row's points (workload, x, y): a line joins sizes of the same workload only, and none that have no order."""
    for workload, group in groupby(sorted(points, key=lambda point: point[0]), key=lambda point: point[0]):
        line = sorted((x, y) for _, x, y in group)
        xs, ys = [x for x, _ in line], [y for _, y in line]
        first = workload == min(point[0] for point in points)
        style = "-" if lines else ""
        axes.plot(xs, ys, color=color, linestyle=style, marker=marker, markersize=4, label=label if first else None)


def draw_theirs(
    axes: Axes, paper: Paper, positions: dict[str, float], value: Callable[[str, str], float | None], *, lines: bool
) -> None:
    """The paper's rows in grey: value(case, architecture) at each case's place."""
    kinds = zip(paper.architectures, (":", "--", "-.", (0, (1, 4))), ("x", "+", "1", "2"), strict=False)
    for architecture, dashes, marker in kinds:
        found = [(x, y) for case, x in positions.items() if (y := value(case, architecture.name))]
        if found:
            axes.plot(
                *zip(*found, strict=True),
                color=THEIRS,
                linestyle=dashes if lines else "",
                marker=marker,
                markersize=4,
                label=f"{architecture.label}, {paper.year}",
            )


def draw_spread(axes: Axes, positions: dict[str, float], spreads: Mapping[str, Spread], what: str) -> None:
    """Many machines as a pale bar for each case, behind all else: range, middle half (wider) and median (a dash)."""
    for case, x in positions.items():
        one = spreads.get(case)
        if one is None:
            continue
        axes.vlines(x, one.lowest, one.highest, color=SPREAD, linewidth=3, zorder=1)
        axes.vlines(x, one.lower_quartile, one.upper_quartile, color=SPREAD, linewidth=9, zorder=1)
        axes.plot(x, one.median, "_", color=THEIRS, markersize=9, zorder=1.5)
    if spreads:
        machines = max(one.machines for one in spreads.values())
        axes.plot([], [], color=SPREAD, linewidth=9, label=f"{what} of {machines} machines,\nmiddle half and range")


def draw_interval(axes: Axes, x: float, low: float, high: float, color: Color) -> None:
    """A 95 % interval."""
    axes.vlines(x, low, high, color=color, linewidth=2.5, alpha=0.5)


def label_factors(axes: Axes) -> None:
    """A logarithmic axis of factors, such as 0.5x, 1x, 2x, 5x."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=[1, 2, 5]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def finish(figure: Figure, axes: Axes, stamp: str) -> Figure:
    """Legend beside the axes, and the stamp across them if the numbers are no measurement."""
    sns.despine(figure)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    if stamp:
        axes.text(
            0.5,
            0.5,
            "no measurement",
            transform=axes.transAxes,
            ha="center",
            va="center",
            fontsize=30,
            color="0.85",
            zorder=0,
        )
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write <path>.svg and <path>.png."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.set_layout_engine("none")  # it is laid out, which takes as long as to draw it
    figure.savefig(path.with_suffix(".png"), dpi=PNG_DPI, metadata={"Software": None})
    plt.close(figure)
