"""Runs in which nothing is extrapolated, beside the totals that are: results/tables/wholes.csv."""

from collections.abc import Mapping
from dataclasses import dataclass

from respeed.estimators.rounds import CellKey, CellRounds
from respeed.model.paper import Paper
from respeed.tables.cells import Cell

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


def make_wholes(cells: list[Cell], rounds: Mapping[CellKey, CellRounds], papers: Mapping[str, Paper]) -> list[Whole]:
    """A row for every cell that was run whole, with the parameters that the paper's file has now."""
    wholes = []
    for cell in cells:
        found = rounds.get(cell.key)
        whole = found.whole_seconds if found else None
        experiment = papers[cell.paper].experiments[cell.experiment]
        case = next(
            (case for case in experiment.cases if (case.name, case.workload) == (cell.case, cell.workload)), None
        )
        wanted = {**case.parameters, **experiment.whole_parameters} if case else None
        if whole and found and found.whole_parameters == wanted:
            ratio = whole / cell.seconds if cell.seconds else None
            where = (cell.machine, cell.paper, cell.experiment, cell.case, cell.algorithm, cell.profile)
            wholes.append(Whole(*where, whole, cell.seconds, ratio, cell.label))
    return wholes
