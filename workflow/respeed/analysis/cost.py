"""results/tables/cost.csv: what the work of a cell costs, in money and in energy, and who is the cheapest.

    cost = seconds * price of an hour / 3600

An hour's price is that of the whole machine, whichever row runs on it (workflow/machines/<machine>.yaml). The joules
are of the parts that `energy_of` names, the whole of each, idle or not.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import pandas as pd

from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.rows import fastest_by, key_of
from respeed.estimators.intervals import TWO_LOOKS, Estimate
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import (
    FULL_PRECISION,
    RIVAL,
    compare_apart,
    compare_rounds,
    confidence_among,
    verdict_of,
)
from respeed.inputs.machines import Price, Told
from respeed.model.paper import Experiment, Paper
from respeed.numbers import format_number
from respeed.text import join_words

HOUR, MILLION = 3600.0, 1e6
# What is paid for, by what a table's unit counts; where it counts nothing, examples, or else steps.
BULK = {"flops": ("10^15 operations", 1e15), "bytes": ("10^15 bytes", 1e15)}
# What a thousand times as much work is called: a million examples may cost so little that only zeros are read.
THOUSANDFOLD = {
    "1 million examples": "1 billion examples",
    "1 million steps": "1 billion steps",
    "10^15 operations": "10^18 operations",
    "10^15 bytes": "10^18 bytes",
}
LEAST_READABLE = 0.01
CHEAPEST = "cheapest"
# Of a ratio of what a unit of money buys, what is said of a ratio of speeds.
WORDS = {"faster": "cheaper", "slower": "dearer"}
# What a machine is that is neither the cheapest nor perhaps as cheap, and how sure that is.
BEHIND = {"dearer": "which is certain", "unproven": "which too few clean rounds leave open"}
CASE = ["paper", "experiment", "case"]
CELL = ["machine", *CASE, "algorithm", "profile"]
Rounds = Mapping[CellKey, CellRounds]


def make_costs(
    cells: pd.DataFrame,
    rounds: Rounds,
    papers: Mapping[str, Paper],
    speedups: pd.DataFrame,
    told: Mapping[str, Told],
    smoke: bool,
) -> pd.DataFrame:
    """A row for every cell with a time, also of machines that no price is told of.

    `buys` is how many times as much of the work a unit of money buys as on the base: the speedup, as both pay the same
    hour. `buys_across` is the same over the cheapest row in fp32 of all machines that are paid in the currency.
    """
    prices = {machine: one.price for machine, one in told.items() if one.price}
    timed = [cell for cell in rows_of(cells) if cell.seconds]
    place, column = attrgetter(*CELL), attrgetter(*CASE)
    on_base = {place(row): row for row in rows_of(speedups)}
    columns: dict[tuple[str, ...], list[Any]] = {}
    for cell in timed:
        columns.setdefault(column(cell), []).append(cell)
    across = {where: _compare_case(mine, rounds, prices) for where, mine in columns.items()}
    rows = []
    for cell in timed:
        base, price = on_base[place(cell)], prices.get(cell.machine)
        work, times_over = _bulk(papers[cell.paper].experiments[cell.experiment], cell, smoke)
        seconds = times(Estimate(cell.seconds, cell.seconds_low, cell.seconds_high), times_over)
        energy = _energy(rounds[key_of(cell)], times_over * cell.steps)
        rows.append(
            cell._asdict()
            | {"work": work, "verdict": "none", **_spread("seconds", seconds)}
            | (_paid(seconds, price, base) if price else {})
            | across[column(cell)][key_of(cell)]
            | energy
        )
    return make_frame(rows, "cost")


def _paid(seconds: Estimate, price: Price, base: Any) -> dict[str, Any]:
    return {
        **_spread("cost", times(seconds, price.per_hour / HOUR)),
        "currency": price.currency,
        "base_algorithm": base.base_algorithm,
        "base_profile": base.base_profile,
        "buys": base.speedup,
        "buys_low": base.speedup_low,
        "buys_high": base.speedup_high,
        "verdict": base.verdict,
        "price_per_hour": price.per_hour,
        "price_source": price.source,
        "price_date": price.date,
    }


def _energy(rounds: CellRounds, steps: float) -> dict[str, Any]:
    joules = rounds.energy.joules()
    if joules is None:
        return {"energy_rounds": 0, "energy_reason": rounds.energy.reason}
    alike = rounds.energy.alike()
    return {
        **_spread("joules", times(joules, steps)),
        "watts": rounds.energy.watts(),
        "energy_rounds": len(alike),
        "energy_of": " + ".join(alike[-1].domains),
    }


def _spread(name: str, one: Estimate) -> dict[str, Any]:
    return {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}


def times(estimate: Estimate, factor: float) -> Estimate:
    """A number that is known exactly times one that is estimated."""
    low, high = (None if end is None else factor * end for end in (estimate.low, estimate.high))
    return Estimate(factor * estimate.value, low, high)


def _bulk(experiment: Experiment, cell: Any, smoke: bool) -> tuple[str, float]:
    """What is paid for, and how many times the work of the cell's seconds it is."""
    bulk = BULK.get(experiment.unit.counted or "")
    if bulk and cell.amount:
        return bulk[0], bulk[1] / cell.amount
    cases = experiment.smoke_cases if smoke else experiment.cases
    case = next(one for one in cases if (one.name, one.workload) == (cell.case, cell.algorithm))
    examples = experiment.examples_of(case)
    return ("1 million examples", MILLION / examples) if examples else ("1 million steps", MILLION / cell.steps)


