"""How long to warm up and to time, what a block of timed steps is, and the causes for which it is discarded.

Facts come first, the judgement apart from them. The reasons are in docs/method.md. Nothing here reads a clock, so that
tables can use it.
"""

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked


@dataclass(frozen=True)
class TimingProtocol:
    """Say how long to warm up and to time, and what a block may suffer; all durations are in seconds.

    Warm-up lasts at least `warmup_seconds`, and goes on until two windows of at least `warmup_window_seconds` agree
    within `warmup_agreement`, but not longer than `warmup_cap_seconds`. A first step that is longer than a window
    counts as the first window. A step longer than `block_seconds` needs no warm-up: its first one is timed, and
    checked as well. Before a block of steps shorter than `slow_step_seconds`, which is no more than that, one more
    brings back what the probe took from the caches.

    A block has at least `block_seconds` and `block_steps`. Blocks are timed until clean ones add up to
    `measure_seconds`, or until there are `least_blocks` and all of them add up to `measure_cap` times
    that. A block is cut into samples of at least `sample_seconds`, so that a record stays small.

    A block does not count if its threads waited for a core for more than `max_run_delay_share` of the time that they
    could have run. Nor does it if a reference probe beside it took more than `max_probe_ratio` times a quiet one:
    that tells of a neighbour that nothing else shows (a product went from 62 to 123 ms with nothing to see in the
    guest).
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
# Shows that everything works, in seconds; no number of it is a measurement.
SMOKE = TimingProtocol(
    warmup_seconds=0.02, warmup_window_seconds=0.01, warmup_cap_seconds=0.15, max_run_delay_share=1.0,
    max_probe_ratio=1e3, slow_step_seconds=0.02,
    block_seconds=0.02, measure_seconds=0.05, measure_cap=2.0, sample_seconds=0.002,
)  # fmt: skip

SMOKE_STAMP = "No measurement: the smoke preset, tiny sizes, to show that everything works."

# What a minor page fault costs, seconds: 1,700 to 2,040 of them made a step of 9 ms 26 % longer.
PAGE_FAULT_SECONDS = 1.2e-6
MAX_PAGE_FAULT_SHARE = 0.01

# Why NVML says that a device's clock is lower than it might be (nvml.h, nvmlClocksEventReason*). What a device is like
# all the time, a power cap or a fan too weak for it, is a fact of it that is reported; what comes and goes with the air
# around it, or with who else draws power, disturbs.
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

    `settled` is False when the cap was reached before two windows agreed. `step_seconds` is the last median, or what
    the first step took where that needed no warm-up.
    """

    settled: bool
    step_seconds: Sample
    steps: Count = 0
    seconds: Seconds = 0.0


@checked(frozen=True, config=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False))
class Block:
    """Successive samples of `sample_steps` steps each, and what happened meanwhile; raw, as it stands in a record.

    A sample is as short as the protocol allows where single steps can be told apart, the whole block where the
    device runs ahead of the host. None stands for what the kernel does not tell.

    Attributes
    ----------
    sample_steps : int
        Steps of each sample.
    sample_seconds : tuple of float
        What each sample took.
    probe_seconds : tuple of float
        The reference product before and after the block.
    run_delay_seconds, threads_ran, minor_faults, quota_throttles, clock_throttles
        What the kernel says of the time of the block.
    part_seconds : tuple of tuple of float
        Of a step that is timed in parts, as many samples of each part as `sample_seconds`, which is their sum.
    joules : dict of float
        What each domain, a CPU's package or a GPU, used meanwhile, idle or not; empty where that is not known.
    ahead : bool or None
        Whether the device still had work when the host had asked for the whole block: then no launch came too late.
    device : tuple of dict
        What NVML says of the device before the block and after it, each as far as it is known; `reasons` are bits of
        REASONS.
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
        """Return what all samples took together."""
        return sum(self.sample_seconds)


def quiet_probe(probes: list[float]) -> float:
    """Return the probe of an undisturbed machine, seconds: the 10th percentile of all that are compared.

    If less than a quarter of them is near it, up to 1.25 times as long, it is no state that the machine is in. Virtual
    machines of many cores had one probe in eight at 0.6 of all others, now and then. Then it is the fastest probe that
    more than half are near; if there is none, the 10th percentile after all.
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

    The device is like that then, and no block is disturbed by it. `rounds` are the blocks of each round of a session:
    rounds are counted and not blocks, as a disturbed round has more of these.
    """
    readings = [[reasons_of(one) for block in blocks for one in block.device] for blocks in rounds]
    lasting = [all(reasons & bits for reasons in one) * bits for one in readings if one for bits in DISTURBING]
    return sum(bits for bits in DISTURBING if 2 * lasting.count(bits) > len(rounds))


def contamination(
    block: Block, threads: int, quiet_probe_seconds: float, protocol: TimingProtocol, steady: int = 0
) -> list[str]:
    """Return the causes for which the block must not count, in words; none if it is clean.

    No cause looks at its times.

    Parameters
    ----------
    block : Block
        What was timed, and what happened meanwhile.
    threads : int
        How many threads the row computes on.
    quiet_probe_seconds : float
        The reference probe of the undisturbed machine.
    protocol : TimingProtocol
        What a block may suffer.
    steady : int
        The bits of DISTURBING that are no cause, as the device is always like that.
    """
    causes = []
    # Where the device is ahead of its work, a host that waited has kept nothing from it.
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
