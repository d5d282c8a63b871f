"""How long to warm up and to time, the facts of a block of timed steps, and the causes for which it is discarded.

A record has only the facts; which blocks count is decided later, from the record. docs/method.md has the reasons. This
module reads no clock, so that the code that makes tables can use it.
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

    Warm-up lasts at least `warmup_seconds`, and continues until the median step times of two successive windows, each
    of at least `warmup_window_seconds`, agree within `warmup_agreement`, or until `warmup_cap_seconds` have passed. A
    first step that is longer than a window counts as the first window. If a step is longer than `block_seconds`, there
    is no warm-up: on a CPU, the first step is both timed and checked. If steps are shorter than `slow_step_seconds`, an
    untimed step runs before each block, since the reference probe has replaced what was in the caches.

    A block has at least `block_steps` steps and takes about `block_seconds` or more; a step that takes that long is a
    block by itself. Blocks are timed until the clean blocks add up to `measure_seconds`, or until there are at least
    `least_blocks` and all blocks together take `measure_cap` times `measure_seconds`. On a CPU, a block is cut into
    samples of about `sample_seconds` or more, so that a record stays small.

    A block does not count if its threads waited for a core for more than `max_run_delay_share` of the time that they
    could have run, or if the reference probe before or after the block took more than `max_probe_ratio` times as long
    as on the quiet machine. Only the probe shows a disturbance by another guest of the same host: a matrix product
    went from 62 to 123 ms while this guest's counters showed nothing.
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
    block_seconds=0.02, measure_seconds=0.02, measure_cap=2.0, sample_seconds=0.002,
)  # fmt: skip

SMOKE_STAMP = "No measurement: the smoke preset, tiny sizes, to show that everything works."

# Seconds that a minor page fault costs: 1,700 to 2,040 of them made a step of 9 ms 26 % longer.
PAGE_FAULT_SECONDS = 1.2e-6
MAX_PAGE_FAULT_SHARE = 0.01

# NVML's reasons why a device's clock is not higher (nvml.h, nvmlClocksEventReason*). A reason that always holds for a
# device, such as a power cap or too weak a fan, is reported as a fact. A reason that comes and goes, with the
# temperature of the room or the power that other devices draw, disturbs.
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
    run_delay_seconds, threads_ran, minor_faults, quota_throttles, clock_throttles
        By the kernel's counters: seconds that threads waited for a core, threads that ran, page faults, stops by the
        CPU quota, and how often hot CPUs lowered their clocks.
    part_seconds : tuple of tuple of float
        If a step is timed in parts: the samples of each part. Added up over the parts, they are `sample_seconds`.
    joules : dict of float
        The energy that each domain (a CPU's package or a GPU) used during the block, including what it uses when idle;
        empty if not known.
    ahead : bool or None
        Whether the device still had work when the host had launched the whole block: then no launch came too late.
    device : tuple of dict
        NVML's readings before and after the block, as far as the device has them; `reasons` are bits of REASONS.
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

    If fewer than a quarter of the probes take at most 1.25 times the 10th percentile, the percentile is an outlier: on
    virtual machines of many cores, one probe in eight sometimes took 0.6 times as long as the others. Then return the
    fastest probe for which more than half of the probes take 1 to 1.25 times as long as this probe; if there is no such
    probe, return the 10th percentile after all.
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

    Such a reason always holds for the device, so it is no cause to discard a block. `rounds` has the blocks of each
    round of a session. Rounds are counted instead of blocks, since a disturbed round has more blocks.
    """
    readings = [[reasons_of(one) for block in blocks for one in block.device] for blocks in rounds]
    lasting = [all(reasons & bits for reasons in one) * bits for one in readings if one for bits in DISTURBING]
    return sum(bits for bits in DISTURBING if 2 * lasting.count(bits) > len(rounds))


def contamination(
    block: Block, threads: int, quiet_probe_seconds: float, protocol: TimingProtocol, steady: int = 0
) -> list[str]:
    """Return the causes for which the block must not count, in words; an empty list if the block is clean.

    No cause depends on how fast the steps were; the block's time only turns other times into shares.

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
        The bits of DISTURBING that always hold for the device, and so are no cause (see `steady_reasons`).
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
    """Return the bits of REASONS in a reading of a device; 0 if the reading has none."""
    return int(reading.get("reasons", 0))
