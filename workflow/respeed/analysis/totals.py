"""results/tables/totals.csv: tables whose cases are the parts of one thing, added up.

Our total is the sum of the cells, with an interval by the variance over rounds. Theirs cannot be: the paper prints
seconds for other sizes. It is the same work at the paper's own rates, each interpolated between the sizes that it
prints (the logarithm of the rate against that of the number of weights, held constant beyond the ends).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from respeed.analysis.cells import label_row
from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.estimates import what_is_missing
from respeed.analysis.speedups import Samples
from respeed.model.paper import Case, Experiment, Paper

DAY = 86400.0


def make_totals(cells: pd.DataFrame, samples: Samples, papers: Mapping[str, Paper], smoke: bool) -> pd.DataFrame:
    """For every table with a total: a row for each row of the paper, and one for each profile of each machine."""
    totals = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            if experiment.total is None:
                continue
            mine = cells[(cells["paper"] == paper.name) & (cells["experiment"] == experiment.name)]
            theirs = [] if smoke else list(_theirs(paper, experiment, mine))
            cases = experiment.case_names(smoke)
            columns: dict[tuple[str, str], list[Any]] = defaultdict(list)
            for cell in rows_of(mine):
                columns[cell.machine, cell.profile].append(cell)
            found = [*theirs, *(_ours(column, samples, cases) for column in columns.values())]
            fastest = min((total["seconds"] for total in theirs), default=math.nan)
            for total in found:
                # As many examples as the paper's accelerator gets through in a day.
                total["headline_examples"] = (experiment.examples or 1) * DAY / fastest
                total["headline_seconds"] = total.get("seconds", math.nan) * DAY / fastest
                totals.append(total | {"paper": paper.name, "experiment": experiment.name})
    return make_frame(totals, "totals")


def _ours(column: list[Any], samples: Samples, cases: tuple[str, ...]) -> dict[str, Any]:
    total = {"machine": column[0].machine, "profile": column[0].profile, "label": column[0].label, "rounds": 0}
    missing = next((cell for cell in column if not cell.seconds), None)
    if missing:
        return total | {"reason": f"{missing.case}: {missing.reason}"}
    absent = set(cases) - {cell.case for cell in column}
    if absent:
        return total | {"reason": f"{min(absent)}: cannot run on this row"}
    estimate, fewest = samples.sum(column), min(cell.rounds for cell in column)
    return total | estimate.columns("seconds") | {"rounds": fewest, "reason": what_is_missing(estimate, fewest)}


def _theirs(paper: Paper, experiment: Experiment, mine: pd.DataFrame) -> Iterator[dict[str, Any]]:
    counted = mine[mine["flops"].notna()]
    work = dict(zip(counted["case"], counted["flops"], strict=True))
    if set(work) != set(experiment.case_names()):
        return
    if not all({"visible", "hidden"} <= set(case.parameters) for case in experiment.cases):
        return  # rates are known of layers alone
    weights = {case.name: _weights(case) for case in experiment.cases}
    for row in paper.rows:
        if points := sorted(_rates(paper, row.name)):
            sizes, rates = np.log(points).T
            seconds = sum(
                amount / math.exp(np.interp(math.log(weights[case]), sizes, rates)) for case, amount in work.items()
            )
            label = f"{label_row(paper, row)}, {row.year}, at its own rates"
            yield {"machine": "paper", "profile": row.name, "seconds": seconds, "rounds": 0, "label": label}


def _rates(paper: Paper, row: str) -> Iterator[tuple[float, float]]:
    """(weights, FLOP a second) of every printed RBM: five products of 2 V H FLOP an example."""
    for experiment in paper.experiments.values():
        for case in experiment.cases:
            seconds = paper.seconds(experiment.name, case.name, row)
            if case.workload == "rbm" and seconds and experiment.examples:
                yield _weights(case), 10 * _weights(case) * experiment.examples / seconds


def _weights(case: Case) -> float:
    return float(case.parameters["visible"] * case.parameters["hidden"])
