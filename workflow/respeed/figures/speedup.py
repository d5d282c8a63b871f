"""Speedup over the fastest CPU row by size, with intervals: the paper's and one machine's."""

from collections.abc import Mapping

import seaborn as sns
from matplotlib.figure import Figure

from respeed.figures.style import (
    MARKERS,
    draw_interval,
    draw_row,
    draw_spread,
    draw_theirs,
    finish,
    label_cases,
    label_factors,
    new_figure,
)
from respeed.model.paper import Experiment, Paper
from respeed.tables.speedups import Speedup, published_speedup
from respeed.tables.spread import Spread


def draw_speedup(
    paper: Paper,
    experiment: Experiment,
    speedups: list[Speedup],
    positions: dict[str, float],
    stamp: str,
    *,
    lines: bool = True,
    spreads: Mapping[str, Spread] | None = None,
) -> Figure:
    """Draw one experiment of one machine; the row that is the base lies on the line at 1.

    `spreads` are those of all machines' accelerators, by case, where they are too many to be drawn."""
    figure, axes = new_figure()
    draw_spread(axes, positions, spreads or {}, "accelerator")
    axes.axhline(1, color="0.2", linewidth=0.8)
    draw_theirs(
        axes, paper, positions, lambda case, row: published_speedup(paper, experiment.name, case, row), lines=lines
    )
    rows = list(dict.fromkeys(row.row for row in speedups if row.speedup))
    for color, marker, name in zip(sns.color_palette(n_colors=len(rows)), MARKERS * 9, rows, strict=False):
        found = [row for row in speedups if row.row == name and row.speedup]
        found.sort(key=lambda row: positions[row.case])
        points = [(row.workload, positions[row.case], row.speedup or 0) for row in found]
        draw_row(axes, points, color, marker, found[0].label, lines=lines)
        for row in found:
            if row.speedup_low and row.speedup_high:
                draw_interval(axes, positions[row.case], row.speedup_low, row.speedup_high, color)
    label_cases(axes, positions)
    label_factors(axes)
    axes.set_ylabel("speedup over the fastest CPU row")
    axes.set_title(f"{experiment.title}: speedup by size", loc="left")
    return finish(figure, axes, stamp)
