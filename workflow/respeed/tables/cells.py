"""The tidy table of all cells, measured or not: results/tables/cells.csv."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from respeed.analysis.labels import tell_apart
from respeed.estimators.cell import Judged, judge_cell
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import FULL_PRECISION
from respeed.inputs.profiles import Profile, other_library
from respeed.inputs.registry import backends_of, why_not_run
from respeed.model.paper import ARCHITECTURES, Case, Experiment, Paper
from respeed.model.precision import number_bytes

# What a row shows of its profile, and what decides on which programs it runs.
FACTS = ("label", "package", "architecture", "device", "backend", "precision")

# What decides how a row ran. Records of before tell nothing of the last two, which were as they are by default.
DECIDING = ("backend", "device", "threads", "precision", "cpus", "smt")

# Why there is no time where nothing stands in the way of one.
NOT_YET = "not measured yet"
OTHER_PARAMETERS = "measured at other parameters than the paper's file has now; measure again"

COLUMNS = (
    "machine", "paper", "experiment", "case", "algorithm", "profile", "architecture", "package", "precision",
    "seconds", "seconds_low", "seconds_high", "rounds", "discarded", "status", "reason", "gflops", "peak_share",
    "error", "published_seconds", "published_row", "seconds_median", "sessions", "measured_in",
)  # fmt: skip


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


def make_cells(
    rounds: Mapping[CellKey, CellRounds],
    papers: Mapping[str, Paper],
    profiles: Mapping[str, Profile],
    descriptions: Mapping[str, Mapping[str, Any]],
    smoke: bool,
) -> list[Cell]:
    """One cell for every machine, case and profile: those that records tell of, and those that are missing."""
    by_machine: dict[str, dict[str, Mapping[str, Any]]] = {machine: {} for machine in descriptions}
    for key, cell in rounds.items():
        by_machine.setdefault(key.machine, {})[key.profile] = cell.profile
    cells = []
    for machine, measured in sorted(by_machine.items()):
        hardware = descriptions.get(machine, {}).get("hardware", {})
        names = _profile_facts(
            measured, {name: profile for name, profile in profiles.items() if not other_library(profile, hardware)}
        )
        for paper, experiment, case in _cases(papers, smoke):
            for name, facts in names.items():
                if not _has_row(experiment, case, facts["backend"], smoke):
                    continue
                if not experiment.runs_on(case.workload, facts["architecture"]):
                    continue
                key = CellKey(machine, paper.name, experiment.source(case.name), case.name, case.workload, name)
                found = rounds.get(key)
                cannot = why_not_run(case.workload, facts["backend"], facts["precision"])
                if found is None and cannot:
                    why = cannot
                elif found and found.parameters and found.parameters != dict(case.parameters):
                    found, why = None, OTHER_PARAMETERS
                else:
                    why = descriptions.get(machine, {}).get("not_measurable", {}).get(name, NOT_YET)
                cells.append(_cell(key, found, facts, paper, experiment, case, why))
    return cells


def _has_row(experiment: Experiment, case: Case, backend: str, smoke: bool) -> bool:
    """Whether the backend runs any case of the row that the case stands in: of its algorithm, or of the table."""
    every = experiment.smoke_cases if smoke else experiment.cases
    workloads = {case.workload} if experiment.algorithms else {other.workload for other in every}
    return any(backend in backends_of(workload) for workload in workloads)


def _cases(papers: Mapping[str, Paper], smoke: bool) -> Iterator[tuple[Paper, Experiment, Case]]:
    for paper in papers.values():
        for experiment in paper.experiments.values():
            for case in experiment.smoke_cases if smoke else experiment.cases:
                yield paper, experiment, case


def _profile_facts(
    measured: Mapping[str, Mapping[str, Any]], profiles: Mapping[str, Profile]
) -> dict[str, dict[str, Any]]:
    """Label, package, architecture and device of every profile: from its file, or else from the records."""
    facts = {profile: {name: ran[name] for name in FACTS} for profile, ran in measured.items()}
    for profile in profiles.values():
        if profile.optional and profile.name not in measured:
            continue
        # A file of that name says something else here than where the records were made: theirs is what ran.
        ran = measured.get(profile.name)
        if ran and any((ran.get(key) or None) != (getattr(profile, key) or None) for key in DECIDING):
            continue
        facts[profile.name] = {name: getattr(profile, name) for name in FACTS}
    facts = tell_apart(facts)
    return dict(sorted(facts.items(), key=lambda item: (ARCHITECTURES.index(item[1]["architecture"]), item[0])))


def _cell(
    key: CellKey,
    rounds: CellRounds | None,
    facts: Mapping[str, Any],
    paper: Paper,
    experiment: Experiment,
    case: Case,
    why_missing: str,
) -> Cell:
    algorithm, steps = experiment.algorithms.get(key.workload), experiment.steps(case)
    answers = tuple(
        row.name
        for row in paper.rows_beside(facts["architecture"])
        if algorithm is None or row.name in algorithm.published_for
    )
    judged = judge_cell(rounds) if rounds else Judged("not-run", why_missing)
    step = judged.step
    flops, moved = (rounds.flops, rounds.traffic_bytes) if rounds else (None, None)
    work, traffic = (one * steps if one else None for one in (flops, moved))
    of_fp32 = _of_fp32(traffic, facts["precision"])
    theirs = paper.fastest(experiment.name, key.case, answers)
    return Cell(
        machine=key.machine,
        paper=key.paper,
        experiment=experiment.name,
        case=key.case,
        workload=key.workload,
        profile=key.profile,
        algorithm=algorithm.workload if algorithm else "",
        architecture=facts["architecture"],
        package=facts["package"],
        precision=facts["precision"],
        seconds=steps * step.value if step else None,
        seconds_low=steps * step.low if step and step.low else None,
        seconds_high=steps * step.high if step and step.high else None,
        rounds=len(rounds.times) if rounds else 0,
        discarded=rounds.discarded if rounds else 0,
        status=judged.status,
        reason=judged.reason,
        gflops=flops / step.value / 1e9 if flops and step else None,
        peak_share=judged.peak_share,
        error=rounds.error if rounds else None,
        published_seconds=paper.seconds(experiment.name, key.case, theirs.name, work, of_fp32) if theirs else None,
        published_row=theirs.name if theirs else "",
        seconds_median=steps * float(np.median(rounds.means)) if rounds and step else None,
        sessions=len({time.session for time in rounds.times.values()}) if rounds else 0,
        measured_in=key.experiment,
        label=f"{facts['label']}, {algorithm.label}" if algorithm else facts["label"],
        is_cpu=facts["device"] == "cpu",
        work=work,
        traffic=traffic,
        amount=experiment.amount(case, work, traffic),
        answers=answers,
        round_seconds=tuple(steps * seconds for seconds in rounds.means) if rounds and step else (),
    )


def _of_fp32(traffic: float | None, precision: str) -> float | None:
    return traffic * number_bytes(FULL_PRECISION) / number_bytes(precision) if traffic else None