def _compare_case(cells: Sequence[Any], rounds: Rounds, prices: Mapping[str, Price]) -> dict[Any, dict[str, Any]]:
    """Of every cell of a case what it is compared with, of those that are paid in the same currency; or why not."""
    found: dict[Any, dict[str, Any]] = {
        key_of(cell): {"standing": "none", "reason": f"no price is told: respeed new machine {cell.machine}"}
        for cell in cells
    }
    currencies = sorted({prices[cell.machine].currency for cell in cells if cell.machine in prices})
    for currency in currencies:
        mine = [cell for cell in cells if cell.machine in prices and prices[cell.machine].currency == currency]
        others = [one for one in currencies if one != currency]
        apart = f"compared with machines paid in {currency} alone, not {join_words(others)}" if others else ""
        for index, one in compare_costs(mine, {name: one.per_hour for name, one in prices.items()}, rounds).items():
            found[index] = one | {"reason": "; ".join(filter(None, [one["reason"], apart]))}
    return found


def compare_costs(cells: Sequence[Any], per_hour: Mapping[str, float], rounds: Rounds) -> dict[Any, dict[str, Any]]:
    """Every row of one case over the cheapest in full precision: how many times as much of the work a unit of money
    buys. Prices of an hour, by machine, are in one currency and exact.

    As with speedups, the cheapest of several is the luckiest: its rivals are compared with more confidence.
    """
    costs = {key_of(cell): cell.seconds * per_hour[cell.machine] for cell in cells}
    full = [cell for cell in cells if cell.precision == FULL_PRECISION]
    if not full:
        why = {"standing": "none", "reason": "no row in fp32 was measured to compare with"}
        return {key_of(cell): why for cell in cells}
    base = min(full, key=lambda cell: costs[key_of(cell)])
    rivals = {key_of(cell) for cell in full if costs[key_of(cell)] <= RIVAL * costs[key_of(base)]}
    among, found = confidence_among(len(rivals)), {}
    for cell in cells:
        ratio, standing, reason = Estimate(1.0, None, None), CHEAPEST, ""
        if cell is not base:
            compare = compare_rounds if cell.machine == base.machine else compare_apart
            confidence = among if key_of(cell) in rivals else TWO_LOOKS
            speed = compare(rounds[key_of(base)], rounds[key_of(cell)], confidence)
            ratio = times(speed, per_hour[base.machine] / per_hour[cell.machine])
            verdict, reason = verdict_of(ratio)
            standing = WORDS.get(verdict, verdict)
        cheapest = {f"cheapest_{name}": getattr(base, name) for name in ("machine", "algorithm", "profile")}
        found[key_of(cell)] = {**cheapest, **_spread("buys_across", ratio), "standing": standing, "reason": reason}
    return found


def cheapest_rows(costs: Iterable[Any]) -> list[Any]:
    """Of every case and machine with a price the cheapest row in fp32."""
    full = (row for row in costs if row.precision == FULL_PRECISION)
    return list(fastest_by(full, *CASE, "machine", value="cost").values())


