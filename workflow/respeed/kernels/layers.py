"""The work of a layer between two matrix products, each in one pass: bias, activation, sample, error, and draws.

At the end are passes over vectors: sums, copies, sigmoids.

A draw depends on its place and on a key, not on the draw before it: rows can be divided among threads in any way, and
the same numbers can be drawn again.
"""

import math
from typing import Any

import numpy as np
from numba import prange, types
from numba.extending import overload

from respeed.kernels import Array, compiled, compiled_parallel, compiled_twice, float32

int32 = np.int32
uint32 = np.uint32

# exp(-z) = 2^x = 2^whole 2^f, |f| <= 1/2. 2^f is computed by its Taylor series: the first term that is left out is at
# most 1.2e-7, a rounding error in float32. 2^whole is written into the exponent bits of a float32.
_LOG2_E = float32(1 / np.log(2.0))
_LARGEST = float32(126.0)
_C1, _C2, _C3, _C4, _C5, _C6 = (float32(math.log(2) ** n / math.factorial(n)) for n in range(1, 7))
_ONE = float32(1.0)
_HALF = float32(0.5)


@compiled
def _sigmoid32(z: float32) -> float32:
    """Compute 1 / (1 + exp(-z)) within 1e-7, without a function call, so that loops are vectorised."""
    x = -z * _LOG2_E
    # Comparisons, not min and max, which would have to order NaN: NaN passes through, and the checks see it.
    x = -_LARGEST if x < -_LARGEST else x
    x = _LARGEST if x > _LARGEST else x
    whole = np.floor(x + _HALF)
    f = x - whole
    late = ((_C6 * f + _C5) * f + _C4) * f + _C3
    fraction = ((late * f + _C2) * f + _C1) * f + _ONE
    exponent = int32(int32(whole) + int32(127))
    power: float32 = int32(exponent << int32(23)).view(float32)
    probability: float32 = _ONE / (_ONE + fraction * power)
    return probability


def sigmoid(z: float) -> float:
    """Compute 1 / (1 + exp(-z)); compiled code for float32 uses `_sigmoid32`."""
    return float(1.0 / (1.0 + np.exp(-z)))


@overload(sigmoid, strict=False)  # type: ignore[untyped-decorator]
def _sigmoid_of_type(z: types.Type) -> Any:
    if z == types.float32:
        return lambda z: _sigmoid32(z)
    return lambda z: 1.0 / (1.0 + np.exp(-z))


@compiled_parallel
def add_bias(out: Array, bias: Array) -> None:
    """Compute out <- out + bias; out (m, n), bias (n,)."""
    for row in prange(len(out)):
        o = out[row]
        for j in range(len(o)):
            o[j] += bias[j]


@compiled_parallel
def add_sigmoid(out: Array, bias: Array, scale: float = 1.0) -> None:
    """Compute out <- scale sigmoid(out + bias); out (m, n), bias (n,)."""
    factor = out.dtype.type(scale)
    for row in prange(len(out)):
        o = out[row]
        for j in range(len(o)):
            o[j] = factor * sigmoid(o[j] + bias[j])


@compiled_parallel
def add_tanh(out: Array, bias: Array) -> None:
    """Compute out <- tanh(out + bias); out (m, n), bias (n,).

    It is computed as 2 sigmoid(2 z) - 1, whose error is small relative to 1, not relative to tanh(z).
    """
    unit = out.dtype.type(1)
    two = out.dtype.type(2)
    for row in prange(len(out)):
        o = out[row]
        for j in range(len(o)):
            o[j] = two * sigmoid(two * (o[j] + bias[j])) - unit


@compiled_parallel
def add_sigmoid_sample(out: Array, bias: Array, sample: Array, draws: Array) -> None:
    """Compute out <- sigmoid(out + bias), and sample <- 1 where draws < out, else 0.

    `out`, `sample` and `draws` are (m, n), `bias` is (n,). `draws` is fp32 whatever the type of the others.
    """
    unit = sample.dtype.type(1)
    zero = sample.dtype.type(0)
    for row in prange(len(out)):
        o = out[row]
        s = sample[row]
        u = draws[row]
        for j in range(len(o)):
            o[j] = sigmoid(o[j] + bias[j])
            s[j] = unit if u[j] < o[j] else zero


@compiled_parallel
def times_sigmoid_slope(error: Array, out: Array) -> None:
    """Compute error <- error out (1 - out), where out = sigmoid(z); both (m, n)."""
    unit = out.dtype.type(1)
    for row in prange(len(error)):
        e = error[row]
        o = out[row]
        for j in range(len(e)):
            e[j] *= o[j] * (unit - o[j])


@compiled_parallel
def times_tanh_slope(error: Array, out: Array) -> None:
    """Compute error <- error (1 - out^2), where out = tanh(z); both (m, n)."""
    unit = out.dtype.type(1)
    for row in prange(len(error)):
        e = error[row]
        o = out[row]
        for j in range(len(e)):
            e[j] *= (unit - o[j]) * (unit + o[j])


