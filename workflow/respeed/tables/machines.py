"""Machines beside one another: each one's fastest row in fp32 over the fastest of all, results/tables/machines.csv."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from respeed.estimators.intervals import TWO_LOOKS
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import RIVAL, compare_apart, confidence_among, verdict_of
from respeed.tables.cells import Cell
from respeed.tables.fastest import fastest_cell

COLUMNS = (
    "machine", "base_machine", "paper", "experiment", "case", "algorithm", "profile", "base_algorithm",
    "base_profile", "speedup",
    "speedup_low", "speedup_high", "verdict", "reason",
)  # fmt: skip


@dataclass(frozen=True)
class Across:
    """One row of machines.csv: t of the fastest machine over t of this one, each with its fastest row in fp32, whatever
    the algorithm; which one it is, is said. A machine whose verdict is indistinguishable shares the first place."""

    machine: str
    base_machine: str
    paper: str
    experiment: str
    case: str
    algorithm: str
    profile: str
    base_algorithm: str
    base_profile: str
    speedup: float
    speedup_low: float | None
    speedup_high: float | None
    verdict: str
    reason: str
    label: str


def compare_machines(cells: list[Cell], rounds: Mapping[CellKey, CellRounds]) -> list[Across]:
    """A row for every machine and case that more than one machine measured."""
    rows = []
    for column in fastest_rows(cells).values():
        if len(column) > 1:
            base = min(column.values(), key=lambda cell: cell.seconds or 0)
            rivals = {cell.machine for cell in column.values() if (cell.seconds or 0) <= RIVAL * (base.seconds or 0)}
            among = confidence_among(len(rivals))
            rows += [
                _across(cell, base, rounds, among if cell.machine in rivals else TWO_LOOKS) for cell in column.values()
            ]
    return rows


def fastest_rows(cells: Iterable[Cell]) -> dict[tuple[str, str, str], dict[str, Cell]]:
    """For every measured (paper, experiment, case): the fastest row of each machine, of those in fp32."""
    columns: dict[tuple[str, str, str], dict[str, list[Cell]]] = {}
    for cell in cells:
        if cell.seconds and cell.in_full_precision:
            column = columns.setdefault((cell.paper, cell.experiment, cell.case), {})
            column.setdefault(cell.machine, []).append(cell)
    return {
        where: {machine: found for machine, mine in column.items() if (found := fastest_cell(mine))}
        for where, column in columns.items()
    }


def _across(cell: Cell, base: Cell, rounds: Mapping[CellKey, CellRounds], confidence: float) -> Across:
    estimate = compare_apart(rounds[base.key], rounds[cell.key], confidence)
    verdict, reason = ("base", "") if cell is base else verdict_of(estimate)
    return Across(
        machine=cell.machine,
        base_machine=base.machine,
        paper=cell.paper,
        experiment=cell.experiment,
        case=cell.case,
        algorithm=cell.algorithm,
        profile=cell.profile,
        base_algorithm=base.algorithm,
        base_profile=base.profile,
        speedup=1.0 if cell is base else estimate.value,
        speedup_low=None if cell is base else estimate.low,
        speedup_high=None if cell is base else estimate.high,
        verdict=verdict,
        reason=reason,
        label=cell.label,
    )
