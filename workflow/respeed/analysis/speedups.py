"""results/tables/speedups.csv: the fastest CPU row in fp32 of the same machine over every cell, as papers have it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from respeed.analysis.cells import rows_beside
from respeed.analysis.columns import apply_dtypes, rows_of
from respeed.analysis.estimates import (
    FULL_PRECISION,
    RIVAL,
    TWO_LOOKS,
    Sessions,
    compare_rounds,
    confidence_among,
    verdict_of,
)
from respeed.analysis.labels import across_precisions
from respeed.analysis.rounds import CellKey, key_of, seconds_by_session
from respeed.model.paper import Paper

COLUMN = ["machine", "paper", "experiment", "case"]
OTHER_SESSION = "compared with rounds of another session"


def make_speedups(cells: pd.DataFrame, rounds: pd.DataFrame, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """A speedup for every cell. A row of another precision than fp32 has one, and is no base."""
    compared = compare_to_fastest(cells, seconds_by_session(rounds))
    published = [published_speedup_of(cell, papers[cell.paper]) for cell in rows_of(cells)]
    names = ["published", "published_precisions"]
    return apply_dtypes(compared.join(pd.DataFrame(published, index=compared.index, columns=names)), "speedups")


def compare_to_fastest(cells: pd.DataFrame, seconds: Mapping[CellKey, Sessions]) -> pd.DataFrame:
    """The cells, each with what it is over the base, the fastest CPU row in fp32 of its machine and case: base_*,
    speedup with its interval and the confidence of that, and the verdict with its reason.

    The fastest of several rows that are equally fast is the luckiest: its rivals are compared with more confidence, so
    that each is falsely called slower in at most 5 %.
    """
    bases = cells[cells["seconds"].notna() & cells["is_cpu"] & (cells["precision"] == FULL_PRECISION)]
    fastest = bases.loc[bases.groupby(COLUMN)["seconds"].idxmin()].set_index(COLUMN)
    named = fastest[["algorithm", "profile", "measured_in", "seconds"]].add_prefix("base_")
    rows = cells.join(named, on=COLUMN)
    is_rival = (rows["seconds"] <= RIVAL * rows["base_seconds"]) & rows.index.isin(bases.index)
    rivals = is_rival.groupby([rows[name] for name in COLUMN]).transform("sum")
    confidence = np.where(
        is_rival, rivals.map({count: confidence_among(count) for count in rivals.unique()}), TWO_LOOKS
    )
    found = [_compare(row, seconds, one) for row, one in zip(rows_of(rows), confidence, strict=True)]
    names = ["speedup", "speedup_low", "speedup_high", "verdict", "reason"]
    rows[names] = pd.DataFrame(found, index=rows.index, columns=names)
    is_compared = rows["speedup"].notna()
    rows["confidence"] = np.where(is_compared, confidence, np.nan)
    base = ["base_algorithm", "base_profile"]
    rows[base] = rows[base].where(is_compared, "")
    return rows


def _compare(row: Any, seconds: Mapping[CellKey, Sessions], confidence: float) -> tuple[Any, ...]:
    if not row.seconds:
        return None, None, None, "none", row.reason
    if not row.base_profile:
        return None, None, None, "none", "no CPU row in fp32 was measured to compare with"
    mine = key_of(row)
    base = CellKey(row.machine, row.paper, row.base_measured_in, row.case, row.base_algorithm, row.base_profile)
    if mine == base:
        return 1.0, None, None, "base", ""
    estimate, together = compare_rounds(seconds[base], seconds[mine], confidence)
    verdict, reason = verdict_of(estimate)
    reason = "; ".join(filter(None, [reason, "" if together else OTHER_SESSION]))
    return estimate.value, estimate.low, estimate.high, verdict, reason


def published_speedup(paper: Paper, experiment: str, case: str, row: str) -> float | None:
    """The paper's own, over its fastest CPU row: what its numbers make, or else what it prints."""
    made = paper.speedup(experiment, case, row, paper.cpu_rows)
    printed = paper.printed_speedup(experiment, case, row)
    return made or (printed.value if printed else None)


def published_speedup_of(cell: Any, paper: Paper) -> tuple[float | None, str]:
    """That of the best of the published rows that the cell stands beside, and a mark where it is across precisions; of
    rows that print nothing else, that of the first."""
    beside = rows_beside(paper, cell.experiment, cell.architecture, cell.algorithm)
    names = [cell.published_row] if cell.published_row else [row.name for row in beside]
    found = (published_speedup(paper, cell.experiment, cell.case, name) for name in names)
    value = next((one for one in found if one), None)
    base = paper.fastest(cell.experiment, cell.case, paper.cpu_rows)
    if not (cell.published_row and base):
        return value, ""
    return value, across_precisions(paper.row(cell.published_row).precision, [base.precision])
