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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from respeed.analysis.columns import rows_of
from respeed.analysis.rounds import CONTROL
from respeed.inputs.registry import workloads
from respeed.model import Case, number_bytes
from respeed.records import case_key
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
# A step has a dozen calls or launches, which take some microseconds each: as long as this, all together.
SHORT_SECONDS = 5e-5
# A step that moves fewer bytes may find its arrays in caches; the copy that measures the bandwidth does not.
CACHED_BYTES = 2**28

# FLOP and bytes of a step, each NaN if it cannot be counted, by the key of the case.
Counts = Mapping[str, tuple[float, float]]
UNCOUNTED = (math.nan, math.nan)
Count = Callable[[Sequence[Case]], Counts]


def bound_seconds(flops: Any, traffic_bytes: Any, peak_gflops: Any, bandwidth_gbytes: Any) -> Any:
    """Return the least seconds that the work takes at these rates: max(FLOP / F, bytes / B).

    Parameters
    ----------
    flops, traffic_bytes : float or array
        The work, in FLOP and bytes; an unknown number is NaN, and counts as 0.
    peak_gflops, bandwidth_gbytes : float or array
        F in GFLOP/s and B in GB/s.

    Returns
    -------
    float or array
        Seconds; NaN if a rate is not known.
    """
    computing = np.nan_to_num(flops) / (peak_gflops * 1e9)
    moving = np.nan_to_num(traffic_bytes) / (bandwidth_gbytes * 1e9)
    return np.maximum(computing, moving)


def has_bound(workload: str, flops: float) -> bool:
    """Return whether a workload's counts bound its time; they do not if its matrix products have unknown FLOP."""
    return flops > 0 or not workloads()[workload].products


def add_expected(cells: pd.DataFrame, is_due: pd.Series, count: Count | None) -> pd.DataFrame:
    """Add `expected_seconds` and `unexpected` to the cells of `make_cells`.

    For a cell that `is_due` (not measured yet), the rates are from other cases of its row, and `count` counts the work.
    """
    rates = cells.groupby(["machine", "profile"])[["peak_gflops", "bandwidth_gbytes"]].transform("max")
    work = cells[["flops", "traffic_bytes"]].copy()
    ahead = is_due & rates.notna().any(axis=1)
    if count and ahead.any():
        due = cells[ahead]
        counts = count(list(due["of"]))
        keys = [case_key(case.workload, case.parameters) for case in due["of"]]
        counted = pd.DataFrame([counts.get(key, UNCOUNTED) for key in keys], due.index, work.columns)
        counted["traffic_bytes"] *= due["precision"].map(number_bytes) / number_bytes("fp32")
        work.loc[ahead] = counted.mul(due["steps"], axis=0)
    has = pd.Series(map(has_bound, cells["algorithm"], work["flops"]), cells.index, bool)
    bound = bound_seconds(work["flops"], work["traffic_bytes"], rates["peak_gflops"], rates["bandwidth_gbytes"])
    cells = cells.assign(expected_seconds=bound.where(has & (bound >= LEAST_SECONDS * cells["steps"])))
    return cells.assign(unexpected=[explain(cell) for cell in rows_of(cells)])


def explain(cell: Any) -> str:
    """Return the likeliest reason why a cell's interval is below its bound, or above three times the bound.

    The reason is empty if the time is as expected, or if there is no bound or no interval. A slow cell has only a
    reason that brings it within three times its bound. Neighbours are none: they are not in the time. Convolutions are
    never called too fast; other cells that compute faster than a plain matrix product have no time at all.
    """
    bound = cell.expected_seconds
    if not (bound and cell.seconds and cell.seconds_low):
        return ""
    if cell.seconds_high < bound / MAX_PEAK_SHARE and cell.algorithm not in CONVOLUTIONS:
        moved = (cell.traffic_bytes or 0.0) / cell.steps
        if moved < CACHED_BYTES:
            return f"caches: a step moves {moved / 1e6:.3g} MB, which may stay in them"
        return "memory: it reads more than it writes, or its bytes are overcounted"
    if cell.seconds_low <= SLOW * bound:
        return ""
    if cell.slowed and cell.seconds_low * cell.slowed[0] <= SLOW * bound:
        return str(cell.slowed[1])
    step = bound / cell.steps
    if step < SHORT_SECONDS and cell.seconds_low <= SLOW * (bound + cell.steps * SHORT_SECONDS):
        return f"short steps: the work of one needs {measured_time(step, None, None).text}, less than its calls"
    ran, threads = cell.threads_ran, cell.threads
    if ran and cell.seconds_low <= SLOW * bound * threads / ran:
        return f"threads: {ran:.0f} of {threads:.0f} ran"
    return "no record tells why"


def say_tensor_cores(cells: pd.DataFrame) -> str:
    """Return a remark if a device is faster in fp64 than in fp32 in some case; else nothing."""
    on_devices = cells[~cells["is_cpu"] & (cells["seconds"] > 0)]
    fastest = on_devices.groupby(["machine", "case", "precision"])["seconds"].min().unstack()
    if not {"fp32", "fp64"} <= {*fastest} or (fastest["fp64"] >= fastest["fp32"]).all():
        return ""
    return "A GPU is faster in fp64 than in fp32 here: its tensor cores multiply fp64, but fp32 only rounded to TF32."
