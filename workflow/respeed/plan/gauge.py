"""What is measured for the hardware sheet: which processes, each of which cases, and when the sheet is made anew."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from respeed.load.hardware import load_profiles
from respeed.load.modules import backend_devices, backend_precisions, runs, workload_tests
from respeed.model.errors import UserError
from respeed.model.identity import difference
from respeed.model.paper import Case
from respeed.model.profile import Profile
from respeed.model.round import RoundId, RoundSpec
from respeed.model.timing import GAUGE, SMOKE
from respeed.plan.availability import why_not
from respeed.provenance.cpu import usable_cores
from respeed.provenance.machine import describe_machine
from respeed.provenance.memory import cache_bytes
from respeed.record.hardware import PAPER, read_hardware

# Whose steps the scaling curve is of: the descendant of the BLAS that the first paper's CPU rows used.
SCALED = "openblas"
# Of Raina et al.: V x H, in mini-batches of 192. The larger one still takes a tenth of a second on one core.
SIZES, SMOKE_SIZES, BATCH = ((576, 1024), (1024, 4096)), ((36, 64),), 192
# So many times the largest cache are the two arrays of a copy together, within these bytes each.
CACHES, LEAST_BYTES, MOST_BYTES, MEMORY_SHARE = 4, 2**26, 2**30, 16
HOST_COPY_LENGTH = 2**26
# All passes begin within so many seconds, but for the least number of them.
SECONDS, LEAST_PASSES, MOST_PASSES = 60.0, 3, 12
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
    def seconds(self) -> float:
        """About how long it takes."""
        often, once = (
            sum(START_SECONDS + CASE_SECONDS * len(spec.cases) for spec in specs) for specs in (self.often, self.once)
        )
        smoke = self.often[0].id.smoke
        return once + often if smoke else max(SECONDS, once + LEAST_PASSES * often)


def thread_counts(cores: int) -> list[int]:
    """All up to 4, then powers of two, and all cores."""
    powers = [2**power for power in range(2, cores.bit_length())]
    return sorted({*range(1, min(cores, 4) + 1), *(count for count in powers if count <= cores), cores})


def plan_gauge(machine: str, smoke: bool) -> Gauge:
    """What is measured of this machine. A smoke run has a tiny step on one core and on all, and no measurement."""
    cores = usable_cores()
    often = [_spec(machine, SCALED, "cpu", "fp32", n, _scaled(n, cores, smoke), smoke) for n in _ladder(cores, smoke)]
    once = [
        _spec(machine, backend, device, precision, threads, cases, smoke)
        for backend, device, precision in _kinds(smoke)
        for threads in _threads(device, len(cores))
        if (cases := _rates(backend, device, precision, threads, cores))
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
        return "not measured yet"
    try:
        sheet = read_hardware(path)
    except UserError as error:
        return str(error)
    if sheet["machine"] != machine or sheet["smoke"] != gauge.often[0].id.smoke:
        return "made for another place"
    if found := difference(sheet["provenance"]["machine"], describe_machine()):
        return f"measured on other hardware: {found}"
    return None if sheet["digest"] == gauge.digest else "something else is measured by now"


def _ladder(cores: Collection[int], smoke: bool) -> list[int]:
    return sorted({1, len(cores)}) if smoke else thread_counts(len(cores))


def _threads(device: str, cores: int) -> list[int]:
    return sorted({1, cores}) if device == "cpu" else [cores]


def _kinds(smoke: bool) -> list[tuple[str, str, str]]:
    """Every (backend, device, precision) there is, but for what the scaling curve has, and devices of another system
    that nobody expects here: those are named that some hardware profile names."""
    named = {profile.device for profile in load_profiles().values()}
    return [
        (backend, device, precision)
        for backend, devices in backend_devices().items()
        for device in devices
        for precision in backend_precisions()[backend]
        if not smoke
        and (backend, device, precision) != (SCALED, "cpu", "fp32")
        and not (device == "cpu" and precision == "tf32")  # a precision of GPUs
        and (device in named or _is_there(device))
    ]


def _is_there(device: str) -> bool:
    return why_not(_profile("torch", device, "fp32", 1)) is None


def _scaled(threads: int, cores: Collection[int], smoke: bool) -> list[Case]:
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
    length = 2**16 if smoke else _copy_length(cores)
    cases += [_product(64 if smoke else _side(threads)), Case("memory", "memory_copy", {"length": length})]
    return [*cases, Case("spread" if threads > 1 else "waited", "small_step", _small("cpu", threads))]


def _rates(backend: str, device: str, precision: str, threads: int, cores: Collection[int]) -> list[Case]:
    if device == "cpu":
        cases = [_product(_side(threads))]
        small = ["spread" if threads > 1 else "waited"]
    else:
        cases = [_product(side) for side in (4096, 8192)]
        small = ["waited", "queued", "graph"]
    if precision == "fp32":
        cases += [Case(how, "small_step", _small(device, threads) | {"how": how}) for how in small]
    if precision == "fp32" and device != "cpu":
        cases.append(Case("memory", "memory_copy", {"length": MOST_BYTES // 4}))
        cases += [
            Case(f"{direction}, {memory}", "copies", {"length": HOST_COPY_LENGTH, "direction": direction, "memory": memory})
            for direction in ("to", "from")
            for memory in ("pinned", "pageable")
        ]
    return [case for case in cases if runs(case.workload, backend, precision)]


def _product(side: int) -> Case:
    return Case(f"{side}x{side}", "matmul", {"m": side, "k": side, "n": side})


def _side(threads: int) -> int:
    """Of a square product that lasts milliseconds on so many cores: more of them need a larger one."""
    return 1024 if threads <= 4 else 2048 if threads <= 32 else 4096


def _small(device: str, threads: int) -> dict[str, Any]:
    how = "spread" if threads > 1 and device == "cpu" else "waited"
    return {"count": 20 if how == "spread" else 100, "how": how}


def _copy_length(cores: Collection[int]) -> int:
    """Elements of each array of a copy: a power of two, so that memory which differs a little makes no difference."""
    wanted = CACHES * max(cache_bytes(cores).values(), default=MOST_BYTES // CACHES) / 2
    most = min(MOST_BYTES, int(describe_machine()["memory_bytes"]) // MEMORY_SHARE)
    size = LEAST_BYTES
    while size < wanted and 2 * size <= most:
        size *= 2
    return size // 4


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
        rehearsals=_tiny(cases),
    )


def _tiny(cases: Iterable[Case]) -> tuple[Case, ...]:
    """A rehearsal of each workload that has something to load; of a small step in the way that it is asked for."""
    found = {case.workload: case for case in reversed(tuple(cases)) if case.workload != "copies"}
    return tuple(
        Case("tiny", name, {**workload_tests()[name]["smoke"], **({"how": case.parameters["how"]} if "how" in case.parameters else {})})
        for name, case in found.items()
    )


def _digest(specs: Iterable[RoundSpec]) -> str:
    """Of the cases, where each runs, and how long it is timed: not of names, nor of which cores."""
    facts = [
        [spec.profile.backend, spec.profile.device, spec.profile.precision, spec.threads, asdict(spec.timing),
         [asdict(case) for case in spec.cases]]
        for spec in specs
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
