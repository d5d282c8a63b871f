"""Time steps: warm-up until their time has settled, then blocks, with the disturbances of each.

One ruler for every profile: the host's clock, the device synchronised at both ends. Counters of energy are read at the
ends of blocks, outside of what is timed.

The kernel counts waiting, throttling, page faults, and the threads that ran. The reference probe, a product of fixed
size that is timed before and after each block, sees what the kernel cannot.
"""

import math
import resource
import statistics
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from respeed.machine.devices import EnergyCounter
from respeed.machine.process import quota_throttles, read_word
from respeed.protocol import Block, TimingProtocol, Warmup, contamination, quiet_probe


def seconds_now() -> float:
    """Return monotonic seconds, for differences only."""
    return time.perf_counter_ns() * 1e-9


def utc_now() -> str:
    """Return the date and time in UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def time_steps(step: Callable[[], None], sync: Callable[[], None], count: int = 1) -> float:
    """Return the seconds that each of `count` steps takes, of which only the last one is waited for."""
    start = seconds_now()
    for _ in range(count):
        step()
    sync()
    return (seconds_now() - start) / count


# A thread took part in a block if it ran for at least this share of the time that the busiest one did.
RAN_SHARE = 0.1
# Long enough that a stop of the cores for a few milliseconds, which a block of 0.25 s hardly notices, does not make a
# probe slow: of probes of 5 ms, 9 took more than 1.7 times a quiet one, beside blocks that were 1.01 times as long.
PROBE_SECONDS = 0.01
# Long enough for every thread of a pool to be seen at work.
PROOF_SECONDS = 0.05
# A device adapts its clock to its work within some 0.1 s.
LOAD_SECONDS = 0.2
REPEATS = 3

_TASKS = Path("/proc/self/task")
_CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Snapshot:
    """Counters at one moment.

    `threads` maps a thread to (nanoseconds on a CPU, nanoseconds waiting for one); `is_shared`: whether they wait for
    one another by design. A count is None where the system has none.
    """

    threads: dict[str, tuple[int, int]]
    is_shared: bool
    counts: dict[str, int | None]


def take_snapshot(helpers: Collection[int] = (), *, is_shared: bool = False) -> Snapshot:
    """Read the counters of this process, and of the `helpers`, processes that compute for it, each by its first thread.

    Helpers share their cores with this process, and with the threads by which they exchange results, as the threads of
    a library do that `is_shared`: if one of these waits for another, that is no sign of a neighbour. Then only the
    reference probe shows a neighbour.
    """
    faults, threads = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, _threads(helpers)
    counts = {"minor_faults": faults, "quota_throttles": quota_throttles(), "clock_throttles": _clock_throttles()}
    return Snapshot(threads, is_shared or bool(helpers), counts)


def difference(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Return what happened between two snapshots: the facts of a Block that are not its times.

    A fact is None where the system does not show it.
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
        if text := read_word(path):  # nothing of a thread that has just ended
            on_cpu, waiting, _ = text.split()
            threads[path.parent.name] = (int(on_cpu), int(waiting))
    return threads


def _clock_throttles() -> int | None:
    """Return how often the CPUs lowered their clocks because they were too hot; None where nothing counts it."""
    texts = [read_word(path) for path in _CPUS.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")]
    return sum(map(int, filter(str.isdecimal, texts))) if any(texts) else None


@dataclass(frozen=True)
class Probe:
    """`repeats` products are one probe; their number is fixed once, so that all probes of a round do the same work."""

    product: Callable[[], None]
    sync: Callable[[], None]
    repeats: int

    def seconds(self) -> float:
        """Return the seconds that a product takes, over one probe.

        An untimed product runs first, as caches may hold other data and threads may sleep: after a program was built or
        checked the first product took twice as long on a quiet machine.
        """
        time_steps(self.product, self.sync)
        return time_steps(self.product, self.sync, self.repeats)


def make_probe(product: Callable[[], None], sync: Callable[[], None], *, synchronous: bool = True) -> Probe:
    """Warm the product up and choose how often to repeat it."""
    one = best_seconds(product, sync, synchronous=synchronous)
    return Probe(product, sync, max(1, math.ceil(PROBE_SECONDS / one)))


def prove_threads(probe: Probe) -> dict[str, Any]:
    """Return how many threads really ran during the probe's product.

    Also how long they waited for a core, and how many CPUs' whole time they took.
    """
    begin, computed = seconds_now(), time.process_time()
    before = take_snapshot()
    while seconds_now() < begin + PROOF_SECONDS:
        probe.seconds()
    seen = difference(before, take_snapshot())
    taken = (time.process_time() - computed) / (seconds_now() - begin)
    proof = {name: seen[name] for name in ("threads_ran", "run_delay_seconds")}
    return proof | {"cpus_taken": round(taken, 3)}


def best_seconds(step: Callable[[], None], sync: Callable[[], None], *, synchronous: bool) -> float:
    """Return the seconds that a step takes at its best, for a ceiling.

    On the CPUs they are those of the fastest of REPEATS steps, after two that do not count. On a device, which is not
    `synchronous`, they are those of the fastest of REPEATS batches after it did nothing else for LOAD_SECONDS: as many
    steps are queued at once as take PROBE_SECONDS, for a single step is mostly waiting.
    """
    if synchronous:
        return min([time_steps(step, sync) for _ in range(2 + REPEATS)][2:])
    sync()
    count, end, taken = 1, seconds_now() + LOAD_SECONDS, list[float]()
    while len(taken) < REPEATS:
        is_loaded = seconds_now() >= end
        one = time_steps(step, sync, count)
        taken += [one] if is_loaded else []
        count = max(1, math.ceil(PROBE_SECONDS / one))
    return min(taken)


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

    `first_seconds` is the time of the step before. If that is longer than a window, it counts as the first window.
    """
    began, window = seconds_now(), protocol.warmup_window_seconds
    steps, previous = int(not synchronous), first_seconds if first_seconds > window else math.nan
    # A device's first step waited for a cold clock, and it is not yet known how many fit a window.
    median = 0.0 if synchronous else _window(step, sync, 0.0, 1)[0]
    if median > protocol.block_seconds:
        return Warmup(True, median, steps, seconds_now() - began)
    while True:
        together = 1 if synchronous else min(AHEAD, max(1, int(window / median)))
        median, count = _window(step, sync, window, together)
        steps += count
        elapsed = seconds_now() - began
        is_slow = median > protocol.block_seconds
        agreed = is_slow or abs(median - previous) <= protocol.warmup_agreement * median
        if is_slow or elapsed >= protocol.warmup_cap_seconds or (agreed and elapsed >= protocol.warmup_seconds):
            return Warmup(agreed, median, steps, elapsed)
        previous = median


