"""Where each machine stands in each table among all: results/tables/standings.csv."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from respeed.tables.machines import Across

COLUMNS = ("machine", "paper", "experiment", "share", "rank", "machines", "cases", "all_cases")


@dataclass(frozen=True)
class Standing:
    """One machine in one table.

    `share` is its speed over that of the fastest machine of each case (machines.csv), the geometric mean over `cases`;
    `rank` is among the `machines` that measured `all_cases`, None for one that did not.
    """

    machine: str
    paper: str
    experiment: str
    share: float
    rank: int | None
    machines: int
    cases: int
    all_cases: int


def rank_machines(across: Iterable[Across]) -> list[Standing]:
    """A row for every machine and table in which it is compared, the fastest first."""
    tables: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in across:
        tables[row.paper, row.experiment][row.machine].append(row.speedup)
    return [standing for where, machines in tables.items() for standing in _of_table(*where, machines)]


def _of_table(paper: str, experiment: str, machines: dict[str, list[float]]) -> list[Standing]:
    most = max(len(speeds) for speeds in machines.values())
    whole = sum(len(speeds) == most for speeds in machines.values())
    rows = [
        Standing(machine, paper, experiment, _geometric_mean(speeds), None, whole, len(speeds), most)
        for machine, speeds in machines.items()
    ]
    rows.sort(key=lambda row: (row.cases < most, -row.share))
    return [replace(row, rank=place if row.cases == most else None) for place, row in enumerate(rows, start=1)]


def _geometric_mean(values: list[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))
