"""The product of matrices by its address: no copies, and other threads go on meanwhile. Its numbers are held by
conformance/test_operations.py."""

import threading

import numpy as np
import pytest

from respeed.kernels.blas import make_gemm

sgemm = make_gemm(np.dtype(np.float32))


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
