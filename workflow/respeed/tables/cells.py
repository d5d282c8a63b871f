"""Cells as objects, for readers that have not moved to the frame of respeed.analysis.cells yet."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from respeed.analysis.cells import rows_beside
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.rounds import CellKey
from respeed.model.paper import Paper
from respeed.model.precision import number_bytes


@dataclass(frozen=True)
class Cell:
    """One row of cells.csv. `seconds` are those of the paper's unit of work (1 million examples, or one step).

    `published_seconds` are those of the best of the published rows that it answers, `published_row` its name.
    `algorithm` is the workload where the table tells several apart, or else empty. `error` is the largest against
    float64 of any array of a checked step, over the array's largest value. `seconds_median` is the plain median over
    rounds, beside the estimate that the interval belongs to; `sessions` says in how many the rounds were measured, and
    `measured_in` in which experiment.
    Not in the file: `label`, `is_cpu`, `workload`, `work` and `traffic` (FLOP and bytes of that unit), `amount` (how
    much of what the table's unit counts), `answers` (the published rows beside it, of its algorithm), and
    `round_seconds` (one a round).
    """

    machine: str
    paper: str
    experiment: str
    case: str
    algorithm: str
    profile: str
    architecture: str
    package: str
    precision: str
    seconds: float | None
    seconds_low: float | None
    seconds_high: float | None
    rounds: int
    discarded: int
    status: str
    reason: str
    gflops: float | None
    peak_share: float | None
    error: float | None
    published_seconds: float | None
    published_row: str
    seconds_median: float | None
    sessions: int
    measured_in: str
    label: str
    is_cpu: bool
    workload: str
    work: float | None
    traffic: float | None
    amount: float | None
    answers: tuple[str, ...]
    round_seconds: tuple[float, ...]

    @property
    def in_full_precision(self) -> bool:
        """Whether it may be a base, and stands in figures of one precision."""
        return self.precision == FULL_PRECISION

    @property
    def traffic_of_fp32(self) -> float | None:
        """The bytes at 4 a number, as those of another precision are worked out from."""
        return _of_fp32(self.traffic, self.precision)

    @property
    def row(self) -> tuple[str, str]:
        """The row of its table: how it ran, and by which algorithm."""
        return self.profile, self.algorithm

    @property
    def key(self) -> CellKey:
        """Where its rounds are found."""
        return CellKey(self.machine, self.paper, self.measured_in, self.case, self.workload, self.profile)


def cells_of(frame: pd.DataFrame, papers: Mapping[str, Paper]) -> Iterator[Cell]:
    """The rows of the frame."""
    for row in rows_of(frame):
        told: dict[str, Any] = {name: getattr(row, name, None) for name in Cell.__dataclass_fields__}
        beside = rows_beside(papers[row.paper], row.experiment, row.architecture, row.algorithm)
        yield Cell(**told | {
            "workload": row.algorithm, "work": row.flops, "traffic": row.traffic_bytes,
            "algorithm": row.algorithm if papers[row.paper].experiments[row.experiment].algorithms else "",
            "answers": tuple(one.name for one in beside), "round_seconds": (),
        })  # fmt: skip


def _of_fp32(traffic: float | None, precision: str) -> float | None:
    return traffic * number_bytes(FULL_PRECISION) / number_bytes(precision) if traffic else None
