"""The HTML page of what work costs: every row of every case, the cheapest first."""

from collections.abc import Mapping, Sequence
from typing import Any

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
from respeed.numbers import format_measured, format_number
from respeed.tables.html import Entry, Line, Page, split_number

HEAD = ("Row", "Cost", "Times the cheapest", "Standing", "Speedup on its machine", "Joules", "Watts", "Energy of")


def make_cost_page(papers: Mapping[str, Paper], costs: Sequence[Any], left_out: int, smoke: bool) -> Page:
    """A group a case, with the rows of all machines in the order of what they cost, and where their prices are from."""
    groups, says = [], []
    told_of = [row for row in costs if row.cost or row.joules]
    for (paper, experiment, currency), table in by_table(told_of, "currency").items():
        work, times_over = in_bulk(table[0].work, told_of)
        name = papers[paper].experiments[experiment].title
        says += [f"{name}: {text}" for text in say_who_is_cheapest(cheapest_rows(table))]
        for case in dict.fromkeys(row.case for row in table):
            rows = sorted((row for row in table if row.case == case), key=lambda row: row.cost or 0.0)
            title = f"{name}, {case}: {currency or 'joules'} for {work}"
            groups.append((title, tuple(_line(row, times_over, smoke) for row in rows)))
    told = [f"{machine}: {price} ({source}, {date})." for machine, price, source, date in prices_told(costs)]
    missing = [f"{machine}: {why}." for machine, why in prices_untold(costs)]
    missing += [f"{machine}: energy not measured: {why}." for machine, why in energy_missing(costs)]
    others = (f"The rows of {left_out} other machines are in the file below.",) if left_out else ()
    return Page(
        title="What it costs",
        caption="Every row pays the whole machine's hour for as long as the work takes. The cheapest is that in fp32; "
        "one in another precision may be cheaper. Joules: all that the parts named used meanwhile, idle or not.",
        head=HEAD,
        groups=tuple(groups),
        notes=(*says, *told, *filter(None, [currencies_apart(costs)]), *missing, *others),
        data="cost.csv",
    )


def _line(row: Any, times_over: float, smoke: bool) -> Line:
    cost, joules = (
        format_measured(*(number and times_over * number for number in numbers), bare=smoke)
        for numbers in ((row.cost, row.cost_low, row.cost_high), (row.joules, row.joules_low, row.joules_high))
    )
    factor = times_the_cheapest(row)
    dearer = format_measured(*factor, unit="x", bare=smoke) if factor and row.standing != "cheapest" else ""
    buys = (row.buys, row.buys_low, row.buys_high)
    over_base = format_measured(*buys, unit="x", bare=smoke) if row.verdict != "base" else ""
    return Line(
        (
            Entry(f"{row.machine}: {row.label}"),
            split_number(cost),
            split_number(dearer),
            Entry(row.standing if row.standing != "none" else ""),
            split_number(over_base),
            split_number(joules),
            Entry(format_number(row.watts) if row.watts else "", kind="number"),
            Entry(row.energy_of),
        ),
        "ours",
    )
