"""Every workload on every backend that runs here: right against float64, in place, and honest about its arithmetic."""

import numpy as np
import pytest

from respeed.inputs.registry import workloads
from respeed.measure.case import TOLERANCE, what_is_wrong
from respeed.model.paper import Case
from respeed.workloads import load_workload
from tests.conformance.programs import (
    CASES,
    CPUS,
    DEVICES,
    LARGE,
    MAX_ALLOCATED,
    WORKLOADS,
    allocated_bytes,
    backend_or_skip,
    case_of,
    errors_of,
    in_place,
    programs,
)


@pytest.mark.parametrize(("backend", "device", "case"), programs(CASES, DEVICES))
def test_a_step_agrees_with_float64(backend: str, device: str, case: Case) -> None:
    assert what_is_wrong(errors_of(backend_or_skip(backend, device), case), TOLERANCE["fp32"]) is None


@pytest.mark.parametrize(("backend", "device", "case"), programs([*CASES, *LARGE], CPUS))
def test_a_step_on_two_threads_agrees_with_float64(backend: str, device: str, case: Case) -> None:
    assert what_is_wrong(errors_of(backend_or_skip(backend, device, threads=2), case), TOLERANCE["fp32"]) is None


@pytest.mark.parametrize(("backend", "device", "case"), programs(in_place("fp32"), CPUS))
def test_a_step_allocates_no_array(backend: str, device: str, case: Case) -> None:
    made, module = backend_or_skip(backend, device), load_workload(case.workload)
    program = module.build(made, case, module.inputs(case, seed=5))
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
        if measure(small) is not None:  # arithmetic that depends on the data is not known beforehand
            assert 0 < measure(small) < measure(Case("doubled", workload, doubled))
