"""The operations of every backend, at every place that is here: what the contract says they do."""

from typing import Any

import numpy as np
import pytest

from respeed.backends import Activation
from respeed.kernels.compiled import LINE
from respeed.workloads._common import Drawn
from tests.conformance.programs import Place, make, places

# How far a sum of some numbers near 1 may be off.
EXACT = {"fp64": 1e-13, "fp32": 1e-5, "tf32": 1e-2, "bf16": 2e-2, "fp16": 3e-3}
FULL = ("fp32", "fp64")


def at(*offering: str, precisions: tuple[str, ...] = ()) -> Any:
    """Parametrized by the places that offer all of this. JAX's operations are compiled anew for each shape: in fp32,
    and what the other two do in all they can."""
    offered = places(*precisions, offering=offering)
    some = [one for one in offered if one.values[0].backend != "jax" or one.values[0].precision == "fp32"]
    return pytest.mark.parametrize("place", some)


# Of threads: alone, and as large arrays are spread over two.
threads = pytest.mark.parametrize("threads", [1, 2])
switch = [False, True]


def close(place: Place, made: Any, found: Any, wanted: Any, times: float = 1.0) -> None:
    made.sync()
    np.testing.assert_allclose(made.host(found), wanted, rtol=0, atol=times * EXACT[place.precision])


def drawn(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    return [random.normal(0, 0.7, shape) for shape in shapes]


@at(precisions=FULL)
@pytest.mark.parametrize("transpose_a", switch)
@pytest.mark.parametrize("transpose_b", switch)
@pytest.mark.parametrize("m", [1, 7])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (0.5, 1.0), (-2.0, 0.25)])
def test_gemm_is_alpha_ab_plus_beta_c(
    place: Place, transpose_a: bool, transpose_b: bool, m: int, alpha: float, beta: float
) -> None:
    made, (a, b, c) = make(*place), drawn((m, 5), (5, 11), (m, 11))
    left, right, out = made.array(a.T if transpose_a else a), made.array(b.T if transpose_b else b), made.array(c)
    made.gemm(left, right, out, transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, beta=beta)
    close(place, made, out, alpha * a @ b + beta * c)


@at(precisions=FULL)
def test_a_product_with_a_stack_is_one_for_each_of_its_matrices(place: Place) -> None:
    made, (a, b) = make(*place), drawn((3, 5, 7), (3, 5, 11))
    out = made.zeros(3, 7, 11)
    made.gemm(made.array(a), made.array(b), out, transpose_a=True)
    close(place, made, out, a.swapaxes(1, 2) @ b)
    made.gemm(made.array(a[0]), made.array(b), out, transpose_a=True, beta=1.0)
    close(place, made, out, a.swapaxes(1, 2) @ b + a[0].T @ b)


@at()
def test_arrays_come_back_as_they_were_and_take_the_bytes_that_are_said(place: Place) -> None:
    made, (values,) = make(*place), drawn((7, 5))
    wide = np.float64 if place.precision == "fp64" else np.float32
    kept = made.host(made.parameters(values))
    np.testing.assert_array_equal(kept, values.astype(wide))
    assert kept.dtype == made.host(made.array(values)).dtype == wide
    if place.precision in FULL:
        assert made.memory_factor == {"fp32": 1, "fp64": 2}[place.precision]
        np.testing.assert_array_equal(made.host(made.array(values)), values.astype(wide))


@pytest.mark.parametrize("backend", ["openblas", "torch"])
@pytest.mark.parametrize("precision", FULL)
@pytest.mark.parametrize(
    "values", [np.ones((300, 77)), Drawn((300, 77), 0.0, 1.0, 1), Drawn((5, 300, 77), 0.0, 1.0, 1)[3]]
)
def test_arrays_on_a_cpu_begin_at_a_cache_line(backend: str, precision: str, values: Any) -> None:
    made = make(backend, precision=precision)
    for array in (made.array(values), made.parameters(values), made.zeros(300, 77)):
        assert made.host(array).ctypes.data % LINE == 0


@at()
def test_a_copy_is_spread_over_what_it_is_written_into(place: Place) -> None:
    made, row = make(*place), np.arange(3.0)[None, :]
    out = made.zeros(2, 3)
    made.copy(made.array(row), out)
    close(place, made, out, np.repeat(row, 2, axis=0), 0)


