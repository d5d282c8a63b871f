"""Several cells together: speedups, and the sum of a table.

`Samples.ratio` makes the ratio of two cells in all tables: the base's seconds divided by the row's. This module makes:

    speedups.csv   the speedup of every cell over the fastest CPU row of its machine and case, in the table's precision
                   if it has one, or else in fp32, as papers have it
    machines.csv   for each case, the speedup of each machine's fastest row in fp32 over the fastest machine's
    cells.csv      one more case, the total, for each table whose cases add up
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from respeed.analysis.cells import across_precisions, doubt_of, published_beside, rows_beside
from respeed.analysis.columns import Fields, apply_dtypes, make_frame, rows_of
from respeed.analysis.estimates import (
    CELL_LEVEL,
    FULL_PRECISION,
    RATIO_LEVEL,
    RIVAL,
    Doubt,
    Estimate,
    Sessions,
    add_sessions,
    estimate_ratio,
    estimate_sum,
    half_of,
    level_among,
    verdict_of,
    what_is_missing,
    widen,
)
from respeed.analysis.rounds import CELL, CellKey, key_of
from respeed.model import INFERRED, Experiment, Paper, Papers
from respeed.text import format_speedup

CASE = ["paper", "experiment", "case"]
COLUMN = ["machine", *CASE]
BASE = ("base_machine", "base_algorithm", "base_profile")
RATIO = ("speedup", "speedup_low", "speedup_high", "confidence", "verdict", "reason", "together")
NO_BASE = "no CPU row in fp32 was measured to compare with"
OTHER_SESSION = "compared with rounds of another session"


class Samples:
    """The times of the rounds of every cell.

    Ratios and sums of cells get their intervals here. A cell is a row of the table of cells.
    """

    def __init__(self, rounds: pd.DataFrame) -> None:
        # The start time of a process tells which rounds of two cells are from the same process. Round numbers do not,
        # as a process may lack one of the cells.
        self._by_process: dict[CellKey, dict[str, float]] = defaultdict(dict)
        self._by_session: dict[CellKey, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._parts: dict[CellKey, list[Any]] = {}
        self._doubts: dict[CellKey, Doubt] = {}
        timed: dict[CellKey, list[Any]] = defaultdict(list)
        columns = [*CELL, "is_cpu", "session", "started", "step_seconds", "slope_error", "quiet_error"]
        for row in rows_of(rounds.loc[rounds["step_seconds"].notna(), columns]):
            key = key_of(row)
            timed[key].append(row)
            self._by_process[key][row.started] = row.step_seconds
            self._by_session[key][row.session].append(row.step_seconds)
        self._doubts = {key: doubt_of(mine) for key, mine in timed.items()}

    def by_session(self, cell: Any) -> Sessions:
        """Return the seconds of a step in each round of the cell, by session; speedups are made from them."""
        return self._by_session[key_of(cell)]

    def doubt(self, cell: Any) -> Doubt:
        """Return the errors of a cell that its rounds do not show; of a total, its parts' mean, weighted by seconds."""
        parts = self._parts.get(key_of(cell))
        if not parts:
            return self._doubts[key_of(cell)]
        doubts, weights = [self.doubt(part) for part in parts], [part.seconds for part in parts]
        slope, quiet = np.average([doubt[:2] for doubt in doubts], axis=0, weights=weights)
        return doubts[0]._replace(slope=float(slope), quiet=float(quiet))

    def keys_of(self, cell: Any) -> list[CellKey]:
        """Return the keys of the cells that were timed: the cell itself, or the parts of a total."""
        return [key_of(part) for part in self._parts.get(key_of(cell), [cell])]

    def ratio(
        self, base: Any, cell: Any, confidence: float = RATIO_LEVEL, *, is_one_machine: bool | None = None
    ) -> tuple[Estimate, bool]:
        """Estimate t_base / t_cell, and return whether the ratio is from rounds of the same sessions.

        Two machines never have the same sessions: by default, the cells' names tell whether the machine is one. The
        ratio of two totals is the ratio of their sums.
        """
        spreads = self.doubt(base).between, self.doubt(cell).between
        if key_of(cell) not in self._parts:
            seconds = self.by_session(base), self.by_session(cell)
            is_one = base.machine == cell.machine if is_one_machine is None else is_one_machine
            ratio, together = estimate_ratio(*seconds, confidence, one_machine=is_one, spreads=spreads)
        else:
            over, parts = self._parts[key_of(base)], self._parts[key_of(cell)]
            ratio = estimate_sum([self._by_case(over)], [self._by_case(parts)], confidence)
            sessions = self._longest(over), self._longest(parts)
            together = bool(sessions[0].keys() & sessions[1].keys())
            ratio = ratio if together else add_sessions(ratio, sessions, confidence, spreads)
        return self._with_doubts(ratio, base, cell, confidence), together

    def _with_doubts(self, ratio: Estimate, base: Any, cell: Any, confidence: float) -> Estimate:
        """Widen a ratio by the errors that the rounds of its cells do not show."""
        doubts = self.doubt(base), self.doubt(cell)
        whole = widen(ratio, doubts[0].over(doubts[1]), confidence)
        return replace(whole, shared=half_of(doubts[0].shared(doubts[1]), confidence))

    def total(self, total: CellKey, parts: list[Any]) -> Estimate:
        """Estimate the seconds of several cells of a row together, and remember the cells as the parts of `total`."""
        self._parts[total] = parts
        doubt = self.doubt(parts[0]._replace(case=total.case))
        in_session = estimate_sum([self._by_case(parts)])
        seconds = add_sessions(in_session, [self._longest(parts)], CELL_LEVEL, [doubt.between])
        return widen(seconds, doubt.error, CELL_LEVEL)

    def _longest(self, cells: Iterable[Any]) -> Sessions:
        """Return the rounds of the cell that was measured in the most sessions."""
        return max(map(self.by_session, cells), key=len)

    def _by_case(self, cells: Iterable[Any]) -> dict[str, dict[str, float]]:
        """Return the seconds of cells of one row, by case and process: the processes of a row measure all its cells."""
        seconds = {}
        for cell in cells:
            means = self._by_process[key_of(cell)]
            seconds[cell.case] = {process: cell.steps * mean for process, mean in means.items()}
        return seconds


