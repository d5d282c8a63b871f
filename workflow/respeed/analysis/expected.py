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
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from respeed.analysis.neighbours import SLOWED
from respeed.analysis.rounds import CONTROL
from respeed.analysis.tables import Cell, CellKey
from respeed.inputs.registry import workloads
from respeed.model import CPU_ARCHITECTURES, Case, number_bytes
from respeed.records import case_key
from respeed.text import format_share, is_known, measured_time

# No program is faster than the matrix products in it, except by noise. Convolutions may be: their FLOP are counted for
# the direct method, and libraries choose Winograd's method or FFTs, which need fewer. Controls have their own test.
MAX_PEAK_SHARE = 1.05
CONVOLUTIONS = ("convnet", "convnet_replicas")
FREE_OF_PEAK = (*CONVOLUTIONS, CONTROL)
# A time above this many times its bound gets a reason.
SLOW = 3.0
# A cell above this many times its bound is weak: its speedup says more of the program than of the hardware.
WEAK = 2.0
# A step with a smaller bound consists of calls, which the bound does not cover.
LEAST_SECONDS = 1e-6
# A step has a dozen calls or launches, which take some microseconds each.
SHORT_SECONDS = 5e-5
# A step that moves fewer bytes may find its arrays in caches; the copy that measures the bandwidth does not.
CACHED_BYTES = 2**28

# FLOP and bytes of a step, each NaN if it cannot be counted, by the key of the case.
Counts = Mapping[str, tuple[float, float]]
UNCOUNTED = (math.nan, math.nan)
Count = Callable[[Sequence[Case]], Counts]


def bound_seconds(
    flops: float | None, traffic_bytes: float | None, peak_gflops: float | None, bandwidth_gbytes: float | None
) -> float | None:
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


def has_bound(workload: str, flops: float | None) -> bool:
    """Return whether a workload's counts bound its time; they do not if its matrix products have unknown FLOP."""
    return bool(flops and flops > 0) or not workloads()[workload].products


def add_expected(
    cells: Sequence[Cell], cases: Mapping[CellKey, Case], slowed: Mapping[CellKey, str], count: Count | None
) -> list[Cell]:
    """Return the cells with `expected_seconds` and `unexpected`.

    For a cell that is due, the rates are from other cases of its row, and `count` counts the work of its case. `slowed`
    has what made the steps of a cell slow.
    """
    rates = {row: _rates(own) for row, own in _by(cells, lambda cell: (cell.machine, cell.profile)).items()}
    due = [cell for cell in cells if cell.status == "due" and rates[cell.machine, cell.profile] != (None, None)]
    counts = count([cases[cell.key] for cell in due]) if count and due else {}
    on_one_core = _times_on_one_core(cells)
    expected = []
    for cell in cells:
        case = cases[cell.key]
        flops, moved = cell.flops, cell.traffic_bytes
        if cell.status == "due":
            step_flops, step_bytes = counts.get(case_key(case.workload, case.parameters), UNCOUNTED)
            flops = cell.steps * step_flops
            moved = cell.steps * step_bytes * number_bytes(cell.precision) / number_bytes("fp32")
        bound = bound_seconds(flops, moved, *rates[cell.machine, cell.profile])
        if bound and bound >= LEAST_SECONDS * cell.steps and has_bound(cell.algorithm, flops):
            cell = replace(cell, expected_seconds=bound)
            why = explain(cell, slowed.get(cell.key, ""), on_one_core.get(_program(cell), math.inf))
            cell = replace(cell, unexpected=why)
        expected.append(cell)
    return expected


def _by(cells: Iterable[Cell], key: Callable[[Cell], Hashable]) -> dict[Any, list[Cell]]:
    groups: dict[Any, list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[key(cell)].append(cell)
    return groups


def _rates(cells: Sequence[Cell]) -> tuple[float | None, float | None]:
    """Return the highest GFLOP/s and GB/s of the cells of a row."""
    peaks = [cell.peak_gflops for cell in cells if cell.peak_gflops]
    bandwidths = [cell.bandwidth_gbytes for cell in cells if cell.bandwidth_gbytes]
    return max(peaks, default=None), max(bandwidths, default=None)


def _program(cell: Cell) -> tuple[str, ...]:
    """Return what a row on one core and a row on all cores have in common."""
    return (*cell.key[:-1], cell.package, cell.precision)


def _times_on_one_core(cells: Iterable[Cell]) -> dict[tuple[str, ...], float]:
    """Return the seconds of each program in each case on one core, the shortest of several rows."""
    times: dict[tuple[str, ...], float] = {}
    for cell in cells:
        if cell.seconds and cell.architecture == CPU_ARCHITECTURES[0]:
            times[_program(cell)] = min(cell.seconds, times.get(_program(cell), math.inf))
    return times


def explain(cell: Cell, slowed: str, on_one_core: float) -> str:
    """Return the likeliest reason why a cell's interval is below its bound, or above three times the bound.

    The reason is empty if the time is as expected, or if there is no bound or no interval. For a slow cell, what
    `slowed` it comes first, such as a low clock, then its size, the seconds `on_one_core`, and the row's neighbours.
    Convolutions are never called too fast; other cells that compute faster than a plain matrix product have no time at
    all.
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
    if slowed:
        return slowed
    step = bound / cell.steps
    if step < SHORT_SECONDS:
        return f"short steps: the work of one needs {measured_time(step, None, None).text}, less than its calls"
    if cell.architecture == CPU_ARCHITECTURES[1] and on_one_core <= cell.seconds:
        return "threads: one core takes no longer"
    if bound > (cell.flops or 0.0) / (cell.peak_gflops or math.nan) / 1e9:
        return f"memory: it moves its bytes at {format_share(bound / cell.seconds)} of a copy's rate"
    if cell.slowness and cell.slowness > SLOWED:
        return f"neighbours: the reference product ran at {1 / cell.slowness:.2f} of its fastest"
    return "no record tells why"
