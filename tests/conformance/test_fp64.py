"""Every workload in fp64: right to 1e-10, in place, and nothing of it in fp32."""

from typing import Any

import numpy as np
import pytest

from respeed.backends import BackendContract
from respeed.backends._cpu import OnHost
from respeed.backends._torch_steps import TorchSteps
from respeed.inputs.registry import backends, runs
from respeed.measure.case import TOLERANCE, what_is_wrong
from respeed.model.paper import Case
from respeed.workloads import load_workload
from tests.conformance.programs import (
    CASES,
    DEVICES,
    LARGE,
    MAX_ALLOCATED,
    WITH_PRODUCTS,
    allocated_bytes,
    backend_or_skip,
    errors_of,
    in_place,
    name_of,
    offering,
    programs,
)

OFFERING = [
    device for device in DEVICES if "fp64" in backends()[getattr(device, "values", device)[0]].precisions
]  # fmt: skip
# And what the solvers of sparse coding ask for.
SPARSE = [device for device in OFFERING if device in offering("coordinate_step", "line_search", "gradient_step")]
CPUS = [device for device in OFFERING if "cpu" in getattr(device, "values", device)]


class Operations(OnHost, TorchSteps):
    """What an accelerator is asked for, done by the CPU."""

    synchronous = True


def make(backend: str, device: str, threads: int = 1) -> BackendContract:
    return backend_or_skip(backend, device, "fp64", threads=threads)


@pytest.mark.parametrize(("backend", "device", "case"), programs(CASES, OFFERING, "fp64"))
def test_a_step_in_fp64_agrees_with_float64(backend: str, device: str, case: Case) -> None:
    assert what_is_wrong(errors_of(make(backend, device), case), TOLERANCE["fp64"]) is None


@pytest.mark.parametrize(("backend", "device", "case"), programs([*CASES, *LARGE], CPUS, "fp64"))
def test_a_step_in_fp64_on_two_threads_agrees_with_float64(backend: str, device: str, case: Case) -> None:
    assert what_is_wrong(errors_of(make(backend, device, threads=2), case), TOLERANCE["fp64"]) is None


@pytest.mark.parametrize("case", [case for case in CASES if runs(case.workload, "torch", "fp64")], ids=name_of)
def test_the_operations_of_accelerators_are_right_in_fp64(case: Case) -> None:
    made: Any = Operations("cpu", "fp64", threads=1, seed=1)
    assert what_is_wrong(errors_of(made, case), TOLERANCE["fp64"]) is None


@pytest.mark.parametrize(("backend", "device", "case"), programs(in_place("fp64"), CPUS, "fp64"))
def test_a_step_in_fp64_allocates_no_array(backend: str, device: str, case: Case) -> None:
    made, module = make(backend, device), load_workload(case.workload)
    program = module.build(made, case, module.inputs(case, seed=5))
    for _ in range(3):
        program.step()
    assert allocated_bytes(backend, program.step) < MAX_ALLOCATED


@pytest.mark.parametrize(("backend", "device", "case"), programs(WITH_PRODUCTS, CPUS, "fp64"))
def test_a_step_in_fp32_does_not_pass_as_fp64(backend: str, device: str, case: Case) -> None:
    assert max(errors_of(backend_or_skip(backend, device, "fp32"), case).values()) > TOLERANCE["fp64"]


ON_OPENBLAS = [case for case in WITH_PRODUCTS if runs(case.workload, "openblas", "fp64")]


