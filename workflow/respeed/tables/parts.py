"""Steps that are timed in parts, each part by itself: results/tables/parts.csv."""

from collections.abc import Mapping
from dataclasses import dataclass

from respeed.estimators.intervals import estimate_location
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.model.paper import Paper
from respeed.tables.cells import Cell

COLUMNS = (
    "machine", "paper", "experiment", "case", "algorithm", "profile", "part", "seconds", "seconds_low", "seconds_high",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """Seconds that one part takes of a cell's seconds: over rounds, with its interval."""

    machine: str
    paper: str
    experiment: str
    case: str
    algorithm: str
    profile: str
    part: str
    seconds: float
    seconds_low: float | None
    seconds_high: float | None
    label: str


def make_parts(cells: list[Cell], rounds: Mapping[CellKey, CellRounds], papers: Mapping[str, Paper]) -> list[Part]:
    """A row for every part of every measured cell that has parts."""
    parts = []
    for cell in cells:
        times = list(rounds[cell.key].times.values()) if cell.seconds else []
        experiment = papers[cell.paper].experiments[cell.experiment]
        case = next((case for case in (*experiment.cases, *experiment.smoke_cases) if case.name == cell.case), None)
        for name in times[0].parts if times and case else ():
            # Somebody's rounds may be timed in other parts, whatever their digest says.
            told = [time.parts[name] for time in times if name in time.parts]
            estimate = estimate_location([experiment.steps(case) * seconds for seconds in told if case])
            where = (cell.machine, cell.paper, cell.experiment, cell.case, cell.algorithm, cell.profile)
            parts.append(Part(*where, name, estimate.value, estimate.low, estimate.high, cell.label))
    return parts