@compiled_parallel
def softmax_error(out: Array, logits: Array, labels: Array, costs: Array) -> None:
    """Compute out <- softmax(logits) - onehot(labels), and costs <- -log softmax(logits) at the labels.

    `out` and `logits` are (m, n), `labels` and `costs` (m,). Each row's largest logit is subtracted before exp.
    """
    for row in prange(len(out)):
        z = logits[row]
        o = out[row]
        largest = z[0]
        total = z.dtype.type(0)
        unit = z.dtype.type(1)
        for j in range(1, len(z)):
            largest = z[j] if z[j] > largest else largest
        for j in range(len(z)):
            o[j] = np.exp(z[j] - largest)
            total += o[j]
        share = unit / total
        for j in range(len(z)):
            o[j] *= share
        o[labels[row]] -= unit
        costs[row] = np.log(total) - (z[labels[row]] - largest)


_TOGETHER = 64  # the product of so many factors of at least 1/2 does not underflow in float32: one log for all


@compiled_parallel
def sigmoid_error(out: Array, x: Array, costs: Array) -> None:
    """Compute out <- x - sigmoid(z) for the logits z in `out`, and costs <- each row's sum of log(1 + exp z) - x z.

    `out` and `x` are (m, n), `costs` (m,). log(1 + exp z) is max(z, 0) - log(sigmoid |z|).
    """
    unit = out.dtype.type(1)
    zero = out.dtype.type(0)
    for row in prange(len(out)):
        total = zero
        for begin in range(0, out.shape[1], _TOGETHER):
            v = x[row, begin : begin + _TOGETHER]
            o = out[row, begin : begin + _TOGETHER]
            product = unit
            for j in range(len(o)):
                z = o[j]
                probability = sigmoid(o[j])
                total += (z if z > zero else zero) - v[j] * z
                product *= probability if z > zero else unit - probability
                o[j] = v[j] - probability
            total -= np.log(product)
        costs[row] = total


@compiled_parallel
def mask(out: Array, x: Array, draws: Array, share: float) -> None:
    """Compute out <- x where draws >= share, else 0; all (m, n)."""
    below = float32(share)
    zero = out.dtype.type(0)
    for row in prange(len(out)):
        o = out[row]
        v = x[row]
        u = draws[row]
        for j in range(len(o)):
            o[j] = v[j] if u[j] >= below else zero


# Odd numbers with about as many bits set as not: any such factors mix well between the shifts, as the tests show.
_MIX1 = uint32(0x9E3779B1)
_MIX2 = uint32(0x85EBCA77)
_MIX3 = uint32(0xC2B2AE3D)


@compiled
def _fold(x: uint32, bits: int) -> uint32:
    """Compute x xor (x >> bits): multiplication spreads a bit only to higher ones."""
    return uint32(x ^ uint32(x >> uint32(bits)))


@compiled
def draw(place: uint32, first: uint32, second: uint32) -> float32:
    """Hash a place under the key (first, second) to a number in [0, 1), a multiple of 2^-24.

    The hash multiplies and shifts. It uses the key's two numbers at different steps: so the draws of one key are not
    the draws of another key at shifted places.
    """
    x = uint32(uint32(place ^ first) * _MIX1)
    x = uint32(_fold(x, 15) + second)
    x = uint32(x * _MIX2)
    x = uint32(_fold(x, 13) * _MIX3)
    high = uint32(_fold(x, 16) >> uint32(8))
    return float32(int32(high)) * float32(2.0**-24)


@compiled
def fill_drawn(out: Array, begin: int, low: float, width: float, first: uint32, second: uint32) -> None:
    """Fill `out` (n,) with draws from [low, low + width), for places from `begin` on; draws are always float32."""
    least = float32(low)
    span = float32(width)
    place = uint32(begin)
    for j in range(len(out)):
        out[j] = draw(uint32(place + uint32(j)), first, second) * span + least


@compiled_parallel
def fill_uniform(out: Array, first: uint32, second: uint32) -> None:
    """Fill `out` (m, n) with draws from [0, 1) under the key (first, second), each for its place in `out`."""
    for row in prange(len(out)):
        fill_drawn(out[row], row * out.shape[1], 0.0, 1.0, first, second)


@compiled_parallel
def add(out: Array, x: Array, y: Array) -> None:
    """Compute out <- x + y; all (n,)."""
    for i in prange(len(out)):
        out[i] = x[i] + y[i]


@compiled_parallel
def add_scaled(out: Array, x: Array, scale: float) -> None:
    """Compute out <- out + scale x; both (n,)."""
    factor = out.dtype.type(scale)
    for i in prange(len(out)):
        out[i] += factor * x[i]


@compiled_parallel
def copy(out: Array, source: Array) -> None:
    """Compute out <- source; both (n,)."""
    for i in prange(len(out)):
        out[i] = source[i]


def _sigmoids(out: Array) -> None:
    """Compute out <- sigmoid(out), (n,)."""
    for i in prange(len(out)):
        out[i] = sigmoid(out[i])


# The first runs on one thread, the second on all threads, however few elements there are.
apply_sigmoid, spread_sigmoid = compiled_twice(_sigmoids)
