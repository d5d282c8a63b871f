"""The expected time of a cell: a bound from its row's rates, and the reason why a measured time is far from the bound.

    t >= max(FLOP / F, bytes / B)

The workload counts FLOP and bytes. F is the highest rate of a plain matrix product and B the rate of a copy, both on
the same row of the same machine, and so in the row's precision and on its threads. A workload of matrix products whose
FLOP cannot be counted beforehand, such as sparse coding, has no bound: a bound from the bytes alone would be too low.
The bound is for the entire step: in workloads with parts, the same rate (F or B) limits all parts, and the sum of the
parts' bounds is at most 1 % higher.

References
----------
Williams, Waterman and Patterson, Roofline: an insightful visual performance model for multicore architectures, CACM 52
(2009).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from respeed.analysis.estimates import Number, largest
from respeed.analysis.rounds import CONTROL
from respeed.analysis.tables import Cell, CellKey, group_by
from respeed.inputs.registry import workloads
from respeed.text import is_known, measured_time

# No program is faster than the matrix products in it, except by noise. Convolutions may be: their FLOP are counted for
# the direct method, and libraries choose Winograd's method or FFTs, which need fewer. Controls have their own test.
MAX_PEAK_SHARE = 1.05
CONVOLUTIONS = ("convnet", "convnet_replicas")
FREE_OF_PEAK = (*CONVOLUTIONS, CONTROL)
# A time above this many times its bound gets a reason.
SLOW = 3.0
# A step with a smaller bound consists of calls, which the bound does not cover.
LEAST_SECONDS = 1e-6
# A step has a dozen calls or launches, which take some microseconds each.
SHORT_SECONDS = 5e-5
# A step that moves fewer bytes may find its arrays in caches; the copy that measures the bandwidth does not.
CACHED_BYTES = 2**28

# A remark below a table.
TENSOR_CORES = (
    "A GPU is faster in fp64 than in fp32 here: its tensor cores multiply fp64, but fp32 only rounded to TF32."
)


def bound_seconds(flops: Number, traffic_bytes: Number, peak_gflops: Number, bandwidth_gbytes: Number) -> Number:
    """Return the least seconds that the work takes at these rates: max(FLOP / F, bytes / B).

    Parameters
    ----------
    flops, traffic_bytes : float, optional
        The work, in FLOP and bytes; an unknown number counts as 0.
    peak_gflops, bandwidth_gbytes : float, optional
        F in GFLOP/s and B in GB/s.

    Returns
    -------
    float or None
        Seconds; None if a rate is not known.
    """
    if not (is_known(peak_gflops) and is_known(bandwidth_gbytes)):
        return None
    computing = flops / (peak_gflops * 1e9) if is_known(flops) else 0.0
    moving = traffic_bytes / (bandwidth_gbytes * 1e9) if is_known(traffic_bytes) else 0.0
    return max(computing, moving)


def has_bound(workload: str, flops: Number) -> bool:
    """Return whether a workload's counts bound its time; they do not if its matrix products have unknown FLOP."""
    return bool(flops and flops > 0) or not workloads()[workload].products


def add_expected(cells: Sequence[Cell], clocks: Mapping[CellKey, tuple[float, str] | None]) -> list[Cell]:
    """Return the cells with `expected_seconds` and `unexpected`.

    `clocks` has the share of its highest clock at which a cell ran, with a reason, if that was low.
    """
    rows = group_by(cells, attrgetter("machine", "profile"))
    peaks = {row: largest(cell.peak_gflops for cell in of_row) for row, of_row in rows.items()}
    bandwidths = {row: largest(cell.bandwidth_gbytes for cell in of_row) for row, of_row in rows.items()}
    expected = []
    for cell in cells:
        row = cell.machine, cell.profile
        bound = bound_seconds(cell.flops, cell.traffic_bytes, peaks[row], bandwidths[row])
        if bound and bound >= LEAST_SECONDS * cell.steps and has_bound(cell.algorithm, cell.flops):
            cell = replace(cell, expected_seconds=bound)
            cell = replace(cell, unexpected=explain(cell, clocks.get(cell.key)))
        expected.append(cell)
    return expected


def explain(cell: Cell, low_clock: tuple[float, str] | None) -> str:
    """Return the likeliest reason why a cell's interval is below its bound, or above three times the bound.

    The reason is empty if the time is as expected, or if there is no bound or no interval. A slow cell has only a
    reason that brings it within three times its bound. Neighbours are none: they are not in the time. Convolutions are
    never called too fast; other cells that compute faster than a plain matrix product have no time at all.
    """
    bound = cell.expected_seconds
    if not (bound and cell.seconds and cell.seconds_low and cell.seconds_high):
        return ""
    if cell.seconds_high < bound / MAX_PEAK_SHARE and cell.algorithm not in CONVOLUTIONS:
        moved = (cell.traffic_bytes or 0.0) / cell.steps
        if moved < CACHED_BYTES:
            return f"caches: a step moves {moved / 1e6:.3g} MB, which may stay in them"
        return "memory: it reads more than it writes, or its bytes are overcounted"
    if cell.seconds_low <= SLOW * bound:
        return ""
    if low_clock and cell.seconds_low * low_clock[0] <= SLOW * bound:
        return low_clock[1]
    step = bound / cell.steps
    if step < SHORT_SECONDS and cell.seconds_low <= SLOW * (bound + cell.steps * SHORT_SECONDS):
        return f"short steps: the work of one needs {measured_time(step, None, None).text}, less than its calls"
    if cell.threads_ran and cell.threads and cell.seconds_low <= SLOW * bound * cell.threads / cell.threads_ran:
        return f"threads: {cell.threads_ran} of {cell.threads} ran"
    return "no record tells why"


def say_tensor_cores(cells: Iterable[Cell]) -> str:
    """Return a remark if a device is faster in fp64 than in fp32 in some case; else nothing."""
    timed = [cell for cell in cells if cell.seconds and not cell.is_cpu]
    fastest: dict[tuple[str, str, str], float] = {}
    for key, alike in group_by(timed, attrgetter("machine", "case", "precision")).items():
        fastest[key] = min(cell.seconds or math.inf for cell in alike)
    for (machine, case, precision), seconds in fastest.items():
        if precision == "fp64" and seconds < fastest.get((machine, case, "fp32"), 0.0):
            return TENSOR_CORES
    return ""
