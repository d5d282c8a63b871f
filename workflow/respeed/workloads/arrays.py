"""Inputs that are drawn when they are needed, and the comparisons in float64 that checks share.

A program's parameters and examples are the largest arrays of a round. A check draws them again, chunk by chunk, instead
of keeping a second copy, and compares matrices by their products with random vectors.
"""

import copy as copying
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import log_softmax

from respeed.kernels import Array, empty_aligned
from respeed.kernels.layers import fill_drawn
from respeed.workloads import Pair, SizedPair

# Elements that are drawn or multiplied at once: in float64 they fit the second-level cache.
CHUNK = 2**16
# Random vectors that a compared matrix is multiplied by (Freivalds, 1977): with only one, most of an error may cancel.
VECTORS = 8
# Examples that are checked.
CHECKED = 8
# The error of a parameter's change is divided by at least this share of the parameter, since a small change is rounded
# as the parameter is. By bytes of an element.
SMALL = {4: 2e-3, 8: 1e-5}


class Drawn:
    """An array of float32 draws, uniform in [low, high): the same values whenever it is read.

    Parameters
    ----------
    random : numpy.random.Generator
        The generator that draws the seed of the array.
    shape : sequence of int
        Any number of dimensions.
    low, high : float
        The lowest value, and the bound that all values are below.
    """

    def __init__(self, random: Generator, shape: Sequence[int], low: float = 0.0, high: float = 1.0) -> None:
        self.shape = tuple(shape)
        self.low = low
        self.width = high - low
        self.key = random.integers(0, 2**32, 2, dtype=np.uint32)
        self.begin = 0  # the place of the first draw, in elements: above 0 for a part

    def __len__(self) -> int:
        """Return the length of the first dimension."""
        return self.shape[0]

    def __getitem__(self, index: int | slice) -> "Drawn":
        """Return an item or neighbouring items without drawing; IndexError past the last, as iteration expects."""
        inner = self.shape[1:]
        part = copying.copy(self)
        part.shape = inner
        items = range(len(self))[index]
        if isinstance(items, range):
            part.shape = (len(items), *inner)
            items = items.start
        part.begin += items * math.prod(inner)
        return part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Draw all elements in float32, or the same values in another type."""
        drawn = np.float64 if dtype == np.float64 else np.float32
        whole = empty_aligned(self.shape, drawn)
        fill_drawn(whole.reshape(-1), self.begin, self.low, self.width, *self.key)
        return whole if dtype is None else whole.astype(dtype, copy=False)


def symmetric(random: Generator, half: float, *shape: int) -> Drawn:
    """Return an array of draws, uniform in [-half, half)."""
    return Drawn(random, shape, -half, half)


class Zeros:
    """An array that a step writes to; it starts as zeros."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return zeros, by default in float32."""
        return np.zeros(self.shape, dtype or np.float32)


class Draws(Zeros):
    """An array for draws, in fp32 if precision is lower: in bf16 one draw in 256 would be 0, below any probability."""


def double(array: Any) -> Array:
    """Return an array's values, which may be `Drawn`, in float64."""
    return np.asarray(array, np.float64)


def checked_rows(count: int) -> Array:
    """Return ascending indices of up to 8 of `count` examples, with the first and the last (a kernel's odd end)."""
    if count <= CHECKED:
        return np.arange(count)
    inner = np.random.default_rng(count).choice(np.arange(1, count - 1), CHECKED - 2, replace=False)
    return np.concatenate([[0], np.sort(inner), [count - 1]])


def chunks(matrix: "Array | Drawn") -> Iterator[tuple[slice, Array]]:
    """Yield a matrix, `Drawn` or not, some rows at a time: the slice of these rows, and the rows in float64."""
    count = len(matrix)
    step = max(1, CHUNK // math.prod(matrix.shape[1:]))
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        yield rows, double(matrix[rows])


def times(x: Array, matrix: "Array | Drawn") -> Array:
    """Compute x (r, m) @ matrix (m, n) in float64."""
    out = np.zeros((len(x), matrix.shape[1]))
    for rows, values in chunks(matrix):
        out += x[:, rows] @ values
    return out


def times_transposed(x: Array, matrix: Any) -> Array:
    """Compute x (r, n) @ matrix (m, n) transposed in float64."""
    out = np.empty((len(x), len(matrix)))
    for rows, values in chunks(matrix):
        out[:, rows] = x @ values.T
    return out


def applied(matrix: Any, vectors: Array) -> Array:
    """Compute matrix (m, n) @ vectors (n, r) in float64."""
    return times_transposed(vectors.T, matrix).T


def random_vectors(n: int) -> Array:
    """Return the 8 random vectors (n, 8) that a compared matrix of n columns is multiplied by."""
    return np.random.default_rng(0).standard_normal((n, VECTORS))


def product(matrix: Any, left: Array, right: Array, factor: float = 1.0) -> Pair:
    """Compare `matrix` (m, n) with factor * left (m, k) @ right (k, n), both multiplied by random vectors."""
    z = random_vectors(right.shape[1])
    return applied(matrix, z), factor * applied(left, applied(right, z))


def learned(before: Any, after: Array, factor: float, left: Array, right: Array, kept: float = 1.0) -> SizedPair:
    """Compare the change of a parameter (m, n) in a step with the expected change, both multiplied by random vectors.

    The expected parameter is ``after = kept * before + factor * left @ right``. The change is compared, since a
    parameter is so much larger than its change that an error of the change would hardly show.

    Parameters
    ----------
    before, after : (m, n)
        The parameter before and after the step; `before` may be `Drawn`.
    factor, left, right : float, (m, k), (k, n)
        The factor and the matrices of the product that is added.
    kept : float
        The factor of the parameter itself, below 1 with weight decay.
    """
    z = random_vectors(after.shape[1])
    start = applied(before, z)
    expected = (kept - 1.0) * start + factor * applied(left, applied(right, z))
    return applied(after, z) - start, expected, small_size(start, after)


def moved(before: Any, after: Array, change: Array) -> SizedPair:
    """Compare the change of a parameter of any shape in a step with the expected `change`."""
    start = double(before)
    return after - start, change, small_size(start, after)


def small_size(start: Array, after: Array) -> float:
    """Return the size that the errors of a change are at least divided by, for a parameter of these first values."""
    return SMALL[after.itemsize] * float(np.abs(start).max())


def both(*pairs: Pair) -> SizedPair:
    """Join several comparisons in one: a change that almost cancels is too small to divide its own errors by."""
    changes = np.concatenate([np.ravel(pair[0]) for pair in pairs])
    expected = np.concatenate([np.ravel(pair[1]) for pair in pairs])
    sizes = [pair[2] for pair in pairs if len(pair) > 2]
    return changes, expected, max(sizes, default=0.0)


def largest_error(pair: Pair) -> float:
    """Return max |result - expected| / max(max |expected|, the pair's size if any); NaN if an element is NaN."""
    result, expected, *size = pair
    scale = max(float(np.abs(expected).max()), *size, 0.0)
    error = float(np.abs(np.subtract(result, expected, dtype=np.result_type(result, expected, np.float64))).max())
    return error / scale if scale > 0 else error


def softmax_error(z: Array, y: Array) -> tuple[Array, Array]:
    """Compute -log softmax(z) at y (B, 1), and softmax(z) - onehot(y) (B, n), for logits z (B, n), labels y (B, 1)."""
    logs = log_softmax(double(z), axis=1)
    return -np.take_along_axis(logs, y, 1), np.exp(logs) - (np.arange(z.shape[1]) == y)
