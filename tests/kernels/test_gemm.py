"""The product of matrices by its address: no copies, and other threads go on meanwhile."""

import threading

import numpy as np
import pytest

from respeed.kernels.blas import gemm


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "beta"), [(1, 0.0), (1, 0.5), (5, 0.0), (5, 0.5)])
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_products_are_numpys(dtype: type, m: int, transposed: str, beta: float) -> None:
    random = np.random.default_rng(m)
    a, b, out = (random.standard_normal(shape).astype(dtype) for shape in ((m, 7), (7, 3), (m, 3)))
    a, b = (x.T.copy().T if name in transposed else x for name, x in (("a", a), ("b", b)))
    expected = 1.5 * a @ b + beta * out
    out[...] = np.nan if beta == 0.0 else out  # what is multiplied by 0 is not read
    assert gemm(a, b, out=out, alpha=1.5, beta=beta) is out
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "wrong", [np.zeros((4, 4)), np.zeros((4, 8), np.float32)[:, ::2], np.zeros((3, 5), np.float32)]
)
def test_what_does_not_fit_or_would_have_to_be_copied_is_refused(wrong: np.ndarray) -> None:
    right = np.zeros((4, 4), np.float32)
    for a, b, out in ((wrong, right, right), (right, wrong, right), (right, right, wrong), (right, right, right.T)):
        with pytest.raises((TypeError, ValueError)):
            gemm(a, b, out=out)


def test_another_thread_goes_on_during_a_product() -> None:
    square, counted = np.ones((1500, 1500), np.float32), 0
    product = threading.Thread(target=gemm, args=(square, square, square.copy()))
    product.start()
    while product.is_alive():
        counted += 1
    assert counted > 1000
