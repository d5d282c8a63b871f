"""The kernels of nets against NumPy, on float32 and float64, in any rows that a thread may get."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.kernels import elementwise
from respeed.kernels.parallel import SPREAD

FORWARD = {
    "none": lambda z: z,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
}
SLOPES = {
    "sigmoid": lambda out: out * (1 - out),
    "tanh": lambda out: 1 - out**2,
    "relu": lambda out: (out > 0).astype(float),
}
SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 40), st.integers(1, 40))
NUMBERS = st.sampled_from([np.float32, np.float64])


def drawn(shape: tuple[int, ...], number: type, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 3, shape).astype(number)


@settings(deadline=None, max_examples=40)
@given(SHAPES, NUMBERS, st.sampled_from(sorted(elementwise.ACTIVATIONS)), st.booleans(), st.integers(1, 4))
def test_a_layer_gets_its_bias_and_its_activation(
    shape: tuple[int, int, int], number: type, activation: str, shared: bool, threads: int
) -> None:
    z, bias = drawn(shape, number), drawn((1 if shared else shape[0], 1, shape[2]), number, 1)
    out, count = z.copy(), shape[0] * shape[1]
    SPREAD[elementwise.dense_rows](count, threads, out, bias, elementwise.ACTIVATIONS[activation], -2.0)
    np.testing.assert_allclose(
        out, -2 * FORWARD[activation](z.astype(float) + bias), atol=2e-6 if number is np.float32 else 1e-14
    )


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 900), NUMBERS, st.sampled_from(sorted(SLOPES)), st.integers(1, 4))
def test_an_error_is_multiplied_by_the_slope_at_the_layers_output(
    count: int, number: type, activation: str, threads: int
) -> None:
    out, error = FORWARD[activation](drawn((count,), number)).astype(number), drawn((count,), number, 1)
    expected = error * SLOPES[activation](out.astype(float))
    SPREAD[elementwise.backward_elements](count, threads, out, error, elementwise.ACTIVATIONS[activation])
    np.testing.assert_allclose(error, expected, atol=1e-6 if number is np.float32 else 1e-14)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 40), st.integers(1, 40), NUMBERS, st.integers(1, 4))
def test_what_softmax_misses_the_labels_by_is_right(rows: int, classes: int, number: type, threads: int) -> None:
    logits, labels = drawn((rows, classes), number), np.arange(rows) % classes
    out, costs, leeway = np.empty_like(logits), np.empty((rows, 1), number), 3e-6 if number is np.float32 else 1e-13
    SPREAD[elementwise.softmax_error_rows](rows, threads, logits, labels, out, costs)
    shares = np.exp(logits.astype(float))
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(out, shares - np.eye(classes)[labels], atol=leeway)
    np.testing.assert_allclose(costs[:, 0], -np.log(shares[np.arange(rows), labels]), atol=leeway)


@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_softmax_of_large_logits_does_not_overflow(number: type) -> None:
    logits = np.array([[1e4, 0.0, -1e4], [-1e4, -1e4, -1e4], [1e4, 0.0, 0.0]], number)
    out, costs = np.empty((3, 3), number), np.empty((3, 1), number)
    elementwise.softmax_error_rows(0, 3, logits, np.array([0, 2, 1]), out, costs)
    np.testing.assert_allclose(out, [[0, 0, 0], [1 / 3, 1 / 3, -2 / 3], [1, -1, 0]], atol=1e-6)
    # Logits of 1e4 are themselves no more exact than that.
    np.testing.assert_allclose(costs[:, 0], [0, np.log(3), 1e4], rtol=1e-4)


@pytest.mark.parametrize("activation", ["none", "sigmoid", "tanh", "relu"])
def test_no_activation_hides_what_is_not_a_number(activation: str) -> None:
    out = np.full((1, 1, 3), np.nan, np.float32)
    elementwise.dense_rows(0, 1, out, np.zeros((1, 1, 3), np.float32), elementwise.ACTIVATIONS[activation], 1.0)
    assert np.isnan(out).all()


def test_rows_of_other_threads_are_left_alone() -> None:
    out = np.ones((1, 4, 3), np.float32)
    elementwise.dense_rows(1, 3, out, np.ones((1, 1, 3), np.float32), elementwise.ACTIVATIONS["none"], 1.0)
    np.testing.assert_array_equal(out[0, :, 0], [1, 2, 2, 1])
