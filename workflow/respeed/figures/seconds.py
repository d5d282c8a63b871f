"""Seconds by size, log-log: every row of the paper and of one machine, each round a point."""

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
    new_figure,
)
from respeed.model.paper import Experiment, Paper
from respeed.tables.cells import Cell
from respeed.tables.spread import Spread


def draw_seconds(
    paper: Paper,
    experiment: Experiment,
    cells: list[Cell],
    positions: dict[str, float],
    stamp: str,
    *,
    lines: bool = True,
    spreads: Mapping[str, Spread] | None = None,
) -> Figure:
    """Draw one experiment of one machine. `positions` places the cases along the axis, in their order.

    `spreads` are those of all machines, by case, where they are too many to be drawn."""
    figure, axes = new_figure()
    draw_spread(axes, positions, spreads or {}, "fastest row")
    draw_theirs(axes, paper, positions, lambda case, row: paper.printed(experiment.name, case, row), lines=lines)
    rows = list(dict.fromkeys(cell.row for cell in cells if cell.seconds))
    for color, marker, name in zip(sns.color_palette(n_colors=len(rows)), MARKERS * 9, rows, strict=False):
        row = [cell for cell in cells if cell.row == name and cell.seconds]
        row.sort(key=lambda cell: positions[cell.case])
        draw_row(
            axes,
            [(cell.workload, positions[cell.case], cell.seconds or 0) for cell in row],
            color,
            marker,
            row[0].label,
            lines=lines,
        )
        for cell in row:
            if cell.seconds_low and cell.seconds_high:
                draw_interval(axes, positions[cell.case], cell.seconds_low, cell.seconds_high, color)
            axes.plot(
                [positions[cell.case]] * len(cell.round_seconds),
                cell.round_seconds,
                ".",
                color=color,
                alpha=0.35,
                markersize=3,
            )
    label_cases(axes, positions)
    axes.set_yscale("log")
    unit = f"{experiment.examples:,} examples" if experiment.examples else "one step"
    axes.set_ylabel(f"seconds for {unit}")
    axes.set_title(f"{experiment.title}: seconds by size", loc="left")
    return finish(figure, axes, stamp)
