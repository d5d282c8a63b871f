"""A block of timed steps, and the causes for which it is discarded: facts first, the judgement apart from them."""

from dataclasses import dataclass, field

from respeed.model.timing import TimingProtocol

# What a minor page fault costs, seconds: 1,700 to 2,040 of them made a step of 9 ms 26 % longer.
PAGE_FAULT_SECONDS = 1.2e-6
MAX_PAGE_FAULT_SHARE = 0.01


@dataclass(frozen=True)
class Block:
    """Successive samples of `sample_steps` steps each, and what happened meanwhile; raw, as it stands in a record.

    A sample is as short as the protocol allows where single steps can be told apart, the whole block where the
    device runs ahead of the host. None stands for what the kernel does not tell. `probe_seconds` are those of the
    reference product before and after the block. `part_seconds` has, for each part of a step that is timed in parts, as
    many samples as `sample_seconds`, which is their sum. `joules` is what each domain, a CPU's package or a GPU, used
    meanwhile, idle or not; empty where that is not told. `slept_seconds`, which earlier records lack, is how long the
    machine was suspended; it is in no sample.
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
    slept_seconds: float | None = None

    @property
    def steps(self) -> int:
        return self.sample_steps * len(self.sample_seconds)

    @property
    def seconds(self) -> float:
        return sum(self.sample_seconds)


def quiet_probe(probes: list[float]) -> float:
    """The probe of an undisturbed machine: the 10th percentile of all probes of a profile."""
    return sorted(probes)[len(probes) // 10]


def contamination(block: Block, threads: int, quiet_probe_seconds: float, protocol: TimingProtocol) -> list[str]:
    """The causes for which the block must not count, in words; empty if it is clean. No cause looks at its times."""
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
    if block.slept_seconds:
        causes.append("the machine slept")
    return causes