def times_the_work(base: Any, cell: Any) -> float:
    """Return the cell's work per step divided by the base's, as the table's unit counts work; 1 if not counted."""
    return (cell.amount / cell.steps) / (base.amount / base.steps) if base.amount and cell.amount else 1.0


def add_totals(cells: pd.DataFrame, samples: Samples, papers: Papers) -> pd.DataFrame:
    """Add a total, the sum of the cases, to every table whose cases add up, on each row that has a case.

    If a case has no time, the total has no time; `reason` names such a case, or has the reason that all cases share.
    """
    totals = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            of_table = cells[(cells["paper"] == paper.name) & (cells["experiment"] == experiment.name)]
            if experiment.total:
                for _, parts in of_table.groupby(["machine", "profile"], sort=False):
                    totals.append(_add_up(parts, samples, paper, experiment))
    return pd.concat([cells, make_frame(totals, "cells")], ignore_index=True) if totals else cells


_OF_A_ROW = [
    "machine", "paper", "experiment", "algorithm", "profile", "architecture", "package", "precision", "label", "is_cpu",
    "device", "threads", "peak_gflops", "bandwidth_gbytes", "currency",
]  # fmt: skip
_ADDED = ["seconds_measured", "flops", "traffic_bytes", "expected_seconds", "joules", "cost", "discarded"]


