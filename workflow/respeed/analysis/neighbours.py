"""What neighbours on a shared host do to a row: how slow it was, and what a step takes beside a quiet reference probe.

Neighbours come and go every 80 to 250 ms, and no counter of this machine shows them. The reference probe, a matrix
product between the blocks of steps, is slowed as the steps are.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from respeed.protocol import Block
from respeed.records import Record, Result


class Slope(NamedTuple):
    """How a step feels what slows the reference probe: a probe e^x times as slow comes with a step e^(b x) times.

    `error` is the standard deviation of b over steps of that kind.
    """

    b: float
    error: float


# A step of matrix products waits for its slowest core, as the probe does: 0.45 to 1.23 were measured, less for large
# products on hosts whose cores change by the millisecond. Of copies, and of threads that take one item after another, a
# neighbour on one core costs less: 0.0 to 0.9. Other programs, and steps on many threads, are not corrected: there a
# probe is slow whenever one core of many is.
TOGETHER = Slope(0.75, 0.25)
BY_ITEMS = Slope(0.5, 0.35)
UNRELATED = Slope(0.0, 0.0)
# Up to this many threads, the probe tells how slow a step is.
FEW_THREADS = 8
# A probe says no more than a factor of 2: a longer pause is of the probe alone.
LARGEST = math.log(2)
# Probes of a process that take at most this many times its 10th percentile are quiet.
QUIET_MODE = 1.1
# A row or cell whose probes took more than this many times a quiet one's time had neighbours.
SLOWED = 1.1
# Processes whose quiet probes differ by less are alike.
NEAR = 1.03
# A session of fewer processes also looks at those of the session before; fewer may differ by so much, by a standard
# deviation of logarithms, if not by more.
KNOWN_PROCESSES = 4
ALONE_SPREAD = 0.05


class Quiet(NamedTuple):
    """The time of the reference probe on a quiet machine, and the standard deviation of its logarithm."""

    seconds: float
    error: float = 0.0

    def slowness(self, block: Block) -> float:
        """Return the logarithm of the probes around and inside a block over a quiet one, each at most a factor of 2.

        Between two probes their mean counts, and parts of a step count by their time.
        """
        x = np.log(np.divide(block.probes, self.seconds))
        x = x.clip(-LARGEST, LARGEST)
        parts = [seconds for seconds, _ in block.inside]
        rest = max(0.0, block.seconds - math.fsum(parts))
        between = (x[1:] + x[:-1]) / 2
        return float(np.average(between, weights=[*parts, rest or 1.0]))


def find_quiet(processes: Iterable[Sequence[float]]) -> Quiet:
    """Find the time of a quiet probe in the probes of several processes, which are in the order of time.

    A process is quiet at the median of those probes that take at most `QUIET_MODE` times its 10th percentile; the row,
    at the median of those processes that are within `NEAR` of the quietest. Later processes can only make the quiet
    probe shorter, so that a noisy hour changes no number of a quiet one. The error is the standard error of the
    processes' mean: where they differ, the next one may be quieter still.
    """
    times = map(np.array, processes)
    modes = np.array([_median_up_to(QUIET_MODE * np.quantile(probes, 0.1), probes) for probes in times])
    quietest = []
    for count in range(min(KNOWN_PROCESSES, len(modes)), len(modes) + 1):
        first = modes[:count]
        quietest.append(_median_up_to(NEAR * first.min(), first))
    spread = ALONE_SPREAD if len(modes) < KNOWN_PROCESSES else 0.0
    if len(modes) > 1:
        spread = max(spread, float(np.log(modes).std(ddof=1)))
    return Quiet(min(quietest), spread / math.sqrt(len(modes)))


def _median_up_to(most: float, times: np.ndarray) -> float:
    return float(np.median(times[times <= most]))


def quiet_on_device(rounds: Iterable[Sequence[Block]]) -> Quiet:
    """Return the 10th percentile of the probes beside one case on a device, whose clock follows its last work."""
    probes: list[float] = []
    for block in chain.from_iterable(rounds):
        probes += block.probe_seconds
    return Quiet(float(np.quantile(probes or [math.inf], 0.1, method="lower")))


def slope_of(record: Record, result: Result) -> Slope:
    """Return how the steps of a result feel what slows the row's probe."""
    start = record.start
    is_ours = start.profile.backend != "jax" and not result.program
    if not start.profile.is_cpu or start.smoke or start.threads > FEW_THREADS or not is_ours:
        return UNRELATED
    return TOGETHER if start.threads == 1 or result.together else BY_ITEMS
