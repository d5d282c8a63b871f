"""About how long what is still to be measured will take."""

import statistics
from collections.abc import Callable, Iterable, Mapping

from respeed.load.hardware import load_profile
from respeed.load.modules import runs
from respeed.model.paper import Case, Paper
from respeed.model.round import RoundId
from respeed.plan.usable import why_unusable
from respeed.record.files import readable
from respeed.record.paths import records_folder, round_path

# A smoke round is mostly the start of its process.
SMOKE_ROUND_SECONDS = 1.5


def rounds_to_measure(planned: Iterable[RoundId], digest: Callable[[RoundId], str]) -> list[RoundId]:
    """Those of the planned rounds that have no record, or one that cannot be used: not of the `digest` it must have."""
    found = []
    for round_id in planned:
        path = round_path(round_id)
        if not path.exists() or why_unusable(path, digest(round_id)):
            found.append(round_id)
    return found


def estimate_seconds(rounds: Iterable[RoundId], papers: Mapping[str, Paper]) -> float:
    """Seconds that the rounds will take: as this machine's earlier rounds, or else as the paper's file guesses."""
    known: dict[tuple[str, ...], float] = {}
    total = 0.0
    for round_id in rounds:
        key = (round_id.machine, round_id.paper, round_id.experiment, round_id.profile, str(round_id.whole))
        if key not in known:
            known[key] = _one_round(round_id, papers[round_id.paper])
        total += known[key]
    return total


def _one_round(round_id: RoundId, paper: Paper) -> float:
    folder = records_folder(round_id.smoke) / round_id.machine / round_id.paper / round_id.experiment
    records = list(readable(sorted((folder / round_id.profile).glob("round-[0-9][0-9].json"))))
    experiment = paper.experiments[round_id.experiment]
    if round_id.whole:
        profile = load_profile(round_id.profile)
        cases = [case for case in experiment.cases if runs(case.workload, profile.backend, profile.precision)]
        return sum(_whole_seconds(records, case) * experiment.steps(case) for case in cases)
    if records:
        return float(statistics.median(record["wall_seconds"] for record in records))
    return SMOKE_ROUND_SECONDS if round_id.smoke else experiment.round_seconds


def _whole_seconds(records: list[dict], case: Case) -> float:  # type: ignore[type-arg]
    """Seconds a step took in the records, its parts as often as they count; a tenth of one where there are none."""
    steps = []
    for record in records:
        for facts in record["cases"]:
            if (facts["case"], facts["workload"]) == (case.name, case.workload):
                steps += [_step_seconds(block, facts.get("parts") or {}) for block in facts["blocks"]]
    return statistics.median(steps) if steps else 0.1


def _step_seconds(block: dict, weights: dict[str, float]) -> float:  # type: ignore[type-arg]
    samples = block.get("part_seconds") or [block["sample_seconds"]]
    counts = list(weights.values()) or [1.0]
    total = sum(count * sum(part) for count, part in zip(counts, samples, strict=True))
    return float(total / (block["sample_steps"] * len(block["sample_seconds"])))


def in_words(seconds: float) -> str:
    """A duration for people, coarse as an estimate should be: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
