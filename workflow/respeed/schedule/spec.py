"""What one round measures, complete: the measuring process needs no other file. Its digest tells which of several
measurements of one place is that of this checkout.
"""

import contextlib
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

from respeed.errors import NotMeasurable, UserError, nearest
from respeed.inputs.config import load_config
from respeed.inputs.papers import load_paper
from respeed.inputs.profiles import Profile, load_profile
from respeed.inputs.registry import runs
from respeed.machine.software import checksums
from respeed.model.paper import Case, Experiment, Paper, command_of
from respeed.paths import PAPERS, RoundId
from respeed.protocol import REAL, SMOKE, Probes, TimingProtocol
from respeed.schedule.availability import read_answers, resolve_described, resolve_threads

# The threads of a profile and the CPUs to run on; NotMeasurable where the machine cannot run it.
Resolve = Callable[[Profile], tuple[int, tuple[int, ...]]]
# Paper, experiment, profile, and whether smoke; and the digest that records of these must have.
Place = tuple[str, str, str, bool]
Digest = Callable[[str, str, str, bool], str]


@dataclass(frozen=True)
class RoundSpec:
    """Everything that the measuring process needs to know; it reads no file but this, as JSON.

    `cpus` are those that the measurement is bound to; none means that it is not bound. `digest` is a checksum of what
    decides the measurement of the experiment, of which `cases` may be a part. `rehearsals` are tiny cases of
    the same workloads, to load by them what a first step loads.
    """

    id: RoundId
    profile: Profile
    threads: int
    cpus: tuple[int, ...]
    cases: tuple[Case, ...]
    timing: TimingProtocol
    seed: int
    digest: str
    rehearsals: tuple[Case, ...] = ()


def make_spec(
    round_id: RoundId,
    seed: int,
    cases: tuple[Case, ...] | None = None,
    paper: Paper | None = None,
    resolve: Resolve | None = None,
) -> RoundSpec:
    """Resolve a round to its cases, by default all that its profile runs, threads and timing; NotMeasurable if the
    machine, by default this one, cannot run the profile."""
    paper = paper or load_paper(round_id.paper)
    if round_id.experiment not in paper.experiments:
        known = nearest(round_id.experiment, paper.experiments)
        raise UserError(f"{round_id.paper}: no experiment {round_id.experiment!r}{known}")
    experiment = paper.experiments[round_id.experiment]
    profile = load_profile(round_id.profile)
    threads, cpus = (resolve or resolve_threads)(profile)
    every = tuple(case for case in cases_of(experiment, profile, round_id.smoke) if case.name not in experiment.sources)

    def made_of(cases: tuple[Case, ...], digest: str) -> RoundSpec:
        return RoundSpec(
            id=round_id,
            profile=profile,
            threads=threads,
            cpus=cpus,
            cases=cases,
            timing=SMOKE if round_id.smoke else REAL,
            seed=seed,
            digest=digest,
            rehearsals=experiment.smoke_cases,
        )

    # A round of some of the cases is of the same measurement, so of the same digest; and what stands beside them, in
    # cases of its own, decides nothing of theirs.
    digest = _digest(made_of(tuple(case for case in every if not experiment.has_own_cases(case.workload)), ""))
    wanted = {(case.name, case.workload) for case in (every if cases is None else cases)}
    return made_of(tuple(case for case in every if (case.name, case.workload) in wanted), digest)


def cases_of(experiment: Experiment, profile: Profile, smoke: bool) -> list[Case]:
    """The cases that the profile runs."""
    return [
        case
        for case in (experiment.smoke_cases if smoke else experiment.cases)
        if runs(case.workload, profile.backend, profile.precision)
        and experiment.runs_on(case, profile.architecture)
        and experiment.precision in {"", profile.precision}
    ]


def untimed(case: Case, status: str, reason: str | None = None) -> dict[str, Any]:
    """The facts of a case for the record, as long as nothing was timed."""
    return {
        "case": case.name,
        "workload": case.workload,
        "parameters": dict(case.parameters),
        "flops": None,
        "traffic_bytes": None,
        "memory_bytes": None,
        "parts": {},
        "status": status,
        "reason": reason,
        "errors": {},
        "tolerance": None,
        "warmup": None,
        "blocks": [],
        "wall_seconds": 0.0,
    }


def _digest(spec: RoundSpec) -> str:
    """A short checksum of all that decides what is measured, with all of the experiment's cases. When it changes, the
    experiment is measured again.

    Another build of a program is another measurement, so that no number is made of the rounds of two.

    Labels do not decide a measurement, nor what must be there for it; nor does which of the cores it was pinned to, as
    long as the profile does not say so, nor a rehearsal.
    """
    facts = asdict(spec)
    for key in ("label", "package", "architecture", "requires", "optional"):
        del facts["profile"][key]
    # What a profile leaves to the machine is as it was before it could be said.
    if not facts["profile"]["cpus"]:
        del facts["profile"]["cpus"]
    del facts["id"], facts["cpus"], facts["rehearsals"], facts["digest"]
    commands = [(case, command_of(case, spec.profile.architecture)) for case in spec.cases]
    if programs := {case.name: checksums(command, PAPERS / spec.id.paper) for case, command in commands if command}:
        facts["programs"] = programs
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def current_digests(seed: int, papers: Mapping[str, Paper], resolve: Resolve | None = None) -> Digest:
    """The digests that a machine's records must have now, each worked out once, of these papers."""

    @cache
    def digest(paper: str, experiment: str, profile: str, smoke: bool) -> str:
        round_id = RoundId("", paper, experiment, profile, 1, smoke=smoke)
        return make_spec(round_id, seed, paper=papers[paper], resolve=resolve).digest

    return digest


def order_from_json(text: str) -> tuple[list[RoundSpec], Probes]:
    """The inverse of json.dumps({"specs": [asdict(spec), ...], "probes": probes})."""
    order = json.loads(text)
    return [_spec(**spec) for spec in order["specs"]], order["probes"]


def _spec(**data: Any) -> RoundSpec:
    data |= {"id": RoundId(**data["id"]), "profile": Profile(**data["profile"])}
    data |= {"timing": TimingProtocol(**data["timing"])}
    data["cpus"] = tuple(data["cpus"])
    data |= {key: tuple(Case(**case) for case in data[key]) for key in ("cases", "rehearsals")}
    return RoundSpec(**data)


def choose_current(
    machine: str, smoke: bool, records: Sequence[dict[str, Any]], papers: Mapping[str, Paper]
) -> list[dict[str, Any]]:
    """The machine's records without those that were measured otherwise (other sizes, threads, timing, seed) than this
    checkout would, where some of the same place were not. Where all were, all stay: of them the latest are shown."""
    there: dict[Place, set[str]] = defaultdict(set)
    for record in records:
        there[_place(record)].add(record["digest"])
    doubtful = [place for place, found in there.items() if len(found) > 1]
    if not doubtful:
        return list(records)
    resolve = partial(resolve_described, read_answers(machine, smoke))
    digest = current_digests(load_config().seed, papers, resolve)
    current = {}
    for place in doubtful:
        with contextlib.suppress(UserError, NotMeasurable, KeyError):  # where it cannot be told
            current[place] = digest(*place)
    chosen = {place: digest for place, digest in current.items() if digest in there[place]}
    return [one for one in records if chosen.get(_place(one), one["digest"]) == one["digest"]]


def _place(record: Mapping[str, Any]) -> Place:
    where = record["id"]
    return where["paper"], where["experiment"], where["profile"], where["smoke"]
