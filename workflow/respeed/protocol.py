"""How long to warm up and to time, what a block of timed steps is, and the causes for which it is discarded: facts
first, the judgement apart from them. The reasons are in docs/method.md. Reads no clock, so that tables can use it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TimingProtocol:
    """All durations in seconds.

    Warm-up lasts at least `warmup_seconds`, and goes on until two windows of at least `warmup_window_seconds` agree
    within `warmup_agreement`, but not longer than `warmup_cap_seconds`. A first step that is longer than a window
    counts as the first window. A step longer than `block_seconds` needs no warm-up: its first one is timed, and
    checked as well. Before a block of steps shorter than `slow_step_seconds`, one more brings back what the probe
    took from the caches.

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
# For the hardware sheet, which has many short measurements: blocks are judged as ever, and may be shorter.
GAUGE = TimingProtocol(warmup_seconds=0.05, warmup_window_seconds=0.025, block_seconds=0.1, measure_seconds=0.1)
# Shows that everything works, in seconds; no number of it is a measurement.
SMOKE = TimingProtocol(
    warmup_seconds=0.02, warmup_window_seconds=0.01, warmup_cap_seconds=0.15, max_run_delay_share=1.0,
    max_probe_ratio=1e3,
    block_seconds=0.02, measure_seconds=0.05, measure_cap=2.0, sample_seconds=0.002,
)  # fmt: skip

SMOKE_STAMP = "No measurement: the smoke preset, tiny sizes, to show that everything works."

# What a minor page fault costs, seconds: 1,700 to 2,040 of them made a step of 9 ms 26 % longer.
PAGE_FAULT_SECONDS = 1.2e-6
MAX_PAGE_FAULT_SHARE = 0.01

# Why NVML says that a device's clock is lower than it might be (nvml.h, nvmlClocksEventReason*). What a device is like
# all the time, a power cap or a fan too weak for it, is a fact of it, and told; what comes and goes with the air around
# it, or with who else draws power, disturbs.
POWER_CAP, TOO_HOT, POWER_BRAKE = 0x04, 0x20 | 0x40, 0x80
REASONS = {
    POWER_CAP: "power cap", TOO_HOT: "too hot", POWER_BRAKE: "power brake", 0x02: "set by its owner",
    0x08: "slowed down by the hardware", 0x10: "in step with other devices", 0x100: "set for the display",
}  # fmt: skip
DISTURBING = {TOO_HOT: "the device was too hot", POWER_BRAKE: "the device's power brake"}


@dataclass(frozen=True)
class Block:
    """Successive samples of `sample_steps` steps each, and what happened meanwhile; raw, as it stands in a record.

    A sample is as short as the protocol allows where single steps can be told apart, the whole block where the
    device runs ahead of the host. None stands for what the kernel does not tell. `probe_seconds` are those of the
    reference product before and after the block. `part_seconds` has, for each part of a step that is timed in parts, as
    many samples as `sample_seconds`, which is their sum. `joules` is what each domain, a CPU's package or a GPU, used
    meanwhile, idle or not; empty where that is not told. `device` is what NVML told of the device before the block and
    after it, each as far as it told: `sm_mhz` and `highest_sm_mhz`, `watts`, `celsius`, and `reasons`, the bits of
    REASONS.
    """

    sample_steps: int
    sample_seconds: tuple[float, ...]
    probe_seconds: tuple[float, float]
    run_delay_seconds: float | None
    threads_ran: int | None
    minor_faults: int
    quota_throttles: int | None
    clock_throttles: int | None
    part_seconds: tuple[tuple[float, ...], ...] = ()
    joules: dict[str, float] = field(default_factory=dict)
    device: tuple[dict[str, float], ...] = ()

    @property
    def steps(self) -> int:
        return self.sample_steps * len(self.sample_seconds)

    @property
    def seconds(self) -> float:
        return sum(self.sample_seconds)


# Seconds of all reference probes of a profile in a session, by what they are compared with (`probed_as`).
Probes = dict[str, list[float]]


def probed_as(where: Mapping[str, Any], case: str, workload: str, *, is_cpu: bool) -> str:
    """With what the probes of a case are compared. A CPU row's with those of all its cases; a device's with those of
    the same case alone: what a device just did decides its clock, so that after heavy work all probes are slow."""
    return "" if is_cpu else "/".join((where["paper"], where["experiment"], case, workload))


def quiet_probe(probes: list[float]) -> float:
    """The probe of an undisturbed machine: the 10th percentile of all that are compared."""
    return sorted(probes)[len(probes) // 10]


def steady_reasons(rounds: Sequence[Sequence[Block]]) -> int:
    """Return the bits of DISTURBING that a device told of before and after all blocks of a case in most rounds of a
    session: it is like that, and no block is disturbed. By rounds, as a disturbed one has more blocks."""
    told = [[reasons_of(one) for block in blocks for one in block.device] for blocks in rounds]
    lasting = [all(reasons & bits for reasons in one) * bits for one in told if one for bits in DISTURBING]
    return sum(bits for bits in DISTURBING if 2 * lasting.count(bits) > len(rounds))


def contamination(
    block: Block, threads: int, quiet_probe_seconds: float, protocol: TimingProtocol, steady: int = 0
) -> list[str]:
    """Return the causes for which the block must not count, in words; empty if it is clean. No cause looks at its
    times. What is `steady` (see steady_reasons) is none."""
    causes = []
    if (block.run_delay_seconds or 0.0) > protocol.max_run_delay_share * block.seconds * threads:
        causes.append("waited for a core")
    if max(block.probe_seconds) > protocol.max_probe_ratio * quiet_probe_seconds:
        causes.append("slow reference probe")
    if block.quota_throttles:
        causes.append("CPU quota used up")
    if block.clock_throttles:
        causes.append("clocks throttled")
    if block.minor_faults * PAGE_FAULT_SECONDS > MAX_PAGE_FAULT_SHARE * block.seconds:
        causes.append("page faults")
    there = [reasons_of(told) & ~steady for told in block.device]
    causes += [cause for bits, cause in DISTURBING.items() if any(reasons & bits for reasons in there)]
    return causes


def reasons_of(told: Mapping[str, float]) -> int:
    """The bits of REASONS that a device told."""
    return int(told.get("reasons", 0))