def _add_up(column: pd.DataFrame, samples: Samples, paper: Paper, experiment: Experiment) -> Fields:
    """Return the total of the cells of one row in a table, as a cell."""
    parts = list(rows_of(column))
    first, name = parts[0], experiment.total_case
    total = {
        **column.iloc[0][_OF_A_ROW],
        **column[_ADDED].sum(min_count=1),
        **published_beside(paper, experiment.name, name, first.architecture, first.algorithm),
        "case": name,
        "work": experiment.total,
        "steps": 1.0,
        "rounds": column["rounds"].min(),
        "sessions": column["sessions"].max(),
        "error": column["error"].max(),
    }
    missing = [part for part in parts if not part.seconds]
    absent = set(experiment.case_names()) - {name, *column["case"]}
    if absent:
        return total | {"status": "not-run", "reason": f"{min(absent)}: cannot run on this row"}
    if missing:
        is_shared = len(missing) == len(parts) and len({part.reason for part in missing}) == 1
        reason = missing[0].reason if is_shared else f"{missing[0].case}: {missing[0].reason}"
        return total | {"status": missing[0].status, "reason": reason}
    seconds = samples.total(key_of(first)._replace(case=name), parts)
    why = what_is_missing(seconds, total["rounds"])
    gflops = total["flops"] / seconds.value / 1e9
    return {
        **total,
        **seconds.columns("seconds"),
        "status": "wide" if why else "settled",
        "reason": why,
        "gflops": gflops,
        "peak_share": gflops / total["peak_gflops"],
    }


def compare_to_best(cells: pd.DataFrame, samples: Samples, by: list[str], may_be_base: pd.Series) -> pd.DataFrame:
    """Compare every cell with its base: of the cells with the same values in `by`, the fastest that `may_be_base`.

    Of several equally fast cells, a lucky one seems the fastest. So its rivals are compared with more confidence, and
    each rival is falsely called slower with a probability of at most 5 %.

    Returns
    -------
    DataFrame
        base_machine, base_algorithm, base_profile; speedup, the seconds of the base divided by the seconds of the cell,
        with its interval speedup_low, speedup_high and confidence; verdict ("base", the verdict on the speedup, or
        "none" without a base or seconds) and reason; together, whether the speedup is from rounds of the same sessions.
    """
    best = cells[may_be_base & cells["seconds"].notna()].groupby(by)["seconds"].idxmin()
    base = cells[by].join(best.rename("base"), on=by)["base"]
    is_rival = may_be_base & (cells["seconds"] <= RIVAL * base.map(cells["seconds"]))
    rivals = is_rival.groupby([cells[name] for name in by]).transform("sum")
    rows = dict(zip(cells.index, rows_of(cells), strict=True))
    compared = []
    for row, other, rival, count in zip(rows.values(), base, is_rival, rivals, strict=True):
        confidence = level_among(count) if rival else RATIO_LEVEL
        compared.append(_compare(row, rows.get(other), samples, confidence))
    return pd.DataFrame(compared, cells.index, [*BASE, *RATIO])


def _compare(row: Any, base: Any, samples: Samples, confidence: float) -> Fields:
    if base is None or row.seconds is None:
        return dict.fromkeys(BASE, "") | {"verdict": "none", "reason": "", "together": True}
    ratio, verdict, reason, together = Estimate(1.0), "base", "", True
    if row is not base:
        ratio, together = samples.ratio(base, row, confidence)
        verdict, reason = verdict_of(ratio)
    return {
        "base_machine": base.machine,
        "base_algorithm": base.algorithm,
        "base_profile": base.profile,
        **ratio.columns("speedup"),
        "confidence": confidence,
        "verdict": verdict,
        "reason": reason,
        "together": together,
    }


def compare_to_fastest_cpu(cells: pd.DataFrame, samples: Samples, papers: Papers) -> pd.DataFrame:
    """Return the cells, each compared with the fastest CPU row of its machine and case in the table's precision.

    The precision is fp32 if the table has none.
    """
    tables = zip(cells["paper"], cells["experiment"], strict=True)
    own = [papers[paper].experiments[table].precision or FULL_PRECISION for paper, table in tables]
    may_be_base = cells["is_cpu"] & (cells["precision"] == own)
    return cells.drop(columns="reason").join(compare_to_best(cells, samples, COLUMN, may_be_base))


