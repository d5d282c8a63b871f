"""Compiled passes over rows, for what stands between matrix products.

The logistic function of float32 in compiled code, as exact as its argument; without a call, so that loops are
vectorised.

    1 / (1 + 2^x)    x = -z log2 e = whole + f, |f| <= 1/2

2^f is its Taylor series, and 2^whole is written into the exponent of a number.

What a layer of sampled units does between two products, in one pass: bias, sigmoid and the sample.

Arrays are (P, m, n), bias (P or 1, 1, n): layer p of row r is r // m. Draws are a function of their place and of a key,
not of the draw before: rows can be spread over threads as one likes, and what was drawn can be said again afterwards.

What a densely connected layer of a feed-forward net does between two products, in one pass each.

Forward: bias and activation. Backward: the error times the activation's slope, which follows from the layer's own
output. At the top: softmax and what it misses the labels by. Arrays are (P, m, n), bias (P or 1, 1, n): layer p of row
r is r // m; what only nets use is (m, n).

Steps of the parallel sparse-coding algorithm that no product does, a row an example or a basis.

Overlapping square windows of images that are kept tile by tile: cut out, and added up again.

Images are (G, G, B, n): G x G tiles of n pixels, for B examples. Window w of R^2, R = G - across + 1, is the square of
across x across tiles at (w // R, w % R); its pixels are those of its tiles, one tile after the other.

Noise that is put on examples, by draws as `layers` makes them: a function of their place and of a key.

Arrays are (P, m, n): layer p of row r is r // m.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from respeed.kernels.compiled import Array, compiled

_LN2 = np.log(2.0)
_SERIES = [_LN2**n / np.prod(np.arange(1.0, n + 1)) for n in range(1, 7)]

# The first term left out is 1.2e-7 / 2^x, a rounding error in float32.
_C1, _C2, _C3, _C4, _C5, _C6 = (np.float32(term) for term in _SERIES)
_LOG2_E = np.float32(1 / _LN2)
_ONE, _HALF, _LARGEST = np.float32(1.0), np.float32(0.5), np.float32(126.0)
# Exponent of a float32: its offset, and where it begins.
_OFFSET, _EXPONENT = np.int32(127), np.int32(23)


@compiled
def _single(z: np.float32) -> np.float32:
    """Within 1e-7."""
    x = -z * _LOG2_E
    # Comparisons, not min and max, which would have to order NaN: it goes through, and the checks see it.
    x = -_LARGEST if x < -_LARGEST else x
    x = _LARGEST if x > _LARGEST else x
    whole = np.floor(x + _HALF)
    f = x - whole
    fraction = (((((_C6 * f + _C5) * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _ONE
    power: np.float32 = np.int32(np.int32(np.int32(whole) + _OFFSET) << _EXPONENT).view(np.float32)
    probability: np.float32 = _ONE / (_ONE + fraction * power)
    return probability


def sigmoid(z: float) -> float:
    """Compute 1 / (1 + exp(-z)); in compiled code for float32 by the series above."""
    return float(1.0 / (1.0 + np.exp(-z)))


@overload(sigmoid, strict=False)  # type: ignore[untyped-decorator]
def _by_type(z: types.Type) -> Any:
    if z == types.float32:
        return lambda z: _single(z)
    return lambda z: 1.0 / (1.0 + np.exp(-z))


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
    start: int, stop: int, out: Array, bias: Array, sample: Array, scale: float, first: np.uint32, second: np.uint32
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
def uniform_rows(rows: Array, each: int, out: Array, first: np.uint32, second: np.uint32) -> None:
    """out (P, m, n) <- the draws that sample_rows compares with under the same key; `rows` (m,) of layers of `each`."""
    n = np.uint32(out.shape[2])
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            o, place = out[p, i], np.uint32(np.uint32(p * each + rows[i]) * n)
            for j in range(o.shape[0]):
                o[j] = uniform(np.uint32(place + np.uint32(j)), first, second)


@compiled
def fill_uniform(out: Array, begin: int, low: float, width: float, first: np.uint32, second: np.uint32) -> None:
    """out (n,) <- draws from [low, low + width) for the places from `begin` on, float32 values whatever the array."""
    least, span = np.float32(low), np.float32(width)
    place = np.uint32(begin)
    for j in range(out.shape[0]):
        out[j] = uniform(np.uint32(place + np.uint32(j)), first, second) * span + least


@compiled
def sigmoid_elements(start: int, stop: int, out: Array) -> None:
    """out <- sigmoid(out), out of one dimension."""
    o = out[start:stop]  # places from 0 on: a loop over others, perhaps negative, stays scalar
    for j in range(o.shape[0]):
        o[j] = sigmoid(o[j])


_NONE, _SIGMOID, _TANH = 0, 1, 2
# As the kernels know them.
ACTIVATIONS = {"none": _NONE, "sigmoid": _SIGMOID, "tanh": _TANH, "relu": 3}


@compiled
def dense_rows(start: int, stop: int, out: Array, bias: Array, activation: int, scale: float) -> None:
    """out <- scale f(out + bias). tanh(z) = 2 sigmoid(2 z) - 1 is as exact as sigmoid is, of 1, not of itself."""
    each, factor, one, zero = out.shape[1], out.dtype.type(scale), out.dtype.type(1), out.dtype.type(0)
    for row in range(start, stop):
        o, b = out[row // each, row % each], bias[row // each % bias.shape[0], 0]
        if activation == _NONE:
            for j in range(o.shape[0]):
                o[j] = factor * (o[j] + b[j])
        elif activation == _SIGMOID:
            for j in range(o.shape[0]):
                o[j] = factor * sigmoid(o[j] + b[j])
        elif activation == _TANH:
            for j in range(o.shape[0]):
                z = o[j] + b[j]
                half = sigmoid(z + z)
                o[j] = factor * (half + half - one)
        else:
            for j in range(o.shape[0]):
                z = o[j] + b[j]
                o[j] = factor * (zero if z < zero else z)  # so that NaN goes through, and the checks see it


@compiled
def backward_elements(start: int, stop: int, out: Array, error: Array, activation: int) -> None:
    """error <- error f'(z), where out = f(z); both of one dimension."""
    one, zero = out.dtype.type(1), out.dtype.type(0)
    o, e = out[start:stop], error[start:stop]  # places from 0 on: a loop over others, perhaps negative, stays scalar
    if activation == _SIGMOID:
        for j in range(o.shape[0]):
            e[j] *= o[j] * (one - o[j])
    elif activation == _TANH:
        for j in range(o.shape[0]):
            e[j] *= (one - o[j]) * (one + o[j])
    else:
        for j in range(o.shape[0]):
            e[j] = e[j] if o[j] > zero else zero


