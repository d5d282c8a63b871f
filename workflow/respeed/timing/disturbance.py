"""What the kernel can tell about what disturbed a block: waiting, throttling, page faults, sleep; threads that ran."""

import resource
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from respeed.machine.limits import quota_throttles
from respeed.timing.clock import slept_seconds

# A thread took part in a block if it ran for at least this share of the time that the busiest one did.
RAN_SHARE = 0.1
SHORTEST_SLEEP = 0.1

_TASKS = Path("/proc/self/task")
_CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Snapshot:
    """Counters at one moment. `threads` maps a thread to (nanoseconds on a CPU, nanoseconds waiting for one);
    `is_shared`: whether they wait for one another by design."""

    threads: dict[str, tuple[int, int]]
    is_shared: bool
    minor_faults: int
    quota_throttles: int | None
    clock_throttles: int | None
    slept_seconds: float | None


def take_snapshot(helpers: Collection[int] = (), *, is_shared: bool = False) -> Snapshot:
    """Of this process, and of the `helpers`, processes that compute for it, each by its first thread. This process, and
    the threads by which they send one another what they computed, share their cores, as those of a library do that
    `is_shared`: that one waits for the other is no sign of a neighbour. What is left to tell of one is the reference
    probe."""
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    throttles = quota_throttles(), _clock_throttles()
    return Snapshot(_threads(helpers), is_shared or bool(helpers), faults, *throttles, slept_seconds())


def difference(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """What happened between two snapshots: the facts of a Block that are not its times. None where nothing is told."""
    delay, ran = None, None
    if after.threads:
        changes = [
            (on_cpu - before.threads.get(thread, (0, 0))[0], waiting - before.threads.get(thread, (0, 0))[1])
            for thread, (on_cpu, waiting) in after.threads.items()
        ]
        busiest = max(on_cpu for on_cpu, _ in changes)
        ran = sum(on_cpu > 0 and on_cpu >= RAN_SHARE * busiest for on_cpu, _ in changes)
        delay = None if after.is_shared else sum(waiting for _, waiting in changes) * 1e-9
    return {
        "run_delay_seconds": delay,
        "threads_ran": ran,
        "minor_faults": after.minor_faults - before.minor_faults,
        "quota_throttles": _change(before.quota_throttles, after.quota_throttles),
        "clock_throttles": _change(before.clock_throttles, after.clock_throttles),
        "slept_seconds": _slept(before.slept_seconds, after.slept_seconds),
    }


def _change(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _slept(before: float | None, after: float | None) -> float | None:
    """Two clocks are never read at quite the same moment; no machine falls asleep and wakes in a tenth of a second."""
    if before is None or after is None:
        return None
    return round(after - before, 3) if after - before > SHORTEST_SLEEP else 0.0


def _threads(helpers: Collection[int]) -> dict[str, tuple[int, int]]:
    threads = {}
    for path in (*_TASKS.glob("*/schedstat"), *(Path(f"/proc/{pid}/task/{pid}/schedstat") for pid in helpers)):
        try:
            on_cpu, waiting, _ = path.read_text().split()
        except (OSError, ValueError):  # the thread has just ended
            continue
        threads[path.parent.name] = (int(on_cpu), int(waiting))
    return threads


def _clock_throttles() -> int | None:
    """How often the CPUs lowered their clocks because they were too hot."""
    counts = []
    for path in _CPUS.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"):
        try:
            counts.append(int(path.read_text()))
        except (OSError, ValueError):
            continue
    return sum(counts) if counts else None
