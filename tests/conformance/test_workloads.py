"""Every workload on every backend that runs here: right against float64, in place, and honest about its arithmetic."""

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from respeed.backends import BackendContract, make_backend
from respeed.load.modules import backend_devices, workload_backends, workload_parameters
from respeed.load.papers import load_papers
from respeed.measure.correctness import TOLERANCE, state_errors, what_is_wrong
from respeed.model.errors import NotMeasurable
from respeed.model.paper import Case
from respeed.workloads import Factors, load_workload


def all_cases() -> Iterator[Case]:
    for paper in load_papers().values():
        for experiment in paper.experiments.values():
            yield from experiment.smoke_cases


# Workloads whose parameters must fit one another. The share of nonzero coefficients is what the penalty makes it.
SPARSE = {"bases": 37, "side": 7, "patches": 93, "batch": 31, "timed": 17, "penalty": 0.15, "nonzero": 0.2289}
ODD = {
    "patches": {"side": 33, "patch": 9, "stride": 3, "hidden": 7, "batch": 11, "learning_rate": 0.05},
    "sparse_parallel": SPARSE,
    "sparse_feature_sign": SPARSE,
    "sparse_descent": SPARSE,
}
LARGE = {
    "patches": {"side": 48, "patch": 24, "stride": 8, "hidden": 60, "batch": 60, "learning_rate": 0.05},
    "sparse_parallel": SPARSE | {"bases": 320, "side": 18, "patches": 320, "batch": 320, "timed": 320},
    "sparse_descent": SPARSE | {"bases": 320, "side": 18, "patches": 320, "batch": 320, "timed": 320},
}


def odd_case(workload: str) -> Case:
    """A case of no round size, so that nothing works only for multiples of something."""
    primes = iter([37, 53, 29, 31, 41])
    kinds = workload_parameters()[workload]
    return Case(
        "odd",
        workload,
        ODD.get(workload) or {name: next(primes) if kind == "whole" else 0.05 for name, kind in kinds.items()},
    )


CASES = [*all_cases(), *(odd_case(name) for name in workload_parameters())]
GPU_DEVICES = [
    pytest.param(name, device, marks=pytest.mark.gpu)
    for name, devices in backend_devices().items()
    for device in devices
    if device != "cpu"
]
# The Lagrange dual solves systems whose size changes from one Newton step to the next, by LAPACK, which returns arrays.
ALLOCATING = {"sparse_feature_sign"}
# A number for each row, not for each element: torch's sums of rows are arrays of their own.
ALLOCATING_ON = {("torch", "sparse_parallel")}
CPU_DEVICES = [(name, "cpu") for name, devices in backend_devices().items() if "cpu" in devices]
DEVICES = [*CPU_DEVICES, *GPU_DEVICES]


def programs(cases: list[Case], devices: list[Any]) -> list[Any]:
    """Every case on every device whose backend its workload runs on."""
    found = []
    for device in devices:
        names, marks = getattr(device, "values", device), getattr(device, "marks", ())
        for case in cases:
            if names[0] in workload_backends()[case.workload]:
                name = "-".join((*names, case.workload, case.name))
                found.append(pytest.param(*names, case, marks=marks, id=name))
    return found


def backend_or_skip(name: str, device: str, seed: int = 1) -> BackendContract:
    try:
        return make_backend(name, device=device, precision="fp32", threads=1, seed=seed)
    except NotMeasurable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize(("backend", "device", "case"), programs(CASES, DEVICES))
def test_a_step_agrees_with_float64(backend: str, device: str, case: Case) -> None:
    made, workload = backend_or_skip(backend, device), load_workload(case.workload)
    inputs = workload.inputs(case, seed=5)
    program = workload.build(made, case, inputs)
    program.step()
    made.sync()
    state = program.state()
    errors = state_errors(inputs, state, workload.reference(case, inputs, state))
    assert what_is_wrong(errors, TOLERANCE["fp32"]) is None


