"""Derives what work costs from seconds, the price of an hour, and the energy of blocks: the rows of cost.csv.

    cost = seconds * price of an hour / 3600

An hour's price is that of the whole machine, whichever row runs on it (workflow/machines/<machine>.yaml).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from respeed.estimators.intervals import Estimate
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import Comparison
from respeed.estimators.worth import compare_costs, times
from respeed.model.paper import Case, Experiment, Paper
from respeed.model.told import Price, Told
from respeed.tables.cells import Cell
from respeed.tables.cost import Cost
from respeed.tables.speedups import Speedup
from respeed.text import join_words

HOUR = 3600.0
# What is paid for, by what a table's unit counts; where it counts nothing, examples, or else steps.
BULK = {"flops": ("10^15 operations", 1e15), "bytes": ("10^15 bytes", 1e15)}
MILLION = 1e6


def make_costs(
    cells: Iterable[Cell],
    rounds: Mapping[CellKey, CellRounds],
    papers: Mapping[str, Paper],
    speedups: Iterable[Speedup],
    told: Mapping[str, Told],
    smoke: bool,
) -> list[Cost]:
    """A row for every cell with a time, also of machines that no price is told of."""
    prices = {machine: one.price for machine, one in told.items() if one.price}
    on_base = {_place(row): row for row in speedups}
    timed = [cell for cell in cells if cell.seconds]
    columns: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for cell in timed:
        columns[cell.paper, cell.experiment, cell.case].append(cell)
    across = {
        (cell.experiment, cell.key): (found, reason)
        for column in columns.values()
        for cell, found, reason in _compare(column, rounds, prices)
    }
    rows = []
    for cell in timed:
        work = _work(papers[cell.paper].experiments[cell.experiment], cell, smoke)
        found, reason = across[cell.experiment, cell.key]
        price = prices.get(cell.machine)
        rows.append(_cost(cell, work, rounds[cell.key], price, on_base[_place(cell)], found, reason))
    return rows


def _place(one: Cell | Speedup) -> tuple[str, ...]:
    return one.machine, one.paper, one.experiment, one.case, *one.row


def _work(experiment: Experiment, cell: Cell, smoke: bool) -> tuple[str, float, float]:
    """What is paid for; how many times the work of the cell's seconds it is; and how many steps."""
    cases = experiment.smoke_cases if smoke else experiment.cases
    case = next(case for case in cases if (case.name, case.workload) == (cell.case, cell.workload))
    what, times_over = _bulk(experiment, case, cell)
    return what, times_over, times_over * experiment.steps(case)


def _bulk(experiment: Experiment, case: Case, cell: Cell) -> tuple[str, float]:
    bulk = BULK.get(experiment.unit.counted or "")
    if bulk and cell.amount:
        return bulk[0], bulk[1] / cell.amount
    examples = experiment.examples_of(case)
    if examples:
        return "1 million examples", MILLION / examples
    return "1 million steps", MILLION / experiment.steps(case)


def _compare(
    column: list[Cell], rounds: Mapping[CellKey, CellRounds], prices: Mapping[str, Price]
) -> Iterable[tuple[Cell, Comparison | None, str]]:
    """Every cell of a case with what it is compared with, of those that are paid in the same currency; or why not."""
    by_currency: dict[str, list[Cell]] = defaultdict(list)
    for cell in column:
        price = prices.get(cell.machine)
        if price:
            by_currency[price.currency].append(cell)
        else:
            yield cell, None, f"no price is told: respeed new machine {cell.machine}"
    for currency, mine in by_currency.items():
        costs = {cell.key: (cell.seconds or 0.0) * prices[cell.machine].per_hour for cell in mine}
        found = compare_costs(costs, {cell.machine: prices[cell.machine].per_hour for cell in mine}, rounds)
        others = sorted(set(by_currency) - {currency})
        apart = f"compared with machines paid in {currency} alone, not {join_words(others)}" if others else ""
        for cell in mine:
            one = found.get(cell.key)
            why = one.reason if one else "no row in fp32 was measured to compare with"
            yield cell, one, "; ".join(filter(None, [why, apart]))


def _cost(
    cell: Cell,
    work: tuple[str, float, float],
    rounds: CellRounds,
    price: Price | None,
    base: Speedup,
    across: Comparison | None,
    reason: str,
) -> Cost:
    what, times_over, steps = work
    seconds = times(Estimate(cell.seconds or 0.0, cell.seconds_low, cell.seconds_high), times_over)
    cost = times(seconds, price.per_hour / HOUR) if price else None
    joules = rounds.energy.joules()
    energy = times(joules, steps) if joules else None
    return Cost(
        machine=cell.machine,
        paper=cell.paper,
        experiment=cell.experiment,
        case=cell.case,
        algorithm=cell.algorithm,
        profile=cell.profile,
        precision=cell.precision,
        label=cell.label,
        work=what,
        seconds=seconds.value,
        seconds_low=seconds.low,
        seconds_high=seconds.high,
        cost=cost.value if cost else None,
        cost_low=cost.low if cost else None,
        cost_high=cost.high if cost else None,
        currency=price.currency if price else "",
        base_algorithm=base.base_algorithm if price else "",
        base_profile=base.base_profile if price else "",
        buys=base.speedup if price else None,
        buys_low=base.speedup_low if price else None,
        buys_high=base.speedup_high if price else None,
        verdict=base.verdict if price else "none",
        cheapest_machine=across.base.machine if across else "",
        cheapest_algorithm=_algorithm(across, cell),
        cheapest_profile=across.base.profile if across else "",
        buys_across=across.estimate.value if across else None,
        buys_across_low=across.estimate.low if across else None,
        buys_across_high=across.estimate.high if across else None,
        standing=across.verdict if across else "none",
        reason=reason,
        joules=energy.value if energy else None,
        joules_low=energy.low if energy else None,
        joules_high=energy.high if energy else None,
        watts=rounds.energy.watts(),
        energy_rounds=len(rounds.energy.alike()) if energy else 0,
        energy_of=" + ".join(rounds.energy.alike()[-1].domains) if energy else "",
        energy_reason="" if energy else rounds.energy.reason,
        price_per_hour=price.per_hour if price else None,
        price_source=price.source if price else "",
        price_date=price.date if price else "",
    )


def _algorithm(across: Comparison | None, cell: Cell) -> str:
    """The cheapest row's, where the table tells algorithms apart."""
    return across.base.workload if across and cell.algorithm else ""
