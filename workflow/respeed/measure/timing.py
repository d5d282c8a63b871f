"""Time steps: warm up until the step time has settled, then time blocks and note the disturbances of each block.

All profiles are timed alike: by the host's clock, with the device synchronised at the start and end. Energy counters
are read at the ends of blocks, outside of the timed part.

The kernel counts waiting, throttling, page faults, and the threads that ran. Disturbances that the kernel does not
count are found by the reference probe, a matrix product of fixed size that is timed before and after each block.
"""

import math
import resource
import statistics
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from respeed.machine.devices import EnergyCounter
from respeed.machine.process import Facts, allowed_cpus, quota_seconds, read_word
from respeed.protocol import Block, TimingProtocol, Warmup

# No measurement was made before.
FIRST_DAY = "2026-01-01"
# A function that runs a step of a program, or waits for a device.
Step = Callable[[], None]


def seconds_now() -> float:
    """Return the time of a monotonic clock in seconds; only differences have a meaning."""
    return time.perf_counter_ns() * 1e-9


def utc_now() -> str:
    """Return the date and time in UTC, in ISO 8601 format, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def wrong_clock() -> str | None:
    """Return that the system's clock cannot be right, as on a board without a battery; None if it may be."""
    today = utc_now()[:10]
    return None if today >= FIRST_DAY else f"the clock says {today}, and records are ordered by time"


def time_steps(step: Step, sync: Step, count: int = 1) -> float:
    """Return the mean seconds per step of `count` steps; the host waits for the device only after the last step."""
    start = seconds_now()
    for _ in range(count):
        step()
    sync()
    return (seconds_now() - start) / count


# A thread took part in a block if it ran for at least this share of the time that the busiest one did.
RAN_SHARE = 0.1
# A tenth of a block, as neighbours come and go every 80 to 250 ms; longer on a device, whose blocks are longer.
PROBE_SECONDS = 0.005
DEVICE_PROBE_SECONDS = 0.01
# Long enough for every thread of a pool to be seen at work.
PROOF_SECONDS = 0.05
# A device adapts its clock to its work within some 0.1 s.
LOAD_SECONDS = 0.2
REPEATS = 3

_TASKS = Path("/proc/self/task")
_CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Snapshot:
    """The kernel's counters at one moment.

    `running` and `waiting` map each thread to its nanoseconds on a CPU, and to its nanoseconds waiting for a CPU. A
    count is None if the system does not have the counter.
    """

    running: Counter[str]
    waiting: Counter[str]
    counts: dict[str, float | None]


def take_snapshot(helpers: Collection[int] = ()) -> Snapshot:
    """Read the counters of this process's threads, and of the first thread of each of the `helpers`.

    Helpers are processes that compute for this process.
    """
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    running = Counter[str]()
    waiting = Counter[str]()
    for path in (*_TASKS.glob("*/schedstat"), *(Path(f"/proc/{pid}/task/{pid}/schedstat") for pid in helpers)):
        if text := read_word(path):  # nothing of a thread that has just ended
            thread = path.parent.name
            running[thread], waiting[thread], _ = map(int, text.split())
    counts = {"minor_faults": faults, "quota_seconds": quota_seconds(), "throttled_seconds": _throttled_seconds()}
    return Snapshot(running, waiting, counts)


def difference(before: Snapshot, after: Snapshot) -> Facts:
    """Return the disturbances between two snapshots, and how many threads ran, as fields of a `Block`.

    A field is None if the system does not report it.
    """
    delay = None
    ran = None
    if after.running:
        times = (after.running - before.running).values()  # of the threads that ran
        least = RAN_SHARE * max(times, default=0)
        ran = sum(nanoseconds >= least for nanoseconds in times)
        delay = (after.waiting - before.waiting).total() * 1e-9
    happened = {"run_delay_seconds": delay, "threads_ran": ran}
    for name, last in after.counts.items():
        first = before.counts[name]
        happened[name] = None if first is None or last is None else last - first
    return happened


def _throttled_seconds() -> float | None:
    """Return for how long the hottest of this process's CPUs had a lowered clock; None if the system does not tell."""
    texts = [read_word(_CPUS / f"cpu{cpu}/thermal_throttle/core_throttle_total_time_ms") for cpu in allowed_cpus()]
    return max((1e-3 * int(text) for text in texts if text.isdecimal()), default=None)