@at("add")
def test_what_is_added_is_added_to_what_is_there(place: Place) -> None:
    made, values = make(*place), np.arange(6.0).reshape(2, 3)
    source, out = made.array(values), made.array(np.ones((2, 3)))
    made.add(source, out)
    close(place, made, out, 1 + values, 0)
    close(place, made, source, values, 0)


@at("sigmoid", precisions=FULL)
def test_a_sigmoid_is_right_far_out_and_lets_nan_through(place: Place) -> None:
    made = make(*place)
    z = np.array([[-np.inf, -200.0, -88.0, -20.0, -1e-6, 0.0, 1e-6, 20.0, 88.0, 200.0, np.inf, np.nan]])
    out = made.array(z)
    made.sigmoid(out)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(made.host(out), 1 / (1 + np.exp(-z)), rtol=2e-6, atol=1e-37)


def activated(activation: Activation, z: np.ndarray) -> np.ndarray:
    kinds = {"none": z, "sigmoid": 1 / (1 + np.exp(-z)), "tanh": np.tanh(z), "relu": np.maximum(z, 0)}
    return kinds[activation]


@at("dense_layer")
@threads
@pytest.mark.parametrize("activation", ["none", "sigmoid", "tanh", "relu"])
@pytest.mark.parametrize("transpose", switch)
def test_a_dense_layer_is_the_equation(place: Place, threads: int, activation: Activation, transpose: bool) -> None:
    made, (x, weights, bias) = make(*place, threads=threads), drawn((37, 5), (5, 11), (1, 11))
    for large in made.rehearsals():
        with large:
            out, kept = made.zeros(37, 11), made.parameters(weights.T if transpose else weights)
            made.dense_layer(
                made.array(x), kept, made.parameters(bias), out, activation=activation, transpose=transpose, scale=-1.0
            )
            close(place, made, out, -activated(activation, x @ weights + bias), 4)


@at("activation_backward")
@threads
@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu"])
def test_an_error_goes_back_through_an_activation(place: Place, threads: int, activation: Activation) -> None:
    made, (z, error) = make(*place, threads=threads), drawn((37, 11), (37, 11))
    out = activated(activation, z)
    slope = {"sigmoid": out * (1 - out), "tanh": 1 - out**2, "relu": z > 0}[activation]
    for large in made.rehearsals():
        with large:
            back = made.array(error)
            made.activation_backward(made.array(out), back, activation=activation)
            close(place, made, back, error * slope, 4)


@at("labels", "softmax_error")
@threads
def test_the_error_of_softmax_is_probabilities_less_labels(place: Place, threads: int) -> None:
    made, (logits,) = make(*place, threads=threads), drawn((37, 10))
    labels, shares = np.arange(37) * 7 % 10, np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    error, cost = shares - np.eye(10)[labels], -np.log(shares[np.arange(37), labels])[:, None]
    for large in made.rehearsals():
        with large:
            for rows in (slice(0, 37), slice(5, 9)):
                out, costs, kept = made.zeros(37, 10), made.zeros(37, 1), made.labels(labels)
                made.softmax_error(made.array(logits[rows]), kept[rows], out[rows], costs[rows])
                close(place, made, out[rows], error[rows], 2)
                close(place, made, costs[rows], cost[rows], 10)


@at("sigmoid_error")
@threads
def test_the_error_of_a_sigmoid_is_what_it_misses_and_its_cost_is_finite_far_out(place: Place, threads: int) -> None:
    made, (z,) = make(*place, threads=threads), drawn((37, 131))
    z[:, ::50] *= 40.0  # so that in fp32 probabilities are 0 and 1
    x = np.linspace(0.0, 1.0, z.size).reshape(z.shape)
    for large in made.rehearsals():
        with large:
            out, costs = made.array(z), made.zeros(37, 1)
            seen = made.host(out).astype(np.float64)  # as the precision has them
            made.sigmoid_error(made.array(x), out, costs)
            close(place, made, out, x - 1 / (1 + np.exp(-seen)), 2)
            cost = np.logaddexp(0, seen) - x * seen
            close(place, made, costs, cost.sum(axis=1, keepdims=True), 500)


SPARSE = at("coordinate_step", "line_search", "gradient_step", precisions=FULL)


@SPARSE
def test_a_coordinate_step_is_the_way_to_each_coordinates_own_minimum(place: Place) -> None:
    made, (left, s) = make(*place), drawn((9, 37), (9, 37))
    diagonal, going = np.linspace(0.5, 1.5, 37), np.arange(9.0)[:, None] % 3 > 0
    out = made.zeros(9, 37)
    made.coordinate_step(made.array(left), made.array(s), made.array(diagonal), 0.3, made.array(going), out)
    pull = left + s * diagonal
    close(place, made, out, (np.sign(pull) * np.maximum(np.abs(pull) - 0.3, 0) / diagonal - s) * going)


