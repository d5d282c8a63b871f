"""How far machines lie apart, for readers of many of them: results/tables/spread.csv."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from respeed.estimators.speedup import FULL_PRECISION
from respeed.tables.cells import Cell
from respeed.tables.machines import fastest_rows
from respeed.tables.speedups import Speedup

COLUMNS = (
    "paper", "experiment", "case", "quantity", "machines", "lowest", "lower_quartile", "median", "upper_quartile",
    "highest",
)  # fmt: skip


@dataclass(frozen=True)
class Spread:
    """One case in fp32: seconds of every machine's fastest row, or its accelerator's highest speedup (`quantity`)."""

    paper: str
    experiment: str
    case: str
    quantity: str
    machines: int
    lowest: float
    lower_quartile: float
    median: float
    upper_quartile: float
    highest: float


def change_spread(one: Spread, change: Callable[[float], float], quantity: str) -> Spread:
    """The same spread of another quantity, which `change` makes of the first: it only rises, or only falls."""
    numbers = (one.lowest, one.lower_quartile, one.median, one.upper_quartile, one.highest)
    return Spread(one.paper, one.experiment, one.case, quantity, one.machines, *sorted(map(change, numbers)))


def measure_spread(cells: Iterable[Cell], speedups: Iterable[Speedup]) -> list[Spread]:
    """A row for every case and quantity that more than one machine has a number of."""
    seconds = {
        column: [cell.seconds for cell in rows.values() if cell.seconds]
        for column, rows in fastest_rows(cells).items()
    }  # fmt: skip
    highest: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in speedups:
        if row.speedup and not row.is_cpu and row.precision == FULL_PRECISION:
            machines = highest.setdefault((row.paper, row.experiment, row.case), {})
            machines[row.machine] = max(row.speedup, machines.get(row.machine, 0.0))
    factors = {column: list(machines.values()) for column, machines in highest.items()}
    return [
        Spread(
            *column, quantity, len(values), *(float(value) for value in np.quantile(values, (0, 0.25, 0.5, 0.75, 1)))
        )
        for quantity, found in (("seconds", seconds), ("speedup", factors))
        for column, values in found.items()
        if len(values) > 1
    ]