def times_the_cheapest(row: Any) -> tuple[float, float | None, float | None] | None:
    """How many times as much it costs as the cheapest, with its interval."""
    if not row.buys_across:
        return None
    low, high = (1 / end if end else None for end in (row.buys_across_high, row.buys_across_low))
    return 1 / row.buys_across, low, high


def say_who_is_cheapest(rows: Sequence[Any]) -> list[str]:
    """Sentences about the cheapest rows of machines in one table and currency: who is the cheapest, and how many times
    as much the same work costs on each of the others. None of a machine alone."""
    machines, cases = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("machine", "case"))
    if len(machines) < 2:
        return []
    leaders: dict[str, list[str]] = {}
    for case in cases:
        first = [row.machine for row in rows if row.case == case and row.standing not in BEHIND]
        # Where the cheapest is not among the rows, nobody is first.
        if first:
            how = "is the cheapest" if len(first) == 1 else "are the cheapest and cannot be told apart"
            leaders.setdefault(f"{join_words(first)} {how}", []).append(case)
    says = [f"{who}{_where(some, cases)}." for who, some in leaders.items()]
    for name in machines:
        for standing, how in BEHIND.items():
            behind = [row for row in rows if (row.machine, row.standing) == (name, standing)]
            factors = [1 / row.buys_across for row in behind]
            if factors:
                span = " to ".join(dict.fromkeys(map(format_number, (min(factors), max(factors)))))
                where = _where([row.case for row in behind], [row.case for row in rows if row.machine == name])
                says.append(f"On {name} the same work costs {span} times as much{where}, {how}.")
    return says


def _where(some: list[str], every: list[str]) -> str:
    """In which of the cases; empty where there is but one."""
    if len(every) == 1:
        return ""
    return f" in all {len(every)} cases" if some == every else f" at {join_words(some)}"


def in_bulk(work: str, rows: Iterable[Any]) -> tuple[str, float]:
    """Of how much to tell what work costs, and how many times as much as in cost.csv that is: of the same amount in all
    tables of a page, whose rows are `rows`, so that the numbers can be compared."""
    costs = [row.cost for row in rows if row.cost and row.work == work]
    return (THOUSANDFOLD[work], 1e3) if costs and min(costs) < LEAST_READABLE else (work, 1.0)


def prices_told(rows: Iterable[Any]) -> list[tuple[str, str, str, str]]:
    """Of each machine with a price: its name, the price of an hour, who says so, and of which day."""
    return [
        (name, f"{_money(row.price_per_hour)} {row.currency} an hour", row.price_source, row.price_date)
        for name, row in {row.machine: row for row in rows if row.price_per_hour}.items()
    ]


def _money(amount: float) -> str:
    """As a bill has it, to the hundredth, or as it was told where that is finer."""
    return f"{amount:.2f}" if round(amount, 2) == amount else f"{amount:g}"


def currencies_apart(rows: Iterable[Any]) -> str:
    """What is to be said where prices are in several currencies; empty where they are in one."""
    found = sorted({row.currency for row in rows if row.currency})
    return (
        f"Costs in {join_words(found)} are not compared: what one is worth of the other changes." if found[1:] else ""
    )


def prices_untold(rows: Iterable[Any]) -> list[tuple[str, str]]:
    """Each machine without a price, and how to tell one."""
    missing = dict.fromkeys(row.machine for row in rows if not row.price_per_hour)
    return [(name, f"no price is told: ./run respeed new machine {name}") for name in missing]


def energy_missing(rows: Iterable[Any]) -> list[tuple[str, str]]:
    """Each machine whose energy is not known, and why. Where some of its rows tell theirs, or where there are several
    reasons, the profiles that it holds of are named."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for row in rows:
        found.setdefault(row.machine, {}).setdefault(row.energy_reason, {})[row.profile] = None
    return [
        (machine, f"{', '.join(profiles)}: {reason}" if len(reasons) > 1 else reason)
        for machine, reasons in found.items()
        for reason, profiles in reasons.items()
        if reason
    ]


def by_table(rows: Iterable[Any], *more: str) -> dict[tuple[str, ...], list[Any]]:
    """The rows of each table (paper and experiment), or of what `more` of their fields tell apart."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for row in rows:
        found.setdefault(tuple(getattr(row, name) for name in ("paper", "experiment", *more)), []).append(row)
    return found