@compiled
def softmax_error_rows(start: int, stop: int, logits: Array, labels: Array, out: Array, costs: Array) -> None:
    """out <- softmax(logits) - onehot(labels), costs (m, 1) <- -log softmax(logits) at the labels, row by row. The
    largest of a row is taken off before exp."""
    for row in range(start, stop):
        z, o = logits[row], out[row]
        largest, total, one = z[0], z.dtype.type(0), z.dtype.type(1)
        for j in range(1, z.shape[0]):
            largest = z[j] if z[j] > largest else largest
        for j in range(z.shape[0]):
            o[j] = np.exp(z[j] - largest)
            total += o[j]
        share = one / total
        for j in range(z.shape[0]):
            o[j] *= share
        o[labels[row]] -= one
        costs[row, 0] = np.log(total) - (z[labels[row]] - largest)


_TOGETHER = 64  # factors of at least 1/2, whose product is a number in float32 as well: one logarithm for all


@compiled
def sigmoid_error_rows(start: int, stop: int, x: Array, out: Array, costs: Array) -> None:
    """For z in out: costs (m, 1) <- sum(log(1 + exp z) - x z) of each row, out <- x - sigmoid(z). log(1 + exp z) is
    max(z, 0) - log(sigmoid |z|)."""
    one, zero = out.dtype.type(1), out.dtype.type(0)
    for row in range(start, stop):
        total = zero
        for begin in range(0, out.shape[1], _TOGETHER):
            v, o, product = x[row, begin : begin + _TOGETHER], out[row, begin : begin + _TOGETHER], one
            for j in range(o.shape[0]):
                z, probability = o[j], sigmoid(o[j])
                total += (z if z > zero else zero) - v[j] * z
                product *= probability if z > zero else one - probability
                o[j] = v[j] - probability
            total -= np.log(product)
        costs[row, 0] = total


@compiled
def coordinate_step(
    start: int, stop: int, left: Array, coefficients: Array, diagonal: Array, penalty: float, going: Array, out: Array
) -> None:
    """out <- soft(left + coefficients diagonal, penalty) / diagonal - coefficients; 0 in rows that are done."""
    gamma, zero = out.dtype.type(penalty), out.dtype.type(0)
    for row in range(start, stop):
        d = out[row]
        if going[row, 0] == 0.0:
            d[:] = 0.0
            continue
        c, s = left[row], coefficients[row]
        for j in range(d.shape[0]):
            pull = c[j] + s[j] * diagonal[j]
            new = (max(pull - gamma, zero) + min(pull + gamma, zero)) / diagonal[j]
            d[j] = new - s[j]


