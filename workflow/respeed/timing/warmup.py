"""Warm-up: until the step's time has settled."""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from respeed.protocol import TimingProtocol
from respeed.timing.clock import seconds_now


@dataclass(frozen=True)
class Warmup:
    """`settled` is False when the cap was reached before two windows agreed. `step_seconds` is the last median, or what
    the first step took where that needed no warm-up.
    """

    steps: int
    seconds: float
    settled: bool
    step_seconds: float


# Steps between two synchronisations where the device runs ahead of the host: timed one by one, they would seem slower
# than they are in a block, and blocks sized by that would be too short.
AHEAD = 32


def warm_up(
    step: Callable[[], None],
    sync: Callable[[], None],
    protocol: TimingProtocol,
    *,
    synchronous: bool = True,
    first_seconds: float = math.nan,
) -> Warmup:
    """Run steps until the protocol's minimum is done and the medians of two successive windows agree.

    `first_seconds` is what the step before took. If that is longer than a window, it counts as the first window.
    """
    began = seconds_now()
    steps, previous = 0, first_seconds if first_seconds > protocol.warmup_window_seconds else math.nan
    while True:
        median, count = _window(step, sync, protocol.warmup_window_seconds, 1 if synchronous else AHEAD)
        steps += count
        elapsed = seconds_now() - began
        if median > protocol.block_seconds:
            return Warmup(steps, elapsed, True, median)
        agreed = abs(median - previous) <= protocol.warmup_agreement * median
        if (agreed and elapsed >= protocol.warmup_seconds) or elapsed >= max(protocol.warmup_cap_seconds, 4 * median):
            return Warmup(steps, elapsed, agreed, median)
        previous = median


def _window(step: Callable[[], None], sync: Callable[[], None], seconds: float, together: int) -> tuple[float, int]:
    """Median step time over at least `seconds`, `together` steps between synchronisations, and their number."""
    times: list[float] = []
    end = seconds_now() + seconds
    while not times or seconds_now() < end:
        start = seconds_now()
        for _ in range(together):
            step()
        sync()
        times.append((seconds_now() - start) / together)
    return statistics.median(times), together * len(times)
