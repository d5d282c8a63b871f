"""What was learned: bases and filters as pictures, and the objective against time."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from respeed.analysis.columns import rows_of
from respeed.figures.charts import POINT, Chart, draw_chart, draw_marks
from respeed.figures.labels import Look, label_ends, make_label, room_for
from respeed.figures.style import (
    COLORS,
    COLUMN,
    MARKERS,
    Canvas,
    Margins,
    Page,
    ends_of,
    set_ticks,
    ticks_of,
    width_of_ticks,
)
from respeed.model.paper import Experiment

# Pictures, and how many stand beside one another: on a slide fewer, which makes them larger.
MOST, COLUMNS, COLUMNS_ON_SLIDE = 64, 16, 13
GAP = 2
PLOT, FOOT = 140.0, 14.0  # points


def draw_curves(experiment: Experiment, record: dict[str, Any], stamp: str, page: Page = COLUMN) -> Figure:
    """What is left to explain after so many seconds of steps, a line for each program."""
    title = f"{experiment.title}: what is left to explain"
    programs = {program["workload"]: program for program in record["programs"]}
    if not programs:
        return _draw_why_not(title, record, stamp, page)
    looks = {
        name: Look(COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)]) for number, name in enumerate(programs)
    }
    points = pd.DataFrame(
        [(name, "", *point) for name, program in programs.items() for point in program["curve"]],
        columns=["row", "program", "x", "y"],
    )
    known = experiment.algorithms
    names = {name: known[name].label if name in known else experiment.title for name in programs}
    labels = [make_label(names[name], look) for name, look in looks.items()]
    x_ends, y_ends = ends_of(list(points["x"])), ends_of(list(points["y"]))
    plot = max(page.least(PLOT), sum(label.height for label in labels))
    margins = Margins(plot, left=width_of_ticks(ticks_of(*y_ends)), right=room_for(labels), foot=FOOT)
    left_over = "The objective over that of no bases" if known else "Reconstruction error over variance"
    note = f"{left_over}, by seconds of steps on all cores of {record['machine']}. One run each, no interval."
    canvas = Canvas(page, title, note, lambda _: margins)
    draw_marks(canvas.axes, points, looks, joined=True, size=3.0)
    canvas.axes.set(xscale="log", yscale="log", xlim=x_ends, ylim=y_ends)
    set_ticks(canvas.axes.xaxis, ticks_of(*x_ends), " s")
    set_ticks(canvas.axes.yaxis, ticks_of(*y_ends))
    tips = points.groupby("row", sort=False).last()
    label_ends(canvas, labels, [(canvas.x_of(tip.x), canvas.y_of(tip.y)) for tip in rows_of(tips)])
    return canvas.finish(stamp)


def shown_program(record: dict[str, Any]) -> dict[str, Any]:
    """The program that left the least to explain: its pictures are of what has been learned the longest way."""
    program: dict[str, Any] = min(record["programs"], key=lambda program: program["curve"][-1][1])
    return program


def draw_pictures(experiment: Experiment, record: dict[str, Any], stamp: str, page: Page = COLUMN) -> Figure:
    """Some of what the program that came furthest has learned, each on its own scale, 0 as grey."""
    title = f"{experiment.title}: what was learned"
    if not record["programs"]:
        return _draw_why_not(title, record, stamp, page)
    pictures = np.array(shown_program(record)["pictures"])[:MOST]
    columns = COLUMNS if page.shape is None else COLUMNS_ON_SLIDE
    whole = _side_by_side(pictures, columns)
    note = f"From natural images, on {record['machine']}. Each picture has its own scale, with grey for zero."
    canvas = Canvas(page, title, note, lambda width: Margins(width * whole.shape[0] / whole.shape[1]))
    canvas.axes.set_axis_off()
    canvas.axes.imshow(whole, cmap="gray", vmin=1, vmax=255, interpolation="nearest")
    return canvas.finish(stamp)


def _side_by_side(pictures: np.ndarray, columns: int) -> np.ndarray:
    """One picture of all, GAP pixels between them: NaN, which is not drawn."""
    room = ((0, -len(pictures) % columns), (0, GAP), (0, GAP))
    padded = np.pad(pictures.astype(float), room, constant_values=np.nan)  # (number, height, width)
    _, height, width = padded.shape
    whole = padded.reshape(-1, columns, height, width).swapaxes(1, 2).reshape(-1, columns * width)
    return whole[:-GAP, :-GAP]


def _draw_why_not(title: str, record: dict[str, Any], stamp: str, page: Page) -> Figure:
    why = f"nothing was learned: {record['absent'][0]['reason']}"
    chart = Chart(title, f"On {record['machine']}.", (), (), pd.DataFrame(columns=POINT), why_empty=why)
    return draw_chart(chart, {}, False, stamp, page)
