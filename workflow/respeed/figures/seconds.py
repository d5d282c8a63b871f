"""Seconds, or what else a table counts in, of every row of the paper and of one machine: each round a point."""

from collections.abc import Callable, Mapping
from typing import Any

from respeed.analysis.labels import in_unit, label_row
from respeed.analysis.machines import change_spread
from respeed.figures.chart import Chart, Point, Series
from respeed.figures.looks import look_at_rows, look_at_theirs
from respeed.figures.words import has_rates, words_of_seconds
from respeed.model.paper import Experiment, Paper, Unit
from respeed.tables.build import Tables
from respeed.tables.cells import Cell
from respeed.tables.fastest import rows_in_front
from respeed.tables.rates import measured_ceilings, rate_of
from respeed.tables.shown_speedups import our_totals, their_totals


def chart_seconds(
    tables: Tables,
    paper: Paper,
    experiment: Experiment,
    machine: str,
    cells: list[Cell],
    colors: Mapping[tuple[str, bool], str],
    spreads: dict[str, Any],
) -> Chart:
    """One table on one machine, `cells` all of its; `spreads` of many machines, by case."""
    front = rows_in_front(cells) if experiment.algorithms else None
    looks = look_at_rows(cells, colors, front)
    rates = has_rates(paper, experiment)
    ceilings = measured_ceilings(cells, tables.rounds) if rates else {}
    amounts = {cell.case: cell.amount for cell in cells if cell.amount}
    points: dict[tuple[str, str], list[Point]] = {}
    for cell in cells:
        point = _rate(cell) if rates else _number(cell, experiment.unit)
        if point:
            points.setdefault(cell.row, []).append(point)
    # The amount of work of a total is that of no single case: it is a time, or has no place here.
    totals = [] if rates or experiment.unit.counted else our_totals(tables, [cell for cell in cells if cell.seconds])
    for total in totals:
        low, high = (bound / experiment.unit.size if bound else None for bound in (total.low, total.high))
        points.setdefault(total.cell.row, []).append(Point(total.case, total.value / experiment.unit.size, low, high))
    labels = {cell.row: cell.label for cell in cells}
    ours = [Series(labels[row], looks[row], tuple(found), ceilings.get(row)) for row, found in points.items()]
    theirs = [] if rates else series_of_theirs(paper, _printed(tables, paper, experiment))
    shown = {} if rates else _spreads_in_unit(spreads, experiment.unit, amounts)
    known = {point.case for one in (*theirs, *ours) for point in one.points}
    cases = (*experiment.case_names(tables.smoke), experiment.total or "")
    there = tuple(case for case in cases if case in known | set(shown))
    words = words_of_seconds(paper, experiment, machine, shown, bool(theirs))
    return Chart(words.title, words.note, there, (*theirs, *ours), spreads=shown)


def _printed(tables: Tables, paper: Paper, experiment: Experiment) -> dict[tuple[str, str], float]:
    """The paper's numbers as it prints them, and its totals at its own rates where these are times."""
    printed = {
        (row.name, case): found.value
        for row in paper.rows
        for case in experiment.case_names(tables.smoke)
        if (found := paper.printed(experiment.name, case, row.name))
    }
    totals = {} if experiment.unit.counted else their_totals(tables, paper, experiment.name)
    return printed | {place: seconds / experiment.unit.size for place, seconds in totals.items()}


def series_of_theirs(paper: Paper, values: Mapping[tuple[str, str], float]) -> list[Series]:
    """The paper's rows, of numbers by row and case."""
    looks = look_at_theirs(paper)
    series = []
    for row in paper.rows:
        found = tuple(Point(case, value) for (name, case), value in values.items() if name == row.name)
        if found:
            series.append(Series(f"{label_row(paper, row)}, {row.year}", looks[row.name], found))
    return series


def _number(cell: Cell, unit: Unit) -> Point | None:
    """In the unit of the paper's table."""
    value, low, high = in_unit(cell, unit)
    if not value:
        return None
    rounds = tuple(unit.value(seconds, cell.amount) or 0.0 for seconds in cell.round_seconds)
    return Point(cell.case, value, low, high, rounds, cell.workload)


def _rate(cell: Cell) -> Point | None:
    rate = rate_of(cell)
    return Point(cell.case, rate.value, rate.low, rate.high, rate.rounds, cell.workload) if rate else None


def _spreads_in_unit(spreads: Mapping[str, Any], unit: Unit, amounts: Mapping[str, float]) -> dict[str, Any]:
    """How far the times of many machines lie apart, in a table's unit; by case."""

    def change(case: str) -> Callable[[float], float]:
        return lambda seconds: unit.value(seconds, amounts.get(case)) or 0.0

    return {
        case: change_spread(one, change(case), unit.name)
        for case, one in spreads.items()
        if unit.counted is None or case in amounts
    }