@dataclass(frozen=True)
class Probe:
    """The reference probe: `repeats` matrix products. This number is fixed, so that all probes do the same work."""

    product: Step
    sync: Step
    repeats: int

    def seconds(self) -> float:
        """Run one probe and return the mean seconds per matrix product.

        An untimed product runs first, because caches may hold other data and threads may sleep: after a program was
        built or checked, the first product took twice as long on a quiet machine.
        """
        time_steps(self.product, self.sync)
        return time_steps(self.product, self.sync, self.repeats)


def make_probe(product: Step, sync: Step, *, synchronous: bool = True) -> Probe:
    """Warm up the matrix product, and return a probe that repeats it for about PROBE_SECONDS, or longer on a device."""
    seconds = best_seconds(product, sync, synchronous=synchronous)
    return Probe(product, sync, math.ceil((PROBE_SECONDS if synchronous else DEVICE_PROBE_SECONDS) / seconds))


def prove_threads(probe: Probe) -> Facts:
    """Return how many threads really ran during the probe, as `threads_ran`.

    The result also has `cpus_taken`, the process's CPU time divided by the elapsed time.
    """
    begin = seconds_now()
    computed = time.process_time()
    before = take_snapshot()
    while seconds_now() < begin + PROOF_SECONDS:
        probe.seconds()
    threads_ran = difference(before, take_snapshot())["threads_ran"]
    cpus_taken = (time.process_time() - computed) / (seconds_now() - begin)
    return {"threads_ran": threads_ran, "cpus_taken": round(cpus_taken, 3)}


def best_seconds(step: Step, sync: Step, *, synchronous: bool) -> float:
    """Return the seconds of a step at its fastest, for ceilings and to size probes.

    On CPUs (`synchronous`), this is the fastest of REPEATS steps, after two steps that do not count. On a device, it is
    the mean step time in the fastest of REPEATS batches, after the device has run such batches for LOAD_SECONDS. A
    batch is a queue of steps for about DEVICE_PROBE_SECONDS, because the time of a single step is mostly waiting.
    """
    step()
    step()
    sync()
    count = 1
    batches = list[float]()
    end = seconds_now() + (0.0 if synchronous else LOAD_SECONDS)
    while len(batches) < REPEATS:
        is_loaded = seconds_now() >= end
        seconds = time_steps(step, sync, count)
        if is_loaded:
            batches.append(seconds)
        if not synchronous:
            count = math.ceil(DEVICE_PROBE_SECONDS / seconds)
    return min(batches)


# Steps between two synchronisations on a device that works while the host continues: if steps were timed one by one,
# they would seem slower than they are in a block, and the blocks chosen by these times would be too short.
AHEAD = 32


def warm_up(step: Step, sync: Step, protocol: TimingProtocol, first_seconds: float, *, synchronous: bool) -> Warmup:
    """Run steps until the protocol's minimum time is over and the median step times of two successive windows agree.

    Stop early if a step is longer than `long_seconds`, or at the protocol's cap. The program's first step took
    `first_seconds`; if it was longer than a window, it counts as the first window.
    """
    began = seconds_now()
    window = protocol.warmup_window_seconds
    previous = first_seconds if first_seconds > window else math.nan
    # A device's first step ran on a low clock, and it is not yet known how many steps fit into a window.
    median, steps = (first_seconds, 0) if synchronous else _window(step, sync, 0.0, 1)
    elapsed = 0.0
    agreed = False
    while median <= protocol.long_seconds:
        if elapsed >= protocol.warmup_cap_seconds or (agreed and elapsed >= protocol.warmup_seconds):
            return Warmup(agreed, median, steps, elapsed)
        together = 1 if synchronous else min(AHEAD, max(1, int(window / median)))
        median, count = _window(step, sync, window, together)
        steps += count
        elapsed = seconds_now() - began
        agreed = abs(median - previous) <= protocol.warmup_agreement * median
        previous = median
    return Warmup(True, median, steps, seconds_now() - began)


