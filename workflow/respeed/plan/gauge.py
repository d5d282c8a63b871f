"""What is measured for the hardware sheet: which processes, each of which cases, and when the sheet is made anew."""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from respeed.estimators.gauged import is_lost
from respeed.load.hardware import load_profiles
from respeed.load.modules import backend_devices, backend_precisions
from respeed.model.errors import UserError
from respeed.model.paper import Case
from respeed.model.profile import Profile
from respeed.model.round import RoundId, RoundSpec
from respeed.model.timing import GAUGE, SMOKE
from respeed.plan.availability import why_not
from respeed.plan.gauge_cases import rate_cases, rehearsals_of, scaled_cases, thread_counts
from respeed.plan.same_machine import describe_as
from respeed.provenance.cpu import usable_cores
from respeed.record.hardware import PAPER, misplaced, read_hardware

# Whose steps the scaling curve is of, where it is there: the descendant of what the CPU rows of Raina et al. used.
SCALED = "openblas"
# All passes end within so many seconds, but for the least number of them; none begins beyond so many times these.
SECONDS, LEAST_PASSES, MOST_PASSES, PATIENCE = 60.0, 3, 12, 2
NOT_GAUGED = "not measured yet"
# A first guess, until there is a sheet: what a process takes to start, and each of its cases.
START_SECONDS, CASE_SECONDS = 2.0, 0.4


@dataclass(frozen=True)
class Gauge:
    """`often` are the processes of a pass, each on its own number of threads, in every pass; `once` those that are only
    in the first. `absent` cannot run here, each with the reason. `digest` is a checksum of all that is measured."""

    often: tuple[RoundSpec, ...]
    once: tuple[RoundSpec, ...]
    absent: tuple[tuple[RoundSpec, str], ...]
    digest: str

    @property
    def smoke(self) -> bool:
        return self.often[0].id.smoke

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        often, once = (
            sum(START_SECONDS + CASE_SECONDS * len(spec.cases) for spec in specs) for specs in (self.often, self.once)
        )
        return once + often if self.smoke else max(SECONDS, once + LEAST_PASSES * often)


def plan_gauge(machine: str, smoke: bool) -> Gauge:
    """What is measured of this machine. A smoke run has a tiny step on one core and on all, and no measurement."""
    cores, scaled = usable_cores(), _scaled_backend()
    often = [
        _spec(machine, scaled, "cpu", "fp32", threads, scaled_cases(threads, cores, smoke), smoke)
        for threads in _ladder(cores, smoke)
    ]
    once = [
        _spec(machine, backend, device, precision, threads, cases, smoke)
        for backend, device, precision in _kinds(smoke)
        if (backend, device, precision) != (scaled, "cpu", "fp32")
        for threads in _threads(device, len(cores))
        if (cases := rate_cases(backend, device, precision, threads))
    ]
    digest = _digest([*often, *once])
    often, once = ([replace(spec, digest=digest) for spec in specs] for specs in (often, once))
    why = {spec.id.profile: reason for spec in (*often, *once) if (reason := why_not(spec.profile))}
    return Gauge(
        often=tuple(spec for spec in often if spec.id.profile not in why),
        once=tuple(spec for spec in once if spec.id.profile not in why),
        absent=tuple((spec, why[spec.id.profile]) for spec in (*often, *once) if spec.id.profile in why),
        digest=digest,
    )


def why_due(path: Path, machine: str, gauge: Gauge) -> str | None:
    """Why the sheet must be measured, or measured anew; None if it can be used as it is."""
    if not path.exists():
        return NOT_GAUGED
    try:
        sheet = read_hardware(path)
    except UserError as error:
        return str(error)
    if reason := misplaced(sheet, machine, gauge.smoke, describe_as(machine)):
        return reason
    if sheet["digest"] != gauge.digest:
        return "something else is measured by now"
    return "everything was disturbed on one thread or on all" if is_lost(sheet) else None


def _ladder(cores: Collection[int], smoke: bool) -> list[int]:
    return sorted({1, len(cores)}) if smoke else thread_counts(len(cores))


def _threads(device: str, cores: int) -> list[int]:
    return sorted({1, cores}) if device == "cpu" else [cores]


def _kinds(smoke: bool) -> list[tuple[str, str, str]]:
    """Every (backend, device, precision) that is here, in single precision at least, or on a device that hardware
    profiles name: of that it is said that it is missing. None for a smoke run, which shows that the curve works."""
    named = {profile.device for profile in load_profiles().values() if not profile.is_cpu}
    return [
        (backend, device, precision)
        for backend, devices in ({} if smoke else backend_devices()).items()
        for device in devices
        for precision in backend_precisions()[backend]
        if not (device == "cpu" and precision == "tf32")  # a precision of GPUs
        and (device in named or _is_there(backend, device))
    ]


def _is_there(backend: str, device: str) -> bool:
    return why_not(_profile(backend, device, "fp32", 1)) is None


def _scaled_backend() -> str:
    there = [name for name, devices in backend_devices().items() if "cpu" in devices and _is_there(name, "cpu")]
    return SCALED if SCALED in there else there[0]


def _profile(backend: str, device: str, precision: str, threads: int) -> Profile:
    architecture = "gpu" if device != "cpu" else "single-cpu" if threads == 1 else "multi-cpu"
    packages = {profile.backend: profile.package for profile in load_profiles().values()}
    package = packages.get(backend, backend)
    name = f"{backend}-{device}-{precision}-{threads}"
    return Profile(name, package, package, architecture, backend, device, threads, precision, optional=True)


def _spec(
    machine: str, backend: str, device: str, precision: str, threads: int, cases: Iterable[Case], smoke: bool
) -> RoundSpec:
    profile = _profile(backend, device, precision, threads)
    cases = tuple(cases)
    return RoundSpec(
        id=RoundId(machine, PAPER, PAPER, profile.name, 1, smoke=smoke),
        profile=profile,
        threads=threads,
        cpus=usable_cores()[:threads] if device == "cpu" else (),
        cases=cases,
        whole_steps=(),
        timing=SMOKE if smoke else GAUGE,
        seed=1,
        digest="",
        rehearsals=rehearsals_of(cases),
    )


def _digest(specs: Iterable[RoundSpec]) -> str:
    """Of the cases, where each runs, and how long it is timed: not of names, nor of which cores."""
    facts = [
        [spec.profile.backend, spec.profile.device, spec.profile.precision, spec.threads, asdict(spec.timing),
         [asdict(case) for case in spec.cases]]
        for spec in specs
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
