"""results/tables/cost.csv: what the work of a cell costs, in money and in energy, and who is the cheapest.

    cost = seconds * price of an hour / 3600

An hour's price is that of the whole machine, whichever row runs on it (workflow/machines/<machine>.yaml). The joules
are of the parts that `energy_of` names, the whole of each, idle or not.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from respeed.analysis.cells import ROUNDS_OF
from respeed.analysis.columns import apply_dtypes, rows_of
from respeed.analysis.estimates import FULL_PRECISION, Estimate, estimate_locations
from respeed.analysis.rounds import CELL
from respeed.analysis.speedups import CASE, Samples, compare_to_best, fastest_by
from respeed.inputs.machines import Told
from respeed.model.paper import Experiment, Paper
from respeed.text import format_number, join_words

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
# Of a ratio of what a unit of money buys, what is said of a ratio of speeds.
WORDS = {"faster": "cheaper", "slower": "dearer", "base": "cheapest"}
# What a machine is that is neither the cheapest nor perhaps as cheap, and how sure that is.
BEHIND = {"dearer": "more than rounds and sessions vary", "unproven": "which too few clean rounds leave open"}
PRICE = ["price_per_hour", "currency", "price_source", "price_date"]
BASE = ["base_algorithm", "base_profile", "buys", "buys_low", "buys_high", "verdict"]
APART = "not ranked: its machines are paid in several currencies"
NO_BASE = "no row in fp32 was measured to compare with"


def make_costs(
    cells: pd.DataFrame,
    samples: Samples,
    papers: Mapping[str, Paper],
    speedups: pd.DataFrame,
    told: Mapping[str, Told],
    smoke: bool,
) -> pd.DataFrame:
    """A row for every cell with a time, also of machines that no price is told of.

    `buys` is how many times as much of the work a unit of money buys as on the base: the speedup, as both pay the same
    hour. `buys_across` is the same over the cheapest row in fp32 of all machines, if they are paid in one currency.
    """
    prices = {machine: (one.price.per_hour, one.price.currency, one.price.source, one.price.date)
              for machine, one in told.items() if one.price}  # fmt: skip
    costs = cells[cells["seconds"].notna()].drop(columns="reason").reset_index(drop=True)
    bulk = [_bulk(papers[cell.paper].experiments[cell.experiment], cell, smoke) for cell in rows_of(costs)]
    costs["work"], times_over = [work for work, _ in bulk], pd.Series([over for _, over in bulk], dtype=float)
    price = pd.DataFrame.from_dict(prices, orient="index", columns=PRICE)
    price.index = price.index.astype(costs["machine"].dtype)  # where no price is told, it would be one of numbers
    base = speedups.rename(columns=lambda name: str(name).replace("speedup", "buys")).set_index(CELL)[BASE]
    costs = costs.join(price, on="machine").join(base, on=CELL).join(cell_energy(samples.timed), on=ROUNDS_OF)
    is_priced = costs["price_per_hour"].notna()
    costs[BASE] = costs[BASE].where(is_priced)
    costs["verdict"] = costs["verdict"].fillna("none")
    for end in ("", "_low", "_high"):
        costs[f"seconds{end}"] *= times_over
        costs[f"cost{end}"] = costs[f"seconds{end}"] * costs["price_per_hour"] / HOUR
        costs[f"joules{end}"] *= times_over * costs["steps"]
    across = compare_costs(costs, samples)
    untold = "no price is told: respeed new machine " + costs["machine"]
    return apply_dtypes(costs.join(across.assign(reason=across["reason"].where(is_priced, untold))), "cost")


def compare_costs(costs: pd.DataFrame, samples: Samples) -> pd.DataFrame:
    """Every row beside the cheapest in full precision of its case: how many times as much of the work a unit of money
    buys. The prices of an hour are exact. Of a case that is paid in several currencies nothing is compared: who is the
    cheapest in one of them may not be the cheapest."""
    full, apart = costs["precision"] == FULL_PRECISION, costs.groupby(CASE)["currency"].transform("nunique") > 1
    found = compare_to_best(costs, samples, CASE, full & ~apart, "cost", "price_per_hour")
    found["reason"] = found["reason"].mask(found["verdict"] == "none", NO_BASE).mask(apart, APART)
    found["standing"] = found["verdict"].replace(WORDS)
    names = {name: str(name).replace("speedup", "buys_across").replace("base_", "cheapest_") for name in found}
    return found.drop(columns=["verdict", "confidence", "together"]).rename(columns=names)


def _bulk(experiment: Experiment, cell: Any, smoke: bool) -> tuple[str, float]:
    """What is paid for, and how many times the work of the cell's seconds it is."""
    bulk = BULK.get(experiment.unit.counted or "")
    if bulk and cell.amount:
        return bulk[0], bulk[1] / cell.amount
    cases = experiment.smoke_cases if smoke else experiment.cases
    case = next(one for one in cases if (one.name, one.workload) == (cell.case, cell.algorithm))
    examples = experiment.examples_of(case)
    return ("1 million examples", MILLION / examples) if examples else ("1 million steps", MILLION / cell.steps)


def cell_energy(rounds: pd.DataFrame) -> pd.DataFrame:
    """Joules a step and watts of every cell, over the rounds that counted the same domains as the last one that tells;
    or why none does."""
    told = rounds[rounds["joules"].notna()]
    alike = told[told["energy_of"] == told.groupby(CELL)["energy_of"].transform("last")]
    by_cell = alike.groupby(CELL)
    found = by_cell.agg(watts=("watts", "median"), energy_rounds=("joules", "size"), energy_of=("energy_of", "last"))
    found[["joules", "joules_low", "joules_high"]] = estimate_locations(alike["joules"], by_cell.ngroup()).to_numpy()
    reasons = rounds[rounds["energy_reason"] != ""].groupby(CELL)["energy_reason"].last()
    found = found.join(reasons, how="outer")
    return found.assign(energy_reason=found["energy_reason"].mask(found["joules"].notna(), ""))


def cheapest_rows(costs: Iterable[Any]) -> list[Any]:
    """Of every case and machine with a price the cheapest row in fp32."""
    full = (row for row in costs if row.precision == FULL_PRECISION)
    return list(fastest_by(full, *CASE, "machine", value="cost").values())


def times_the_cheapest(row: Any) -> tuple[float, float | None, float | None] | None:
    """How many times as much it costs as the cheapest, with its interval."""
    if not row.buys_across:
        return None
    found = Estimate(row.buys_across, row.buys_across_low, row.buys_across_high).over(1.0)
    return found.value, found.low, found.high


def say_who_is_cheapest(rows: Sequence[Any]) -> list[str]:
    """Sentences about the cheapest rows of machines in one table and currency: who is the cheapest, and how many times
    as much the same work costs on each of the others. None of a machine alone."""
    machines, cases = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("machine", "case"))
    if len(machines) < 2:
        return []
    leaders: dict[str, list[str]] = {}
    for case in cases:
        first = [row.machine for row in rows if row.case == case and row.standing not in {*BEHIND, "none"}]
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
        f"Costs in {join_words(found)} are not compared, and nothing is ranked: what one is worth of the other changes."
        if found[1:]
        else ""
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
