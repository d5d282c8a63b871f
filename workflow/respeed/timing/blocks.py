"""Time steps: warm-up until their time has settled, then blocks.

One ruler for every profile: the host's clock, the device synchronised at both ends. Counters of energy are read at the
ends of blocks, outside of what is timed.
"""

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from respeed.machine.devices import EnergyCounter
from respeed.protocol import Block, TimingProtocol, contamination, quiet_probe
from respeed.timing import seconds_now
from respeed.timing.disturbance import Probe, difference, take_snapshot

# Steps between two synchronisations where the device runs ahead of the host: timed one by one, they would seem slower
# than they are in a block, and blocks sized by that would be too short.
AHEAD = 32


@dataclass(frozen=True)
class Warmup:
    """How a program was warmed up.

    `settled` is False when the cap was reached before two windows agreed. `step_seconds` is the last median, or what
    the first step took where that needed no warm-up.
    """

    steps: int
    seconds: float
    settled: bool
    step_seconds: float


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
    began, window = seconds_now(), protocol.warmup_window_seconds
    steps, previous = int(not synchronous), first_seconds if first_seconds > window else math.nan
    # A device's first step waited for a cold clock, and nothing tells yet how many fit a window.
    median = 0.0 if synchronous else _window(step, sync, 0.0, 1)[0]
    if median > protocol.block_seconds:
        return Warmup(steps, seconds_now() - began, True, median)
    while True:
        together = 1 if synchronous else min(AHEAD, max(1, int(window / median)))
        median, count = _window(step, sync, window, together)
        steps += count
        elapsed = seconds_now() - began
        is_slow = median > protocol.block_seconds
        agreed = is_slow or abs(median - previous) <= protocol.warmup_agreement * median
        is_over = elapsed >= max(protocol.warmup_cap_seconds, 4 * median)
        if is_slow or is_over or (agreed and elapsed >= protocol.warmup_seconds):
            return Warmup(steps, elapsed, agreed, median)
        previous = median


def _window(step: Callable[[], None], sync: Callable[[], None], seconds: float, together: int) -> tuple[float, int]:
    """Return the median step time over at least `seconds`, and how many steps there were.

    There are `together` of them between two synchronisations.
    """
    times: list[float] = []
    end = seconds_now() + seconds
    while not times or seconds_now() < end:
        start = seconds_now()
        for _ in range(together):
            step()
        sync()
        times.append((seconds_now() - start) / together)
    return statistics.median(times), together * len(times)


@dataclass(frozen=True)
class Meter:
    """What is read at both ends of a block: the energy `counters`, and by `device` what a device tells of its clock.

    RAPL's counters move every millisecond, those of NVIDIA's devices every 20 to 100 ms: the energy of one block may be
    off by what is used in one such period, and that of many is right on average.
    """

    counters: tuple[EnergyCounter, ...] = ()
    device: Callable[[], dict[str, float]] = dict

    def read(self) -> tuple[float, ...]:
        """Return what each counter says; NaN for one that is gone."""
        return tuple(map(_read, self.counters))

    def joules(self, before: tuple[float, ...], after: tuple[float, ...], seconds: float) -> dict[str, float]:
        """Return what was used, by domain, between two readings `seconds` apart; nothing if a counter does not tell."""
        ends = zip(self.counters, before, after, strict=True)
        used = {counter.domain: counter.between(first, last, seconds) for counter, first, last in ends}
        return {} if any(map(math.isnan, used.values())) else used


NO_METER = Meter()


def _read(counter: EnergyCounter) -> float:
    try:
        return counter.read()
    except Exception:  # whatever the driver says of a counter that is gone
        return math.nan


@dataclass(frozen=True)
class Timer:
    """Time the steps of one program, each the `parts` one after another.

    `step_seconds` is what warm-up says a step takes, to size the samples.

    `helpers` are processes that compute for it; `is_shared`: whether its threads wait for one another by design.

    `meter` is read at both ends of a block.

    What runs outside of this process tells by `told` what of the seconds of its last steps counts, and by `happened`
    what a Block says of what happened to it since it was asked last.

    `probes` collects all that these are compared with: what is quiet shows only in comparison.

    A device's clock follows what it just did. So its probes come directly after steps, that before a block is the one
    after the block before it; and the probe's own light work is made up for by steps for a window before a block.
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
    told: Callable[[int, float], float] = lambda steps, seconds: seconds
    happened: Callable[[], dict[str, Any]] = dict

    def first_step(self) -> Block:
        """Time a block of one step: the program's first, which is yet to be checked."""
        return replace(self, probes=self.probes if self.synchronous else [])._samples(1, 1)

    def measure(self, first: Iterable[Block] = (), begin: Callable[[], None] = lambda: None) -> tuple[Block, ...]:
        """Time blocks after the `first` ones, until enough of all are clean, or the cap on their total is reached.

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
        # a step fills a block, it is the one after all began anew.
        refill = int(steps > 1 and self.step_seconds < self.protocol.slow_step_seconds)
        per_sample = max(1, math.ceil(self.protocol.sample_seconds / self.step_seconds))
        return self._samples(per_sample, math.ceil(steps / per_sample), refill=refill)

    def _samples(self, steps: int, count: int, *, refill: int = 0, last_probe: float | None = None) -> Block:
        samples: list[list[float]] = []
        probe_before = self.probe.seconds() if last_probe is None else last_probe
        told = self.meter.device()
        end = seconds_now() + (0.0 if self.synchronous else self.protocol.warmup_window_seconds)
        while refill:
            self._run(refill)
            refill *= seconds_now() < end
        energy = self.meter.read()
        self.happened()
        before = take_snapshot(self.helpers, is_shared=self.is_shared)
        for _ in range(count):
            samples.append(self._run(steps))
        happened = difference(before, take_snapshot(self.helpers, is_shared=self.is_shared)) | self.happened()
        energy_after = self.meter.read()
        device = tuple(filter(None, (told, self.meter.device())))
        probes = (probe_before, self.probe.seconds())
        self.probes.extend(probes)
        seconds = tuple(map(math.fsum, samples))
        joules = self.meter.joules(energy, energy_after, math.fsum(seconds))
        parts = tuple(zip(*samples, strict=True)) if len(self.parts) > 1 else ()
        return Block(steps, seconds, probes, **happened, part_seconds=parts, joules=joules, device=device)

    def _run(self, steps: int) -> list[float]:
        """Return the seconds of `steps` steps, by part.

        A step in one part is not waited for until the last one is on its way.
        """
        if len(self.parts) == 1:
            start = seconds_now()
            for _ in range(steps):
                self.parts[0]()
            self.sync()
            return [self.told(steps, seconds_now() - start)]
        seconds = [0.0] * len(self.parts)
        for _ in range(steps):
            for index, part in enumerate(self.parts):
                start = seconds_now()
                part()
                self.sync()
                seconds[index] += seconds_now() - start
        return seconds
