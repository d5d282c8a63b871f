"""What one round measures, complete: the measuring process needs no other file."""

import hashlib
import json
import math
from dataclasses import asdict, replace
from typing import Any

from respeed.load.hardware import load_profile
from respeed.load.modules import runs
from respeed.load.papers import load_paper
from respeed.model.errors import UserError, nearest
from respeed.model.paper import Case, Experiment
from respeed.model.profile import Profile
from respeed.model.round import RoundId, RoundSpec
from respeed.model.timing import REAL, SMOKE, TimingProtocol
from respeed.plan.availability import resolve_threads


def make_spec(round_id: RoundId, seed: int) -> RoundSpec:
    """Resolve a round to its cases, threads and timing; NotMeasurable if this machine cannot run its profile."""
    paper = load_paper(round_id.paper)
    if round_id.experiment not in paper.experiments:
        known = nearest(round_id.experiment, paper.experiments)
        raise UserError(f"{round_id.paper}: no experiment {round_id.experiment!r}{known}")
    experiment = paper.experiments[round_id.experiment]
    profile = load_profile(round_id.profile)
    threads, cpus = resolve_threads(profile)
    cases = tuple(
        _as_measured(case, experiment, round_id.whole)
        for case in (experiment.smoke_cases if round_id.smoke else experiment.cases)
        if runs(case.workload, profile.backend, profile.precision)
    )
    return RoundSpec(
        id=round_id,
        profile=profile,
        threads=threads,
        cpus=cpus,
        cases=cases,
        whole_steps=tuple(math.ceil(experiment.steps(case)) for case in cases) if round_id.whole else (),
        timing=SMOKE if round_id.smoke else REAL,
        seed=seed,
        rehearsals=experiment.smoke_cases,
    )


def _as_measured(case: Case, experiment: Experiment, whole: bool) -> Case:
    """The case as it is, or with the parameters of a whole run in which nothing is extrapolated."""
    if not (whole and experiment.whole_parameters):
        return case
    return replace(case, parameters={**case.parameters, **experiment.whole_parameters})


def measurement_digest(spec: RoundSpec) -> str:
    """A short checksum of all that decides what is measured. When it changes, the round is measured again.

    Labels and prices do not decide a measurement; nor does which of the cores it was pinned to, nor a rehearsal.
    """
    facts = asdict(spec)
    for key in ("label", "package", "architecture", "price_per_hour", "optional"):
        del facts["profile"][key]
    del facts["id"], facts["cpus"], facts["rehearsals"]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def specs_from_json(text: str) -> list[RoundSpec]:
    """The inverse of json.dumps([asdict(spec), ...])."""
    return [_spec(data) for data in json.loads(text)]


def _spec(data: dict[str, Any]) -> RoundSpec:
    return RoundSpec(
        id=RoundId(**data["id"]),
        profile=Profile(**data["profile"]),
        threads=data["threads"],
        cpus=tuple(data["cpus"]),
        cases=tuple(Case(**case) for case in data["cases"]),
        whole_steps=tuple(data["whole_steps"]),
        timing=TimingProtocol(**data["timing"]),
        seed=data["seed"],
        rehearsals=tuple(Case(**case) for case in data["rehearsals"]),
    )