def rounded(array: np.ndarray, bits: int) -> np.ndarray:
    """float32 with `bits` bits of mantissa, rounded to nearest."""
    drop = 23 - bits
    integers = np.ascontiguousarray(array).view(np.int32)
    kept: np.ndarray = ((integers + (1 << (drop - 1))) & ~((1 << drop) - 1)).view(np.float32)
    return kept


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.workload}-{case.name}")
def test_a_product_in_tf32_does_not_pass_as_fp32(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    made, workload = backend_or_skip("openblas", "cpu"), load_workload(case.workload)
    exact = made.gemm

    def in_tf32(a: np.ndarray, b: np.ndarray, out: np.ndarray, **options: Any) -> None:
        exact(rounded(a, 10), rounded(b, 10), out, **options)

    monkeypatch.setattr(made, "gemm", in_tf32)
    inputs = workload.inputs(case, seed=5)
    program = workload.build(made, case, inputs)
    program.step()
    state = program.state()
    assert max(state_errors(inputs, state, workload.reference(case, inputs, state)).values()) > TOLERANCE["fp32"]


@pytest.mark.parametrize("workload", workload_parameters())
def test_one_wrong_element_of_a_product_is_seen(workload: str) -> None:
    case, module = odd_case(workload), load_workload(workload)
    made, inputs = backend_or_skip("openblas", "cpu"), module.inputs(case, seed=5)
    program = module.build(made, case, inputs)
    program.step()
    state = dict(program.state())
    expected = module.reference(case, inputs, state)
    name = next((name for name, reference in expected.items() if isinstance(reference, Factors)), None)
    if name is None:
        pytest.skip(f"{workload}: the reference does every product itself")
    product = expected[name].factor * (expected[name].left @ expected[name].right)
    state[name] = state[name].copy()
    state[name].reshape(-1, product.shape[-1])[3, 2] += 0.05 * np.abs(product).max()
    assert state_errors(inputs, state, expected)[name] > TOLERANCE["fp32"]


def allocated_bytes(backend: str, step: Callable[[], None]) -> int:
    """The most memory that a step held beyond what was there before it, as the library's own accounting has it."""
    if backend == "torch":
        import torch

        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            step()
        return sum(max(0, event.self_cpu_memory_usage) for event in profile.events())
    tracemalloc.start()
    step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def large_case(workload: str) -> Case:
    kinds = workload_parameters()[workload]
    return Case(
        "large",
        workload,
        LARGE.get(workload) or {name: SIDE if kind == "whole" else 0.05 for name, kind in kinds.items()},
    )


SIDE = 320
LARGE_CASES = [large_case(name) for name in workload_parameters() if name not in ALLOCATING]


@pytest.mark.parametrize(("backend", "device", "case"), programs(LARGE_CASES, CPU_DEVICES))
def test_a_step_allocates_no_array(backend: str, device: str, case: Case) -> None:
    workload, side = case.workload, SIDE
    if (backend, workload) in ALLOCATING_ON:
        pytest.skip("allocates a number for each row")
    made, module = backend_or_skip(backend, device), load_workload(workload)
    program = module.build(made, case, module.inputs(case, seed=5))
    for _ in range(3):
        program.step()
    # Views, Python objects and NumPy's casting buffer (at most 64 kB, whatever the size) come and go; matrices do not.
    assert allocated_bytes(backend, program.step) < 4 * side * side / 4


def test_a_step_that_allocates_is_seen() -> None:
    import torch

    a = torch.zeros(64, 64)
    assert allocated_bytes("torch", lambda: (a @ a).sigmoid()) >= 4 * 64 * 64
    assert allocated_bytes("openblas", lambda: np.zeros((64, 64), np.float32) + 1) >= 4 * 64 * 64


@pytest.mark.parametrize(("backend", "device"), DEVICES)
def test_draws_are_bernoulli_with_the_right_mean_and_independent_across_steps(backend: str, device: str) -> None:
    made = backend_or_skip(backend, device)
    probabilities = np.linspace(0, 1, 512, dtype=np.float32)
    probability = made.array(np.tile(probabilities, (64, 1)))
    uniform, out = made.zeros(64, 512), made.zeros(64, 512)
    draws = []
    for _ in range(60):
        made.bernoulli(probability, uniform, out)
        draws.append(made.host(out).copy())
    sample = np.stack(draws)
    assert set(np.unique(sample)) == {0.0, 1.0}
    assert not sample[..., 0].any()
    n = sample.shape[0] * sample.shape[1]
    deviation = (sample.mean(axis=(0, 1)) - probabilities) / np.sqrt(probabilities * (1 - probabilities) / n + 1e-12)
    assert np.abs(deviation[1:-1]).max() < 5
    assert abs(np.mean(deviation[1:-1] ** 2) - 1) < 0.4
    centred = sample - probabilities
    lag = (centred[1:] * centred[:-1]).mean() / (centred**2).mean()
    assert abs(lag) < 5 / np.sqrt(sample.size)


@pytest.mark.parametrize(("backend", "device"), DEVICES)
def test_the_same_seed_gives_the_same_draws(backend: str, device: str) -> None:
    def draw() -> np.ndarray:
        made = backend_or_skip(backend, device, seed=7)
        uniform, out = made.zeros(8, 8), made.zeros(8, 8)
        made.bernoulli(made.array(np.full((8, 8), 0.5)), uniform, out)
        return made.host(uniform)

    np.testing.assert_array_equal(draw(), draw())


@pytest.mark.parametrize(("backend", "device"), DEVICES)
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (0.5, 1.0), (-2.0, 0.25)])
def test_gemm_is_alpha_ab_plus_beta_c(
    backend: str, device: str, transpose_a: bool, transpose_b: bool, alpha: float, beta: float
) -> None:
    made, random = backend_or_skip(backend, device), np.random.default_rng(3)
    a, b, c = random.standard_normal((7, 5)), random.standard_normal((5, 11)), random.standard_normal((7, 11))
    out = made.array(c)
    made.gemm(
        made.array(a.T if transpose_a else a), made.array(b.T if transpose_b else b), out,
        transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, beta=beta,
    )  # fmt: skip
    np.testing.assert_allclose(made.host(out), alpha * a @ b + beta * c, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("workload", workload_parameters())
def test_the_arithmetic_of_a_workload_is_positive_and_grows_with_its_size(workload: str) -> None:
    small, module = odd_case(workload), load_workload(workload)
    large = Case("large", workload, {name: value * 2 for name, value in small.parameters.items()})
    for measure in (module.flops, module.traffic_bytes, module.memory_bytes):
        if measure(small) is not None:  # arithmetic that depends on the data is not known beforehand
            assert 0 < measure(small) < measure(large)


@pytest.mark.parametrize(("backend", "device"), DEVICES)
@pytest.mark.parametrize("transpose", [False, True])
def test_a_sigmoid_layer_adds_its_bias_to_every_row(backend: str, device: str, transpose: bool) -> None:
    made, random = backend_or_skip(backend, device), np.random.default_rng(3)
    x, weights, bias = random.standard_normal((7, 5)), random.standard_normal((5, 11)), 5 * random.standard_normal(11)
    out = made.zeros(7, 11)
    kept = made.array(weights.T if transpose else weights)
    made.sigmoid_layer(made.array(x), kept, made.array(bias), out, transpose=transpose)
    np.testing.assert_allclose(made.host(out), 1 / (1 + np.exp(-(x @ weights + bias))), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("backend", "device"), DEVICES)
def test_scale_and_copy_write_into_what_they_are_given(backend: str, device: str) -> None:
    made = backend_or_skip(backend, device)
    source, out = made.array(np.arange(6.0).reshape(2, 3)), made.zeros(2, 3)
    made.copy(source, out)
    made.scale(out, -2.0)
    np.testing.assert_array_equal(made.host(out), -2 * np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(made.host(source), np.arange(6.0).reshape(2, 3))
