"""What was learned: bases and filters as pictures, and the objective against time."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from respeed.figures.style import HEIGHT, MARKERS, WIDTH, finish, new_figure
from respeed.model.paper import Experiment
from respeed.tables.learning import shown_program

ROWS, COLUMNS = 4, 16
GAP = 2


def draw_curves(experiment: Experiment, record: dict[str, Any], stamp: str) -> Figure:
    """What is left to explain after so many seconds of steps, a line for each program."""
    figure, axes = new_figure()
    programs = record["programs"]
    for color, marker, program in zip(sns.color_palette(n_colors=len(programs)), MARKERS * 9, programs, strict=False):
        algorithm = experiment.algorithms.get(program["workload"])
        seconds, left = zip(*program["curve"], strict=True)
        label = algorithm.label if algorithm else experiment.title
        axes.plot(seconds, left, color=color, marker=marker, markersize=3, linewidth=1, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("seconds of steps, all cores")
    axes.set_ylabel("objective / objective of no bases" if experiment.algorithms else "reconstruction error / variance")
    axes.set_title(f"{experiment.title}: what is left to explain", loc="left")
    return finish(figure, axes, stamp)


def draw_pictures(experiment: Experiment, record: dict[str, Any], stamp: str) -> Figure:
    """Some of what the program that came furthest has learned, each on its own scale, 0 as grey."""
    pictures = np.array(shown_program(record)["pictures"])[: ROWS * COLUMNS]
    rows = -(-len(pictures) // COLUMNS)
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT * rows / (2 * ROWS)), layout="constrained")
    axes.set_axis_off()
    axes.imshow(_side_by_side(pictures, rows), cmap="gray", vmin=1, vmax=255, interpolation="nearest")
    if stamp:
        figure.text(0.5, 0.5, "no measurement", ha="center", va="center", fontsize=24, color="0.85")
    return figure


def _side_by_side(pictures: np.ndarray, rows: int) -> np.ndarray:
    """One picture of all, GAP pixels between them: NaN, which is not drawn."""
    height, width = pictures.shape[1] + GAP, pictures.shape[2] + GAP
    whole = np.full((rows * height - GAP, COLUMNS * width - GAP), np.nan)
    for place, picture in enumerate(pictures):
        down, right = divmod(place, COLUMNS)
        whole[down * height : (down + 1) * height - GAP, right * width : (right + 1) * width - GAP] = picture
    return whole
