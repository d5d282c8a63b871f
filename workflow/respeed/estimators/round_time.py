"""How long a step took in one round, from its clean blocks."""

import math
import statistics
from dataclasses import dataclass, field

from respeed.protocol import Block


@dataclass(frozen=True)
class RoundTime:
    """Seconds a step in one round, over its clean blocks: the median for speeds, the mean for totals.

    `session` is the one that the round belongs to: only rounds of the same one are compared. `peak` is the highest rate
    of a bare product that the session saw on the profile, FLOP/s, `bandwidth` the highest of a copy, bytes/s read and
    written. `parts` has the mean seconds of each part of a step
    that is timed in parts, as often as it counts in a step.
    """

    median: float
    mean: float
    session: int
    peak: float | None
    bandwidth: float | None = None
    parts: dict[str, float] = field(default_factory=dict)


def time_of_round(
    blocks: list[Block], weights: dict[str, float], session: int, peak: float | None, bandwidth: float | None
) -> RoundTime:
    """Of its clean blocks; `weights` say how often each part of a step that is timed in parts counts in it."""
    steps = sum(block.steps for block in blocks)
    if not weights:
        seconds = sum(block.seconds for block in blocks)
        samples = [time / block.sample_steps for block in blocks for time in block.sample_seconds]
        return RoundTime(statistics.median(samples), seconds / steps, session, peak, bandwidth)
    parts = {
        name: weight * sum(math.fsum(block.part_seconds[index]) for block in blocks) / steps
        for index, (name, weight) in enumerate(weights.items())
    }
    samples = [
        sum(weight * seconds for weight, seconds in zip(weights.values(), sample, strict=True)) / block.sample_steps
        for block in blocks
        for sample in zip(*block.part_seconds, strict=True)
    ]
    return RoundTime(statistics.median(samples), math.fsum(parts.values()), session, peak, bandwidth, parts)
