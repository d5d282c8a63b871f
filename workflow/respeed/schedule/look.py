"""The look after the first rounds: what is not settled, and gets the time that is left."""

import math
from collections import defaultdict

from respeed.estimators.cell import Judged, judge_cell
from respeed.estimators.rounds import CellKey, CellRounds, collect_rounds
from respeed.estimators.speedup import Comparison, compare_column
from respeed.schedule.history import History

# A cell is only chosen if so many more rounds of all that is chosen fit the time: fewer would settle nothing.
WORTH_ROUNDS = 2
NO_INTERVAL, UNDECIDED, WIDE = "no interval", "undecided", "wide interval"


def choose_unsettled(history: History, seconds_left: float) -> dict[CellKey, str]:
    """The cells to measure again, each with its reason, the most urgent first: as many as the time is enough for.

    First those without an interval, then rows that cannot be told apart from the fastest although more rounds could do
    it, each with the row that it is compared with, then those whose interval is wide. Only the first rounds of each
    cell are looked at: the same records give the same answer, and a run that was stopped goes on with its choice.
    """
    chosen: dict[CellKey, str] = {}
    for why, together in _unsettled(history):
        wanted = chosen | dict.fromkeys(together - chosen.keys(), why)
        if why == NO_INTERVAL or WORTH_ROUNDS * history.seconds_of(wanted) <= seconds_left:
            chosen = wanted
    return chosen


def _unsettled(history: History) -> list[tuple[str, set[CellKey]]]:
    """Cells that are worth measuring again only together, and why."""
    preset = history.work.preset
    rounds = collect_rounds(history.records.values(), first=preset.rounds)
    judged = {cell: judge_cell(rounds[cell]) for cell in history.work.cells if cell in rounds}
    without = [
        (NO_INTERVAL, {cell})
        for cell, found in judged.items()
        if found.status == "contaminated" or (found.step and not found.step.has_interval)
    ]
    pairs = [
        (_rounds_needed(comparison, rounds[cell]), {cell, comparison.base})
        for cell, comparison in _compared(judged, rounds)
    ]
    undecided = [(UNDECIDED, pair) for needed, pair in sorted(pairs, key=lambda one: one[0]) if needed <= preset.most]
    wide = [(WIDE, {cell}) for cell, found in judged.items() if found.status == "wide"]
    return [*without, *undecided, *wide]


def _compared(judged: dict[CellKey, Judged], rounds: dict[CellKey, CellRounds]) -> list[tuple[CellKey, Comparison]]:
    """The rows that are not told apart from their base."""
    columns: dict[tuple[str, ...], dict[CellKey, float]] = defaultdict(dict)
    for cell, found in judged.items():
        if found.step:
            columns[cell.paper, cell.experiment, cell.case][cell] = found.step.value
    return [
        (cell, comparison)
        for column in columns.values()
        for cell, comparison in compare_column(column, rounds).items()
        if comparison.verdict in {"unproven", "indistinguishable"}
    ]


def _rounds_needed(comparison: Comparison, rounds: CellRounds) -> float:
    """About how many rounds would tell the two apart, if their ratio is what it seems."""
    low, high = comparison.estimate.low, comparison.estimate.high
    if low is None or high is None:
        return 0.0
    apart = abs(math.log(comparison.estimate.value))
    return len(rounds.times) * (math.log(high / low) / 2 / apart) ** 2 if apart else math.inf
