"""What a layer of sampled units does between two products, in one pass: bias, sigmoid and the sample.

Arrays are (P, m, n), bias (P or 1, 1, n): layer p of row r is r // m. Draws are a function of their place and of a key,
not of the draw before: rows can be spread over threads as one likes, and what was drawn can be said again afterwards.
"""

import numpy as np

from respeed.kernels.compiled import compiled
from respeed.kernels.sigmoid import sigmoid

_ONE = np.float32(1.0)
_UNIT = np.float32(2.0**-24)
# Odd, with about as many bits set as not: any such numbers mix well between the shifts, as the tests hold.
_MIX1, _MIX2, _MIX3 = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77), np.uint32(0xC2B2AE3D)


@compiled
def uniform(place: np.uint32, first: np.uint32, second: np.uint32) -> np.float32:
    """The draw from [0, 1), a multiple of 2^-24, at a place under the key (first, second).

    A multiplicative hash of the place. The key comes in twice: the draws of two keys are no shifts of one another.
    """
    x = np.uint32(np.uint32(place ^ first) * _MIX1)
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(15))) + second)
    x = np.uint32(x * _MIX2)
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(13))) * _MIX3)
    x = np.uint32(x ^ np.uint32(x >> np.uint32(16)))
    return np.float32(np.int32(np.uint32(x >> np.uint32(8)))) * _UNIT


@compiled
def sample_rows(
    start: int,
    stop: int,
    out: np.ndarray,
    bias: np.ndarray,
    sample: np.ndarray,
    scale: float,
    first: np.uint32,
    second: np.uint32,
) -> None:
    """out <- scale sigmoid(out + bias), sample <- 1 where a fresh draw is below out / scale, else 0."""
    each, n, factor = out.shape[1], np.uint32(out.shape[2]), out.dtype.type(scale)
    for row in range(start, stop):
        p, m = row // each, row % each
        o, s, b = out[p, m], sample[p, m], bias[p % bias.shape[0], 0]
        place = np.uint32(np.uint32(row) * n)
        for j in range(o.shape[0]):
            probability = sigmoid(o[j] + b[j])
            o[j] = factor * probability
            s[j] = _ONE if uniform(np.uint32(place + np.uint32(j)), first, second) < probability else np.float32(0.0)


@compiled
def uniform_rows(rows: np.ndarray, each: int, out: np.ndarray, first: np.uint32, second: np.uint32) -> None:
    """out (P, m, n) <- the draws that sample_rows compares with under the same key; `rows` (m,) of layers of `each`."""
    n = np.uint32(out.shape[2])
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            o, place = out[p, i], np.uint32(np.uint32(p * each + rows[i]) * n)
            for j in range(o.shape[0]):
                o[j] = uniform(np.uint32(place + np.uint32(j)), first, second)


@compiled
def fill_uniform(out: np.ndarray, begin: int, low: float, width: float, first: np.uint32, second: np.uint32) -> None:
    """out (n,) <- draws from [low, low + width) for the places from `begin` on, float32 values whatever the array."""
    least, span = np.float32(low), np.float32(width)
    place = np.uint32(begin)
    for j in range(out.shape[0]):
        out[j] = uniform(np.uint32(place + np.uint32(j)), first, second) * span + least


@compiled
def sigmoid_elements(start: int, stop: int, out: np.ndarray) -> None:
    """out <- sigmoid(out), out of one dimension."""
    o = out[start:stop]  # places from 0 on: a loop over others, perhaps negative, stays scalar
    for j in range(o.shape[0]):
        o[j] = sigmoid(o[j])
