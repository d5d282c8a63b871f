"""Reads the counters of energy at the ends of blocks, outside of what is timed."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from respeed.machine.energy import EnergyCounter
from respeed.timing.clock import seconds_now

# A counter that does not move for so long stands still: those of NVIDIA's devices move every 20 to 100 ms, RAPL's every
# millisecond.
STILL_SECONDS = 0.5
# The first change seen ends a wait of unknown length; the periods are those after it.
CHANGES = 4

# Of each counter what it said, None for one that was gone; and when.
Reading = tuple[tuple[float | None, ...], float]


@dataclass(frozen=True)
class Meter:
    """The counters of a row, the slowest of which moves every `update_seconds`. Without any, every block has used
    nothing that is known."""

    counters: tuple[EnergyCounter, ...] = ()
    update_seconds: float = 0.0

    def read(self) -> Reading:
        return tuple(_read(counter) for counter in self.counters), seconds_now() if self.counters else 0.0

    def joules(self, before: Reading, after: Reading) -> dict[str, float]:
        """What was used between two readings, by domain; empty where any of the counters does not tell."""
        seconds = after[1] - before[1]
        used = {}
        for counter, first, last in zip(self.counters, before[0], after[0], strict=True):
            joules = None if first is None or last is None else counter.between(first, last, seconds)
            if joules is None:
                return {}
            used[counter.domain] = joules
        return used


NO_METER = Meter()


def make_meter(counters: Sequence[EnergyCounter], why_not: str) -> tuple[Meter, dict[str, Any]]:
    """The meter of a row, and its facts for the record: how often each counter moves, or why there is no meter."""
    periods = {counter.domain: _period(counter) for counter in counters}
    still = [domain for domain, period in periods.items() if period is None]
    if still:
        why_not = f"the counter of {still[0]} stands still"
    slowest = max(filter(None, periods.values()), default=0.0)
    meter = NO_METER if why_not else Meter(tuple(counters), slowest)
    return meter, {"update_seconds": {} if why_not else periods, "reason": why_not or None}


def _period(counter: EnergyCounter) -> float | None:
    """Seconds between two changes of the counter, the median of a few, as who polls may be kept from it for a moment;
    None where it does not change."""
    moments: list[float] = []
    last, since = _read(counter), seconds_now()
    while len(moments) < CHANGES:
        value, now = _read(counter), seconds_now()
        if value is None or now - since > STILL_SECONDS:
            return None
        if value != last:
            moments.append(now)
            last, since = value, now
    return statistics.median(after - before for before, after in pairwise(moments))


def _read(counter: EnergyCounter) -> float | None:
    try:
        return counter.read()
    except (OSError, ValueError):
        return None
