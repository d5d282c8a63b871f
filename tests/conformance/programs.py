"""What the suite runs: test cases of every workload, the smoke sizes of every paper, and backends to run them on."""

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from respeed.backends import BackendContract, make_backend
from respeed.errors import NotMeasurable
from respeed.inputs.papers import load_papers
from respeed.inputs.registry import backends, workloads
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


WORKLOADS = tuple(workloads())
CASES = [*_cases_of_papers(), *(case_of(name, size) for name in WORKLOADS for size in ("smoke", "odd"))]
LARGE = [case_of(name, "large") for name in WORKLOADS]
WITH_PRODUCTS = [case for case in CASES if workloads()[case.workload].products]
# A backend of a BLAS that this machine's SciPy does not compute with says so, once, in tests/backends.
CPUS = [
    (name, "cpu")
    for name, facts in backends().items()
    if "cpu" in facts.devices and backends()[name].library in {None, scipy_library()}
]
GPUS = [
    pytest.param(name, device, marks=pytest.mark.gpu)
    for name, facts in backends().items()
    for device in facts.devices
    if device != "cpu"
]
DEVICES = [*CPUS, *GPUS]
# Views, Python objects and NumPy's casting buffer (at most 64 kB, whatever the size) come and go; arrays do not.
MAX_ALLOCATED = 100_000


def offering(*names: str) -> list[Any]:
    """The devices of backends that offer all of these."""
    return [one for one in DEVICES if set(names) <= set(backends()[getattr(one, "values", one)[0]].offers)]


def in_place(precision: str) -> list[Case]:
    """The large cases whose steps must allocate nothing in the precision."""
    return [case for case in LARGE if precision not in workloads()[case.workload].allocates]


def name_of(case: Case) -> str:
    return f"{case.workload}-{case.name}"


def programs(cases: Sequence[Case], devices: Sequence[Any], precision: str = "fp32") -> list[Any]:
    """Every case on every device whose backend its workload runs on in the precision."""
    found = []
    for device in devices:
        names, marks = getattr(device, "values", device), getattr(device, "marks", ())
        for case in cases:
            if (
                names[0] in workloads()[case.workload].backends
                and precision in workloads()[case.workload].precisions
                and precision in backends()[names[0]].precisions
            ):
                found.append(pytest.param(*names, case, marks=marks, id="-".join((*names, name_of(case)))))
    return found


def backend_or_skip(
    name: str, device: str, precision: str = "fp32", *, threads: int = 1, seed: int = 1
) -> BackendContract:
    try:
        return make_backend(name, device=device, precision=precision, threads=threads, seed=seed)
    except NotMeasurable as reason:
        pytest.skip(str(reason))


def errors_of(made: BackendContract, case: Case) -> dict[str, float]:
    """How far a first step is from float64."""
    workload = load_workload(case.workload)
    inputs = workload.inputs(case, seed=5)
    program = workload.build(made, case, inputs)
    program.step()
    made.sync()
    state = dict(program.state())
    return state_errors(inputs, state, workload.reference(case, inputs, state))


def allocated_bytes(package: str, step: Callable[[], None]) -> int:
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
