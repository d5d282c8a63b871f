"""What a densely connected layer of a feed-forward net does between two products, in one pass each.

Forward: bias and activation. Backward: the error times the activation's slope, which follows from the layer's own
output. At the top: softmax and what it misses the labels by. Arrays are (P, m, n), bias (P or 1, 1, n): layer p of row
r is r // m; what only nets use is (m, n).
"""

import numpy as np

from respeed.kernels.compiled import compiled
from respeed.kernels.sigmoid import sigmoid

_NONE, _SIGMOID, _TANH = 0, 1, 2
# As the kernels know them.
ACTIVATIONS = {"none": _NONE, "sigmoid": _SIGMOID, "tanh": _TANH, "relu": 3}


@compiled
def dense_rows(start: int, stop: int, out: np.ndarray, bias: np.ndarray, activation: int, scale: float) -> None:
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
def backward_elements(start: int, stop: int, out: np.ndarray, error: np.ndarray, activation: int) -> None:
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
def softmax_error_rows(
    start: int, stop: int, logits: np.ndarray, labels: np.ndarray, out: np.ndarray, costs: np.ndarray
) -> None:
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
