"""What is said of costs: of how much work they are, whose prices, and why energy is missing."""

from collections.abc import Iterable

from respeed.tables.cost import Cost
from respeed.text import join_words

# What a thousand times as much work is called: a million examples may cost so little that only zeros are read.
THOUSANDFOLD = {
    "1 million examples": "1 billion examples",
    "1 million steps": "1 billion steps",
    "10^15 operations": "10^18 operations",
    "10^15 bytes": "10^18 bytes",
}
LEAST_READABLE = 0.01


def by_table(rows: Iterable[Cost], *more: str) -> dict[tuple[str, ...], list[Cost]]:
    """The rows of each table (paper and experiment), or of what `more` of their fields tell apart."""
    found: dict[tuple[str, ...], list[Cost]] = {}
    for row in rows:
        found.setdefault(tuple(getattr(row, name) for name in ("paper", "experiment", *more)), []).append(row)
    return found


def in_bulk(work: str, rows: Iterable[Cost]) -> tuple[str, float]:
    """Of how much to tell what work costs, and how many times as much as in cost.csv that is: of the same amount in all
    tables of a page, whose rows are `rows`, so that the numbers can be compared."""
    costs = [row.cost for row in rows if row.cost and row.work == work]
    return (THOUSANDFOLD[work], 1e3) if costs and min(costs) < LEAST_READABLE else (work, 1.0)


def prices_told(rows: Iterable[Cost]) -> list[tuple[str, str, str, str]]:
    """Of each machine with a price: its name, the price of an hour, who says so, and of which day."""
    found = {row.machine: row for row in rows if row.price_per_hour}
    return [
        (name, f"{_money(row.price_per_hour or 0.0)} {row.currency} an hour", row.price_source, row.price_date)
        for name, row in found.items()
    ]


def currencies_apart(rows: Iterable[Cost]) -> str:
    """What is to be said where prices are in several currencies; empty where they are in one."""
    found = sorted({row.currency for row in rows if row.currency})
    return (
        f"Costs in {join_words(found)} are not compared: what one is worth of the other changes." if found[1:] else ""
    )


def _money(amount: float) -> str:
    """As a bill has it, to the hundredth, or as it was told where that is finer."""
    return f"{amount:.2f}" if round(amount, 2) == amount else f"{amount:g}"


def prices_untold(rows: Iterable[Cost]) -> list[tuple[str, str]]:
    """Each machine without a price, and how to tell one."""
    missing = dict.fromkeys(row.machine for row in rows if not row.price_per_hour)
    return [(name, f"no price is told: ./run respeed new machine {name}") for name in missing]


def energy_missing(rows: Iterable[Cost]) -> list[tuple[str, str]]:
    """Each machine whose energy is not known, and why. Where some of its rows tell theirs, or where there are several
    reasons, the profiles that it holds of are named."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    told = set()
    for row in rows:
        if row.energy_reason:
            found.setdefault(row.machine, {}).setdefault(row.energy_reason, {})[row.profile] = None
        else:
            told.add(row.machine)
    return [
        (machine, f"{', '.join(profiles)}: {reason}" if machine in told or len(reasons) > 1 else reason)
        for machine, reasons in found.items()
        for reason, profiles in reasons.items()
    ]
