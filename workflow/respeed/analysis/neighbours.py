"""What neighbours on a shared host do to a row: how slow it was, and what a step takes beside a quiet reference probe.

Neighbours come and go every 80 to 250 ms, and no counter of this machine shows them. The reference probe, a matrix
product between the blocks of steps, is slowed as the steps are.
"""

import math
from collections.abc import Sequence
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


# A step of matrix products waits for its slowest core, as the probe does: 0.83 to 1.23 were measured. Of copies, and of
# threads that take one item after another, a neighbour on one core costs less: 0.0 to 0.9. Other programs, and steps on
# many threads, are not corrected: there a probe is slow whenever one core of many is.
TOGETHER, BY_ITEMS, UNRELATED = Slope(1.0, 0.15), Slope(0.6, 0.35), Slope(0.0, 0.0)
# Up to this many threads, the probe tells how slow a step is.
FEW_THREADS = 8
# A probe says no more than a factor of 2: a longer pause is of the probe alone.
LARGEST = math.log(2)
# Probes of a process that take at most this many times its 2nd percentile are quiet.
QUIET_MODE = 1.1
# A session of fewer processes also looks at the row's earlier ones, and one process alone may be wrong by so much.
KNOWN_PROCESSES, ALONE_ERROR = 4, 0.05


class Quiet(NamedTuple):
    """The time of the reference probe on a quiet machine, and the standard deviation of its logarithm."""

    seconds: float
    error: float = 0.0

    def slowness(self, block: Block) -> float:
        """Return the logarithm of the probes around and inside a block over a quiet one, each at most a factor of 2.

        Between two probes their mean counts, and parts of a step count by their time.
        """
        x = np.log(np.divide(block.probes, self.seconds)).clip(-LARGEST, LARGEST)
        parts = [seconds for seconds, _ in block.inside]
        rest = max(0.0, block.seconds - math.fsum(parts))
        return float(np.average((x[1:] + x[:-1]) / 2, weights=[*parts, rest or 1.0]))


def find_quiet(processes: Sequence[Sequence[float]]) -> Quiet:
    """Find the time of a quiet probe in the probes of a row's processes, which are in the order of time.

    A process is quiet at the median of those probes that take at most `QUIET_MODE` times its 2nd percentile. Of the
    processes, the one a quarter up from the fastest counts: a laptop is fastest in its first half minute, and does not
    come back to that clock. Later processes can only make the quiet probe shorter, so that a noisy hour changes no
    number of a quiet one. The error is by the jackknife over processes.

    References
    ----------
    B. Efron, The Jackknife, the Bootstrap and Other Resampling Plans, 1982, chapter 3.
    """
    modes = [times[times <= QUIET_MODE * np.quantile(times, 0.02)] for times in map(np.array, processes)]
    logs = np.log([*map(np.median, modes)])
    quiet, count = _quiet_of(logs), len(logs)
    if count == 1:
        return Quiet(math.exp(quiet), ALONE_ERROR)
    without = np.array([_quiet_of(np.delete(logs, place)) for place in range(count)])
    return Quiet(math.exp(quiet), math.sqrt((count - 1) * float(without.var())))


def _quiet_of(logs: np.ndarray) -> float:
    begun = range(min(KNOWN_PROCESSES, len(logs)), len(logs) + 1)
    return float(min(np.quantile(logs[:end], 0.25, method="higher") for end in begun))


def quiet_on_device(probes: Sequence[float]) -> Quiet:
    """Return the 10th percentile of the probes beside one case on a device, whose clock follows its last work."""
    return Quiet(float(np.quantile(probes, 0.1, method="lower")))


def slope_of(record: Record, result: Result) -> Slope:
    """Return how the steps of a result feel what slows the row's probe."""
    start = record.start
    is_ours = start.profile.backend != "jax" and "program" not in result.parameters
    if not start.profile.is_cpu or start.smoke or start.threads > FEW_THREADS or not is_ours:
        return UNRELATED
    return TOGETHER if start.threads == 1 or result.together else BY_ITEMS
