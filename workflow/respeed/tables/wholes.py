"""Runs in which nothing is extrapolated, beside the totals that are: results/tables/wholes.csv."""

from collections.abc import Mapping
from dataclasses import dataclass

from respeed.tables.cells import Cell
from respeed.tables.rounds import CellKey, CellRounds

COLUMNS = (
    "machine", "paper", "experiment", "case", "algorithm", "profile", "whole_seconds", "extrapolated_seconds", "ratio",
)  # fmt: skip


@dataclass(frozen=True)
class Whole:
    """One whole run. `ratio` is whole over extrapolated: 1.02 says that the table's total is 2 % too low."""

    machine: str
    paper: str
    experiment: str
    case: str
    algorithm: str
    profile: str
    whole_seconds: float
    extrapolated_seconds: float | None
    ratio: float | None
    label: str


def make_wholes(cells: list[Cell], rounds: Mapping[CellKey, CellRounds]) -> list[Whole]:
    """A row for every cell that was run whole."""
    wholes = []
    for cell in cells:
        whole = rounds[cell.key].whole_seconds if cell.key in rounds else None
        if whole:
            ratio = whole / cell.seconds if cell.seconds else None
            where = (cell.machine, cell.paper, cell.experiment, cell.case, cell.algorithm, cell.profile)
            wholes.append(Whole(*where, whole, cell.seconds, ratio, cell.label))
    return wholes
