"""One row of results/tables/cost.csv: what the work of a cell costs, in money and in energy."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

COLUMNS = (
    "machine", "paper", "experiment", "case", "algorithm", "profile", "precision", "label", "work", "seconds",
    "seconds_low", "seconds_high", "cost", "cost_low", "cost_high", "currency", "base_algorithm", "base_profile",
    "buys", "buys_low", "buys_high", "verdict", "cheapest_machine", "cheapest_algorithm", "cheapest_profile",
    "buys_across", "buys_across_low", "buys_across_high", "standing", "reason", "joules", "joules_low", "joules_high",
    "watts", "energy_rounds", "energy_of", "energy_reason", "price_per_hour", "price_source", "price_date",
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """One row of cost.csv: a cell with a time.

    `work` is what the seconds, the cost and the joules are of. `buys` is how many times as much of it a unit of money
    buys as on the base, the fastest CPU row in fp32 of the same machine: the speedup, as both pay the same hour.
    `buys_across` is the same over the cheapest row in fp32 of all machines that are paid in the currency, and
    `standing` cheapest, dearer, cheaper (only in another precision), indistinguishable, unproven or none. `reason` says
    why nothing more is said. `joules` are of the parts that `energy_of` names, the whole of each.
    """

    machine: str
    paper: str
    experiment: str
    case: str
    algorithm: str
    profile: str
    precision: str
    label: str
    work: str
    seconds: float
    seconds_low: float | None
    seconds_high: float | None
    cost: float | None
    cost_low: float | None
    cost_high: float | None
    currency: str
    base_algorithm: str
    base_profile: str
    buys: float | None
    buys_low: float | None
    buys_high: float | None
    verdict: str
    cheapest_machine: str
    cheapest_algorithm: str
    cheapest_profile: str
    buys_across: float | None
    buys_across_low: float | None
    buys_across_high: float | None
    standing: str
    reason: str
    joules: float | None
    joules_low: float | None
    joules_high: float | None
    watts: float | None
    energy_rounds: int
    energy_of: str
    energy_reason: str
    price_per_hour: float | None
    price_source: str
    price_date: str

    @property
    def dearer(self) -> tuple[float, float | None, float | None] | None:
        """How many times as much it costs as the cheapest, with its interval."""
        if not self.buys_across:
            return None
        low, high = (1 / end if end else None for end in (self.buys_across_high, self.buys_across_low))
        return 1 / self.buys_across, low, high

    @property
    def column(self) -> tuple[str, str, str]:
        """The case that it is a row of."""
        return self.paper, self.experiment, self.case

    @property
    def row(self) -> tuple[str, str]:
        """The row of its table: how it ran, and by which algorithm."""
        return self.profile, self.algorithm


def read_cost(row: Mapping[str, str]) -> Cost:
    """A row as it was written, its fields as texts."""
    return Cost(**{field.name: _read(row[field.name], field.type) for field in fields(Cost)})


def _read(text: str, kind: Any) -> Any:
    """An empty field of a number is None."""
    if kind is str:
        return text
    return int(text) if kind is int else (float(text) if text else None)
