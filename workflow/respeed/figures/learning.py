"""What was learned: bases and filters as pictures, and the objective against time."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from respeed.figures.axis import ends_of, ticks_of, write_ticks
from respeed.figures.chart import Chart
from respeed.figures.draw import draw_chart
from respeed.figures.labels import LEADER, along, label_ends, make_label
from respeed.figures.looks import Look
from respeed.figures.style import (
    COLORS,
    INCH,
    MARGIN,
    MARKERS,
    PAGE,
    TICK_SIZE,
    finish,
    head_lines,
    new_figure,
    place_axes,
    write_head,
)
from respeed.figures.text import width_of
from respeed.model.paper import Experiment
from respeed.tables.learning import shown_program

ROWS, COLUMNS = 4, 16
GAP = 2
PLOT, FOOT, ROW = 140.0, 14.0, 31.0  # points


def draw_curves(experiment: Experiment, record: dict[str, Any], stamp: str) -> Figure:
    """What is left to explain after so many seconds of steps, a line for each program."""
    programs = record["programs"]
    left_over = "The objective over that of no bases" if experiment.algorithms else "Reconstruction error over variance"
    title = f"{experiment.title}: what is left to explain"
    if not programs:
        return _draw_why_not(title, record, stamp)
    note = f"{left_over}, by seconds of steps on all cores of {record['machine']}. One run each, no interval."
    labels = []
    for number, program in enumerate(programs):
        algorithm = experiment.algorithms.get(program["workload"])
        look = Look(COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)])
        labels.append(make_label(algorithm.label if algorithm else experiment.title, look))
    curves = [list(zip(*program["curve"], strict=True)) for program in programs]
    x_ends = ends_of([second for seconds, _ in curves for second in seconds])
    y_ends = ends_of([value for _, values in curves for value in values])
    left = max(width_of(f"{tick:,.12g}", TICK_SIZE) for tick in ticks_of(*y_ends)) + 6
    right = LEADER + max(label.width for label in labels) + MARGIN
    plot, head = max(PLOT, sum(label.height for label in labels)), head_lines(title, note)[2]
    figure, axes = new_figure((head + plot + FOOT) / INCH)
    write_head(figure, title, note)
    place_axes(figure, axes, left=left, right=right, bottom=FOOT, top=head)
    axes.set(xscale="log", yscale="log", xlim=x_ends, ylim=y_ends)
    write_ticks(axes.xaxis, x_ends, " s")
    write_ticks(axes.yaxis, y_ends, "")
    tips = []
    for label, (seconds, values) in zip(labels, curves, strict=True):
        axes.plot(seconds, values, **label.look.mark(3.0))
        length = PAGE - left - right
        tips.append((along(seconds[-1], x_ends, left, length), along(values[-1], y_ends, FOOT, plot)))
    label_ends(figure, labels, tips, PAGE - right + LEADER, FOOT - 4, FOOT + plot + 4)
    return finish(figure, axes, stamp)


def draw_pictures(experiment: Experiment, record: dict[str, Any], stamp: str) -> Figure:
    """Some of what the program that came furthest has learned, each on its own scale, 0 as grey."""
    title = f"{experiment.title}: what was learned"
    if not record["programs"]:
        return _draw_why_not(title, record, stamp)
    pictures = np.array(shown_program(record)["pictures"])[: ROWS * COLUMNS]
    rows = -(-len(pictures) // COLUMNS)
    note = f"From natural images, on {record['machine']}. Each picture has its own scale, with grey for zero."
    head = head_lines(title, note)[2]
    figure, axes = new_figure((head + ROW * rows) / INCH)
    write_head(figure, title, note)
    place_axes(figure, axes, left=0, right=0, bottom=0, top=head)
    axes.set_axis_off()
    axes.imshow(_side_by_side(pictures, rows), cmap="gray", vmin=1, vmax=255, interpolation="nearest")
    return finish(figure, axes, stamp)


def _draw_why_not(title: str, record: dict[str, Any], stamp: str) -> Figure:
    why = f"nothing was learned: {record['absent'][0]['reason']}"
    return draw_chart(Chart(title, f"On {record['machine']}.", (), (), why_empty=why), {}, False, stamp)


def _side_by_side(pictures: np.ndarray, rows: int) -> np.ndarray:
    """One picture of all, GAP pixels between them: NaN, which is not drawn."""
    height, width = pictures.shape[1] + GAP, pictures.shape[2] + GAP
    whole = np.full((rows * height - GAP, COLUMNS * width - GAP), np.nan)
    for place, picture in enumerate(pictures):
        down, right = divmod(place, COLUMNS)
        whole[down * height : (down + 1) * height - GAP, right * width : (right + 1) * width - GAP] = picture
    return whole
