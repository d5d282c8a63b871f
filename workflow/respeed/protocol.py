"""How long to warm up and to time, the facts of a block of timed steps, and the causes for which it is discarded.

A record has the facts; the judgement is made later, and apart from them. docs/method.md has the reasons. This module
reads no clock, so that tables can use it.
"""

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked


@dataclass(frozen=True)
class TimingProtocol:
    """How long to warm up and to time, and how much disturbance a block may have; all durations are in seconds.

    Warm-up lasts at least `warmup_seconds`, and goes on until two windows of at least `warmup_window_seconds` agree
    within `warmup_agreement`, but not longer than `warmup_cap_seconds`. A first step that is longer than a window
    counts as the first window. A step longer than `block_seconds` needs no warm-up: the first step is timed, and
    checked as well. Before a block of steps shorter than `slow_step_seconds`, one more step is made, untimed, since the
    probe has replaced what was in the caches.

    A block has at least `block_seconds` and `block_steps`. Blocks are timed until the clean ones add up to
    `measure_seconds`, or until there are `least_blocks` and all together last `measure_cap` times as long. A block is
    cut into samples of at least `sample_seconds`, so that a record stays small.

    A block does not count if its threads waited for a core for more than `max_run_delay_share` of the time that they
    could have run, or if the reference probe before or after it took more than `max_probe_ratio` times a quiet one.
    Only the probe shows a neighbour on the same host: a product went from 62 to 123 ms while the guest saw nothing.
    """

    warmup_seconds: float = 0.1
    warmup_window_seconds: float = 0.05
    warmup_agreement: float = 0.05
    warmup_cap_seconds: float = 2.0
    block_seconds: float = 0.25
    block_steps: int = 2
    slow_step_seconds: float = 0.03
    sample_seconds: float = 0.01
    measure_seconds: float = 0.2
    measure_cap: float = 4.0
    least_blocks: int = 2
    max_run_delay_share: float = 0.02
    max_probe_ratio: float = 1.25


REAL = TimingProtocol()
# Shows within seconds that everything works; its numbers are no measurements.
SMOKE = TimingProtocol(
    warmup_seconds=0.02, warmup_window_seconds=0.01, warmup_cap_seconds=0.15, max_run_delay_share=1.0,
    max_probe_ratio=1e3, slow_step_seconds=0.02,
    block_seconds=0.02, measure_seconds=0.05, measure_cap=2.0, sample_seconds=0.002,
)  # fmt: skip

SMOKE_STAMP = "No measurement: the smoke preset, tiny sizes, to show that everything works."

# Seconds that a minor page fault costs: 1,700 to 2,040 of them made a step of 9 ms 26 % longer.
PAGE_FAULT_SECONDS = 1.2e-6
MAX_PAGE_FAULT_SHARE = 0.01

