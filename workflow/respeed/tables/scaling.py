"""What more threads bring each machine, from its hardware sheet: results/tables/scaling.csv.

    speedup = t1 / tn        efficiency = t1 / (n tn)

of an RBM step and of its matrix products alone, each number of threads in processes of its own.
"""

from dataclasses import dataclass, field
from typing import Any

from respeed.estimators.gauged import Gauged, Spread, collect_gauged, spread_of, spread_of_ratio

COLUMNS = (
    "machine", "what", "size", "library", "threads", "seconds", "low", "high", "ends", "speedup", "speedup_low",
    "speedup_high", "efficiency", "efficiency_low", "efficiency_high", "speedup_ends", "passes", "reason",
)  # fmt: skip
STEP, PRODUCTS = "RBM step", "its products alone"
WHAT = {"rbm": STEP, "cd1_products": PRODUCTS}


@dataclass(frozen=True)
class Scaled:
    """One row of scaling.csv: a step on so many threads, and beside it what it takes on one. Without `seconds` the
    `reason` says why. `ends` says what `low` and `high` are, `speedup_ends` what the others are. `each` has the speedup
    of every pass that has both; `is_disturbed`: another time may do better."""

    machine: str
    what: str
    size: str
    library: str
    threads: int
    passes: int
    reason: str
    time: Spread | None = None
    ratio: Spread | None = None
    each: tuple[float, ...] = field(default=())
    is_disturbed: bool = False

    @property
    def seconds(self) -> float | None:
        return self.time.value if self.time else None

    @property
    def low(self) -> float | None:
        return self.time.low if self.time else None

    @property
    def high(self) -> float | None:
        return self.time.high if self.time else None

    @property
    def ends(self) -> str:
        return self.time.ends if self.time else ""

    @property
    def speedup(self) -> float | None:
        return self.ratio.value if self.ratio else None

    @property
    def speedup_low(self) -> float | None:
        return self.ratio.low if self.ratio else None

    @property
    def speedup_high(self) -> float | None:
        return self.ratio.high if self.ratio else None

    @property
    def speedup_ends(self) -> str:
        return self.ratio.ends if self.ratio else ""

    @property
    def speedups(self) -> str:
        return " ".join(f"{one:.9g}" for one in self.each)

    @property
    def efficiency(self) -> float | None:
        return _over(self.speedup, self.threads)

    @property
    def efficiency_low(self) -> float | None:
        return _over(self.speedup_low, self.threads)

    @property
    def efficiency_high(self) -> float | None:
        return _over(self.speedup_high, self.threads)


def make_scaling(sheet: dict[str, Any]) -> list[Scaled]:
    """The rows of one machine: step by step, in the order of threads."""
    steps = [one for one in collect_gauged(sheet) if one.workload in WHAT and one.profile["device"] == "cpu"]
    ones = {(one.workload, one.case, one.profile["backend"]): one for one in steps if one.threads == 1}
    found = [
        _scaled(sheet["machine"], step, ones.get((step.workload, step.case, step.profile["backend"]))) for step in steps
    ]
    return sorted(found, key=lambda row: (*_work(row.size), row.what != STEP, row.threads))


def _scaled(machine: str, step: Gauged, one: Gauged | None) -> Scaled:
    seconds = list(step.seconds.values())
    row = (machine, WHAT[step.workload], step.case, step.library, step.threads, len(seconds), step.reason)
    if not seconds:
        return Scaled(*row, is_disturbed=step.is_disturbed)
    if one is None or not one.seconds:
        return Scaled(*row, time=spread_of(seconds))
    ratio = Spread(1.0, None, None, "") if one is step else spread_of_ratio(list(one.seconds.values()), seconds)
    pairs = [one.seconds[index] / took for index, took in step.seconds.items() if index in one.seconds]
    return Scaled(*row, time=spread_of(seconds), ratio=ratio, each=tuple(pairs))


def _work(size: str) -> tuple[int, ...]:
    visible, hidden = map(int, size.split("x"))
    return visible * hidden, visible


def _over(value: float | None, threads: int) -> float | None:
    return None if value is None else value / threads
