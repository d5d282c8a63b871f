"""A denoising autoencoder with tied weights, trained by stochastic gradient descent on the cross-entropy.

For a mini-batch x of B examples, weights W (V, H), hidden bias b (H,), visible bias c (V,), learning rate r, and the
share p of each example's elements that noise sets to 0:

    x~ = x, or 0 with probability p    y = sigmoid(x~ W + b)    z = sigmoid(y W^T + c)
    d = x - z                          e = (d W) y (1 - y)
    W += r/B (x~^T e + d^T y)          b += r/B sum(e)          c += r/B sum(d)

-d is the gradient of the cross-entropy before the sigmoid of z, -e that before the sigmoid of y. Five products of
2 B V H FLOP. The two of the gradient, one for each place of the tied W, are one product over 2 B rows,
[x~; d]^T [e; y], added into W by the product itself (beta = 1), so that W is read and written once.
Source: Vincent et al., Extracting and composing robust features with denoising autoencoders, 2008.
"""

from functools import partial

import numpy as np

from respeed.backends import Array, BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product
from respeed.workloads._common import Drawn, MiniBatches, checked_rows, sigmoid, sizes, small_biases

PARAMETERS = {"visible": "whole", "hidden": "whole", "batch": "whole", "corruption": "real", "learning_rate": "real"}
TESTS = {
    "smoke": {"visible": 36, "hidden": 16, "batch": 8, "corruption": 0.3, "learning_rate": 0.1},
    "odd": {"visible": 37, "hidden": 53, "batch": 29, "corruption": 0.0, "learning_rate": 0.1},
    "large": {"visible": 320, "hidden": 320, "batch": 320, "corruption": 0.3, "learning_rate": 0.1},
}
ASKS = ("dense_layer", "activation_backward", "mask", "draws", "add")

# Mini-batches that are cycled through, so that a step does not begin with the examples that the last one used.
BATCHES = 4


class Autoencoder(MiniBatches):
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        V, H, B = _sizes(case)
        self.backend, self.corruption = backend, case.parameters["corruption"]
        self.rate, self.rows = case.parameters["learning_rate"] / B, inputs["rows"]
        self.weights = backend.parameters(inputs["weights"])  # (V, H)
        self.visible_bias = backend.parameters(inputs["biases"][None, :V])  # (1, V)
        self.hidden_bias = backend.parameters(inputs["biases"][None, V:])  # (1, H)
        # What the two places of the weights multiply in one array each, so that one product makes the gradient.
        self.visible = backend.zeros(2 * B, V)  # [x~; d]
        self.hidden = backend.zeros(2 * B, H)  # [e; y]
        self.corrupted, self.missed = self.visible[:B], self.visible[B:]
        self.error, self.code = self.hidden[:B], self.hidden[B:]
        self.draws = backend.draws(B, V)
        self.ones = backend.array(np.ones((1, B)))
        self.captured = [backend.captured(partial(self.train, backend.array(x))) for x in inputs["examples"]]

    def train(self, x: Array) -> None:
        """Learn from one mini-batch (B, V)."""
        backend, weights = self.backend, self.weights
        backend.mask(x, self.corruption, self.corrupted, self.draws)
        backend.dense_layer(self.corrupted, weights, self.hidden_bias, self.code, activation="sigmoid")
        backend.dense_layer(
            self.code, weights, self.visible_bias, self.missed, activation="sigmoid", transpose=True, scale=-1.0
        )
        backend.add(x, self.missed)
        backend.gemm(self.missed, weights, self.error)
        backend.activation_backward(self.code, self.error, activation="sigmoid")
        backend.gemm(self.visible, self.hidden, weights, transpose_a=True, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones, self.error, self.hidden_bias, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones, self.missed, self.visible_bias, alpha=self.rate, beta=1.0)

    def state(self) -> Arrays:
        host, B, rows = self.backend.host, len(self.code), self.rows
        visible, hidden = host(self.visible), host(self.hidden)
        return {
            "weights": host(self.weights),
            "biases": np.concatenate([host(self.visible_bias)[0], host(self.hidden_bias)[0]]),
            "corrupted": visible[rows],
            "code": hidden[B + rows],
            "missed": visible[B + rows],
            "error": hidden[rows],
            "uniform": self.draws.last(rows),
            "visible": visible,
            "hidden": hidden,
        }


build = Autoencoder


def inputs(case: Case, seed: int) -> Inputs:
    """Examples uniform in [0, 1), as pixel intensities are; weights in +-4 sqrt(6 / (V + H)), as is usual for sigmoids;
    small biases, visible then hidden; `rows`: the examples that are checked."""
    V, H, B = _sizes(case)
    random, half = np.random.Generator(np.random.SFC64(seed)), 4 * (6.0 / (V + H)) ** 0.5
    return {
        "weights": Drawn((V, H), -half, half, seed),
        "biases": small_biases(random, V + H),
        "examples": Drawn((BATCHES, B, V), 0.0, 1.0, [seed, 1]),
        "rows": checked_rows(B, seed),
    }


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The first step in float64 for the checked examples, on the backend's own draws; what it changed in the weights
    and biases from what all examples left, as it was seen."""
    V, _, B = _sizes(case)
    c, b = np.split(inputs["biases"].astype(np.float64), [V])
    rate, W = case.parameters["learning_rate"] / B, inputs["weights"]
    x = np.asarray(inputs["examples"][0])[inputs["rows"]].astype(np.float64)
    corrupted = np.where(seen["uniform"] < case.parameters["corruption"], 0.0, x)
    y = sigmoid(W.times(corrupted) + b)
    d = x - sigmoid(W.transposed_times(y) + c)
    visible, hidden = seen["visible"], seen["hidden"]
    return {
        "corrupted": corrupted,
        "code": y,
        "missed": d,
        "error": W.times(d) * y * (1 - y),
        "weights": Product(visible.T, hidden, rate),
        "biases": rate * np.concatenate([array.sum(axis=0, dtype=np.float64) for array in (visible[B:], hidden[:B])]),
    }


def flops(case: Case) -> float:
    """Five products, 10 B V H; the elementwise work is not counted."""
    V, H, B = _sizes(case)
    return 10.0 * B * V * H


def traffic_bytes(case: Case) -> float:
    """W read by four products and written by one; x read twice, x~, d and e written and read twice or once, y written
    and read three times, fp32."""
    V, H, B = _sizes(case)
    return 4.0 * (5 * V * H + B * (8 * V + 6 * H))


def memory_bytes(case: Case) -> float:
    """Weights, the mini-batches, the four arrays of activations and errors, and the draws, fp32."""
    V, H, B = _sizes(case)
    return 4.0 * (V * H + BATCHES * B * V + B * (3 * V + 2 * H))


def _sizes(case: Case) -> tuple[int, ...]:
    return sizes(case, "visible", "hidden", "batch")
