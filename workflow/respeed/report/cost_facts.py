"""What the report says of prices and energy."""

from collections.abc import Mapping
from typing import Any

from respeed.analysis.columns import rows_of
from respeed.analysis.cost import (
    by_table,
    cheapest_rows,
    currencies_apart,
    energy_missing,
    in_bulk,
    prices_told,
    prices_untold,
    say_who_is_cheapest,
    times_the_cheapest,
)
from respeed.model.paper import Paper
from respeed.numbers import format_measured, format_number, format_speedup, measured_value
from respeed.tables.build import Tables
from respeed.tables.fastest import rows_in_front
from respeed.tables.others import Others

# More machines than that do not fit beside one another.
COLUMNS = 4


def cost_facts(tables: Tables, others: Others, machines: list[str]) -> dict[str, Any]:
    """The section "What it costs", and two lines a machine for the appendix. Where machines are left out, the cheapest
    of all stand beside those that are shown in full."""
    every = list(rows_of(others.costs if len(others.costs) else tables.costs))
    mine = [row for row in every if row.machine in machines]
    best = cheapest_rows(every)
    columns = [*machines, *(row.machine for row in best)]
    priced = list(dict.fromkeys(name for name in columns if any(row.machine == name for row in best)))[:COLUMNS]
    shown = _tables_shown(tables.papers)
    rows = [row for row in best if row.machine in priced and (row.paper, row.experiment) in shown]
    return {
        "prices": [list(one) for one in prices_told(rows)],
        "untold": [list(one) for one in prices_untold(mine)],
        "machines": [[name, next(row.currency for row in best if row.machine == name)] for name in priced],
        "apart": currencies_apart(rows),
        "tables": [_costs(tables, table, priced, rows) for table in by_table(rows).values()],
        "energy": [one for where in shown if (one := _energy(tables, where, mine, rows))],
        "not_measured": [list(one) for one in energy_missing(mine)],
        "sheets": {machine: _sheet([row for row in mine if row.machine == machine]) for machine in machines},
    }


def _tables_shown(papers: Mapping[str, Paper]) -> list[tuple[str, str]]:
    """Those that their paper prints, or says something of."""
    return [
        (paper.name, name)
        for paper in papers.values()
        for name in paper.experiments
        if paper.prints(name) or any(claim.experiment == name for claim in paper.claims)
    ]


def _costs(tables: Tables, rows: list[Any], machines: list[str], shown: list[Any]) -> dict[str, Any]:
    """A row a case, a column a machine: the cost, and beneath it the row that ran and how many times the cheapest's.
    `shown` are the rows of all tables."""
    work, times_over = in_bulk(rows[0].work, shown)
    found = {(row.case, row.machine): row for row in rows}
    paid: dict[str, list[Any]] = {}
    for row in rows:
        paid.setdefault(row.currency, []).append(row)
    alone = {row.machine for mine in paid.values() for row in mine if len({one.machine for one in mine}) == 1}
    return {
        "title": tables.papers[rows[0].paper].experiments[rows[0].experiment].title,
        "unit": f"for {work}",
        "rows": [
            [case, [_cell(found.get((case, name)), times_over, name in alone, smoke=tables.smoke) for name in machines]]
            for case in dict.fromkeys(row.case for row in rows)
        ],
        "says": " ".join(text for mine in paid.values() for text in say_who_is_cheapest(mine)),
    }


def _cell(row: Any, times_over: float, alone: bool, *, smoke: bool) -> dict[str, Any] | None:
    if row is None or row.cost is None:
        return None
    low, high = (end and times_over * end for end in (row.cost_low, row.cost_high))
    factor = times_the_cheapest(row)
    cost = measured_value(times_over * row.cost, low, high, bare=smoke)
    dearer = format_measured(*factor, unit="x", bare=smoke) if factor else ""
    marks = {"cheapest": "the cheapest", "indistinguishable": f"{format_speedup(factor and factor[0])} ="}
    beside = marks.get(row.standing, dearer) if not alone else ""
    return {
        "text": cost.text,
        "interval": cost.interval,
        "small": ", ".join(filter(None, [row.profile, beside])),
        "is_cheapest": not alone and row.standing in marks,
    }


def _energy(tables: Tables, where: tuple[str, str], costs: list[Any], shown: list[Any]) -> dict[str, Any] | None:
    """Of each machine the CPU row and the accelerator's that are fastest in most cases, by each algorithm; a column a
    case: joules, and beneath the watts, for as much work as the costs `shown` are. None where none tells its energy."""
    cells = [cell for cell in tables.cells if (cell.paper, cell.experiment) == where]
    front = {
        (cell.machine, cell.label)
        for machine in {cell.machine for cell in cells}
        for row in [rows_in_front(cell for cell in cells if cell.machine == machine)]
        for cell in cells
        if cell.machine == machine and cell.row in row
    }
    told = [
        row
        for row in costs
        if (row.paper, row.experiment) == where and row.joules and (row.machine, row.label) in front
    ]
    if not told:
        return None
    work, times_over = in_bulk(told[0].work, shown)
    lines: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in told:
        lines.setdefault((f"{row.machine}: {row.label}", row.energy_of), {})[row.case] = row
    cases = list(dict.fromkeys(row.case for row in told))
    return {
        "title": tables.papers[where[0]].experiments[where[1]].title,
        # The same digits: of a thousand times the work there are as many kilojoules as of the work joules.
        "unit": f"{'kilojoules' if times_over > 1 else 'joules'} for {work}",
        "cases": cases,
        "rows": [
            [*line, [_joules(found.get(case), smoke=tables.smoke) for case in cases]] for line, found in lines.items()
        ],
    }


def _joules(row: Any, *, smoke: bool) -> list[str]:
    if row is None or row.joules is None:
        return ["–", ""]
    joules = format_measured(row.joules, row.joules_low, row.joules_high, bare=smoke)
    return [joules, f"{format_number(row.watts)} W" if row.watts else ""]


def _sheet(rows: list[Any]) -> list[list[str]]:
    """Lines for the machine's own page."""
    price = [f"{price} ({source}, {date})" for _, price, source, date in prices_told(rows)]
    untold = [why for _, why in prices_untold(rows)]
    energy = sorted({row.energy_of for row in rows if row.joules}) + [
        f"not measured: {why}" for _, why in energy_missing(rows)
    ]
    return [["price", "; ".join(price + untold)], ["energy", "; ".join(energy)]] if rows else []
