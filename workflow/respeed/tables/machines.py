"""Machines beside one another: each one's fastest row in fp32 over the fastest of all, results/tables/machines.csv."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from respeed.tables.cells import Cell
from respeed.tables.rounds import CellKey, CellRounds
from respeed.tables.speedups import verdict_of
from respeed.tables.statistics import ratio_of_medians

COLUMNS = (
    "machine", "base_machine", "paper", "experiment", "case", "algorithm", "profile", "base_algorithm",
    "base_profile", "speedup",
    "speedup_low", "speedup_high", "verdict", "reason",
)  # fmt: skip


@dataclass(frozen=True)
class Across:
    """One row of machines.csv: t of the fastest machine over t of this one, each with its fastest row in fp32, whatever
    the algorithm; which one it is, is said."""

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
            rows += [_across(cell, base, rounds) for cell in column.values()]
    return rows


def fastest_rows(cells: Iterable[Cell]) -> dict[tuple[str, str, str], dict[str, Cell]]:
    """For every measured (paper, experiment, case): the fastest row of each machine, of those in fp32."""
    fastest: dict[tuple[str, str, str], dict[str, Cell]] = {}
    for cell in cells:
        if cell.seconds and cell.in_full_precision:
            column = fastest.setdefault((cell.paper, cell.experiment, cell.case), {})
            rival = column.get(cell.machine)
            if rival is None or cell.seconds < (rival.seconds or 0):
                column[cell.machine] = cell
    return fastest


def _across(cell: Cell, base: Cell, rounds: Mapping[CellKey, CellRounds]) -> Across:
    estimate = ratio_of_medians(_rounds(base, rounds).medians, _rounds(cell, rounds).medians)
    verdict, reason = verdict_of(estimate, is_base=cell is base)
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


def _rounds(cell: Cell, rounds: Mapping[CellKey, CellRounds]) -> CellRounds:
    return rounds[cell.key]
