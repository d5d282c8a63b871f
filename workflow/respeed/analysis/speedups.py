"""Several cells together: speedups, and the sum of a table.

`Samples.ratio` makes the ratio of two cells in all tables: the base's seconds divided by the row's. This module makes:

    speedups.csv   the speedup of every cell over the fastest CPU row of its machine and case, in the table's precision
                   if it has one, or else in fp32, as papers have it
    cells.csv      one more case, the total, for each table whose cases add up
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pandas as pd

from respeed.analysis.cells import by_session, doubt_of, published_beside, rows_beside, show_time
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import (
    CELL_LEVEL,
    FULL_PRECISION,
    RATIO_LEVEL,
    RIVAL,
    Doubt,
    Estimate,
    Number,
    Sessions,
    estimate_ratio,
    estimate_sum,
    half_between,
    half_of,
    level_of_each,
    number_of,
    verdict_of,
    what_is_missing,
)
from respeed.analysis.tables import Cell, CellKey, CellRow, Round, Speedup, group_by
from respeed.model import INFERRED, Experiment, Names, Paper, Papers, Printed
from respeed.text import format_speedup

OTHER_SESSION = "compared with rounds of another session"


class Samples:
    """The times of the rounds of every cell.

    Ratios and sums of cells get their intervals here. A cell is a row of the table of cells.
    """

    def __init__(self, rounds: pd.DataFrame) -> None:
        timed = rounds[rounds["step_seconds"].notna()]
        self._timed = group_by(rows_of(timed, Round), lambda row: row.key)
        self._parts: dict[CellKey, list[Cell]] = {}

    def by_session(self, cell: CellRow) -> Sessions:
        """Return the seconds of a step in each round of the cell, by session; speedups are made from them."""
        return by_session(self._timed[cell.key])

    def doubt(self, cell: Cell) -> Doubt:
        """Return the errors of a cell that its rounds do not show; of a total, its parts' mean, weighted by seconds."""
        parts = self._parts.get(cell.key, [cell])
        doubts = [doubt_of(self._timed[part.key]) for part in parts]
        weights = [part.seconds or math.nan for part in parts]
        errors = [doubt[:2] for doubt in doubts]
        slope, quiet = np.average(errors, axis=0, weights=weights)
        return doubts[0]._replace(slope=slope, quiet=quiet)

    def keys_of(self, cell: Cell) -> list[CellKey]:
        """Return the keys of the cells that were timed: the cell itself, or the parts of a total."""
        return [part.key for part in self._parts.get(cell.key, [cell])]

    def ratio(self, base: Cell, cell: Cell, confidence: float = RATIO_LEVEL) -> tuple[Estimate, bool]:
        """Estimate t_base / t_cell, and return whether the ratio is from rounds of the same sessions.

        The ratio of two totals is the ratio of their sums.
        """
        doubt = self.doubt(cell)
        base_doubt = self.doubt(base)
        spreads = base_doubt.between, doubt.between
        over = self._parts.get(base.key, [base])
        parts = self._parts.get(cell.key, [cell])
        sessions = self._longest(over), self._longest(parts)
        if len(parts) == 1:
            ratio, together = estimate_ratio(*sessions, confidence, spreads)
        else:
            ratio = estimate_sum(self._by_case(over), self._by_case(parts), confidence)
            together = not sessions[0].keys().isdisjoint(sessions[1])
            if not together:
                ratio = ratio.widened(half_between(sessions, confidence, spreads))
        ratio = ratio.widened(half_of(base_doubt.over(doubt), confidence))
        return replace(ratio, shared=half_of(base_doubt.shared(doubt), confidence)), together

    def total(self, total: Cell, parts: list[Cell]) -> Estimate:
        """Estimate the seconds of several cells of a row together, and remember the cells as the parts of `total`."""
        self._parts[total.key] = parts
        doubt = self.doubt(total)
        between = half_between([self._longest(parts)], CELL_LEVEL, [doubt.between])
        seconds = estimate_sum(self._by_case(parts))
        return seconds.widened(between).widened(half_of(doubt.error, CELL_LEVEL))

    def _longest(self, cells: Iterable[Cell]) -> Sessions:
        """Return the rounds of the cell that was measured in the most sessions."""
        return max(map(self.by_session, cells), key=len)

    def _by_case(self, cells: Iterable[Cell]) -> dict[str, dict[str, float]]:
        """Return the seconds of cells of one row, by case and the start of the process, which measures all of them.

        Round numbers do not tell which rounds are of one process, as a process may lack one of the cells.
        """
        seconds: dict[str, dict[str, float]] = defaultdict(dict)
        for cell in cells:
            for row in self._timed[cell.key]:
                seconds[cell.case][row.started] = cell.steps * (row.step_seconds or math.nan)
        return seconds