@SPARSE
@pytest.mark.parametrize(("least", "of_norm"), [(1e-3, 0.0), (0.0, 0.1)])
def test_a_line_search_takes_the_first_length_that_lowers_the_objective(
    place: Place, least: float, of_norm: float
) -> None:
    made, lengths, penalty = make(*place), (1.0, 0.1, 0.01), 0.3
    left, s, direction, moved = arrays = drawn(*[(9, 37)] * 4)
    objective = np.linspace(1.0, 9.0, 9)[:, None]
    there = [made.array(array) for array in (*arrays, objective, np.ones((9, 1)))]
    made.line_search(there[2], there[3], there[0], there[1], penalty, lengths, least, *there[4:], of_norm)
    taken, change = np.zeros((9, 1)), np.zeros((9, 1))
    for t in reversed(lengths):
        norms = np.abs(s + t * direction).sum(1, keepdims=True) - np.abs(s).sum(1, keepdims=True)
        square, slope = ((one * direction).sum(1, keepdims=True) for one in (moved, left))
        trial = 0.5 * t * t * square - t * slope + penalty * norms
        lowers = trial < -least * objective - of_norm * penalty * np.abs(s).sum(1, keepdims=True)
        taken, change = np.where(lowers, t, taken), np.where(lowers, trial, change)
    assert 0 < np.count_nonzero(taken) < 9
    after = (left - taken * moved, s + taken * direction, objective + change, taken > 0)
    for found, wanted in zip((there[0], there[1], *there[4:]), after, strict=True):
        close(place, made, found, wanted, 10)


@SPARSE
def test_a_gradient_step_ends_in_the_ball(place: Place) -> None:
    made, (bases, product, target) = make(*place), drawn(*[(9, 37)] * 3)
    out = made.zeros(9, 37)
    made.gradient_step(made.array(bases), made.array(product), made.array(target), 0.3, out)
    new = bases - 0.3 * (product - target)
    close(place, made, out, new / np.maximum(np.linalg.norm(new, axis=1, keepdims=True), 1))


# Mixed precision: parameters in fp32 beside operands of bf16 or fp16, however a product adds to them.
mixed = pytest.mark.parametrize("place", places("bf16", "fp16", backend="torch"))


@mixed
@pytest.mark.parametrize("stack", [(), (3,)])
def test_changes_too_small_for_the_precision_add_up_in_the_parameters(place: Place, stack: tuple[int, ...]) -> None:
    made = make(*place)
    parameters, one = made.parameters(np.ones((*stack, 8, 8))), made.array(np.ones((*stack, 8, 1)))
    for _ in range(100):
        made.gemm(one, one, parameters, transpose_b=True, alpha=1e-4, beta=1.0)
    np.testing.assert_allclose(made.host(parameters), 1.01, rtol=1e-5)
    # And products see them: in bf16 the nearest number to 1.01 is 1.0078.
    product = made.zeros(*stack, 8, 1)
    made.gemm(parameters, one, product)
    np.testing.assert_allclose(made.host(product), 8 * 1.01, rtol=4e-3)


@mixed
@pytest.mark.parametrize("way", ["_add_by_product", "_add_rounded"])
@pytest.mark.parametrize("shape", [(8, 12), (1, 12), (3, 8, 12), (3, 1, 12)])
def test_every_way_to_add_to_parameters_is_right(
    place: Place, way: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = make(*place)
    if way == "_add_by_product" and not made.adds_itself:
        pytest.skip(f"no {way} in {place.precision} on {place.device}")
    monkeypatch.setattr(made, "_add", getattr(made, way))
    random = np.random.default_rng(3)
    a, b = random.integers(-2, 3, (*shape[:-1], 5)), random.integers(-2, 3, (*shape[:-2], 5, shape[-1]))
    before = random.standard_normal(shape).astype(np.float32)
    out = made.parameters(before)
    made.gemm(made.array(np.swapaxes(a, -1, -2)), made.array(b), out, transpose_a=True, alpha=0.5, beta=0.25)
    np.testing.assert_allclose(made.host(out), 0.5 * a @ b + 0.25 * before, rtol=1e-6, atol=1e-6)
