"""The operations of every backend: what the contract says they do."""

import numpy as np
import pytest

from tests.conformance.programs import DEVICES, backend_or_skip, offering


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


@pytest.mark.parametrize(("backend", "device"), offering("dense_layer"))
@pytest.mark.parametrize("transpose", [False, True])
def test_a_dense_layer_adds_its_bias_to_every_row(backend: str, device: str, transpose: bool) -> None:
    made, random = backend_or_skip(backend, device), np.random.default_rng(3)
    x, weights, bias = random.standard_normal((7, 5)), random.standard_normal((5, 11)), 5 * random.standard_normal(11)
    out = made.zeros(7, 11)
    kept = made.array(weights.T if transpose else weights)
    made.dense_layer(made.array(x), kept, made.array(bias), out, activation="sigmoid", transpose=transpose)
    np.testing.assert_allclose(made.host(out), 1 / (1 + np.exp(-(x @ weights + bias))), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("backend", "device"), offering("sigmoid"))
def test_a_sigmoid_is_right_far_out_and_lets_nan_through(backend: str, device: str) -> None:
    made = backend_or_skip(backend, device)
    z = np.array([[-np.inf, -200.0, -88.0, -20.0, -1e-6, 0.0, 1e-6, 20.0, 88.0, 200.0, np.inf, np.nan]])
    out = made.array(z)
    made.sigmoid(out)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(made.host(out), 1 / (1 + np.exp(-z)), rtol=2e-6, atol=1e-37)


@pytest.mark.parametrize(("backend", "device"), DEVICES)
def test_a_copy_is_spread_over_what_it_is_written_into(backend: str, device: str) -> None:
    made, row = backend_or_skip(backend, device), np.arange(3.0)[None, :]
    source, out = made.array(row), made.zeros(2, 3)
    made.copy(source, out)
    np.testing.assert_array_equal(made.host(out), np.repeat(row, 2, axis=0))


@pytest.mark.parametrize(("backend", "device"), offering("add"))
def test_what_is_added_is_added_to_what_is_there(backend: str, device: str) -> None:
    made = backend_or_skip(backend, device)
    source, out = made.array(np.arange(6.0).reshape(2, 3)), made.array(np.ones((2, 3)))
    made.add(source, out)
    np.testing.assert_array_equal(made.host(out), 1 + np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(made.host(source), np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(("backend", "device"), DEVICES)
def test_a_product_with_a_stack_is_one_for_each_of_its_matrices(backend: str, device: str) -> None:
    made, random = backend_or_skip(backend, device), np.random.default_rng(3)
    a, b = random.standard_normal((3, 5, 7)), random.standard_normal((3, 5, 11))
    out = made.zeros(3, 7, 11)
    made.gemm(made.array(a), made.array(b), out, transpose_a=True)
    np.testing.assert_allclose(made.host(out), a.swapaxes(1, 2) @ b, rtol=1e-5, atol=1e-5)
    made.gemm(made.array(a[0]), made.array(b), out, transpose_a=True, beta=1.0)
    np.testing.assert_allclose(made.host(out), a.swapaxes(1, 2) @ b + a[0].T @ b, rtol=1e-5, atol=1e-5)
