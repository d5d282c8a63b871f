"""The tidy table of all speedups over the fastest CPU row of the same machine: results/tables/speedups.csv."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby

from respeed.model.paper import Paper
from respeed.tables.cells import Cell
from respeed.tables.rounds import CellKey, CellRounds
from respeed.tables.statistics import Estimate, estimate_median, ratio_of_medians, smallest_sample

COLUMNS = (
    "machine", "paper", "experiment", "case", "algorithm", "profile", "precision", "base_algorithm",
    "base_profile", "speedup", "speedup_low", "speedup_high", "published", "verdict", "reason",
)  # fmt: skip

# Rounds further apart than this were not taken in turns. A round of a table lasts minutes.
PAIRED_WITHIN = timedelta(hours=1)

CPU_ARCHITECTURES = ("single-cpu", "multi-cpu")


@dataclass(frozen=True)
class Speedup:
    """One row of speedups.csv. `verdict` is faster, slower, indistinguishable, base, unproven or none."""

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
    verdict: str
    reason: str
    label: str
    is_cpu: bool
    workload: str

    @property
    def row(self) -> tuple[str, str]:
        """The row of its table: how it ran, and by which algorithm."""
        return self.profile, self.algorithm


def make_speedups(
    cells: list[Cell], rounds: Mapping[CellKey, CellRounds], papers: Mapping[str, Paper]
) -> list[Speedup]:
    """A speedup for every cell: the fastest CPU row in fp32 of its machine and case over it, as the paper has it.

    A row of lower precision has a speedup, which its label and its column `precision` tell, and is no base.
    """
    speedups = []
    for _, group in groupby(cells, key=lambda cell: (cell.machine, cell.paper, cell.experiment, cell.case)):
        column = list(group)
        base = min(
            (cell for cell in column if cell.is_cpu and cell.in_full_precision and cell.seconds),
            key=lambda cell: cell.seconds or 0,
            default=None,
        )
        speedups += [_speedup(cell, base, rounds, papers[cell.paper]) for cell in column]
    return speedups


def published_speedup(paper: Paper, experiment: str, case: str, architecture: str) -> float | None:
    """The paper's own: its fastest CPU seconds over the architecture's; None where it prints none of the two."""
    seconds = paper.printed(experiment, case, architecture)
    cpu = [paper.printed(experiment, case, name) for name in CPU_ARCHITECTURES]
    fastest = min((value for value in cpu if value), default=None)
    return fastest / seconds if fastest and seconds else None


def round_speedup(base: CellRounds, cell: CellRounds) -> Estimate:
    """exp of the median over rounds of log(t_base / t), paired by round.

    Profiles take turns within a round, so that a machine that is slow for a while slows both of a pair. Rounds that
    only share a number, measured in different sessions, are no pairs: where too few are left, the rounds of each are
    resampled by themselves, as across machines.
    """
    common = [
        index
        for index in sorted(base.times.keys() & cell.times.keys())
        if abs(base.times[index].started - cell.times[index].started) <= PAIRED_WITHIN
    ]
    if len(common) < min(len(base.times), len(cell.times), smallest_sample()):
        return ratio_of_medians(base.medians, cell.medians)
    logs = estimate_median([math.log(base.times[index].median / cell.times[index].median) for index in common])
    low, high = (None if bound is None else math.exp(bound) for bound in (logs.low, logs.high))
    return Estimate(math.exp(logs.value), low, high)


def _speedup(cell: Cell, base: Cell | None, rounds: Mapping[CellKey, CellRounds], paper: Paper) -> Speedup:
    estimate, verdict, reason = None, "none", cell.reason
    if cell.seconds and base:
        estimate = round_speedup(rounds[base.key], rounds[cell.key])
        verdict, reason = verdict_of(estimate, is_base=cell is base)
    elif cell.seconds:
        reason = "no CPU row in fp32 was measured to compare with"
    return Speedup(
        machine=cell.machine,
        paper=cell.paper,
        experiment=cell.experiment,
        case=cell.case,
        algorithm=cell.algorithm,
        profile=cell.profile,
        precision=cell.precision,
        base_algorithm=base.algorithm if base else "",
        base_profile=base.profile if base else "",
        speedup=estimate.value if estimate else None,
        speedup_low=estimate.low if estimate else None,
        speedup_high=estimate.high if estimate else None,
        published=published_speedup(paper, cell.experiment, cell.case, cell.architecture)
        if cell.published_seconds
        else None,
        verdict=verdict,
        reason=reason,
        label=cell.label,
        is_cpu=cell.is_cpu,
        workload=cell.workload,
    )


def verdict_of(estimate: Estimate, *, is_base: bool) -> tuple[str, str]:
    """What may be said of a speedup, and why not more: "faster" only of an interval that excludes 1."""
    if is_base:
        return "base", ""
    if estimate.low is None or estimate.high is None:
        return "unproven", "too few rounds for an interval"
    if estimate.low > 1:
        return "faster", ""
    if estimate.high < 1:
        return "slower", ""
    return "indistinguishable", "the interval includes 1"