def _window(step: Callable[[], None], sync: Callable[[], None], seconds: float, together: int) -> tuple[float, int]:
    """Return the median step time over at least `seconds`, and how many steps there were.

    There are `together` of them between two synchronisations.
    """
    times, end = list[float](), seconds_now() + seconds
    while not times or seconds_now() < end:
        times.append(time_steps(step, sync, together))
    return statistics.median(times), together * len(times)


@dataclass(frozen=True)
class Meter:
    """The readings at both ends of a block: of the energy `counters`, and, by `device`, of a device's clock.

    RAPL's counters move every millisecond, those of NVIDIA's devices every 20 to 100 ms: the energy of one block may be
    off by what is used in one such period, and that of many is right on average.
    """

    counters: tuple[EnergyCounter, ...] = ()
    device: Callable[[], dict[str, float]] = dict

    def read(self) -> tuple[float, ...]:
        """Return the reading of each counter; nothing if one is gone."""
        try:
            return tuple(counter.read() for counter in self.counters)
        except Exception:  # whatever the driver says of it
            return ()

    def joules(self, before: tuple[float, ...], after: tuple[float, ...], seconds: float) -> dict[str, float]:
        """Return the joules used, by domain, between two readings `seconds` apart; nothing if a counter has none."""
        if not (before and after):
            return {}
        ends = zip(self.counters, before, after, strict=True)
        used = {counter.domain: counter.between(first, last, seconds) for counter, first, last in ends}
        return {} if any(map(math.isnan, used.values())) else used


NO_METER = Meter()