def _window(step: Step, sync: Step, seconds: float, together: int) -> tuple[float, int]:
    """Run steps for at least `seconds`; return the median step time, and the number of steps.

    The host waits for the device after every `together` steps.
    """
    times = list[float]()
    end = seconds_now() + seconds
    while not times or seconds_now() < end:
        times.append(time_steps(step, sync, together))
    return statistics.median(times), together * len(times)


@dataclass(frozen=True)
class Meter:
    """Reads, at both ends of a block, the energy `counters`, and a device's clock by the function `device`.

    RAPL's counters change every millisecond, those of NVIDIA's devices every 20 to 100 ms. So the energy of one block
    may be off by the energy used in one such period, but the mean over many blocks is right.
    """

    counters: tuple[EnergyCounter, ...] = ()
    device: Callable[[], dict[str, float]] = dict

    def read(self) -> tuple[float, ...]:
        """Return the reading of each counter in joules; an empty tuple if one cannot be read."""
        try:
            return tuple(counter.read() for counter in self.counters)
        except Exception:  # whatever the driver says of it
            return ()

    def joules(self, before: tuple[float, ...], after: tuple[float, ...], seconds: float) -> dict[str, float]:
        """Return the joules used between two readings `seconds` apart, by domain; {} if any of them is not known."""
        ends = zip(self.counters, before, after, strict=False)  # none if a reading is empty
        used = {counter.domain: counter.between(first, last, seconds) for counter, first, last in ends}
        return {} if any(map(math.isnan, used.values())) else used


NO_METER = Meter()


# Neighbours come and go every 80 to 250 ms: probes inside a long step come at most so often, at its marks.
MARK_SECONDS = 0.04


class Marks:
    """What is noted while steps run: probes inside a long step, whose time is no part of the step's.

    Attributes
    ----------
    ahead : list of bool
        Whether the device was still busy when the host began to wait for it, at each wait.
    inside : list of (float, float)
        The seconds of the step before each probe, since the last one, and the probe's seconds.
    taken : float
        Seconds since the step began that were not the step's.
    """

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self.ahead = list[bool]()
        self.inside = list[tuple[float, float]]()
        self.taken = 0.0
        self._since = seconds_now()

    def at_mark(self) -> None:
        """Probe if the last probe is long ago."""
        now = seconds_now()
        if now - self._since < MARK_SECONDS:
            return
        before = now - self._since
        self._since = math.inf  # the probe's own products are no marks
        self.inside.append((before, self._probe.seconds()))
        self._since = seconds_now()
        self.taken += self._since - now


# Runs something untimed after so many timed seconds; returns whether it did.
Between = Callable[[float], bool]


