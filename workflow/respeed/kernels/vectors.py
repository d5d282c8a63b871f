"""Passes over vectors: sums, copies, and one that is spread over all threads whatever its size."""

import numpy as np
from numba import njit, prange

from respeed.kernels import OPTIONS, compiled, compiled_parallel
from respeed.kernels.layers import sigmoid


@compiled_parallel
def add(out: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Compute out <- x + y; all (n,)."""
    for i in prange(out.shape[0]):
        out[i] = x[i] + y[i]


@compiled_parallel
def add_scaled(out: np.ndarray, x: np.ndarray, scale: float) -> None:
    """Compute out <- out + scale x; both (n,)."""
    factor = out.dtype.type(scale)
    for i in prange(out.shape[0]):
        out[i] += factor * x[i]


@compiled_parallel
def copy(out: np.ndarray, source: np.ndarray) -> None:
    """Compute out <- source; both (n,)."""
    for i in prange(out.shape[0]):
        out[i] = source[i]


@compiled
def apply_sigmoid(out: np.ndarray) -> None:
    """Compute out <- sigmoid(out), (n,), on one thread."""
    for i in range(out.shape[0]):
        out[i] = sigmoid(out[i])


@njit(parallel=True, **OPTIONS)  # type: ignore[untyped-decorator]
def spread_sigmoid(out: np.ndarray) -> None:
    """Compute out <- sigmoid(out), (n,), on all threads, however few elements there are."""
    for i in prange(out.shape[0]):
        out[i] = sigmoid(out[i])
