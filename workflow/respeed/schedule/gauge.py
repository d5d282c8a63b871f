"""What is measured for the hardware sheet: which processes, each of which cases (a step and its products on a ladder of
threads, and what else a machine reaches), and when the sheet is made anew.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from respeed.analysis.hardware_sheet import CACHES, is_lost
from respeed.inputs.profiles import PROFILE_FILES, Profile
from respeed.inputs.registry import backends, runs, workloads
from respeed.machine.cpu import cache_bytes, usable_cores
from respeed.machine.description import describe_machine
from respeed.machine.software import OF_BEFORE, library_label
from respeed.model.paper import Architecture, Case
from respeed.paths import RoundId
from respeed.protocol import GAUGE, SMOKE
from respeed.records.models import PAPER
from respeed.records.store import read_or_skip
from respeed.schedule.availability import why_not
from respeed.schedule.spec import RoundSpec

# Whose steps the scaling curve is of, where it is there: as the CPU rows of Raina et al., products of SciPy's BLAS.
SCALED = "numpy"
# All passes end within so many seconds, but for the least number of them. Where these are disturbed, none begins beyond
# so many times the seconds.
SECONDS, LEAST_PASSES, MOST_PASSES, PATIENCE = 60.0, 3, 12, 2
NOT_GAUGED = "not measured yet"
# A first guess, until there is a sheet: what a process takes to start, and each of its cases.
START_SECONDS, CASE_SECONDS = 2.0, 0.4
# Of Raina et al.: V x H, in mini-batches of 192. The larger one still takes a tenth of a second on one core.
SIZES, SMOKE_SIZES, BATCH = ((576, 1024), (1024, 4096)), ((36, 64),), 192
# The bytes of each of the two arrays of a copy, which together are CACHES times the largest cache.
LEAST_BYTES, MOST_BYTES, MEMORY_SHARE = 2**26, 2**29, 16
HOST_COPY_LENGTH = 2**26

# Backend, device and precision.
Kind = tuple[str, str, str]


@dataclass(frozen=True)
class Gauge:
    """`often` are the processes of a pass, each on its own number of threads, in every pass; `once` those before the
    first, and again with a later one only if they were disturbed. `absent` cannot run here, each with the reason.
    `digest` is a checksum of all that is measured."""

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
    cores, facts = usable_cores(), describe_machine()
    ends = sorted({1, len(cores)})
    # A wrong profile stops the runs that would measure it; the sheet needs only the names and devices of the others.
    profiles = PROFILE_FILES.load_right().values()
    packages = {profile.backend: profile.package for profile in profiles}
    packages["numpy"] = library_label(facts.get("blas") or OF_BEFORE)

    def spec(kind: Kind, threads: int, cases: Iterable[Case]) -> RoundSpec:
        profile = _profile(kind, threads, packages.get(kind[0], kind[0]))
        cases = tuple(cases)
        return RoundSpec(
            id=RoundId(machine, PAPER, PAPER, profile.name, 1, smoke=smoke),
            profile=profile,
            threads=threads,
            cpus=cores[:threads] if profile.is_cpu else (),
            cases=cases,
            timing=SMOKE if smoke else GAUGE,
            seed=1,
            digest="",
            rehearsals=rehearsals_of(cases),
        )

    kinds = _kinds(profiles, facts, smoke)
    on_cpu = [kind for kind in kinds if kind[1:] == ("cpu", "fp32")]
    scaled = next((kind for kind in on_cpu if kind[0] == SCALED), on_cpu[0])
    ladder = ends if smoke else thread_counts(len(cores))
    often = [spec(scaled, threads, scaled_cases(threads, cores, smoke)) for threads in ladder]
    once = [
        spec(kind, threads, cases)
        for kind in kinds
        if kind != scaled and not smoke
        for threads in (ends if kind[1] == "cpu" else ends[-1:])
        if (cases := rate_cases(*kind, threads))
    ]
    # What the sheet is of does not depend on what a driver of today can do.
    digest = _digest([one for one in (*often, *once) if not why_not(one.profile, facts, tried=False)])
    why = {one.id.profile: reason for one in (*often, *once) if (reason := why_not(one.profile, facts))}
    absent = tuple((one, why[one.id.profile]) for one in (*often, *once) if one.id.profile in why)
    often, once = ([one for one in specs if one.id.profile not in why] for specs in (often, once))
    often, once = ([replace(one, digest=digest) for one in specs] for specs in (often, once))
    return Gauge(tuple(often), tuple(once), absent, digest)


def _kinds(profiles: Collection[Profile], facts: Mapping[str, Any], smoke: bool) -> list[Kind]:
    """What is here, in single precision at least, and what is on a device that hardware profiles name: of that it is
    said that it is missing. A smoke run has CPUs alone. A backend that is measured only where a profile of it is named
    is left out."""
    named = {profile.device for profile in profiles if not profile.is_cpu}
    optional, others = ({one.backend for one in profiles if one.optional is which} for which in (True, False))
    return [
        (backend, device, precision)
        for backend, its in backends().items()
        if backend not in optional - others
        for device in its.devices
        if device == "cpu" or not smoke
        if device in named or why_not(_profile((backend, device, "fp32"), 1, backend), facts, tried=False) is None
        for precision in its.precisions
        if not (device == "cpu" and precision == "tf32")  # a precision of GPUs
    ]


def _profile(kind: Kind, threads: int, package: str) -> Profile:
    backend, device, precision = kind
    architecture: Architecture = "gpu" if device != "cpu" else "single-cpu" if threads == 1 else "multi-cpu"
    name = f"{backend}-{device}-{precision}-{threads}"
    return Profile(name, package, package, architecture, backend, device, threads, precision, optional=True)


def _digest(specs: Iterable[RoundSpec]) -> str:
    """Of the cases, where each runs, and how long it is timed: not of names, nor of which cores."""
    facts = [
        [spec.profile.backend, spec.profile.device, spec.profile.precision, spec.threads, asdict(spec.timing),
         [asdict(case) for case in spec.cases]]
        for spec in specs
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def why_due(path: Path, gauge: Gauge, *, is_elsewhere: bool = False) -> str | None:
    """Return why the hardware sheet must be measured, or measured anew; None if it can be used as it is.

    Whether a machine elsewhere measures the same things still, its own job finds out.
    """
    if (sheet := read_or_skip(path, gauge.smoke)) is None:
        return NOT_GAUGED
    if is_elsewhere:
        return None
    now = {one.id.profile for one in (*gauge.often, *gauge.once)}
    if sheet["digest"] != gauge.digest or now & {one["profile"]["name"] for one in sheet["absent"]}:
        return "something else is measured by now"
    return "everything was disturbed on one thread or on all" if is_lost(sheet) else None


def thread_counts(cores: int) -> list[int]:
    """All up to 4, then powers of two, and all cores."""
    return sorted({*range(1, min(cores, 4) + 1), *(2**power for power in range(2, cores.bit_length())), cores})


def scaled_cases(threads: int, cores: Collection[int], smoke: bool) -> list[Case]:
    """The step and its products; on one core and on all, what else the machine reaches there."""
    cases = []
    for V, H in SMOKE_SIZES if smoke else SIZES:
        sizes = {"visible": V, "hidden": H, "batch": BATCH}
        cases += [
            Case(f"{V}x{H}", "rbm", {**sizes, "learning_rate": 0.01}),
            Case(f"{V}x{H}", "cd1_products", {**sizes, "patches": 1}),
        ]
    if threads not in (1, len(cores)):
        return cases
    length = 2**16 if smoke else _copy_length()
    cases += [_product(64 if smoke else _side(threads)), Case("memory", "memory_copy", {"length": length})]
    return [*cases, _small("spread" if threads > 1 else "waited")]


def rate_cases(backend: str, device: str, precision: str, threads: int) -> list[Case]:
    """What is measured once in a setting: a product, and in single precision what does not hang on the precision."""
    # On a CPU copies and small steps are the same whatever multiplies: they are measured with the curve.
    cases = [_product(side) for side in ((_side(threads),) if device == "cpu" else (4096, 8192))]
    if device != "cpu" and precision == "fp32":
        cases += [_small(how) for how in ("waited", "queued", "graph")]
        cases.append(Case("memory", "memory_copy", {"length": MOST_BYTES // 4}))
        cases += [
            Case(f"{way}-{memory}", "copies", {"length": HOST_COPY_LENGTH, "direction": way, "memory": memory})
            for way in ("to", "from")
            for memory in ("pinned", "pageable")
        ]
    return [case for case in cases if runs(case.workload, backend, precision)]


def rehearsals_of(cases: Iterable[Case]) -> tuple[Case, ...]:
    """A rehearsal of each workload that has something to load; of a small step in the way that it is asked for."""
    found = {case.workload: case for case in reversed(tuple(cases)) if case.workload != "copies"}
    asked = {
        name: {key: value for key, value in case.parameters.items() if key == "how"} for name, case in found.items()
    }
    return tuple(Case("tiny", name, workloads()[name].tests["smoke"] | how) for name, how in asked.items())


def _product(side: int) -> Case:
    return Case(f"{side}x{side}", "matmul", {"m": side, "k": side, "n": side})


def _side(threads: int) -> int:
    """Of a square product that is near its highest rate on so many cores: more of them need a larger one."""
    return 2048 if threads <= 16 else 4096


def _small(how: str) -> Case:
    return Case(how, "small_step", {"count": 20 if how == "spread" else 100, "how": how})


def _copy_length() -> int:
    """Elements of each array of a copy: a power of two, so that memory which differs a little makes no difference."""
    wanted = CACHES * max(cache_bytes().values(), default=MOST_BYTES // CACHES) / 2
    most = min(MOST_BYTES, int(describe_machine()["memory_bytes"]) // MEMORY_SHARE)
    size = LEAST_BYTES
    while size < wanted and 2 * size <= most:
        size *= 2
    return size // 4
