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

from respeed.kernels import empty_aligned
from respeed.kernels.layers import fill_drawn
from respeed.workloads import Pair

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
        self.shape, self.low, self.width = tuple(shape), low, high - low
        self.key = random.integers(0, 2**32, 2, dtype=np.uint32)
        self.begin = 0  # the place of the first draw, in elements: above 0 for a part

    def __len__(self) -> int:
        """Return the length of the first dimension."""
        return self.shape[0]

    def __getitem__(self, index: int | slice) -> "Drawn":
        """Return an item or neighbouring items without drawing; IndexError past the last, as iteration expects."""
        part, items, inner = copying.copy(self), range(len(self))[index], self.shape[1:]
        first, part.shape = (items, inner) if isinstance(items, int) else (items.start, (len(items), *inner))
        part.begin = self.begin + first * math.prod(inner)
        return part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Draw all elements in float32, or the same values in another type."""
        whole = empty_aligned(self.shape, np.float64 if dtype == np.float64 else np.float32)
        fill_drawn(whole.reshape(-1), self.begin, self.low, self.width, *self.key)
        return whole if dtype is None else whole.astype(dtype, copy=False)


class Zeros:
    """An array that a step writes to; it starts as zeros."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return zeros, by default in float32."""
        return np.zeros(self.shape, dtype or np.float32)


class Draws(Zeros):
    """An array for draws, in fp32 if precision is lower: in bf16 one draw in 256 would be 0, below any probability."""


def checked_rows(count: int) -> np.ndarray:
    """Return ascending indices of up to 8 of `count` examples, with the first and the last (a kernel's odd end)."""
    if count <= CHECKED:
        return np.arange(count)
    inner = np.random.default_rng(count).choice(np.arange(1, count - 1), CHECKED - 2, replace=False)
    return np.concatenate([[0], np.sort(inner), [count - 1]])


def chunks(matrix: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield a matrix, `Drawn` or not, some rows at a time: the slice of these rows, and the rows in float64."""
    count, width = len(matrix), math.prod(matrix.shape[1:])
    step = max(1, CHUNK // width)
    for start in range(0, count, step):
        here = slice(start, min(start + step, count))
        yield here, np.asarray(matrix[here], np.float64)


def times(x: np.ndarray, matrix: Any) -> np.ndarray:
    """Compute x (r, m) @ matrix (m, n) in float64."""
    out = np.zeros((len(x), matrix.shape[1]))
    for here, values in chunks(matrix):
        out += x[:, here] @ values
    return out


def times_transposed(x: np.ndarray, matrix: Any) -> np.ndarray:
    """Compute x (r, n) @ matrix (m, n) transposed in float64."""
    out = np.empty((len(x), len(matrix)))
    for here, values in chunks(matrix):
        out[:, here] = x @ values.T
    return out


def applied(matrix: Any, vectors: np.ndarray) -> np.ndarray:
    """Compute matrix (m, n) @ vectors (n, r) in float64."""
    return times_transposed(vectors.T, matrix).T


def random_vectors(n: int) -> np.ndarray:
    """Return the 8 random vectors (n, 8) that a compared matrix of n columns is multiplied by."""
    return np.random.default_rng(0).standard_normal((n, VECTORS))


def product(found: Any, left: np.ndarray, right: np.ndarray, factor: float = 1.0) -> Pair:
    """Compare `found` (m, n) with factor * left (m, k) @ right (k, n), both multiplied by random vectors."""
    z = random_vectors(right.shape[1])
    return applied(found, z), factor * applied(left, applied(right, z))


def learned(before: Any, after: np.ndarray, *terms: tuple[float, np.ndarray, np.ndarray], kept: float = 1.0) -> Pair:
    """Compare the change of a parameter (m, n) in a step with the expected change, both multiplied by random vectors.

    The expected parameter is ``after = kept * before + sum of factor * left @ right``. The change is compared, since a
    parameter is so much larger than its change that an error of the change would hardly show.

    Parameters
    ----------
    before, after : (m, n)
        The parameter before and after the step; `before` may be `Drawn`.
    *terms : (float, (m, k), (k, n))
        `factor`, `left` and `right` of each term.
    kept : float
        The factor of the parameter itself, below 1 with weight decay.
    """
    z = random_vectors(after.shape[1])
    was = applied(before, z)
    change = (kept - 1.0) * was + sum(factor * applied(left, applied(right, z)) for factor, left, right in terms)
    found = np.empty_like(was)
    for here, values in chunks(before):
        found[here] = np.subtract(after[here], values) @ z
    return found, change, SMALL[after.itemsize] * float(np.abs(was).max())


def moved(before: Any, after: np.ndarray, change: np.ndarray) -> Pair:
    """Compare the change of a parameter of any shape in a step with the expected `change`."""
    was = np.asarray(before, np.float64)
    return after - was, change, SMALL[after.itemsize] * float(np.abs(was).max())


def both(*pairs: Pair) -> Pair:
    """Join several comparisons in one: a change that almost cancels is too small to divide its own errors by."""
    found, expected = (np.concatenate([np.ravel(pair[place]) for pair in pairs]) for place in (0, 1))
    return found, expected, max((pair[2] for pair in pairs if len(pair) > 2), default=0.0)


def largest_error(pair: Pair) -> float:
    """Return max |found - expected| / max(max |expected|, the pair's size if any); NaN if an element is NaN."""
    found, expected, *size = pair
    scale = max(float(np.abs(expected).max()), *size, 0.0)
    error = float(np.abs(np.subtract(found, expected, dtype=np.result_type(found, expected, np.float64))).max())
    return error / scale if scale > 0 else error


def softmax_error(z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute -log softmax(z) at y (B, 1), and softmax(z) - onehot(y) (B, n), for logits z (B, n), labels y (B, 1)."""
    logs = log_softmax(z.astype(np.float64), axis=1)
    return -np.take_along_axis(logs, y, 1), np.exp(logs) - (np.arange(z.shape[1]) == y)
