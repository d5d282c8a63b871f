"""Every workload at every place that is here: right against float64 as far as its precision goes, and no further, in
place, and honest about its arithmetic."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from respeed.backends.torch import Torch, TorchOnCpu
from respeed.inputs.registry import runs, workloads
from respeed.measure.case import TOLERANCE
from respeed.model import Case
from tests.conformance.programs import CASES, ODD, Place, at, build, case_of, is_right, largest, make, places, steps

# Views, Python objects and NumPy's casting buffer (at most 64 kB, whatever the size) come and go; arrays do not.
MAX_ALLOCATED = 100_000
COSTS = {name: workloads()[name].options.get("cost", ()) for name in workloads()}
WITH_COST = [case_of(name, "odd", cost=cost) for name, costs in COSTS.items() for cost in costs]


@at(CASES, places())
def test_a_step_agrees_with_float64(place: Place, case: Case) -> None:
    assert is_right(build(make(*place), case))


# What threads share shows where no number of pieces divides the rows of arrays that are large enough to be spread.
@at(ODD, places("fp32", on="cpu"))
def test_a_step_on_two_threads_agrees_with_float64(place: Place, case: Case) -> None:
    assert largest(steps(build(make(*place, threads=2), case), 1)) <= TOLERANCE["fp32"]


@at(ODD, places("fp32", on="cpu", of=["torch"]))
def test_accelerator_operations_are_right_without_one(place: Place, case: Case) -> None:
    made = TorchOnCpu(place.precision, 1, 1)
    made.in_pieces = False
    assert is_right(build(made, case))


@at(ODD, places("fp32", on="cpu", of=["torch"]))
def test_arrays_beside_units_have_their_shape(place: Place, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled pass takes them together; each of a stack, or one stack for all."""
    compute, odd = Torch.units, list[Any]()

    def units(self: Torch, bias: Tensor, x: Tensor, W: Tensor, *, out: Tensor, **beside: Any) -> None:
        shapes = [array.shape for pair in ("sampled", "negated") for array in beside.get(pair) or ()]
        odd.extend(shape for shape in shapes if shape != out.shape)
        compute(self, bias, x, W, out=out, **beside)

    monkeypatch.setattr(Torch, "units", units)
    made = TorchOnCpu(place.precision, 1, 1)
    made.in_pieces = False
    steps(build(made, case), 1)
    assert not odd


ABOVE = {"fp32": "fp64", "fp16": "fp32", "bf16": "fp16"}


@at([case for case in ODD if workloads()[case.workload].products], places(*ABOVE, on="cpu"))
def test_a_step_fails_as_the_next_precision(place: Place, case: Case) -> None:
    """A step does not pass as one of the next precision."""
    above = ABOVE[place.precision]
    if not runs(case.workload, place.backend, above):
        pytest.skip(f"{case.workload} does not run in {above}")
    # A few numbers may all happen to be rounded a little: some of four draws show it.
    programs = (build(make(*place), case, seed) for seed in range(4))
    assert any(largest(steps(program, 1)) > TOLERANCE[above] for program in programs)


IN_PLACE = [case for case in (*ODD, *WITH_COST) if not workloads()[case.workload].allocates]


@at(IN_PLACE, places("fp32", on="cpu", of=["numpy", "torch"]))
def test_a_step_allocates_no_array(place: Place, case: Case) -> None:
    program = steps(build(make(*place), case), 3)
    assert allocated_bytes(place.backend, program.step) < MAX_ALLOCATED


def allocated_bytes(backend: str, step: Callable[[], object]) -> int:
    """Return the most memory that a step held beyond what was there before it, as the package accounts for it."""
    if backend == "torch":
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            step()
        return sum(max(0, event.self_cpu_memory_usage) for event in profile.events())
    tracemalloc.start()
    step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("workload", [name for name, costs in COSTS.items() if "read" in costs])
def test_the_host_reads_a_cost_if_asked(workload: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host reads what a step costs if a case asks."""
    program = build(make("numpy"), case_of(workload, "smoke", cost="read"))
    costs, asked, host = getattr(program.arrays, program.workload.read), [], program.backend.host
    monkeypatch.setattr(program.backend, "host", lambda array: asked.append(array is costs) or host(array))
    steps(program, 3)
    assert sum(asked) == 3