def make_speedups(cells: pd.DataFrame, samples: Samples, papers: Papers) -> pd.DataFrame:
    """Make a speedup for every cell. A row in another precision than the table's (by default fp32) is never a base."""
    compared = compare_to_fastest_cpu(cells, samples, papers)
    published = [_published_beside(cell, papers[cell.paper]) for cell in rows_of(cells)]
    compared = compared.join(pd.DataFrame(published, compared.index, ["published", "published_precisions"]))
    reason = compared["reason"].mask(
        compared["verdict"] == "none", cells["reason"].where(cells["seconds"].isna(), NO_BASE)
    )
    other_session = (reason + "; ").where(reason != "", "") + OTHER_SESSION
    compared["reason"] = reason.where(compared["together"], other_session)
    return apply_dtypes(compared, "speedups")


def published_speedup(paper: Paper, experiment: str, case: str, row: str, over: Collection[str] = ()) -> float | None:
    """Return the paper's own speedup of `row` over the fastest of the rows `over`, by default the paper's CPU rows.

    The speedup is computed from the printed numbers. If this is not possible, it is the printed speedup, which is over
    the fastest CPU row. Return None if there is no printed speedup, or if `over` lacks a CPU row.
    """
    over = over or paper.cpu_rows
    printed = paper.printed_speedup(experiment, case, row)
    from_numbers = paper.speedup(experiment, case, row, over)
    return from_numbers or (printed.value if printed and set(paper.cpu_rows) <= set(over) else None)


def published_text(paper: Paper, experiment: str, case: str, row: str, over: Collection[str] = ()) -> str:
    """Return the paper's own speedup as text: printed if it is over the same row, else computed; with "~" if inferred.

    The text is empty if there is no such speedup.
    """
    printed, number = paper.printed_speedup(experiment, case, row), paper.printed(experiment, case, row)
    bases = [paper.fastest(experiment, case, rows) for rows in (over or paper.cpu_rows, paper.cpu_rows)]
    value = published_speedup(paper, experiment, case, row, over)
    text = f"{printed.text}x" if printed and bases[0] == bases[1] else format_speedup(value)
    return INFERRED + text if text and number and number.text.startswith(INFERRED) else text


def _published_beside(cell: Any, paper: Paper) -> tuple[float | None, str]:
    """Return the published speedup of the best published row that the cell is compared with, and a mark.

    The mark has the precisions of both sides if they differ. If the paper prints only speedups, the first one counts.
    """
    beside = rows_beside(paper, cell.experiment, cell.architecture, cell.algorithm)
    names = [cell.published_row] if cell.published_row else [row.name for row in beside]
    speedups = (published_speedup(paper, cell.experiment, cell.case, name) for name in names)
    value = next(filter(None, speedups), None)
    base = paper.fastest(cell.experiment, cell.case, paper.cpu_rows)
    if not (cell.published_row and base):
        return value, ""
    return value, across_precisions(paper.rows[cell.published_row].precision, [base.precision])


def compare_machines(cells: pd.DataFrame, samples: Samples) -> pd.DataFrame:
    """Compare machines: make a row for every machine in each case that more than one machine measured.

    A row has the fastest machine's seconds divided by this machine's, each on its fastest row in fp32. A machine whose
    interval includes 1 shares the first place.
    """
    timed = cells[(cells["seconds"] > 0) & (cells["precision"] == FULL_PRECISION)]
    fastest = timed.loc[timed.groupby([*CASE, "machine"], sort=False)["seconds"].idxmin()]
    fastest = fastest[fastest.groupby(CASE)["machine"].transform("size") > 1].drop(columns="reason")
    compared = compare_to_best(fastest, samples, CASE, pd.Series(True, fastest.index))
    case = fastest.groupby(CASE, sort=False).ngroup()
    return apply_dtypes(fastest.join(compared).loc[case.sort_values(kind="stable").index], "machines")
