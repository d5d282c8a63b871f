"""How long to warm up and to time, the facts of a block of timed steps, and the causes for which it is discarded.

A record has only the facts; which blocks count is decided later, from the record. docs/method.md has the reasons. This
module reads no clock, so that the code that makes tables can use it.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked


@dataclass(frozen=True)
class TimingProtocol:
    """How long to warm up and to time, and how much disturbance a block may have; all durations are in seconds.

    Warm-up lasts at least `warmup_seconds`, and continues until the median step times of two successive windows, each
    of at least `warmup_window_seconds`, agree within `warmup_agreement`, or until `warmup_cap_seconds` have passed. A
    first step that is longer than a window counts as the first window. A step on a CPU that is longer than
    `long_seconds` needs no warm-up, and the first step is timed. If steps are shorter than `slow_step_seconds`, an
    untimed step runs before each block, since the reference probe has replaced what was in the caches.

    A block has at least `block_steps` steps and takes about `block_seconds` or more (`device_block_seconds` on a
    device); a step that takes that long is a block by itself. Blocks are timed until they add up to `measure_seconds`.
    On a CPU, a block is cut into samples of about `sample_seconds` or more, so that a record stays small.

    A block does not count if its threads waited for a core, were stopped by a CPU quota or ran on lowered clocks for
    more than `max_lost_share` of the time that they could have run, or if page faults took more than
    `max_fault_share` of its time. On a device, it does not count either if the reference probe before or after it took
    more than `max_probe_ratio` times as long as a quiet one.

    Where the wait for a core is taken out of a block's time, it may be `max_waited_share` of the block's seconds for
    one thread, and twice that for more threads together.
    """

    warmup_seconds: float = 0.1
    warmup_window_seconds: float = 0.05
    warmup_agreement: float = 0.05
    warmup_cap_seconds: float = 2.0
    long_seconds: float = 0.25
    block_seconds: float = 0.05
    device_block_seconds: float = 0.25
    block_steps: int = 2
    slow_step_seconds: float = 0.03
    sample_seconds: float = 0.01
    measure_seconds: float = 0.25
    max_lost_share: float = 0.02
    max_waited_share: float = 0.05
    max_fault_share: float = 0.01
    max_probe_ratio: float = 1.25


# Threads whose waits add up in a block's time, as measured on two; waits of more threads often fall together.
KNOWN_WAITERS = 2

REAL = TimingProtocol()
# Shows within seconds that everything works; its numbers are no measurements.
SMOKE = TimingProtocol(
    warmup_seconds=0.02, warmup_window_seconds=0.01, warmup_cap_seconds=0.15, max_lost_share=1e3, max_waited_share=1e3,
    max_probe_ratio=1e3, slow_step_seconds=0.02, long_seconds=0.02, block_seconds=0.02, device_block_seconds=0.02,
    measure_seconds=0.02, sample_seconds=0.002,
)  # fmt: skip

SMOKE_STAMP = "No measurement: the smoke preset, tiny sizes, to show that everything works."

# Seconds that a minor page fault costs: 1,700 to 2,040 of them made a step of 9 ms 26 % longer.
PAGE_FAULT_SECONDS = 1.2e-6

# NVML's reasons why a device's clock is not higher (nvml.h, nvmlClocksEventReason*). A reason that always holds for a
# device, such as a power cap or too weak a fan, is reported as a fact. A reason that comes and goes, with the
# temperature of the room or the power that other devices draw, disturbs.
POWER_CAP = 0x04
TOO_HOT = 0x20 | 0x40
POWER_BRAKE = 0x80
REASONS = {
    POWER_CAP: "power cap", TOO_HOT: "too hot", POWER_BRAKE: "power brake", 0x02: "set by its owner",
    0x08: "slowed down by the hardware", 0x10: "in step with other devices", 0x100: "set for the display",
}  # fmt: skip
DISTURBING = {TOO_HOT: "the device was too hot", POWER_BRAKE: "the device's power brake"}


# No step is shorter, and no measurement longer than three years.
LEAST_SECONDS = 1e-12
Seconds = Annotated[float, Field(ge=0, le=1e8)]
Sample = Annotated[float, Field(ge=LEAST_SECONDS, le=1e8)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Whole = Annotated[int, Field(ge=1, le=2**53)]
DeviceFact = Annotated[str, Field(pattern="^(sm_mhz|highest_sm_mhz|watts|celsius|reasons)$")]
Reading = Annotated[float, Field(ge=0, le=1e6)]


@checked(frozen=True, config=ConfigDict(strict=True, allow_inf_nan=False))
class Warmup:
    """How the steps before the first block went.

    `settled` is False if the cap was reached before two windows agreed. `step_seconds` is the median step of the last
    window, or the time of one step if there was no warm-up.
    """

    settled: bool
    step_seconds: Sample
    steps: Count = 0
    seconds: Seconds = 0.0


@checked(frozen=True, config=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False))
class Block:
    """A block of timed steps: samples of `sample_steps` steps each, and what happened meanwhile, as in a record.

    On a CPU, a sample is as short as the protocol allows. If the device runs ahead of the host, the whole block is one
    sample. A value is None if the kernel does not report it.

    Attributes
    ----------
    sample_steps : int
        Steps of each sample.
    sample_seconds : tuple of float
        The time of each sample.
    probe_seconds : tuple of float
        The times of the reference probe, a matrix product, before and after the block.
    run_delay_seconds, quota_seconds, throttled_seconds
        By the kernel's counters: seconds that threads waited for a core, that a CPU quota stopped them, and that the
        hottest of the row's CPUs ran on a lowered clock.
    threads_ran, minor_faults
        Likewise, threads that ran, and page faults.
    part_seconds : tuple of tuple of float
        If a step is timed in parts: the samples of each part. Added up over the parts, they are `sample_seconds`.
    joules : dict of float
        The energy that each domain (a CPU's package or a GPU) used during the block, including what it uses when idle;
        empty if not known.
    ahead : bool or None
        Whether the device still had work when the host had launched the whole block: then no launch came too late.
    inside : tuple of (float, float)
        Of a long step: the seconds of the step before each probe inside it, since the last probe, and the probe's. The
        samples are without the probes.
    device : tuple of dict
        NVML's readings before and after the block, as far as the device has them; `reasons` are bits of REASONS.
    """

    sample_steps: Whole
    sample_seconds: Annotated[tuple[Sample, ...], Field(min_length=1)]
    probe_seconds: tuple[Sample, Sample]
    run_delay_seconds: Seconds | None
    threads_ran: Count | None
    minor_faults: Count
    quota_seconds: Seconds | None
    throttled_seconds: Seconds | None
    part_seconds: tuple[tuple[Seconds, ...], ...] = ()
    joules: dict[Annotated[str, Field(max_length=100)], Annotated[float, Field(ge=0, le=1e12)]] = field(
        default_factory=dict
    )
    device: Annotated[tuple[dict[DeviceFact, Reading], ...], Field(max_length=2)] = ()
    ahead: bool | None = None
    inside: tuple[tuple[Seconds, Sample], ...] = ()

    @property
    def steps(self) -> int:
        """Return how many steps were timed."""
        return self.sample_steps * len(self.sample_seconds)

    @property
    def probes(self) -> tuple[float, ...]:
        """Return the times of all probes, in the order of time."""
        first, last = self.probe_seconds
        return first, *(seconds for _, seconds in self.inside), last

    @property
    def seconds(self) -> float:
        """Return the time of all samples together."""
        return sum(self.sample_seconds)


def lasting_causes(rounds: Sequence[Sequence[Block]], protocol: TimingProtocol) -> frozenset[str]:
    """Return the causes that hold for every block in most rounds of a case, such as a fan too weak for the device.

    So they belong to the machine, and are no reason to discard a block. `rounds` has the blocks of each round of a
    session. Rounds are counted instead of blocks, since a round of short steps has more blocks.
    """
    lasting = Counter[str]()
    for blocks in filter(None, rounds):
        lasting.update(set[str].intersection(*(_machine_causes(block, protocol) for block in blocks)))
    return frozenset(cause for cause, number in lasting.items() if 2 * number > len(rounds))


def _machine_causes(block: Block, protocol: TimingProtocol, agree: Callable[..., bool] = all) -> set[str]:
    """Return why the machine itself ran slower than it can: its clocks, or what its device's readings `agree` on."""
    causes = set[str]()
    if block.device:
        readings = [reasons_of(reading) for reading in block.device]
        causes = {cause for bits, cause in DISTURBING.items() if agree(reasons & bits for reasons in readings)}
    if block.throttled_seconds and block.throttled_seconds > protocol.max_lost_share * block.seconds:
        causes.add("clocks throttled")
    return causes


def contamination(
    block: Block,
    threads: int,
    protocol: TimingProtocol,
    lasting: Collection[str] = (),
    quiet_probe_seconds: float = math.inf,
    *,
    may_wait: bool = False,
) -> list[str]:
    """Return the causes for which the block must not count, in words; an empty list if the block is clean.

    No cause depends on how fast the steps were; the block's time only turns other times into shares.

    Parameters
    ----------
    block : Block
        The block to judge.
    threads : int
        How many threads the row computes on.
    protocol : TimingProtocol
        The limits of disturbance.
    lasting : collection of str
        The causes that always hold for the machine, and so do not count (see `lasting_causes`).
    quiet_probe_seconds : float
        On a device, the time of a quiet reference probe.
    may_wait : bool
        Whether the wait for a core is taken out of the block's time.
    """
    could_run = block.seconds * threads
    most_waited = could_run * protocol.max_lost_share
    if may_wait:
        most_waited = block.seconds * min(threads, KNOWN_WAITERS) * protocol.max_waited_share
    causes = []
    # As long as the device has work queued, a host that waits does not slow it.
    if not block.ahead and (block.run_delay_seconds or 0.0) > most_waited:
        causes.append("waited for a core")
    if max(block.probe_seconds) > protocol.max_probe_ratio * quiet_probe_seconds:
        causes.append("slow reference probe")
    if (block.quota_seconds or 0.0) > protocol.max_lost_share * could_run:
        causes.append("CPU quota used up")
    if block.minor_faults * PAGE_FAULT_SECONDS > protocol.max_fault_share * block.seconds:
        causes.append("page faults")
    return [*causes, *sorted(_machine_causes(block, protocol, any).difference(lasting))]


def reasons_of(reading: Mapping[str, float]) -> int:
    """Return the bits of REASONS in a reading of a device; 0 if the reading has none."""
    return int(reading.get("reasons", 0))