@compiled
def line_search(
    start: int,
    stop: int,
    direction: Array,
    moved: Array,
    left: Array,
    coefficients: Array,
    penalty: float,
    lengths: Array,
    least: float,
    objective: Array,
    going: Array,
    least_of_norm: float,
) -> None:
    """Each row takes the first of `lengths` that lowers its objective by the share `least` of it and the share
    `least_of_norm` of penalty ||s||_1, or is done."""
    number = objective.dtype.type
    gamma, share, half, zero = number(penalty), number(least), number(0.5), number(0)
    share_of_norm = gamma * number(least_of_norm)
    norms = np.empty(lengths.shape[0], objective.dtype)
    for row in range(start, stop):
        if going[row, 0] == 0.0:
            continue
        d, m, c, s = direction[row], moved[row], left[row], coefficients[row]
        slope, curve, norm = zero, zero, zero
        for j in range(d.shape[0]):
            slope += c[j] * d[j]
            curve += m[j] * d[j]
            norm += abs(s[j])
        for i in range(lengths.shape[0]):
            t, total = lengths[i], zero
            for j in range(d.shape[0]):
                total += abs(s[j] + t * d[j])
            norms[i] = total
        going[row, 0] = 0.0
        for i in range(lengths.shape[0]):
            t = lengths[i]
            change = half * t * t * curve - t * slope + gamma * (norms[i] - norm)
            if change < -share * objective[row, 0] - share_of_norm * norm:
                for j in range(d.shape[0]):
                    s[j] += t * d[j]
                    c[j] -= t * m[j]
                objective[row, 0] += change
                going[row, 0] = 1.0
                break


@compiled
def gradient_step(start: int, stop: int, bases: Array, product: Array, target: Array, rate: float, out: Array) -> None:
    """out <- bases - rate (product - target), each row scaled back to norm 1 if it is longer."""
    r, one, zero = out.dtype.type(rate), out.dtype.type(1), out.dtype.type(0)
    for row in range(start, stop):
        b, p, c, o = bases[row], product[row], target[row], out[row]
        square = zero
        for j in range(b.shape[0]):
            new = b[j] - r * (p[j] - c[j])
            o[j] = new
            square += new * new
        if square > 1.0:
            scale = one / np.sqrt(square)
            for j in range(b.shape[0]):
                o[j] *= scale


@compiled
def cut_windows(start: int, stop: int, image: Array, first: int, across: int, out: Array, top: int) -> None:
    """out[i, top + b] <- window first + i of example b, for rows i B + b of [start, stop); out (c, m, across^2 n)."""
    B, n = image.shape[2], image.shape[3]
    side = image.shape[0] - across + 1
    for row in range(start, stop):
        i, b = row // B, row % B
        down, right, o = (first + i) // side, (first + i) % side, out[i, top + b]
        for d in range(across):
            for r in range(across):
                tile, begin = image[down + d, right + r, b], (d * across + r) * n
                for j in range(n):
                    o[begin + j] = tile[j]


@compiled
def add_windows(start: int, stop: int, windows: Array, first: int, across: int, image: Array) -> None:
    """image <- image + windows (c, B, across^2 n) at the places of first ... first + c - 1, for examples [start, stop).

    Windows overlap, those of different examples do not: rows are examples, so that threads never meet.
    """
    n, side = image.shape[3], image.shape[0] - across + 1
    for i in range(windows.shape[0]):
        down, right = (first + i) // side, (first + i) % side
        for b in range(start, stop):
            window = windows[i, b]
            for d in range(across):
                for r in range(across):
                    tile, begin = image[down + d, right + r, b], (d * across + r) * n
                    for j in range(n):
                        tile[j] += window[begin + j]


@compiled
def mask_rows(start: int, stop: int, x: Array, share: float, out: Array, first: np.uint32, second: np.uint32) -> None:
    """out <- x, but 0 where a fresh draw is below `share`."""
    each, n, below, zero = out.shape[1], np.uint32(out.shape[2]), np.float32(share), out.dtype.type(0)
    for row in range(start, stop):
        o, v = out[row // each, row % each], x[row // each, row % each]
        place = np.uint32(np.uint32(row) * n)
        for j in range(o.shape[0]):
            o[j] = v[j] if uniform(np.uint32(place + np.uint32(j)), first, second) >= below else zero
