"""The product of matrices by its address: the same numbers, no copies, and other threads go on meanwhile."""

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.kernels.blas import make_gemm

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
sgemm = make_gemm(FLOAT32)
sizes, factors, switch = st.integers(1, 9), st.sampled_from([0.0, 1.0, -0.5]), st.booleans()


@pytest.mark.parametrize(("dtype", "margin"), [(FLOAT32, 1e-5), (FLOAT64, 1e-14)])
@given(st.tuples(sizes, sizes, sizes), st.tuples(switch, switch), st.tuples(factors, factors), st.integers(0, 2**31))
def test_a_product_is_what_numpy_makes_of_it(
    dtype: np.dtype[Any], margin: float, size: tuple[int, ...], transpose: tuple[bool, bool],
    factor: tuple[float, float], seed: int,
) -> None:  # fmt: skip
    (m, k, n), (alpha, beta) = size, factor
    random = np.random.default_rng(seed)
    a, b, before = (random.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n), (m, n)))
    out = before.copy()
    left, right = (np.ascontiguousarray(x.T) if turned else x for x, turned in zip((a, b), transpose, strict=True))
    make_gemm(dtype)(left, right, out, *transpose, alpha, beta)
    wanted = alpha * (a.astype(np.float64) @ b) + beta * before.astype(np.float64)
    np.testing.assert_allclose(out, wanted, rtol=margin, atol=margin)


@pytest.mark.parametrize("shapes", [("23", "45", "25"), ("23", "35", "52"), ("23", "35", "24")], ids="-".join)
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[str, ...]) -> None:
    arrays = [np.zeros([int(size) for size in shape], np.float32) for shape in shapes]
    with pytest.raises(ValueError, match="shapes do not fit"):
        sgemm(*arrays, False, False, 1.0, 0.0)


@pytest.mark.parametrize(
    "wrong", [np.zeros((4, 4)), np.zeros((4, 8), np.float32)[:, ::2], np.zeros((4, 4), np.float32).T]
)
def test_what_would_have_to_be_copied_is_refused(wrong: np.ndarray) -> None:
    right = np.zeros((4, 4), np.float32)
    for arrays in ((wrong, right, right), (right, wrong, right), (right, right, wrong)):
        with pytest.raises(TypeError):
            sgemm(*arrays, False, False, 1.0, 0.0)


def test_another_thread_goes_on_during_a_product() -> None:
    square, out = np.ones((1500, 1500), np.float32), np.zeros((1500, 1500), np.float32)
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1

    counting = threading.Thread(target=count)
    counting.start()
    try:
        before = counted[0]
        sgemm(square, square, out, False, False, 1.0, 0.0)
        meanwhile = counted[0] - before
    finally:
        stop.set()
        counting.join()
    assert meanwhile > 1000
