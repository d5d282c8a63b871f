"""Compiled passes over rows: the same numbers however many threads do them, and exact where NumPy is not asked.

That they are what the contract says is held by tests/conformance (test_operations.py, test_draws.py), in fp32 and fp64.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.kernels import elementwise
from respeed.kernels.parallel import SPREAD

KEY = tuple(np.array([7, 11], np.uint32))
NUMBERS = st.sampled_from([np.float32, np.float64])
ACTIVATIONS = st.sampled_from(sorted(elementwise.ACTIVATIONS.values()))


@st.composite
def asked(draw: st.DrawFn) -> tuple[str, int, list[Any]]:
    """A kernel by its name, its rows, and what it is given."""
    name, number = draw(st.sampled_from([kernel.__name__ for kernel in SPREAD])), draw(NUMBERS)
    P, m, n = draw(st.tuples(st.integers(1, 3), st.integers(1, 20), st.integers(1, 40)))
    random = np.random.default_rng(draw(st.integers(0, 2**31)))

    def some(*shape: int) -> np.ndarray:
        return random.normal(0, 3, shape).astype(number)

    bias, going = some(draw(st.sampled_from([1, P])), 1, n), (some(m, 1) > 0).astype(number)
    R = draw(st.integers(1, 3))
    flat, grid = P * m * n, R + 1  # windows of R x R, in images of 2 x 2 tiles a window
    rows: dict[str, tuple[int, list[Any]]] = {
        "sigmoid_elements": (flat, [some(flat)]),
        "dense_rows": (P * m, [some(P, m, n), bias, draw(ACTIVATIONS), -2.0]),
        "backward_elements": (flat, [some(flat), some(flat), draw(ACTIVATIONS)]),
        "softmax_error_rows": (m, [some(m, n), np.arange(m) % n, some(m, n), some(m, 1)]),
        "sigmoid_error_rows": (m, [some(m, n), some(m, n), some(m, 1)]),
        "sample_rows": (P * m, [some(P, m, n), bias, some(P, m, n), -1.0, *KEY]),
        "mask_rows": (P * m, [some(P, m, n), 0.3, some(P, m, n), *KEY]),
        "coordinate_step": (m, [some(m, n), some(m, n), abs(some(n)) + number(1), 0.3, going, some(m, n)]),
        "line_search": (m, [*(some(m, n) for _ in range(4)), 0.3, some(3), 1e-3, abs(some(m, 1)), going, 0.1]),
        "gradient_step": (m, [some(m, n), some(m, n), some(m, n), 0.1, some(m, n)]),
        "cut_windows": (R * R * m, [some(grid, grid, m, n), 0, 2, some(R * R, m, 4 * n), 0]),
        "add_windows": (m, [some(R * R, m, 4 * n), 0, 2, some(grid, grid, m, n)]),
    }
    return name, *rows[name]


@settings(deadline=None, max_examples=200)
@given(asked(), st.integers(1, 4), st.data())
def test_rows_are_done_alike_by_any_number_of_threads_and_others_are_left_alone(
    kernel: tuple[str, int, list[Any]], threads: int, data: st.DataObject
) -> None:
    name, count, given_ = kernel
    one = getattr(elementwise, name)
    alone, spread, parts = ([np.copy(each) if isinstance(each, np.ndarray) else each for each in given_] for _ in "123")
    one(0, count, *alone)
    SPREAD[one](count, threads, *spread)
    middle = data.draw(st.integers(0, count))
    one(middle, count, *parts)
    one(0, middle, *parts)
    for wanted, *found in zip(alone, spread, parts, strict=True):
        for each in found:
            np.testing.assert_allclose(each, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-7), (np.float64, 3e-16)])
def test_a_sigmoid_is_as_exact_as_its_type_goes_from_0_to_1_and_lets_nan_through(dtype: Any, error: float) -> None:
    random, ends = np.random.default_rng(1), [-np.inf, -1e30, 1e30, np.inf]
    z = np.concatenate([10 * random.standard_normal(100_000), np.linspace(-1000, 1000, 10_001), ends]).astype(dtype)
    found = np.append(z, dtype(np.nan))
    elementwise.sigmoid_elements(0, len(found), found)
    with np.errstate(over="ignore"):
        wanted = 1 / (1 + np.exp(-z.astype(np.longdouble)))
    assert np.abs(found[:-1] - wanted).max() <= error
    assert np.isnan(found[-1])


@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_softmax_of_large_logits_does_not_overflow(number: type) -> None:
    logits = np.array([[1e4, 0.0, -1e4], [-1e4, -1e4, -1e4], [1e4, 0.0, 0.0]], number)
    out, costs = np.empty((3, 3), number), np.empty((3, 1), number)
    elementwise.softmax_error_rows(0, 3, logits, np.array([0, 2, 1]), out, costs)
    np.testing.assert_allclose(out, [[0, 0, 0], [1 / 3, 1 / 3, -2 / 3], [1, -1, 0]], atol=1e-6)
    # Logits of 1e4 are themselves no more exact than that.
    np.testing.assert_allclose(costs[:, 0], [0, np.log(3), 1e4], rtol=1e-4)


@pytest.mark.parametrize("activation", elementwise.ACTIVATIONS.values())
def test_no_activation_hides_what_is_not_a_number(activation: int) -> None:
    out = np.full((1, 1, 3), np.nan, np.float32)
    elementwise.dense_rows(0, 1, out, np.zeros((1, 1, 3), np.float32), activation, 1.0)
    assert np.isnan(out).all()