@dataclass(frozen=True)
class Timer:
    """Time the steps of one program, each the `parts` one after another.

    `step_seconds` is the time of a step by warm-up, to size the samples.

    `helpers` are processes that compute for it; `is_shared`: whether its threads wait for one another by design.

    `meter` is read at both ends of a block; `busy`, of a device, returns whether it still has work.

    For steps outside of this process, `own_seconds` returns how many of the seconds of the last steps count, and
    `happened` the facts of a Block about disturbances since the last call.

    `probes` collects all probes that are compared: a quiet one shows only in comparison.

    A device's clock follows its work of just before. So its probes come directly after steps: the probe before a block
    is the one after the block before it. As a probe is light work, steps run for a window before each block.
    """

    parts: tuple[Callable[[], None], ...]
    sync: Callable[[], None]
    synchronous: bool
    threads: int
    step_seconds: float
    protocol: TimingProtocol
    probe: Probe
    probes: list[float]
    helpers: tuple[int, ...] = ()
    is_shared: bool = False
    meter: Meter = NO_METER
    busy: Callable[[], bool] | None = None
    own_seconds: Callable[[int, float], float] = lambda steps, seconds: seconds
    happened: Callable[[], dict[str, Any]] = dict

    def first_step(self) -> Block:
        """Time a block of one step: the program's first, which is yet to be checked."""
        return replace(self, probes=self.probes if self.synchronous else [])._samples(1, 1)

    def measure(self, first: Iterable[Block] = (), begin: Callable[[], None] = lambda: None) -> tuple[Block, ...]:
        """Time blocks after the `first` ones, until the clean ones take long enough, or all together reach the cap.

        Before each of them `begin` is called.

        However long a block takes, a disturbed one is followed by another: to build and check the program once more
        at the end of the turn costs more than that.
        """
        protocol = self.protocol
        steps = math.ceil(protocol.block_seconds / self.step_seconds)
        per_block = max(protocol.block_steps, steps) if steps > 1 else 1
        blocks = list(first)
        while self._clean_seconds(blocks) < protocol.measure_seconds:
            enough = sum(block.seconds for block in blocks) >= protocol.measure_cap * protocol.measure_seconds
            if enough and len(blocks) >= protocol.least_blocks:
                break
            begin()
            blocks.append(self._block(per_block, blocks[-1].probe_seconds[1] if blocks else None))
        return tuple(blocks)

    def _clean_seconds(self, blocks: list[Block]) -> float:
        quiet = quiet_probe(self.probes) if blocks else 0.0
        return sum(block.seconds for block in blocks if not contamination(block, self.threads, quiet, self.protocol))

    def _block(self, steps: int, last_probe: float | None) -> Block:
        if not self.synchronous:
            is_long = self.step_seconds > self.protocol.block_seconds
            again = 0 if is_long else math.ceil(self.protocol.warmup_window_seconds / self.step_seconds)
            return self._samples(steps, 1, refill=again, last_probe=last_probe)
        # What the probe pushed out of the caches comes back before the clock starts; a slow step hardly notices. Where
        # a step fills a block, it is timed directly after `begin`.
        refill = int(steps > 1 and self.step_seconds < self.protocol.slow_step_seconds)
        per_sample = max(1, math.ceil(self.protocol.sample_seconds / self.step_seconds))
        return self._samples(per_sample, math.ceil(steps / per_sample), refill=refill)

    def _samples(self, steps: int, count: int, *, refill: int = 0, last_probe: float | None = None) -> Block:
        samples: list[list[float]] = []
        ahead: list[bool] = []
        probe_before = self.probe.seconds() if last_probe is None else last_probe
        at_start = self.meter.device()
        end = seconds_now() + (0.0 if self.synchronous else self.protocol.warmup_window_seconds)
        while refill:
            self._run(refill, [])
            refill *= seconds_now() < end
        energy = self.meter.read()
        self.happened()
        before = take_snapshot(self.helpers, is_shared=self.is_shared)
        for _ in range(count):
            samples.append(self._run(steps, ahead))
        happened = difference(before, take_snapshot(self.helpers, is_shared=self.is_shared)) | self.happened()
        energy_after = self.meter.read()
        device = tuple(filter(None, (at_start, self.meter.device())))
        probes = (probe_before, self.probe.seconds())
        self.probes.extend(probes)
        seconds = tuple(map(math.fsum, samples))
        joules = self.meter.joules(energy, energy_after, math.fsum(seconds))
        parts = tuple(zip(*samples, strict=True)) if len(self.parts) > 1 else ()
        happened["ahead"] = all(ahead) if ahead else None
        return Block(steps, seconds, probes, **happened, part_seconds=parts, joules=joules, device=device)

    def _run(self, steps: int, ahead: list[bool]) -> list[float]:
        """Return the seconds of `steps` steps, by part; add to `ahead`, at each wait, whether the device was busy.

        If a step has one part, the host waits only after the last step.
        """

        def wait() -> None:
            if self.busy:
                ahead.append(self.busy())
            self.sync()

        if len(self.parts) == 1:
            return [self.own_seconds(steps, steps * time_steps(self.parts[0], wait, steps))]
        seconds = [0.0] * len(self.parts)
        for _ in range(steps):
            for index, part in enumerate(self.parts):
                seconds[index] += time_steps(part, wait)
        return seconds
