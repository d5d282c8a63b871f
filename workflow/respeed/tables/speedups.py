"""Speedups as objects, for readers that have not moved to the frame of respeed.analysis.speedups yet."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from respeed.analysis.columns import rows_of
from respeed.model.paper import Paper


@dataclass(frozen=True)
class Speedup:
    """One row of speedups.csv. `verdict` is faster, slower, indistinguishable, base, unproven or none; the interval is
    one of `confidence`, at which a verdict is false in at most 5 % (estimators.speedup)."""

    machine: str
    paper: str
    experiment: str
    case: str
    algorithm: str
    profile: str
    precision: str
    base_algorithm: str
    base_profile: str
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    published: float | None
    published_precisions: str
    verdict: str
    reason: str
    confidence: float | None
    label: str
    is_cpu: bool
    workload: str

    @property
    def row(self) -> tuple[str, str]:
        """The row of its table: how it ran, and by which algorithm."""
        return self.profile, self.algorithm


def speedups_of(frame: pd.DataFrame, papers: Mapping[str, Paper]) -> Iterator[Speedup]:
    """The rows of the frame."""
    for row in rows_of(frame):
        told: dict[str, Any] = {name: getattr(row, name, None) for name in Speedup.__dataclass_fields__}
        told["workload"] = row.algorithm
        if not papers[row.paper].experiments[row.experiment].algorithms:
            told |= {"algorithm": "", "base_algorithm": ""}
        yield Speedup(**told)
