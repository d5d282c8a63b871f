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
from respeed.workloads import Product, load_workload


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
    "cd1_products": {"visible": 320, "hidden": 320, "batch": 320, "patches": 1},
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
    name = next((name for name, reference in expected.items() if isinstance(reference, Product)), None)
    if name is None:
        pytest.skip(f"{workload}: the reference does every product itself")
    left, right = expected[name].left, expected[name].right
    product = expected[name].factor * (
        left @ right if right.ndim == 2 else np.stack([a @ b for a, b in zip(left, right, strict=True)])
    )
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
def test_samples_are_bernoulli_with_the_right_mean_and_independent_across_steps_and_places(
    backend: str, device: str
) -> None:
    made = backend_or_skip(backend, device)
    x, weights, sample_one_layer = layer_of_probabilities(made)
    sample, probabilities = [], None
    for _ in range(60):
        out, drawn = sample_one_layer(x, weights)
        probabilities = out[0].astype(np.float64)
        sample.append(drawn)
    samples = np.stack(sample)
    assert set(np.unique(samples)) == {0.0, 1.0}
    n = samples.shape[0] * samples.shape[1]
    deviation = (samples.mean(axis=(0, 1)) - probabilities) / np.sqrt(probabilities * (1 - probabilities) / n)
    assert np.abs(deviation).max() < 5
    assert abs(np.mean(deviation**2) - 1) < 0.4
    centred = (samples - probabilities) / np.sqrt(probabilities * (1 - probabilities))
    for axis in range(3):  # steps, examples, units: one after another, and the ones that a stride of 2 or 16 apart are
        for lag in (1, 2, 16):
            here = np.take(centred, range(lag, centred.shape[axis]), axis)
            before = np.take(centred, range(centred.shape[axis] - lag), axis)
            assert abs((here * before).mean()) < 5 / np.sqrt(here.size), f"axis {axis}, lag {lag}"


def layer_of_probabilities(made: BackendContract) -> tuple[Any, Any, Callable[..., tuple[np.ndarray, np.ndarray]]]:
    """A layer of 512 units whose probabilities go from 0.01 to 0.99, the same for 64 examples, and how to sample it."""
    wanted = np.linspace(0.01, 0.99, 512)
    x, weights = made.array(np.ones((64, 1))), made.array(np.log(wanted / (1 - wanted))[None, :])
    bias, out, sample = made.zeros(1, 512), made.zeros(64, 512), made.zeros(64, 512)
    draws = made.draws(64, 512)

    def sample_once(x: Any, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        made.sample_layer(x, weights, bias, out, sample, draws)
        drawn, probability = draws.last(), made.host(out)
        np.testing.assert_array_equal(made.host(sample), drawn < probability)
        return probability.copy(), made.host(sample).copy()

    return x, weights, sample_once


@pytest.mark.parametrize(("backend", "device"), DEVICES)
def test_uniform_draws_fill_their_interval_evenly(backend: str, device: str) -> None:
    made = backend_or_skip(backend, device)
    shape = (3, 100, 1000)
    draws, x, weights = made.draws(*shape), made.zeros(3, 100, 1), made.zeros(3, 1, 1000)
    bias, out, sample = made.zeros(3, 1, 1000), made.zeros(*shape), made.zeros(*shape)
    counts = np.zeros(256)
    for _ in range(20):
        made.sample_layer(x, weights, bias, out, sample, draws)
        drawn = draws.last()
        assert drawn.min() >= 0
        assert drawn.max() < 1
        counts += np.bincount((drawn * 256).astype(int).ravel(), minlength=256)
        # The lower bits are as even as the upper ones.
        counts += np.bincount((drawn * 2**24).astype(int).ravel() % 256, minlength=256)
    expected = counts.sum() / 256
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_square - 255) < 5 * np.sqrt(2 * 255)


@pytest.mark.parametrize(("backend", "device"), DEVICES)
def test_the_same_seed_gives_the_same_draws_and_another_seed_others(backend: str, device: str) -> None:
    def draw(seed: int) -> np.ndarray:
        made = backend_or_skip(backend, device, seed=seed)
        draws, out = made.draws(8, 8), made.zeros(8, 8)
        made.sample_layer(made.zeros(8, 1), made.zeros(1, 8), made.zeros(1, 8), out, made.zeros(8, 8), draws)
        return draws.last()

    np.testing.assert_array_equal(draw(7), draw(7))
    assert (draw(7) != draw(8)).mean() > 0.9


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
def test_a_dense_layer_adds_its_bias_to_every_row(backend: str, device: str, transpose: bool) -> None:
    made, random = backend_or_skip(backend, device), np.random.default_rng(3)
    x, weights, bias = random.standard_normal((7, 5)), random.standard_normal((5, 11)), 5 * random.standard_normal(11)
    out = made.zeros(7, 11)
    kept = made.array(weights.T if transpose else weights)
    made.dense_layer(made.array(x), kept, made.array(bias), out, activation="sigmoid", transpose=transpose)
    np.testing.assert_allclose(made.host(out), 1 / (1 + np.exp(-(x @ weights + bias))), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("backend", "device"), DEVICES)
def test_a_sigmoid_is_right_far_out_and_lets_nan_through(backend: str, device: str) -> None:
    made = backend_or_skip(backend, device)
    z = np.array([[-np.inf, -200.0, -88.0, -20.0, -1e-6, 0.0, 1e-6, 20.0, 88.0, 200.0, np.inf, np.nan]])
    out = made.array(z)
    made.sigmoid(out)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(made.host(out), 1 / (1 + np.exp(-z)), rtol=2e-6, atol=1e-37)


@pytest.mark.parametrize(("backend", "device"), DEVICES)
def test_copy_and_add_write_into_what_they_are_given(backend: str, device: str) -> None:
    made = backend_or_skip(backend, device)
    source, out = made.array(np.arange(6.0).reshape(2, 3)), made.zeros(2, 3)
    made.copy(source, out)
    made.add(source, out)
    np.testing.assert_array_equal(made.host(out), 2 * np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(made.host(source), np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(("backend", "device", "case"), programs(CASES, CPU_DEVICES))
def test_a_step_on_two_threads_agrees_with_float64(backend: str, device: str, case: Case) -> None:
    made, module = (
        make_backend(backend, device=device, precision="fp32", threads=2, seed=3),
        load_workload(case.workload),
    )
    inputs = module.inputs(case, seed=5)
    program = module.build(made, case, inputs)
    program.step()
    state = program.state()
    errors = state_errors(inputs, state, module.reference(case, inputs, state))
    assert what_is_wrong(errors, TOLERANCE["fp32"]) is None
