"""How far one table is measured on one machine."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from respeed.tables.cells import NOT_YET, OTHER_PARAMETERS, Cell

# What a cell without a time waits for a run for; with another reason, the machine cannot run it.
WAITING = (NOT_YET, OTHER_PARAMETERS)
# The states of a cell, in the order of the columns.
STATES = ("settled", "wide", "contaminated", "failed", "not measured", "cannot run")


@dataclass(frozen=True)
class Progress:
    """`states` counts the cells by their state; `fewest` and `most` are the rounds of those that have any, `last` is
    when the last of them was measured (UTC, to the minute)."""

    machine: str
    paper: str
    experiment: str
    states: Counter[str]
    fewest: int
    most: int
    last: str

    @property
    def cells(self) -> int:
        return self.states.total()


def measure_progress(cells: Iterable[Cell], records: Iterable[Mapping[str, Any]]) -> list[Progress]:
    """One for each table that the cells are of; `records` are those of their machine."""
    last: dict[tuple[str, str], str] = {}
    for record in records:
        where = (record["id"]["paper"], record["id"]["experiment"])
        last[where] = max(last.get(where, ""), record["started"])
    tables: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        tables.setdefault((cell.machine, cell.paper, cell.experiment), []).append(cell)
    return [_of_table(*table, mine, last) for table, mine in tables.items()]


def _of_table(
    machine: str, paper: str, experiment: str, cells: list[Cell], last: Mapping[tuple[str, str], str]
) -> Progress:
    rounds = [cell.rounds for cell in cells if cell.rounds]
    times = [last.get((paper, cell.measured_in), "") for cell in cells if cell.rounds]
    return Progress(
        machine=machine,
        paper=paper,
        experiment=experiment,
        states=Counter(map(_state, cells)),
        fewest=min(rounds, default=0),
        most=max(rounds, default=0),
        last=max(times, default="")[:16].replace("T", " "),
    )


def _state(cell: Cell) -> str:
    if cell.status != "not-run":
        return cell.status
    return "not measured" if cell.reason in WAITING else "cannot run"
