"""The interim analysis after the first rounds: what is not settled, and gets the time that is left."""

import math
from typing import Any

from respeed.analysis.cells import judge_cells
from respeed.analysis.columns import rows_of
from respeed.analysis.rounds import CellKey, first_rounds, key_of, read_rounds, seconds_by_session
from respeed.analysis.speedups import compare_to_fastest
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
    rounds = first_rounds(read_rounds(history.records.values()), preset.rounds)
    judged = judge_cells(rounds).assign(measured_in=lambda cells: cells["experiment"])
    places = {cell: place for place, cell in enumerate(history.work.cells)}
    judged["place"] = [places.get(key_of(cell), math.nan) for cell in rows_of(judged)]
    mine = judged.dropna(subset="place").sort_values("place").rename(columns={"step": "seconds"})
    compared = compare_to_fastest(mine, seconds_by_session(rounds))
    without, pairs, wide = list[tuple[str, set[CellKey]]](), [], []
    for cell in rows_of(compared):
        key = key_of(cell)
        if cell.status == "contaminated" or (cell.seconds and not cell.step_low):
            without.append((NO_INTERVAL, {key}))
        if cell.verdict in {"unproven", "indistinguishable"}:
            base = key._replace(workload=cell.base_algorithm, profile=cell.base_profile)
            pairs.append((_rounds_needed(cell), {key, base}))
        if cell.status == "wide":
            wide.append((WIDE, {key}))
    undecided = [(UNDECIDED, pair) for needed, pair in sorted(pairs, key=lambda one: one[0]) if needed <= preset.most]
    return [*without, *undecided, *wide]


def _rounds_needed(cell: Any) -> float:
    """About how many rounds would tell the two apart, if their ratio is what it seems."""
    if cell.speedup_low is None:
        return 0.0
    apart = abs(math.log(cell.speedup))
    width = math.log(cell.speedup_high / cell.speedup_low)
    return float(cell.rounds * (width / 2 / apart) ** 2) if apart else math.inf