@pytest.mark.parametrize("case", ON_OPENBLAS, ids=name_of)
def test_products_in_fp32_alone_do_not_pass_as_fp64(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    made, single = make("openblas", "cpu"), backend_or_skip("openblas", "cpu", "fp32")

    def gemm(a: np.ndarray, b: np.ndarray, out: np.ndarray, **options: Any) -> None:
        narrow = single.array(out)
        single.gemm(single.array(a), single.array(b), narrow, **options)
        out[...] = narrow

    monkeypatch.setattr(made, "gemm", gemm)
    assert max(errors_of(made, case).values()) > TOLERANCE["fp64"]


@pytest.mark.parametrize("case", ON_OPENBLAS, ids=name_of)
def test_compiled_steps_in_fp32_alone_do_not_pass_as_fp64(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    made, rounded = make("openblas", "cpu"), []

    def run(kernel: Any, count: int, elements: int, *arguments: Any) -> None:
        kernel(0, count, *arguments)
        for array in arguments:
            if isinstance(array, np.ndarray) and array.dtype == np.float64:
                array[...] = array.astype(np.float32)
                rounded.append(array)

    monkeypatch.setattr(made, "run", run)
    errors = errors_of(made, case)
    if not rounded:
        pytest.skip(f"{case.workload} has no compiled steps")
    assert max(errors.values()) > TOLERANCE["fp64"]


@pytest.mark.parametrize(("backend", "device"), OFFERING)
def test_arrays_in_fp64_come_back_as_they_were(backend: str, device: str) -> None:
    made, values = make(backend, device), np.random.default_rng(1).standard_normal((7, 5))
    for array in (made.array(values), made.parameters(values)):
        assert made.host(array).dtype == np.float64
        np.testing.assert_array_equal(made.host(array), values)


@pytest.mark.parametrize(("backend", "device"), OFFERING)
def test_memory_in_fp64_is_twice_that_of_fp32(backend: str, device: str) -> None:
    made = make(backend, device)
    assert made.memory_factor == 2
    assert made.host(made.zeros(8, 8)).nbytes == 8 * 64


@pytest.mark.parametrize(("backend", "device"), OFFERING)
@pytest.mark.parametrize("m", [1, 7])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_a_product_in_fp64_is_exact(backend: str, device: str, m: int, transpose_b: bool) -> None:
    made, random = make(backend, device), np.random.default_rng(3)
    a, b, c = random.standard_normal((m, 5)), random.standard_normal((5, 11)), random.standard_normal((m, 11))
    out = made.array(c)
    made.gemm(made.array(a), made.array(b.T if transpose_b else b), out, transpose_b=transpose_b, alpha=0.3, beta=0.7)
    np.testing.assert_allclose(made.host(out), 0.3 * a @ b + 0.7 * c, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("backend", "device"), OFFERING)
def test_a_sample_in_fp64_is_what_its_draws_say(backend: str, device: str) -> None:
    made, random = make(backend, device), np.random.default_rng(3)
    shape = (3, 64, 100)
    x, weights = made.array(random.standard_normal((3, 64, 5))), made.array(random.standard_normal((3, 5, 100)))
    bias, out, sample = made.array(random.standard_normal((3, 1, 100))), made.zeros(*shape), made.zeros(*shape)
    draws = made.draws(*shape)
    for _ in range(5):
        made.sample_layer(x, weights, bias, out, sample, draws)
        np.testing.assert_array_equal(made.host(sample), draws.last() < made.host(out))


def sparse_problem(made: BackendContract) -> tuple[list[np.ndarray], list[Any]]:
    """left, coefficients, direction, moved (9, 37): as NumPy, and on the backend."""
    arrays = list(np.random.default_rng(3).standard_normal((4, 9, 37)))
    return arrays, [made.array(array) for array in arrays]


@pytest.mark.parametrize(("backend", "device"), SPARSE)
def test_a_coordinate_step_in_fp64_is_exact(backend: str, device: str) -> None:
    made = make(backend, device)
    (left, coefficients, *_), (left_there, coefficients_there, *_) = sparse_problem(made)
    diagonal, going = np.linspace(0.5, 1.5, 37), np.arange(9.0)[:, None] % 3
    out = made.zeros(9, 37)
    made.coordinate_step(left_there, coefficients_there, made.array(diagonal), 0.3, made.array(going > 0), out)
    pull = left + coefficients * diagonal
    wanted = (np.sign(pull) * np.maximum(np.abs(pull) - 0.3, 0) / diagonal - coefficients) * (going > 0)
    np.testing.assert_allclose(made.host(out), wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(("backend", "device"), SPARSE)
def test_a_line_search_in_fp64_is_exact(backend: str, device: str) -> None:
    made, lengths, penalty, least = make(backend, device), (1.0, 0.1, 0.01), 0.3, 1e-3
    (left, s, direction, moved), (left_there, s_there, direction_there, moved_there) = sparse_problem(made)
    objective = np.linspace(1.0, 9.0, 9)[:, None]
    objective_there, going_there = made.array(objective), made.array(np.ones((9, 1)))
    made.line_search(
        direction_there, moved_there, left_there, s_there, penalty, lengths, least, objective_there, going_there
    )
    taken, change = np.zeros((9, 1)), np.zeros((9, 1))
    for t in reversed(lengths):
        norms = np.abs(s + t * direction).sum(1, keepdims=True) - np.abs(s).sum(1, keepdims=True)
        square, slope = ((one * direction).sum(1, keepdims=True) for one in (moved, left))
        trial = 0.5 * t * t * square - t * slope + penalty * norms
        lowers = trial < -least * objective
        taken, change = np.where(lowers, t, taken), np.where(lowers, trial, change)
    assert 0 < np.count_nonzero(taken) < 9
    for found, wanted in (
        (s_there, s + taken * direction), (left_there, left - taken * moved),
        (objective_there, objective + change), (going_there, taken > 0),
    ):  # fmt: skip
        np.testing.assert_allclose(made.host(found), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("backend", "device"), SPARSE)
def test_a_gradient_step_in_fp64_is_exact(backend: str, device: str) -> None:
    made = make(backend, device)
    (bases, product, target, _), (bases_there, product_there, target_there, _) = sparse_problem(made)
    out = made.zeros(9, 37)
    made.gradient_step(bases_there, product_there, target_there, 0.3, out)
    new = bases - 0.3 * (product - target)
    wanted = new / np.maximum(np.linalg.norm(new, axis=1, keepdims=True), 1)
    np.testing.assert_allclose(made.host(out), wanted, rtol=1e-13, atol=1e-15)
