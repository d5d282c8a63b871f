"""The roofline of a machine: how fast each case ran, and how fast its row could have been.

Each case is a point below the roof, and the paper's points are grey:

    roof = min(peak, intensity * bandwidth)

with the intensity in FLOP per byte: a step's operations divided by the bytes that the step must move if nothing stays
in a cache, at 4 bytes an array element, or 8 in fp64. For our rows, the peak is measured on a plain matrix product, the
bandwidth on a copy. For the paper's rows, peak and bandwidth are those of their hardware in paper.yaml, and the
intensity is that of our case in the row's precision. A case without a count of FLOP or bytes is left out.
Source: Williams, Waterman and Patterson, Roofline, Communications of the ACM 52 (2009).
"""

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from respeed.analysis.cells import reference
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import FULL_PRECISION
from respeed.figures.charts import printed_cells, published_rows, work_of
from respeed.figures.style import (
    INK,
    MARKERS,
    Colors,
    finish,
    fold,
    look_of,
    make_look,
    new_figure,
)
from respeed.model import SMOKE_TOTAL, TOTAL, Paper, number_bytes
from respeed.text import format_number

# The range of a roofline's axes if there is neither a roof nor a point, and the factor by which axes exceed their data.
WITHOUT, ROOM = [1.0, 1000.0], 1.4
CEILINGS = ["peak_gflops", "bandwidth_gbytes"]


def make_roofline(cells: pd.DataFrame, paper: Paper, machine: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a paper's roofline on a machine: points for our rows and then the paper's, and the roofs above them.

    Parameters
    ----------
    cells : pd.DataFrame
        The cells of all machines, since any machine may have counted the work of a case.
    paper : Paper
        The paper.
    machine : str
        The machine, whose rows in fp32 are drawn.

    Returns
    -------
    points : pd.DataFrame
        A line for each case of each row: `intensity` in FLOP per byte, `gflops`, and `share`, the share of the roof.
    roofs : pd.DataFrame
        A line for each of our rows with a point, and for each hardware of the paper: `label`, and CEILINGS.
    """
    mine = (cells["paper"] == paper.name) & (cells["seconds"] > 0) & ~cells["case"].isin([TOTAL, SMOKE_TOTAL])
    counted = cells[mine & (cells["flops"] > 0) & (cells["traffic_bytes"] > 0)]
    here = (counted["machine"] == machine) & (counted["precision"] == FULL_PRECISION)
    ours = counted[here].dropna(subset=CEILINGS)
    theirs = printed_cells(paper, work_of(counted)).dropna(subset=CEILINGS)
    width = theirs["precision"].map(number_bytes) / number_bytes(FULL_PRECISION)
    points = pd.concat([ours, theirs.assign(traffic_bytes=theirs["traffic_bytes"] * width)], ignore_index=True)
    points["intensity"] = points["flops"] / points["traffic_bytes"]
    points["gflops"] = points["flops"] / points["seconds"] / 1e9
    slope = points["intensity"] * points["bandwidth_gbytes"]
    points["share"] = points["gflops"] / np.minimum(points["peak_gflops"], slope)
    # Several programs of one device have the same roof.
    hardware = published_rows(paper).dropna(subset=CEILINGS).drop_duplicates(["hardware", "year", *CEILINGS])
    hardware["label"] = hardware["hardware"] + ", " + hardware["year"].astype(str)
    roofs = pd.concat([hardware, ours]).groupby(["machine", "profile"], sort=False, as_index=False)
    # In a table of several algorithms, labels end with the algorithm; the least label is one without, if there is any.
    first = dict.fromkeys(["package", "is_cpu", "architecture"], "first")
    return points, roofs.agg({"label": "min", **first, **dict.fromkeys(CEILINGS, "max")})


def draw_roofline(paper: Paper, machine: str, cells: pd.DataFrame, colors: Colors, stamp: str) -> Figure:
    """Draw the roofline of a paper on a machine (`make_roofline`); a mark's shape shows the table of its case."""
    points, roofs = make_roofline(cells, paper, machine)
    note = f"A line is the most that a row can do. Hollow, broken: one core. Grey: {reference(paper)}."
    figure, axes = new_figure(f"How near each case came to its roof on {machine}", note, stamp)
    x = [*points["intensity"], *(roofs["peak_gflops"] / roofs["bandwidth_gbytes"])] or WITHOUT
    y = [*points["gflops"], *roofs["peak_gflops"]] or WITHOUT
    left, right = min(x) / ROOM, max(x) * ROOM
    for roof in rows_of(roofs):
        bends = np.clip([left, roof.peak_gflops / roof.bandwidth_gbytes, right], left, right)
        heights = np.minimum(roof.peak_gflops, bends * roof.bandwidth_gbytes)
        rates = f"{format_number(roof.peak_gflops)} GFLOP/s, {format_number(roof.bandwidth_gbytes)} GB/s"
        axes.plot(bends, heights, label=f"{fold(roof.label)}:\n{rates}", **look_of(roof, colors))
    markers = dict(zip(points["experiment"].unique(), cycle(MARKERS), strict=False))
    for name, marker in markers.items():
        axes.plot([], [], label=fold(paper.experiments[name].title), **make_look(INK, marker, line=""))
    for (_, _, name), some in points.groupby(["machine", "profile", "experiment"], sort=False):
        look = look_of(next(rows_of(some)), colors, markers[name]) | {"linestyle": ""}
        axes.plot(some["intensity"], some["gflops"], zorder=3, **look)
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(min(y) / ROOM, max(y) * ROOM))
    return finish(figure, "FLOP per byte", "GFLOP/s")
