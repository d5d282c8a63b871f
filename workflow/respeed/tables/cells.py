"""The tidy table of all cells, measured or not: results/tables/cells.csv."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from respeed.load.modules import runs, workload_backends, workload_precisions
from respeed.model.paper import Case, Experiment, Paper
from respeed.model.profile import Profile
from respeed.tables.rounds import CellKey, CellRounds
from respeed.tables.statistics import CONVERGED_HALF_WIDTH, Estimate, estimate_median, smallest_sample

# No program is faster than the product it is made of, but for the noise of both.
MAX_PEAK_SHARE = 1.05

# That of the paper. A row of another is measured and compared, but nothing is compared with it.
FULL_PRECISION = "fp32"

# What a row shows of its profile, and what decides on which programs it runs.
FACTS = ("label", "package", "architecture", "device", "backend", "precision")

COLUMNS = (
    "machine", "paper", "experiment", "case", "algorithm", "profile", "architecture", "package", "precision",
    "seconds", "seconds_low", "seconds_high", "rounds", "discarded", "status", "reason", "gflops", "peak_share",
    "error", "published_seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One row of cells.csv. `seconds` are those of the paper's unit of work (1 million examples, or one step).

    `algorithm` is the workload where the table tells several apart, or else empty. `error` is the largest against
    float64 of any array of a checked step, over the array's largest value.
    Not in the file: `label`, `is_cpu`, `workload`, `work` (FLOP of that unit), `round_seconds` (one a round).
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
    label: str
    is_cpu: bool
    workload: str
    work: float | None
    round_seconds: tuple[float, ...]

    @property
    def in_full_precision(self) -> bool:
        """Whether it may be set beside the paper's numbers, which are of single precision, and be a base."""
        return self.precision == FULL_PRECISION

    @property
    def row(self) -> tuple[str, str]:
        """The row of its table: how it ran, and by which algorithm."""
        return self.profile, self.algorithm

    @property
    def key(self) -> CellKey:
        return CellKey(self.machine, self.paper, self.experiment, self.case, self.workload, self.profile)


def make_cells(
    rounds: Mapping[CellKey, CellRounds],
    papers: Mapping[str, Paper],
    profiles: Mapping[str, Profile],
    sheets: Mapping[str, Mapping[str, Any]],
    smoke: bool,
) -> list[Cell]:
    """One cell for every machine, case and profile: those that records tell of, and those that are missing."""
    by_machine: dict[str, dict[str, Mapping[str, Any]]] = {machine: {} for machine in sheets}
    for key, cell in rounds.items():
        by_machine.setdefault(key.machine, {})[key.profile] = cell.profile
    cells = []
    for machine, measured in sorted(by_machine.items()):
        names = _profile_facts(measured, profiles)
        for paper, experiment, case in _cases(papers, smoke):
            for name, facts in names.items():
                if facts["backend"] not in workload_backends().get(case.workload, ()):
                    continue
                key = CellKey(machine, paper.name, experiment.name, case.name, case.workload, name)
                found = rounds.get(key)
                if found is None and not runs(case.workload, facts["backend"], facts["precision"]):
                    why = f"{case.workload} runs in {', '.join(workload_precisions()[case.workload])} alone"
                elif found and found.parameters and found.parameters != dict(case.parameters):
                    found, why = None, "measured at other parameters than the paper's file has now; measure again"
                else:
                    why = sheets.get(machine, {}).get("not_measurable", {}).get(name, "not measured yet")
                cells.append(_cell(key, found, facts, paper, experiment, experiment.steps(case), why))
    return cells


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
        if ran and any(ran[key] != getattr(profile, key) for key in ("backend", "device", "threads", "precision")):
            continue
        facts[profile.name] = {name: getattr(profile, name) for name in FACTS}
    order = ("single-cpu", "multi-cpu", "gpu", "tpu")
    return dict(sorted(facts.items(), key=lambda item: (order.index(item[1]["architecture"]), item[0])))


def _cell(
    key: CellKey,
    rounds: CellRounds | None,
    facts: Mapping[str, Any],
    paper: Paper,
    experiment: Experiment,
    steps: float,
    why_missing: str,
) -> Cell:
    algorithm = experiment.algorithms.get(key.workload)
    published = algorithm is None or facts["architecture"] in algorithm.published_for
    status, reason = _status(rounds, why_missing)
    estimate = _seconds(rounds, steps) if rounds and status in {"ok", "unconverged"} else None
    if estimate and rounds and status == "ok" and not estimate.converged:
        status, reason = "unconverged", _why_unconverged(estimate, rounds)
    rate = rounds.flops * steps / estimate.value if rounds and rounds.flops and estimate else None
    share = rate / rounds.peak if rate and rounds and rounds.peak else None
    if share and share > MAX_PEAK_SHARE:
        status, estimate = "failed", None
        reason = (
            f"{share:.0%} of the highest rate that a bare product reached here: the time or the FLOP count is wrong"
        )
    return Cell(
        **key._asdict(),
        algorithm=algorithm.workload if algorithm else "",
        architecture=facts["architecture"],
        package=facts["package"],
        precision=facts["precision"],
        seconds=estimate.value if estimate else None,
        seconds_low=estimate.low if estimate else None,
        seconds_high=estimate.high if estimate else None,
        rounds=len(rounds.times) if rounds else 0,
        discarded=rounds.discarded if rounds else 0,
        status=status,
        reason=reason,
        gflops=rate / 1e9 if rate and estimate else None,
        peak_share=share if estimate else None,
        error=rounds.error if rounds else None,
        published_seconds=paper.printed(key.experiment, key.case, facts["architecture"]) if published else None,
        label=f"{facts['label']}, {algorithm.label}" if algorithm else facts["label"],
        is_cpu=facts["device"] == "cpu",
        work=rounds.flops * steps if rounds and rounds.flops else None,
        round_seconds=tuple(steps * time.mean for time in rounds.times.values()) if rounds and estimate else (),
    )


def _status(rounds: CellRounds | None, why_missing: str) -> tuple[str, str]:
    if rounds is None:
        return "not-run", why_missing
    # One wrong result is enough: a program that is right most of the time is not right. A round that could not run,
    # for want of memory at that moment, say, is a missing round and no more.
    if "wrong" in rounds.failures:
        return "failed", rounds.failures["wrong"]
    if not rounds.times:
        for status in ("failed", "not-run"):
            if status in rounds.failures:
                return status, rounds.failures[status]
        if not rounds.blocks:
            return "not-run", "only run whole, in no round yet"
        causes = ", ".join(f"{cause} in {count}" for cause, count in rounds.causes.most_common())
        return "contaminated", f"no clean block of {rounds.blocks}: {causes}"
    if 2 * rounds.unsettled > len(rounds.times):
        return "unconverged", f"the step had not settled after warm-up in {rounds.unsettled} rounds"
    return "ok", ""


def _seconds(rounds: CellRounds, steps: float) -> Estimate:
    """Seconds of the whole work: its steps times the mean step of a round, the median of that over rounds."""
    return estimate_median([steps * time.mean for time in rounds.times.values()])


def _why_unconverged(estimate: Estimate, rounds: CellRounds) -> str:
    if estimate.low is None:
        reasons = [
            f"{len(rounds.times)} clean rounds; an interval needs {smallest_sample()}",
            *rounds.failures.values(),
        ]
        return "; ".join(reasons)
    return f"the interval is wider than +-{CONVERGED_HALF_WIDTH:.0%}"