@dataclass(frozen=True)
class Timer:
    """Time the steps of one program; each step runs the `parts` one after another.

    A long step on a CPU is a block by itself (`one_step`); other steps are timed in several `blocks`. Between two of
    them, the probe after the one is also the probe before the other, unless something ran there: then both have their
    own.

    Attributes
    ----------
    parts, sync
        The parts of a step, and the function that waits for the device.
    synchronous : bool
        Whether an operation is finished when it returns; otherwise the device works while the host continues.
    marked : callable
        Returns a context in which a step calls a function at its marks, where the probe may run.
    helpers : tuple of int
        Processes that compute for the program. They share cores with this process, and with the threads by which they
        exchange results. When one of these threads waits for a core, this does not show that another program runs: then
        only the reference probe can show that.
    is_shared : bool
        Whether the program's threads share cores by design: their waiting shows as little.
    meter : Meter
        Read at both ends of a block.
    busy : callable or None
        Returns whether the device still has work.
    own_seconds, happened : callable
        For steps that run outside of this process: how many seconds of the last steps count, and the fields of a
        `Block` about disturbances since `happened` was last called.
    """

    parts: tuple[Step, ...]
    sync: Step
    protocol: TimingProtocol
    probe: Probe
    synchronous: bool = True
    marked: Callable[[Step], AbstractContextManager[Any]] = nullcontext
    helpers: tuple[int, ...] = ()
    is_shared: bool = False
    meter: Meter = NO_METER
    busy: Callable[[], bool] | None = None
    own_seconds: Callable[[int, float], float] = lambda steps, seconds: seconds
    happened: Callable[[], Facts] = dict

    def one_step(self) -> Block:
        """Time one step as a block."""
        probed = self.probe.seconds()
        return self._block(1, 1, probed, self.meter.device())

    def blocks(self, step_seconds: float, between: Between) -> tuple[Block, ...]:
        """Time blocks of steps that take `step_seconds` each; a step that takes longer than a block is a block.

        On a CPU, a block is cut into samples, and after an untimed step, which brings back to the caches the data that
        the probe replaced there; a slow step hardly needs it. On a device, a block is one sample. The device's clock
        depends on its most recent work: so probes come directly after steps; and because a probe is light work, untimed
        steps run for a warm-up window before each block.
        """
        protocol = self.protocol
        block_seconds = protocol.block_seconds if self.synchronous else protocol.device_block_seconds
        is_short = step_seconds <= block_seconds
        steps = max(protocol.block_steps, math.ceil(block_seconds / step_seconds)) if is_short else 1
        if self.synchronous:
            per_sample = math.ceil(protocol.sample_seconds / step_seconds)
            untimed = int(step_seconds < protocol.slow_step_seconds)
            untimed_seconds = 0.0
        else:
            per_sample = steps
            untimed_seconds = protocol.warmup_window_seconds
            untimed = math.ceil(untimed_seconds / step_seconds) if is_short else 0
        blocks = list[Block]()
        timed = 0.0
        while timed < protocol.measure_seconds:
            has_run = between(timed)
            probed = blocks[-1].probe_seconds[1] if blocks and not has_run else self.probe.seconds()
            at_start = self.meter.device()
            end = seconds_now() + untimed_seconds
            while untimed:
                self._run(untimed, Marks(self.probe))
                if seconds_now() >= end:
                    break
            blocks.append(self._block(per_sample, math.ceil(steps / per_sample), probed, at_start))
            timed += blocks[-1].seconds
        return tuple(blocks)

    def _block(self, steps: int, count: int, probed: float, at_start: dict[str, float]) -> Block:
        """Time `count` samples of `steps` steps each; `probed` and `at_start` are the probe and device before them."""
        energy = self.meter.read()
        self.happened()
        before = take_snapshot(self.helpers)
        marks = Marks(self.probe)
        with self.marked(marks.at_mark) if steps == count == 1 else nullcontext():
            samples = [self._run(steps, marks) for _ in range(count)]
        happened = difference(before, take_snapshot(self.helpers))
        if self.helpers or self.is_shared:
            happened["run_delay_seconds"] = None
        happened |= self.happened()
        energy_after = self.meter.read()
        device = tuple(filter(None, (at_start, self.meter.device())))
        seconds = tuple(map(math.fsum, samples))
        total = math.fsum(seconds)
        joules = self.meter.joules(energy, energy_after, total + marks.taken)
        # A probe takes as much power as the step: both use all threads of the row.
        share = total / (total + marks.taken)
        return Block(
            sample_steps=steps,
            sample_seconds=seconds,
            probe_seconds=(probed, self.probe.seconds()),
            **happened,
            part_seconds=tuple(zip(*samples, strict=True)) if len(self.parts) > 1 else (),
            joules={domain: share * used for domain, used in joules.items()},
            inside=tuple(marks.inside),
            device=device,
            ahead=all(marks.ahead) if marks.ahead else None,
        )

    def _run(self, steps: int, marks: Marks) -> list[float]:
        """Return the seconds of each part, summed over `steps` steps, without those that `marks` took.

        The host waits for the device after each part, or, if a step has only one part, after the last step. At each
        wait, `marks` notes whether the device was still busy.
        """

        def wait() -> None:
            if self.busy:
                marks.ahead.append(self.busy())
            self.sync()

        def timed(part: Step, count: int) -> float:
            taken = marks.taken
            seconds = count * time_steps(part, wait, count)
            return seconds - (marks.taken - taken)

        if len(self.parts) == 1:
            return [self.own_seconds(steps, timed(self.parts[0], steps))]
        seconds = [0.0] * len(self.parts)
        for _ in range(steps):
            for index, part in enumerate(self.parts):
                seconds[index] += timed(part, 1)
        return seconds
