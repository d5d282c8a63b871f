"""What the report says of prices and energy."""

from collections.abc import Mapping, Sequence
from typing import Any

from respeed.model.paper import Paper
from respeed.tables.build import Tables
from respeed.tables.cheapest import cheapest_rows, say_who_is_cheapest
from respeed.tables.cost import Cost
from respeed.tables.cost_words import by_table, energy_missing, in_bulk, prices_told, prices_untold
from respeed.tables.numbers import format_measured_speedup, format_number, format_speedup, measured_value
from respeed.tables.others import Others

# More machines than that do not fit beside one another.
COLUMNS = 4


def cost_facts(tables: Tables, others: Others, machines: list[str]) -> dict[str, Any]:
    """The section "What it costs", and two lines a machine for the appendix. Where machines are left out, the cheapest
    of all stand beside those that are shown in full."""
    every = others.costs or tables.costs
    shown = [row for row in every if row.machine in machines]
    best = cheapest_rows(every)
    columns = [*machines, *dict.fromkeys(row.machine for row in best if row.machine not in machines)][:COLUMNS]
    priced = [row for row in best if row.machine in columns]
    return {
        "prices": [list(one) for one in prices_told(priced)],
        "untold": [list(one) for one in prices_untold(shown)],
        "tables": [
            _costs(tables.papers, rows, [name for name in columns if any(row.machine == name for row in rows)], tables)
            for rows in by_table(priced).values()
        ],
        "energy": [_energy(tables.papers, rows) for rows in _of_experiments(shown) if any(row.joules for row in rows)],
        "not_measured": [list(one) for one in energy_missing(shown)],
        "sheets": {machine: _sheet([row for row in shown if row.machine == machine]) for machine in machines},
    }


def _of_experiments(rows: Sequence[Cost]) -> list[list[Cost]]:
    found: dict[tuple[str, str], list[Cost]] = {}
    for row in rows:
        found.setdefault((row.paper, row.experiment), []).append(row)
    return list(found.values())


def _costs(papers: Mapping[str, Paper], rows: list[Cost], machines: list[str], tables: Tables) -> dict[str, Any]:
    """A row a case, a column a machine: the cost, and beneath it the row that ran and how many times the cheapest's."""
    work, times_over = in_bulk(rows)
    found = {(row.case, row.machine): row for row in rows}
    return {
        "title": papers[rows[0].paper].experiments[rows[0].experiment].title,
        "unit": f"{rows[0].currency} for {work}",
        "machines": machines,
        "rows": [
            [case, [_cell(found.get((case, name)), times_over, machines, smoke=tables.smoke) for name in machines]]
            for case in dict.fromkeys(row.case for row in rows)
        ],
        "says": say_who_is_cheapest(rows),
    }


def _cell(row: Cost | None, times_over: float, machines: list[str], *, smoke: bool) -> dict[str, Any] | None:
    if row is None or row.cost is None:
        return None
    low, high = (None if end is None else times_over * end for end in (row.cost_low, row.cost_high))
    cost = measured_value(times_over * row.cost, low, high, bare=smoke)
    dearer = format_measured_speedup(*row.dearer, bare=smoke) if row.dearer else ""
    marks = {"cheapest": "the cheapest", "indistinguishable": f"{format_speedup(row.dearer and row.dearer[0])} ="}
    beside = marks.get(row.standing, dearer) if len(machines) > 1 else ""
    return {
        "text": cost.text,
        "interval": cost.interval,
        "small": ", ".join(filter(None, [row.profile, beside])),
        "is_cheapest": len(machines) > 1 and row.standing in marks,
    }


def _energy(papers: Mapping[str, Paper], rows: list[Cost]) -> dict[str, Any]:
    """A row for each machine's row that tells its energy, a column a case: joules, and beneath the watts."""
    told = [row for row in rows if row.joules]
    cases = list(dict.fromkeys(row.case for row in told))
    several = len({row.machine for row in told}) > 1
    lines: dict[tuple[str, ...], dict[str, Cost]] = {}
    for row in told:
        lines.setdefault((row.machine, *row.row, row.label, row.energy_of), {})[row.case] = row
    return {
        "title": papers[rows[0].paper].experiments[rows[0].experiment].title,
        "unit": f"joules for {rows[0].work}",
        "cases": cases,
        "rows": [
            [
                f"{label} on {machine}" if several else label,
                of,
                [_joules(found.get(case)) for case in cases],
            ]
            for (machine, _, _, label, of), found in lines.items()
        ],
    }


def _joules(row: Cost | None) -> list[str]:
    if row is None or row.joules is None:
        return ["–", ""]
    value = measured_value(row.joules, row.joules_low, row.joules_high, bare=False)
    return [value.plain, f"{format_number(row.watts)} W" if row.watts else ""]


def _sheet(rows: list[Cost]) -> list[list[str]]:
    """Lines for the machine's own page."""
    price = [f"{price} ({source}, {date})" for _, price, source, date in prices_told(rows)]
    untold = [why for _, why in prices_untold(rows)]
    energy = sorted({row.energy_of for row in rows if row.joules}) + [why for _, why in energy_missing(rows)]
    return [["price", "; ".join(price + untold)], ["energy", "; ".join(energy)]] if rows else []
