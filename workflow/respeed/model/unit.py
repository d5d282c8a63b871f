"""What a published table counts in: seconds, or the rate at which something is done."""

from dataclasses import dataclass
from typing import Literal

# What a rate counts, and so what a table's seconds stand for.
Counted = Literal["examples", "flops", "bytes"]


@dataclass(frozen=True)
class Unit:
    """`size` seconds where nothing is counted; otherwise `size` of what is counted, a second."""

    name: str
    size: float = 1.0
    counted: Counted | None = None

    @property
    def better(self) -> str:
        """Which of two numbers is the better one: larger or smaller."""
        return "larger" if self.counted else "smaller"

    def seconds(self, value: float, amount: float | None) -> float | None:
        """The seconds that a number in this unit says. `amount` is how much of what is counted they stand for; None
        where that is not known, and needed."""
        if self.counted is None:
            return value * self.size
        return amount / (value * self.size) if amount else None

    def value(self, seconds: float, amount: float | None) -> float | None:
        """The number that says so many seconds: the inverse of `seconds`."""
        if self.counted is None:
            return seconds / self.size
        return amount / (seconds * self.size) if amount else None


SECONDS = Unit("seconds")
UNITS = {
    unit.name: unit
    for unit in (
        SECONDS,
        Unit("milliseconds", 1e-3),
        Unit("examples a second", counted="examples"),
        Unit("images a second", counted="examples"),
        Unit("GFLOP/s", 1e9, "flops"),
        Unit("GB/s", 1e9, "bytes"),
    )
}
# In published.csv, the unit of a printed speedup: over the fastest CPU row of the same case.
SPEEDUP = "x"
