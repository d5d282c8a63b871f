"""The reference probe: a product of fixed size, timed before and after each block, that sees what the kernel cannot;
and how fast a device can be at most.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from respeed.timing.clock import computed_seconds, seconds_now
from respeed.timing.disturbance import difference, take_snapshot

# Long enough that what stops the cores for a few milliseconds, which a block of 0.25 s hardly notices, does not make a
# probe slow: of probes of 5 ms, 9 took more than 1.7 times a quiet one, beside blocks that were 1.01 times as long.
PROBE_SECONDS = 0.01
# Long enough for every thread of a pool to be seen at work.
PROOF_SECONDS = 0.05
REPEATS = 3


@dataclass(frozen=True)
class Probe:
    """`repeats` products are one probe; their number is fixed once, so that all probes of a round do the same work."""

    product: Callable[[], None]
    sync: Callable[[], None]
    repeats: int

    def seconds(self) -> float:
        """Seconds a product, over one probe. One more goes before: what ran last has the caches, and threads may sleep;
        after a program was built or checked the first product took twice as long on a quiet machine."""
        self.product()
        self.sync()
        start = seconds_now()
        for _ in range(self.repeats):
            self.product()
        self.sync()
        return (seconds_now() - start) / self.repeats


def make_probe(product: Callable[[], None], sync: Callable[[], None]) -> Probe:
    """Warm the product up and choose how often to repeat it."""
    for _ in range(5):
        one = Probe(product, sync, 1).seconds()
    return Probe(product, sync, max(1, math.ceil(PROBE_SECONDS / one)))


def prove_threads(probe: Probe) -> dict[str, Any]:
    """How many threads really ran during the probe's product, how long they waited for a core, and how many CPUs' whole
    time they took."""
    begin, computed = seconds_now(), computed_seconds()
    before = take_snapshot()
    while seconds_now() < begin + PROOF_SECONDS:
        probe.seconds()
    seen = difference(before, take_snapshot())
    taken = (computed_seconds() - computed) / (seconds_now() - begin)
    return {
        "threads_ran": seen["threads_ran"],
        "run_delay_seconds": seen["run_delay_seconds"],
        "cpus_taken": round(taken, 3),
    }


def shortest_seconds(step: Callable[[], None], sync: Callable[[], None], repeats: int = REPEATS) -> float:
    """Seconds of the fastest of `repeats` runs of a step that does nothing else, after two that do not count. A ceiling
    is a best case by definition."""
    best = float("inf")
    for run in range(repeats + 2):
        sync()
        start = seconds_now()
        step()
        sync()
        if run >= 2:
            best = min(best, seconds_now() - start)
    return best
