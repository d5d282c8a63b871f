"""Times blocks of steps. One ruler for every profile: the host's clock, the device synchronised at both ends."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from respeed.protocol import Block, TimingProtocol, contamination, quiet_probe
from respeed.timing.clock import seconds_now
from respeed.timing.disturbance import difference, take_snapshot
from respeed.timing.energy import NO_METER, Meter
from respeed.timing.probe import Probe


@dataclass(frozen=True)
class Timer:
    """Times the steps of one program, each the `parts` one after another. `step_seconds` is what warm-up says a step
    takes, to size the samples.

    `helpers` are processes that compute for it; `is_shared`: whether its threads wait for one another by design.

    `meter` is read at both ends of a block.

    `probes` collects those of the whole round: what is quiet shows only in comparison.
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

    def first_step(self) -> Block:
        """A block of one step: the program's first, which is yet to be checked."""
        return self._samples(1, 1)

    def measure(self, first: Iterable[Block] = ()) -> tuple[Block, ...]:
        """Blocks after the `first` ones, until enough of all are clean, or the cap on their total is reached.

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
            blocks.append(self._block(per_block))
        return tuple(blocks)

    def measure_whole(self, steps: int) -> tuple[Block, ...]:
        """Exactly `steps` steps, nothing extrapolated. Samples last a block, so that a record of hours stays small."""
        per_sample = min(steps, max(1, round(self.protocol.block_seconds / self.step_seconds)))
        blocks = [self._samples(per_sample, steps // per_sample)]
        if rest := steps % per_sample:
            blocks.append(self._samples(rest, 1))
        return tuple(blocks)

    def _clean_seconds(self, blocks: list[Block]) -> float:
        if not blocks:
            return 0.0
        quiet = quiet_probe(self.probes)
        return sum(block.seconds for block in blocks if not contamination(block, self.threads, quiet, self.protocol))

    def _block(self, steps: int) -> Block:
        # What the probe pushed out of the caches comes back before the clock starts; a slow step hardly notices.
        refill = self.step_seconds < self.protocol.slow_step_seconds
        if not self.synchronous:
            return self._samples(steps, 1, refill=refill)
        per_sample = max(1, math.ceil(self.protocol.sample_seconds / self.step_seconds))
        return self._samples(per_sample, math.ceil(steps / per_sample), refill=refill)

    def _samples(self, steps: int, count: int, *, refill: bool = False) -> Block:
        samples: list[list[float]] = []
        probe_before = self.probe.seconds()
        if refill:
            self._run(1)
        self.sync()
        energy = self.meter.read()
        before = take_snapshot(self.helpers, is_shared=self.is_shared)
        for _ in range(count):
            samples.append(self._run(steps))
        happened = difference(before, take_snapshot(self.helpers, is_shared=self.is_shared))
        joules = self.meter.joules(energy, self.meter.read())
        probes = (probe_before, self.probe.seconds())
        self.probes.extend(probes)
        seconds = tuple(math.fsum(sample) for sample in samples)
        parts = tuple(zip(*samples, strict=True)) if len(self.parts) > 1 else ()
        return Block(steps, seconds, probes, **happened, part_seconds=parts, joules=joules)

    def _run(self, steps: int) -> list[float]:
        """Seconds of `steps` steps, by part. A step in one part is not waited for until the last one is on its way."""
        if len(self.parts) == 1:
            start = seconds_now()
            for _ in range(steps):
                self.parts[0]()
            self.sync()
            return [seconds_now() - start]
        seconds = [0.0] * len(self.parts)
        for _ in range(steps):
            for index, part in enumerate(self.parts):
                start = seconds_now()
                part()
                self.sync()
                seconds[index] += seconds_now() - start
        return seconds
