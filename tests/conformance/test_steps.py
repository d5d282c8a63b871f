"""Every workload at every place that is here: right against float64 as far as its precision goes, and no further, in
place, and honest about its arithmetic."""

from typing import Any

import numpy as np
import pytest

from respeed.backends._cpu import OnHost
from respeed.backends._torch_steps import TorchSteps
from respeed.inputs.registry import runs, workloads
from respeed.measure.case import TOLERANCE, what_is_wrong
from respeed.model.paper import Case
from respeed.workloads import load_workload
from tests.conformance.programs import (
    CASES,
    LARGE,
    MAX_ALLOCATED,
    OWN,
    WITH_PRODUCTS,
    WORKLOADS,
    Place,
    allocated_bytes,
    build,
    case_of,
    errors_of,
    in_place,
    make,
    places,
    programs,
)  # fmt: skip

# Those in which all of a program's numbers are.
FULL = ("fp32", "fp64")


def at(some: list[Any]) -> Any:
    """Parametrized by these programs."""
    return pytest.mark.parametrize(("place", "case"), some)


@at(programs(CASES, places()))
def test_a_step_agrees_with_float64(place: Place, case: Case) -> None:
    assert what_is_wrong(errors_of(make(*place), case), TOLERANCE[place.precision]) is None


# What threads share shows where no number of pieces divides the rows, and where arrays are large enough to be spread.
@at(programs([*(case_of(name, "odd") for name in WORKLOADS), *LARGE], places("fp32", on="cpu")))
def test_a_step_on_two_threads_agrees_with_float64(place: Place, case: Case) -> None:
    assert what_is_wrong(errors_of(make(*place, threads=2), case), TOLERANCE[place.precision]) is None


class Operations(OnHost, TorchSteps):
    """What an accelerator is asked for, done by the CPU."""

    synchronous = True


@at(programs(OWN, places("fp32", on="cpu", backend="torch")))
def test_the_operations_of_accelerators_are_right_where_there_is_none(place: Place, case: Case) -> None:
    made: Any = Operations("cpu", place.precision, threads=1, seed=1)
    assert what_is_wrong(errors_of(made, case), TOLERANCE[place.precision]) is None


ABOVE = {"fp32": "fp64", "fp16": "fp32", "bf16": "fp16"}


@at(programs(WITH_PRODUCTS, places(*ABOVE, on="cpu")))
def test_a_step_does_not_pass_as_one_of_the_next_precision(place: Place, case: Case) -> None:
    above = ABOVE[place.precision]
    if not runs(case.workload, place.backend, above):
        pytest.skip(f"{case.workload} does not run in {above}")
    assert max(errors_of(make(*place), case).values()) > TOLERANCE[above]


@at(in_place("fp32", "fp64", "bf16"))
def test_a_step_allocates_no_array(place: Place, case: Case) -> None:
    made = make(*place)
    program = build(made, case)
    for _ in range(3):
        program.step()
    assert allocated_bytes(made.describe()["package"], program.step) < MAX_ALLOCATED


def test_a_step_that_allocates_is_seen() -> None:
    import torch

    a = torch.zeros(64, 64)
    assert allocated_bytes("torch", lambda: (a @ a).sigmoid()) >= 4 * 64 * 64
    assert allocated_bytes("numpy", lambda: np.zeros((64, 64), np.float32) + 1) >= 4 * 64 * 64


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_arithmetic_of_a_workload_is_positive_and_grows_with_its_size(workload: str) -> None:
    small, kinds, module = case_of(workload, "odd"), workloads()[workload].parameters, load_workload(workload)
    doubled = {name: 2 * value if kinds[name] == "whole" else value for name, value in small.parameters.items()}
    for measure in (module.flops, module.traffic_bytes, module.memory_bytes):
        if measure(small):  # arithmetic that depends on the data is not known beforehand, nor is that of programs
            assert 0 < measure(small) < measure(Case("doubled", workload, doubled))


def test_the_host_reads_each_steps_cost_where_a_case_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def times_asked(**options: str) -> int:
        made: Any = make("openblas")
        program = build(made, Case("read", "mlp", {**case_of("mlp", "smoke").parameters, **options}))
        asked, host = [], made.host
        monkeypatch.setattr(made, "host", lambda array: asked.append(array is program.costs) or host(array))
        for _ in range(3):
            program.step()
        return sum(asked)

    assert times_asked(cost="read") == times_asked() + 3


def test_stacked_autoencoders_compute_the_cost_of_each_layer_where_a_case_asks_for_it() -> None:
    case = case_of("sda", "smoke")
    costs = {"layer 1 costs", "layer 2 costs"}
    assert not costs & errors_of(make("openblas"), case).keys()
    errors = errors_of(make("openblas"), Case("costs", "sda", {**case.parameters, "cost": "computed"}))
    assert max(errors[name] for name in costs) < TOLERANCE["fp32"]
