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

from respeed.analysis.estimates import Number
from respeed.analysis.rounds import CONTROL
from respeed.analysis.tables import Cell
from respeed.inputs.registry import workloads
from respeed.text import measured_time

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


def bound_seconds(cell: Cell) -> Number:
    """Return the least seconds that a cell's work takes at the rates of its row: max(FLOP / F, bytes / B).

    Unknown FLOP or bytes count as 0. There is no bound if a rate is not known, if a workload of matrix products has
    unknown FLOP, or if the bound of a step is below `LEAST_SECONDS`.
    """
    has_work = cell.flops or not workloads()[cell.algorithm].products
    if not (has_work and cell.peak_gflops and cell.bandwidth_gbytes):
        return None
    computing = (cell.flops or 0.0) / cell.peak_gflops / 1e9
    moving = (cell.traffic_bytes or 0.0) / cell.bandwidth_gbytes / 1e9
    bound = max(computing, moving)
    return bound if bound >= LEAST_SECONDS * cell.steps else None


def explain(cell: Cell, low_clock: tuple[float, str] | None) -> str:
    """Return the likeliest reason why a cell's interval is below its bound, or above three times the bound.

    `low_clock` has the share of its highest clock at which the cell ran, with a reason, if that was low. The result is
    empty if the time is as expected, or if there is no bound or no interval. A slow cell has only a reason that brings
    it within three times its bound. Neighbours are none: they are not in the time. Convolutions are never called too
    fast; other cells that compute faster than a plain matrix product have no time at all.
    """
    time = cell.time
    bound = cell.expected_seconds or math.nan
    if time.is_below(bound / MAX_PEAK_SHARE) and cell.algorithm not in CONVOLUTIONS:
        moved = (cell.traffic_bytes or 0.0) / cell.steps
        if moved < CACHED_BYTES:
            return f"caches: a step moves {moved / 1e6:.3g} MB, which may stay in them"
        return "memory: it reads more than it writes, or its bytes are overcounted"
    if not time.is_above(SLOW * bound):
        return ""
    if low_clock and not time.times(low_clock[0]).is_above(SLOW * bound):
        return low_clock[1]
    calls = cell.steps * SHORT_SECONDS
    if bound < calls and not time.is_above(SLOW * (bound + calls)):
        step = measured_time(bound / cell.steps, None, None)
        return f"short steps: the work of one needs {step.text}, less than its calls"
    if cell.threads_ran and cell.threads and not time.is_above(SLOW * bound * cell.threads / cell.threads_ran):
        return f"threads: {cell.threads_ran} of {cell.threads} ran"
    return "no record tells why"