def times_the_work(base: Cell, cell: Cell) -> float:
    """Return the cell's work per step divided by the base's, as the table's unit counts work; 1 if not counted."""
    if not (base.amount and cell.amount):
        return 1.0
    return (cell.amount / cell.steps) / (base.amount / base.steps)


def add_totals(cells: list[Cell], samples: Samples, papers: Papers) -> list[Cell]:
    """Add a total, the sum of the cases, to every table whose cases add up, on each row that has a case.

    If a case has no time, the total has no time; `reason` names such a case, or has the reason that all cases share.
    """
    rows = group_by(cells, attrgetter("paper", "experiment", "machine", "profile"))
    totals = []
    for (paper, experiment, *_), parts in rows.items():
        if papers[paper].experiments[experiment].total:
            totals.append(_add_up(parts, samples, papers[paper]))
    return cells + totals


def _add_up(parts: list[Cell], samples: Samples, paper: Paper) -> Cell:
    """Return the total of the cells of one row in a table, as a cell."""
    first = parts[0]
    experiment = paper.experiments[first.experiment]
    key = first.key._replace(case=experiment.total_case)
    published_row, published_seconds = published_beside(paper, key, first.architecture)
    absent = {case.name for case in experiment.cases} - {part.case for part in parts}
    missing = [part for part in parts if not part.seconds]
    summed = [] if absent else parts
    total = replace(
        first,
        case=key.case,
        work=experiment.total or "",
        steps=1.0,
        published_row=published_row,
        published_seconds=published_seconds,
        rounds=min(part.rounds for part in parts),
        sessions=max(part.sessions for part in parts),
        seconds=None,
        seconds_low=None,
        seconds_high=None,
        seconds_measured=_sum(part.seconds_measured for part in summed),
        slowness=None,
        flops=_sum(part.flops for part in summed),
        traffic_bytes=_sum(part.traffic_bytes for part in summed),
        amount=None,
        gflops=None,
        peak_share=None,
        expected_seconds=_sum(part.expected_seconds for part in summed),
        unexpected="",
        threads_ran=None,
    )
    if absent:
        return replace(total, status="cannot-run", reason=f"{min(absent)}: cannot run on this row")
    if missing:
        without = missing[0]
        is_shared = missing == parts and len({part.reason for part in parts}) == 1
        reason = without.reason if is_shared else f"{without.case}: {without.reason}"
        return replace(total, status=without.status, reason=reason)
    seconds = samples.total(total, parts)
    return show_time(total, seconds, what_is_missing(seconds, total.rounds))


def _sum(numbers: Iterable[Number]) -> Number:
    """Return the sum of the numbers; None if one is not known, or without numbers."""
    total = math.fsum(number or math.nan for number in numbers)
    return number_of(total) or None


# The paper, table and case of a row.
case_of = attrgetter("paper", "experiment", "case")


