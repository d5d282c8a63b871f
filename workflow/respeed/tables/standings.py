"""Where each machine stands in each table among all: results/tables/standings.csv."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from respeed.estimators.places import place_machines
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.tables.cells import Cell
from respeed.tables.machines import fastest_rows

COLUMNS = ("machine", "paper", "experiment", "share", "rank", "machines", "cases", "all_cases")


@dataclass(frozen=True)
class Standing:
    """One machine in one table.

    `share` is its speed over that of the machines that share the first place, the geometric mean over `cases`. `rank`
    is one more than the number of machines that are proven to be faster, among the `machines` that measured
    `all_cases`: machines that cannot be told apart share a place. None for one that did not measure all.
    """

    machine: str
    paper: str
    experiment: str
    share: float
    rank: int | None
    machines: int
    cases: int
    all_cases: int


def rank_machines(cells: Iterable[Cell], rounds: Mapping[CellKey, CellRounds]) -> list[Standing]:
    """A row for every machine and table that more than one machine measured, the fastest first."""
    tables: dict[tuple[str, str], dict[str, dict[str, np.ndarray]]] = defaultdict(lambda: defaultdict(dict))
    for (paper, experiment, case), column in fastest_rows(cells).items():
        if len(column) > 1:
            for machine, cell in column.items():
                tables[paper, experiment][machine][case] = -np.log(rounds[cell.key].medians())
    return [standing for where, machines in tables.items() for standing in _of_table(*where, machines)]


def _of_table(paper: str, experiment: str, speeds: dict[str, dict[str, np.ndarray]]) -> list[Standing]:
    """`speeds` has the logarithm of the speed of every round, by machine and case."""
    most = max(len(cases) for cases in speeds.values())
    whole = [machine for machine, cases in speeds.items() if len(cases) == most]
    places = dict(zip(whole, place_machines([list(speeds[machine].values()) for machine in whole]), strict=True))
    first = [speeds[machine] for machine, place in places.items() if place == 1]
    reference = {
        case: float(np.mean([np.median(one[case]) for one in first if case in one]))
        for case in dict.fromkeys(case for one in first for case in one)
    }
    rows = []
    for machine, cases in speeds.items():
        behind = [float(np.median(values)) - reference[case] for case, values in cases.items() if case in reference]
        share = float(np.exp(np.mean(behind)))
        rows.append(Standing(machine, paper, experiment, share, places.get(machine), len(whole), len(cases), most))
    return sorted(rows, key=lambda row: (row.rank is None, row.rank or 0, -row.share))
