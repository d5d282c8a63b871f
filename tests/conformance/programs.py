"""What the suite runs: test cases of every workload, the smoke sizes of every paper, and places to run them on."""

import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from respeed.backends import BackendContract, make_backend
from respeed.errors import NotMeasurable
from respeed.inputs.papers import load_papers
from respeed.inputs.registry import backends, runs, workloads
from respeed.machine.accelerators import missing_device
from respeed.machine.software import scipy_library
from respeed.measure.case import state_errors
from respeed.model.paper import Case
from respeed.workloads import load_workload


def case_of(workload: str, size: str) -> Case:
    """The workload's own test case of that size: smoke, odd or large."""
    return Case(size, workload, workloads()[workload].tests[size])


def _cases_of_papers() -> Iterator[Case]:
    for paper in load_papers().values():
        for experiment in paper.experiments.values():
            yield from experiment.smoke_cases


def _kind(case: Case) -> tuple[str, frozenset[tuple[str, str]]]:
    """What a step of the case does, whatever its sizes."""
    texts = ((key, value if isinstance(value, str) else "") for key, value in case.parameters.items())
    return case.workload, frozenset(texts)


WORKLOADS = tuple(workloads())
OWN = [case_of(name, size) for name in WORKLOADS for size in ("smoke", "odd")]
CASES = [*OWN, *_cases_of_papers()]
# A paper's cases that do as others before them, at other sizes: by default these are not tried, with `-m slow` all are.
AGAIN = {id(case) for place, case in enumerate(CASES) if place >= len(OWN) and _kind(case) in map(_kind, CASES[:place])}
WITH_COST = Case("cost", "autoencoder", {**workloads()["autoencoder"].tests["large"], "cost": "computed"})
LARGE = [*(case_of(name, "large") for name in WORKLOADS), WITH_COST]
WITH_PRODUCTS = [case for case in CASES if workloads()[case.workload].products]
# Views, Python objects and NumPy's casting buffer (at most 64 kB, whatever the size) come and go; arrays do not.
MAX_ALLOCATED = 100_000


class Place(NamedTuple):
    backend: str
    device: str = "cpu"
    precision: str = "fp32"


def places(*precisions: str, on: str = "", backend: str = "", offering: Sequence[str] = ()) -> list[Any]:
    """Every backend, device that is here and precision; of these precisions, on this device, of this backend, or of
    those that offer all of this, if any are named. What needs a GPU is marked. A backend of a BLAS that this machine's
    SciPy does not compute with says so, once, in tests/backends."""
    return [
        pytest.param(place, marks=[] if device == "cpu" else pytest.mark.gpu, id="-".join(place))
        for name, facts in backends().items()
        if facts.library in {None, scipy_library()} and backend in {"", name} and set(offering) <= set(facts.offers)
        for device in facts.devices
        if on in {"", device} and not missing_device(device)
        for precision in facts.precisions
        if precision in (precisions or facts.precisions) and (device, precision) != ("cpu", "tf32")
        for place in [Place(name, device, precision)]
    ]


def programs(cases: Sequence[Case], some: Iterable[Any]) -> list[Any]:
    """Every case at every one of these places whose backend its workload runs on in the precision."""
    return [
        pytest.param(
            place,
            case,
            marks=[*one.marks, *[pytest.mark.slow] * (id(case) in AGAIN)],
            id="-".join((*place, name_of(case))),
        )
        for one in some
        for (place,) in [one.values]
        for case in cases
        if runs(case.workload, place.backend, place.precision)
    ]


def in_place(*precisions: str) -> list[Any]:
    """The large cases whose steps must allocate nothing in the precision, on CPUs."""
    return [
        program
        for precision in precisions
        for program in programs(LARGE, places(precision, on="cpu"))
        if precision not in workloads()[program.values[-1].workload].allocates
    ]


def name_of(case: Case) -> str:
    return f"{case.workload}-{case.name}"


def make(name: str, device: str = "cpu", precision: str = "fp32", *, threads: int = 1, seed: int = 1) -> Any:
    """The backend; the test is skipped where it cannot be had."""
    try:
        return make_backend(name, device=device, precision=precision, threads=threads, seed=seed)
    except NotMeasurable as reason:
        pytest.skip(str(reason))


def build(made: BackendContract, case: Case, seed: int = 5) -> Any:
    workload = load_workload(case.workload)
    return workload.build(made, case, workload.inputs(case, seed))


def errors_of(
    made: BackendContract, case: Case, change: Callable[[Any], object] = lambda program: None
) -> dict[str, float]:
    """How far a first step, perhaps of a changed program, is from float64."""
    workload = load_workload(case.workload)
    inputs = workload.inputs(case, seed=5)
    program = workload.build(made, case, inputs)
    change(program)
    program.step()
    made.sync()
    state = dict(program.state())
    return state_errors(inputs, state, workload.reference(case, inputs, state))


def state_after(program: Any, steps: int, made: BackendContract) -> dict[str, np.ndarray]:
    for _ in range(steps):
        program.step()
    made.sync()
    return {name: np.array(value) for name, value in program.state().items()}


def allocated_bytes(package: str, step: Callable[[], object]) -> int:
    """The most memory that a step held beyond what was there before it, as the package's own accounting has it."""
    if package.startswith("torch"):
        import torch

        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            step()
        return sum(max(0, event.self_cpu_memory_usage) for event in profile.events())
    if package.startswith("jax"):
        import jax

        # Those that are left; XLA takes memory for what comes between by itself.
        before = sum(array.nbytes for array in jax.live_arrays())
        step()
        return sum(array.nbytes for array in jax.live_arrays()) - before
    tracemalloc.start()
    step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
