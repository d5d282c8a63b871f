"""Tables whose cases are the parts of one thing, added up: results/tables/totals.csv.

Ours is the sum of the cells, with a bootstrap over rounds for its interval. Theirs cannot be: the paper prints seconds
for other sizes. It is the same work at the paper's own rates, each interpolated between the sizes that it prints (the
logarithm of the rate against that of the number of weights, held constant beyond the ends).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from respeed.analysis.labels import label_row
from respeed.estimators.cell import what_is_missing
from respeed.estimators.intervals import estimate_sum
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.model.paper import Case, Experiment, Paper
from respeed.tables.cells import Cell

COLUMNS = (
    "machine", "paper", "experiment", "profile", "seconds", "seconds_low", "seconds_high", "rounds",
    "headline_examples", "headline_seconds", "reason",
)  # fmt: skip
DAY = 86400.0


@dataclass(frozen=True)
class Total:
    """One row of ours, or (machine "paper") the paper's own rates applied to the same work.

    `rounds` are those of the case that has fewest; `reason` says why there is no time or no narrow interval.

    `headline_seconds` are those for `headline_examples`, as many as the paper's accelerator is through with in a day.
    """

    machine: str
    paper: str
    experiment: str
    profile: str
    seconds: float | None
    seconds_low: float | None
    seconds_high: float | None
    rounds: int
    reason: str
    label: str
    headline_seconds: float | None = None
    headline_examples: float | None = None


def make_totals(
    cells: list[Cell], rounds: Mapping[CellKey, CellRounds], papers: Mapping[str, Paper], smoke: bool
) -> list[Total]:
    """For every table with a total: a row for each profile of each machine, and one for each row of the paper."""
    totals: list[Total] = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            if experiment.total is None:
                continue
            mine = [cell for cell in cells if (cell.paper, cell.experiment) == (paper.name, experiment.name)]
            theirs = [] if smoke else list(_theirs(paper, experiment, mine))
            columns: dict[tuple[str, str], list[Cell]] = defaultdict(list)
            for cell in mine:
                columns[cell.machine, cell.profile].append(cell)
            cases = experiment.case_names(smoke)
            ours = [_ours(column, rounds, experiment, cases) for column in columns.values()]
            totals += _with_headline([*theirs, *ours], theirs, experiment)
    return totals


def _with_headline(totals: list[Total], theirs: list[Total], experiment: Experiment) -> list[Total]:
    fastest = min((total.seconds for total in theirs if total.seconds), default=None)
    if fastest is None:
        return totals
    days = DAY / fastest
    examples = (experiment.examples or 1) * days
    return [
        replace(total, headline_examples=examples, headline_seconds=total.seconds * days if total.seconds else None)
        for total in totals
    ]


def _ours(
    column: list[Cell], rounds: Mapping[CellKey, CellRounds], experiment: Experiment, cases: tuple[str, ...]
) -> Total:
    first = column[0]
    where = (first.machine, first.paper, first.experiment, first.profile)
    missing = next((cell for cell in column if not cell.seconds), None)
    if missing:
        return Total(*where, None, None, None, 0, f"{missing.case}: {missing.reason}", first.label)
    absent = set(cases) - {cell.case for cell in column}
    if absent:
        return Total(*where, None, None, None, 0, f"{min(absent)}: cannot run on this row", first.label)
    estimate = estimate_sum(measured_together(column, rounds, experiment))
    fewest = min(cell.rounds for cell in column)
    reason = what_is_missing(estimate, fewest)
    return Total(*where, estimate.value, estimate.low, estimate.high, fewest, reason, first.label)


def measured_together(
    column: Sequence[Any], rounds: Mapping[CellKey, CellRounds], experiment: Experiment
) -> list[dict[str, dict[int, float]]]:
    """Seconds of each cell by round, a mapping for each group of cells that one process measured."""
    steps = {case.name: experiment.steps(case) for case in (*experiment.smoke_cases, *experiment.cases)}
    groups: dict[str, dict[str, dict[int, float]]] = defaultdict(dict)
    for cell in column:
        workload = getattr(cell, "workload", None) or cell.algorithm
        times = rounds[CellKey(cell.machine, cell.paper, cell.measured_in, cell.case, workload, cell.profile)].times
        groups[cell.measured_in][cell.case] = {number: steps[cell.case] * time.mean for number, time in times.items()}
    return list(groups.values())


def _theirs(paper: Paper, experiment: Experiment, mine: list[Cell]) -> Iterator[Total]:
    work = {cell.case: cell.work for cell in mine if cell.work}
    if set(work) != set(experiment.case_names()):
        return
    if not all({"visible", "hidden"} <= set(case.parameters) for case in experiment.cases):
        return  # rates are known of layers alone
    weights = {case.name: _weights(case) for case in experiment.cases}
    for row in paper.rows:
        points = sorted(_rates(paper, row.name))
        if points:
            sizes, rates = zip(*points, strict=True)
            seconds = sum(
                amount / math.exp(np.interp(math.log(weights[case]), np.log(sizes), np.log(rates)))
                for case, amount in work.items()
                if amount
            )
            label = f"{label_row(paper, row)}, {row.year}, at its own rates"
            yield Total("paper", paper.name, experiment.name, row.name, seconds, None, None, 0, "", label)


def _rates(paper: Paper, row: str) -> Iterator[tuple[float, float]]:
    """(weights, FLOP a second) of every printed RBM: five products of 2 V H FLOP an example."""
    for experiment in paper.experiments.values():
        for case in experiment.cases:
            seconds = paper.seconds(experiment.name, case.name, row)
            if case.workload == "rbm" and seconds and experiment.examples:
                yield _weights(case), 10 * _weights(case) * experiment.examples / seconds


def _weights(case: Case) -> float:
    return float(case.parameters["visible"] * case.parameters["hidden"])
