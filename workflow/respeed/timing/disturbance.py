"""What disturbed a block.

The kernel tells of waiting, throttling, page faults, and the threads that ran. The reference probe, a product of fixed
size that is timed before and after each block, sees what the kernel cannot.
"""

import math
import resource
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from respeed.machine.process import quota_throttles, read_word
from respeed.timing import computed_seconds, seconds_now

# A thread took part in a block if it ran for at least this share of the time that the busiest one did.
RAN_SHARE = 0.1
# Long enough that what stops the cores for a few milliseconds, which a block of 0.25 s hardly notices, does not make a
# probe slow: of probes of 5 ms, 9 took more than 1.7 times a quiet one, beside blocks that were 1.01 times as long.
PROBE_SECONDS = 0.01
# Long enough for every thread of a pool to be seen at work.
PROOF_SECONDS = 0.05
# A device raises or lowers its clock for what it has to do within some 0.1 s.
LOAD_SECONDS = 0.2
REPEATS = 3

_TASKS = Path("/proc/self/task")
_CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Snapshot:
    """Counters at one moment.

    `threads` maps a thread to (nanoseconds on a CPU, nanoseconds waiting for one); `is_shared`: whether they wait for
    one another by design. Of `counts`, None is what nothing tells.
    """

    threads: dict[str, tuple[int, int]]
    is_shared: bool
    counts: dict[str, int | None]


def take_snapshot(helpers: Collection[int] = (), *, is_shared: bool = False) -> Snapshot:
    """Read the counters of this process, and of the `helpers`, processes that compute for it, each by its first thread.

    This process, and the threads by which they send one another what they computed, share their cores, as those of a
    library do that `is_shared`: that one waits for the other is no sign of a neighbour. What is left to tell of one is
    the reference probe.
    """
    faults, threads = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, _threads(helpers)
    counts = {"minor_faults": faults, "quota_throttles": quota_throttles(), "clock_throttles": _clock_throttles()}
    return Snapshot(threads, is_shared or bool(helpers), counts)


def difference(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Return what happened between two snapshots: the facts of a Block that are not its times.

    None is what nothing tells.
    """
    delay, ran = None, None
    if after.threads:
        changes = [
            (on_cpu - before.threads.get(thread, (0, 0))[0], waiting - before.threads.get(thread, (0, 0))[1])
            for thread, (on_cpu, waiting) in after.threads.items()
        ]
        busiest = max(on_cpu for on_cpu, _ in changes)
        ran = sum(on_cpu > 0 and on_cpu >= RAN_SHARE * busiest for on_cpu, _ in changes)
        delay = None if after.is_shared else sum(waiting for _, waiting in changes) * 1e-9
    counted: dict[str, int | None] = {}
    for name, last in after.counts.items():
        first = before.counts[name]
        counted[name] = None if first is None or last is None else last - first
    return {"run_delay_seconds": delay, "threads_ran": ran, **counted}


def _threads(helpers: Collection[int]) -> dict[str, tuple[int, int]]:
    threads = {}
    for path in (*_TASKS.glob("*/schedstat"), *(Path(f"/proc/{pid}/task/{pid}/schedstat") for pid in helpers)):
        if told := read_word(path):  # nothing of a thread that has just ended
            on_cpu, waiting, _ = told.split()
            threads[path.parent.name] = (int(on_cpu), int(waiting))
    return threads


def _clock_throttles() -> int | None:
    """Return how often the CPUs lowered their clocks because they were too hot; None where nothing tells."""
    told = [read_word(path) for path in _CPUS.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")]
    return sum(map(int, filter(str.isdecimal, told))) if any(told) else None


@dataclass(frozen=True)
class Probe:
    """`repeats` products are one probe; their number is fixed once, so that all probes of a round do the same work."""

    product: Callable[[], None]
    sync: Callable[[], None]
    repeats: int

    def seconds(self) -> float:
        """Return the seconds that a product takes, over one probe.

        One more goes before: what ran last has the caches, and threads may sleep; after a program was built or checked
        the first product took twice as long on a quiet machine.
        """
        self.product()
        self.sync()
        start = seconds_now()
        for _ in range(self.repeats):
            self.product()
        self.sync()
        return (seconds_now() - start) / self.repeats


def make_probe(product: Callable[[], None], sync: Callable[[], None], *, synchronous: bool = True) -> Probe:
    """Warm the product up and choose how often to repeat it."""
    if synchronous:
        for _ in range(5):
            one = Probe(product, sync, 1).seconds()
    else:
        one = seconds_under_load(product, sync)
    return Probe(product, sync, max(1, math.ceil(PROBE_SECONDS / one)))


def prove_threads(probe: Probe) -> dict[str, Any]:
    """Tell how many threads really ran during the probe's product.

    Tell also how long they waited for a core, and how many CPUs' whole time they took.
    """
    begin, computed = seconds_now(), computed_seconds()
    before = take_snapshot()
    while seconds_now() < begin + PROOF_SECONDS:
        probe.seconds()
    seen = difference(before, take_snapshot())
    taken = (computed_seconds() - computed) / (seconds_now() - begin)
    told = {name: seen[name] for name in ("threads_ran", "run_delay_seconds")}
    return told | {"cpus_taken": round(taken, 3)}


def shortest_seconds(step: Callable[[], None], repeats: int = REPEATS) -> float:
    """Return the seconds of the fastest of `repeats` runs of a step that has ended when it returns.

    Two that do not count go before. A ceiling is a best case by definition.
    """
    taken = []
    for _ in range(2 + repeats):
        start = seconds_now()
        step()
        taken.append(seconds_now() - start)
    return min(taken[2:])


def seconds_under_load(step: Callable[[], None], sync: Callable[[], None]) -> float:
    """Return the seconds that a step takes of a device that has done nothing else for LOAD_SECONDS.

    They are those of the fastest of the REPEATS batches after that. As many steps are queued at once as take
    PROBE_SECONDS: one that is waited for alone is mostly waiting.
    """
    sync()
    count, end, last, best = 1, seconds_now() + LOAD_SECONDS, 0, math.inf
    while last < REPEATS:
        start = seconds_now()
        for _ in range(count):
            step()
        sync()
        now = seconds_now()
        one = (now - start) / count
        if start >= end:
            best, last = min(best, one), last + 1
        count = max(1, math.ceil(PROBE_SECONDS / one))
    return best
