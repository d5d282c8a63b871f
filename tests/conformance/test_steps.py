"""Every workload at every place that is here: right against float64 as far as its precision goes, and no further, in
place, and honest about its arithmetic."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from respeed.backends.torch import TorchOnCpu
from respeed.inputs.registry import backends, runs, workloads
from respeed.measure.case import TOLERANCE
from respeed.model import Case
from respeed.workloads import make_workload
from tests.conformance.programs import (
    CASES,
    ODD,
    OWN,
    SIZES,
    WORKLOADS,
    Place,
    at,
    build,
    case_of,
    is_right,
    largest,
    make,
    places,
    steps,
)  # fmt: skip

# Views, Python objects and NumPy's casting buffer (at most 64 kB, whatever the size) come and go; arrays do not.
MAX_ALLOCATED = 100_000
COSTS = {name: workloads()[name].options.get("cost", ()) for name in WORKLOADS}
WITH_COST = [case_of(name, "odd", cost=cost) for name, costs in COSTS.items() for cost in costs]


@at(CASES, places())
def test_a_step_agrees_with_float64(place: Place, case: Case) -> None:
    assert is_right(build(make(*place), case))


# What threads share shows where no number of pieces divides the rows of arrays that are large enough to be spread.
@at(ODD, places("fp32", on="cpu"))
def test_a_step_on_two_threads_agrees_with_float64(place: Place, case: Case) -> None:
    assert largest(steps(build(make(*place, threads=2), case), 1)) <= TOLERANCE["fp32"]


@at(OWN, places("fp32", on="cpu", of=["torch"]))
def test_the_operations_of_accelerators_are_right_where_there_is_none(place: Place, case: Case) -> None:
    made = TorchOnCpu(place.precision, 1, 1)
    made.in_pieces = False
    assert is_right(build(made, case))


ABOVE = {"fp32": "fp64", "fp16": "fp32", "bf16": "fp16"}


@at([case for case in CASES if workloads()[case.workload].products], places(*ABOVE, on="cpu"))
def test_a_step_does_not_pass_as_one_of_the_next_precision(place: Place, case: Case) -> None:
    above = ABOVE[place.precision]
    if not runs(case.workload, place.backend, above):
        pytest.skip(f"{case.workload} does not run in {above}")
    # A few numbers may all happen to be rounded a little: some of four draws show it.
    programs = (build(make(*place), case, seed) for seed in range(4))
    assert any(largest(steps(program, 1)) > TOLERANCE[above] for program in programs)


IN_PLACE = [case for case in (*ODD, *WITH_COST) if not workloads()[case.workload].allocates]


@at(IN_PLACE, places("fp32", "fp64", on="cpu"))
def test_a_step_allocates_no_array(place: Place, case: Case) -> None:
    program = steps(build(make(*place), case), 3)
    assert allocated_bytes(place.backend, program.step) < MAX_ALLOCATED


def allocated_bytes(backend: str, step: Callable[[], object]) -> int:
    """Return the most memory that a step held beyond what was there before it, as the package accounts for it."""
    if backend == "torch":
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            step()
        return sum(max(0, event.self_cpu_memory_usage) for event in profile.events())
    if backend == "jax":
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


def test_a_step_that_allocates_is_seen() -> None:
    a = torch.zeros(64, 64)
    assert allocated_bytes("torch", lambda: (a @ a).sigmoid()) >= 4 * 64 * 64
    assert allocated_bytes("numpy", lambda: np.zeros((64, 64), np.float32) + 1) >= 4 * 64 * 64


def test_every_precision_of_a_backend_has_a_tolerance() -> None:
    assert {precision for facts in backends().values() for precision in facts.precisions} <= {*TOLERANCE}


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_test_cases_of_a_workload_give_its_parameters_and_some_backend_runs_it(workload: str) -> None:
    facts, kinds = workloads()[workload], {"whole": int, "real": (int, float), "any": object}
    assert facts.backends
    for size in SIZES:
        for name, value in case_of(workload, size).parameters.items():
            allowed: Any = facts.takes[name]
            assert value in allowed if isinstance(allowed, tuple) else isinstance(value, kinds[allowed])


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_arithmetic_of_a_workload_is_positive_and_grows_with_its_size(workload: str) -> None:
    case, kinds = case_of(workload, "odd"), workloads()[workload].takes
    twice = {name: 2 * value for name, value in case.parameters.items() if kinds[name] == "whole"}
    small, large = make_workload(case), make_workload(case_of(workload, "odd", **twice))
    for count in ("flops", "traffic_bytes", "memory_bytes"):
        few: Any = getattr(small, count)()
        if few:  # what depends on the data is not known beforehand, nor is what programs do
            assert 0 < few < getattr(large, count)(), count


@pytest.mark.parametrize("workload", [name for name, costs in COSTS.items() if "read" in costs])
def test_the_host_reads_what_a_step_costs_where_a_case_asks_for_it(
    workload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = build(make("numpy"), case_of(workload, "smoke", cost="read"))
    costs, asked, host = getattr(program.arrays, program.workload.read), [], program.backend.host
    monkeypatch.setattr(program.backend, "host", lambda array: asked.append(array is costs) or host(array))
    steps(program, 3)
    assert sum(asked) == 3
    assert not make_workload(case_of(workload, "smoke")).read