def make_speedups(cells: Sequence[Cell], samples: Samples, papers: Papers) -> list[Speedup]:
    """Make a speedup for every cell, over the fastest CPU row of its machine and case in the table's precision.

    The precision is fp32 if the table has none: a row in another precision is never a base.
    """
    case_on_machine = attrgetter("machine", "paper", "experiment", "case")
    bases: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.seconds and cell.is_cpu and cell.precision == _precision(cell, papers):
            bases[case_on_machine(cell)].append(cell)
    speedups = []
    for cell in cells:
        speedup = _compare_to_best(cell, bases[case_on_machine(cell)], samples)
        if cell.seconds and not speedup.base_profile:
            reason = f"no CPU row in {_precision(cell, papers)} was measured to compare with"
            speedup = replace(speedup, reason=reason)
        published = _published_beside(cell, papers[cell.paper])
        speedups.append(replace(speedup, published=published))
    return speedups


def _precision(cell: Cell, papers: Papers) -> str:
    """Return the precision of the CPU rows that a cell is compared with."""
    return papers[cell.paper].experiments[cell.experiment].precision or FULL_PRECISION


def _compare_to_best(cell: Cell, candidates: Sequence[Cell], samples: Samples) -> Speedup:
    """Return the speedup of a cell over the fastest of the `candidates`; none without its time or candidates.

    Of several equally fast cells, a lucky one seems the fastest. So its rivals are compared with more confidence, and
    each rival is falsely called slower with a probability of at most 5 %: this happens only if another rival beats it
    by luck. Each other rival does so with a probability of at most (1 - confidence) / 2, and any rival with at most
    their sum (Bonferroni's inequality).
    """
    if not (cell.seconds and candidates):
        return Speedup(*cell.key, verdict="none", reason=cell.reason)
    base = min(candidates, key=attrgetter("seconds"))
    limit = RIVAL * base.time.value
    rivals = [rival for rival in candidates if rival.time.value <= limit]
    level = level_of_each((len(rivals) - 1) / 2) if cell in rivals else RATIO_LEVEL
    ratio = Estimate(1.0)
    verdict = "base"
    reasons = []
    if base is not cell:
        ratio, together = samples.ratio(base, cell, level)
        verdict, reason = verdict_of(ratio)
        reasons = [reason, "" if together else OTHER_SESSION]
    return Speedup(
        *cell.key,
        verdict=verdict,
        reason="; ".join(filter(None, reasons)),
        base_algorithm=base.algorithm,
        base_profile=base.profile,
        speedup=ratio.value,
        speedup_low=ratio.low,
        speedup_high=ratio.high,
        confidence=level,
    )


def published_speedup(paper: Paper, table: Experiment, case: str, row: str, over: Names = ()) -> Printed | None:
    """Return the paper's own speedup of `row` over the fastest of the rows `over`, by default the paper's CPU rows.

    Its value is computed from the printed numbers. If this is not possible, it is the printed speedup, which is over
    the fastest CPU row. The text is as printed if it is over the same row, else computed; with "~" if inferred. Return
    None if there is no printed speedup, or if `over` lacks a CPU row.
    """
    over = over or paper.cpu_rows
    printed = table.printed_speedup(case, row)
    value = table.speedup(case, row, over)
    if value is None and printed and set(paper.cpu_rows) <= set(over):
        value = printed.value
    if value is None:
        return None
    text = format_speedup(value)
    fastest = table.fastest(case, paper.cpu_rows)
    if printed and table.fastest(case, over) == fastest:
        text = f"{printed.text}x"
    number = table.printed(case, row)
    if number and number.text.startswith(INFERRED):
        text = INFERRED + text
    return Printed(value, text)


def _published_beside(cell: Cell, paper: Paper) -> Number:
    """Return the published speedup of the best published row that the cell is compared with.

    If the paper prints only speedups, the first one counts.
    """
    names = [cell.published_row] if cell.published_row else rows_beside(paper, cell, cell.architecture)
    table = paper.experiments[cell.experiment]
    for name in names:
        speedup = published_speedup(paper, table, cell.case, name)
        if speedup:
            return speedup.value
    return None
