"""How long to warm up and to time; the reasons are in docs/method.md."""

from dataclasses import dataclass


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