# NVML's reasons why a device's clock is not higher (nvml.h, nvmlClocksEventReason*). A reason that always holds for a
# device, such as a power cap or too weak a fan, is reported as a fact. One that comes and goes, with the air around it
# or the power that others draw, disturbs.
POWER_CAP, TOO_HOT, POWER_BRAKE = 0x04, 0x20 | 0x40, 0x80
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

    `settled` is False if the cap was reached before two windows agreed. `step_seconds` is the last median, or the time
    of the first step if that needed no warm-up.
    """

    settled: bool
    step_seconds: Sample
    steps: Count = 0
    seconds: Seconds = 0.0


@checked(frozen=True, config=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False))
class Block:
    """Successive samples of `sample_steps` steps each, and the events meanwhile; raw facts, as in a record.

    A sample is as short as the protocol allows if single steps can be told apart, or the whole block if the device
    runs ahead of the host. A value is None if the kernel does not report it.

    Attributes
    ----------
    sample_steps : int
        Steps of each sample.
    sample_seconds : tuple of float
        The time of each sample.
    probe_seconds : tuple of float
        The times of the reference product before and after the block.
    run_delay_seconds, threads_ran, minor_faults, quota_throttles, clock_throttles
        The kernel's counts during the block.
    part_seconds : tuple of tuple of float
        If a step is timed in parts, as many samples of each part as in `sample_seconds`, which is their sum.
    joules : dict of float
        The energy that each domain, a CPU's package or a GPU, used meanwhile, idle or not; empty if not known.
    ahead : bool or None
        Whether the device still had work when the host had launched the whole block: then no launch came too late.
    device : tuple of dict
        NVML's readings of the device before and after the block, as far as it has them; `reasons` are bits of REASONS.
    """

    sample_steps: Whole
    sample_seconds: Annotated[tuple[Sample, ...], Field(min_length=1)]
    probe_seconds: tuple[Sample, Sample]
    run_delay_seconds: Seconds | None
    threads_ran: Count | None
    minor_faults: Count
    quota_throttles: Count | None
    clock_throttles: Count | None
    part_seconds: tuple[tuple[Seconds, ...], ...] = ()
    joules: dict[str, Annotated[float, Field(ge=0, le=1e12)]] = field(default_factory=dict)
    device: Annotated[tuple[dict[DeviceFact, Reading], ...], Field(max_length=2)] = ()
    ahead: bool | None = None

    @property
    def steps(self) -> int:
        """Return how many steps were timed."""
        return self.sample_steps * len(self.sample_seconds)

    @property
    def seconds(self) -> float:
        """Return the time of all samples together."""
        return sum(self.sample_seconds)


def quiet_probe(probes: list[float]) -> float:
    """Return the probe time of an undisturbed machine, in seconds: the 10th percentile of the `probes`.

    If fewer than a quarter of the probes are at most 1.25 times that, it is an outlier: on virtual machines of many
    cores, one probe in eight sometimes took 0.6 times as long as the others. Then it is the fastest probe for which
    more than half of the probes take 1 to 1.25 times as long; if there is none, the 10th percentile after all.
    """
    ordered = sorted(probes)
    tenth = ordered[len(ordered) // 10]
    if 4 * bisect(ordered, REAL.max_probe_ratio * tenth) >= len(ordered):
        return tenth
    usual = (
        probe
        for place, probe in enumerate(ordered)
        if 2 * (bisect(ordered, REAL.max_probe_ratio * probe) - place) > len(ordered)
    )
    return next(usual, tenth)


def steady_reasons(rounds: Sequence[Sequence[Block]]) -> int:
    """Return the bits of DISTURBING that a device reports at both ends of every block in most rounds of a case.

    Such a reason always holds for the device, and disturbs no block. `rounds` are the blocks of each round of a
    session; rounds are counted instead of blocks, as a disturbed round has more blocks.
    """
    readings = [[reasons_of(one) for block in blocks for one in block.device] for blocks in rounds]
    lasting = [all(reasons & bits for reasons in one) * bits for one in readings if one for bits in DISTURBING]
    return sum(bits for bits in DISTURBING if 2 * lasting.count(bits) > len(rounds))


def contamination(
    block: Block, threads: int, quiet_probe_seconds: float, protocol: TimingProtocol, steady: int = 0
) -> list[str]:
    """Return the causes for which the block must not count, in words; none if it is clean.

    No cause depends on the block's times.

    Parameters
    ----------
    block : Block
        The block to judge.
    threads : int
        How many threads the row computes on.
    quiet_probe_seconds : float
        The time of the reference probe on the undisturbed machine.
    protocol : TimingProtocol
        The limits of disturbance.
    steady : int
        The bits of DISTURBING that are no cause, as they always hold for the device.
    """
    causes = []
    # As long as the device has work queued, a host that waits does not slow it.
    if not block.ahead and (block.run_delay_seconds or 0.0) > protocol.max_run_delay_share * block.seconds * threads:
        causes.append("waited for a core")
    if max(block.probe_seconds) > protocol.max_probe_ratio * quiet_probe_seconds:
        causes.append("slow reference probe")
    if block.quota_throttles:
        causes.append("CPU quota used up")
    if block.clock_throttles:
        causes.append("clocks throttled")
    if block.minor_faults * PAGE_FAULT_SECONDS > MAX_PAGE_FAULT_SHARE * block.seconds:
        causes.append("page faults")
    there = [reasons_of(reading) & ~steady for reading in block.device]
    causes += [cause for bits, cause in DISTURBING.items() if any(reasons & bits for reasons in there)]
    return causes


def reasons_of(reading: Mapping[str, float]) -> int:
    """Return the bits of REASONS that a device reports."""
    return int(reading.get("reasons", 0))
