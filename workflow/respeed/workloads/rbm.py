"""A binary restricted Boltzmann machine trained by contrastive divergence with one Gibbs step (CD-1).

For a mini-batch v0 of B examples, weights W (V, H), visible bias b (V,), hidden bias c (H,), learning rate r:

    h0 = sigmoid(v0 W + c)         s ~ Bernoulli(h0)
    v1 = sigmoid(s W^T + b)        h1 = sigmoid(v1 W + c)
    W += r/B (v0^T h0 - v1^T h1)   b += r/B sum(v0 - v1)   c += r/B sum(h0 - h1)

Five products of 2 B V H FLOP. The two of the gradient are one product over 2 B rows, [v0; v1]^T [h0; -h1], added
into W by the product itself (beta = 1), so that W is read and written once.
Source: Hinton, Training products of experts by minimizing contrastive divergence, 2002; what is sampled and what is
a probability follows Hinton's practical guide, 2010, section 3.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from respeed.backends import Array, BackendContract, Step
from respeed.data.natural_patches import natural_patches
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product
from respeed.workloads._common import Drawn, checked_rows, sigmoid

PARAMETERS = {"visible": "whole", "hidden": "whole", "batch": "whole", "learning_rate": "real"}
TESTS = {
    "smoke": {"visible": 16, "hidden": 24, "batch": 8, "learning_rate": 0.05},
    "odd": {"visible": 37, "hidden": 53, "batch": 29, "learning_rate": 0.05},
    "large": {"visible": 320, "hidden": 320, "batch": 320, "learning_rate": 0.05},
}
ASKS = ("dense_layer", "sample_layer", "draws")

# Mini-batches that are cycled through, so that a step does not begin with the examples that the last one used.
BATCHES = 4
# Patches that are learned for the pictures.
LEARNED = 20000


class Rbm:
    """`captured`: a step for every mini-batch, since a captured one is bound to its arrays."""

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        V, H, B = _sizes(case)
        self.backend = backend
        self.rate, self.rows = case.parameters["learning_rate"] / B, inputs["rows"]
        self.weights = backend.parameters(inputs["weights"])  # (V, H)
        self.visible_bias = backend.parameters(inputs["biases"][None, :V])  # (1, V)
        self.hidden_bias = backend.parameters(inputs["biases"][None, V:])  # (1, H)
        # Both phases in one array each, so that one product makes the gradient.
        self.visible = backend.zeros(2 * B, V)  # [v0; v1]
        self.hidden = backend.zeros(2 * B, H)  # [h0; -h1]
        self.v0, self.v1 = self.visible[:B], self.visible[B:]
        self.h0, self.h1 = self.hidden[:B], self.hidden[B:]
        self.sample = self.h1  # until h1 is there: an array less in memory, and in the caches
        self.draws = backend.draws(B, H)
        self.ones = backend.array(np.ones((1, 2 * B)))
        self.signs = backend.array(np.repeat([1.0, -1.0], B)[None, :])  # (1, 2B)
        self.count = 0
        self.captured = self.capture(inputs["examples"])

    def capture(self, examples: Sequence[Any]) -> list[Step]:
        """A step for each of the mini-batches, BATCHES x (B, V), which lie on the device from now on."""
        return [self.backend.captured(partial(self.train, self.backend.array(batch))) for batch in examples]

    def step(self) -> None:
        self.captured[self.count % len(self.captured)]()
        self.count += 1

    def train(self, batch: Array) -> None:
        """Learn from one mini-batch (B, V)."""
        backend = self.backend
        backend.copy(batch, self.v0)
        backend.sample_layer(self.v0, self.weights, self.hidden_bias, self.h0, self.sample, self.draws)
        sample, weights = self.sample, self.weights
        backend.dense_layer(sample, weights, self.visible_bias, self.v1, activation="sigmoid", transpose=True)
        backend.dense_layer(self.v1, weights, self.hidden_bias, self.h1, activation="sigmoid", scale=-1.0)
        self.change()

    def change(self) -> None:
        """The parameters by the statistics of both phases."""
        backend = self.backend
        backend.gemm(self.visible, self.hidden, self.weights, transpose_a=True, alpha=self.rate, beta=1.0)
        backend.gemm(self.signs, self.visible, self.visible_bias, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones, self.hidden, self.hidden_bias, alpha=self.rate, beta=1.0)

    def state(self) -> Arrays:
        host, B, rows = self.backend.host, len(self.v0), self.rows
        visible, hidden = host(self.visible), host(self.hidden)
        return {
            "weights": host(self.weights),
            "biases": np.concatenate([host(self.visible_bias)[0], host(self.hidden_bias)[0]]),
            "h0": hidden[rows],
            "v1": visible[B + rows],
            "h1": hidden[B + rows],
            "uniform": self.draws.last(rows),
            "visible": visible,
            "hidden": hidden,
        }

    def left_over(self) -> float:
        """Mean square of what the reconstruction misses, over the examples' variance."""
        visible, B = self.backend.host(self.visible), len(self.v0)
        return float(((visible[:B] - visible[B:]) ** 2).mean() / visible[:B].var())

    def pictures(self) -> np.ndarray:
        """The weights of each hidden unit as a picture."""
        weights = self.backend.host(self.weights)
        side = round(len(weights) ** 0.5)
        return weights.T.reshape(-1, side, side)


build = Rbm


def build_learner(backend: BackendContract, case: Case) -> Rbm:
    """A program that learns patches of natural images in black and white: units are binary, and pixels are 1 where they
    are brighter than their patch."""
    V, _, B = _sizes(case)
    patches = natural_patches(LEARNED // B * B, round(V**0.5), seed=1, whiten=False)
    examples = (patches > 0).astype(np.float32).reshape(-1, B, V)
    return Rbm(backend, case, {**inputs(case, seed=1), "examples": examples})


def inputs(case: Case, seed: int) -> Inputs:
    """Weights uniform with a standard deviation of 0.01; examples uniform in [0, 1), as pixel intensities are; small
    biases, visible then hidden; `rows`: the examples that are checked.

    Biases usually start from 0; these do not, so that a step that left them out would not pass as correct.
    """
    V, H, B = _sizes(case)
    random, half = np.random.Generator(np.random.SFC64(seed)), 0.01 * 3**0.5
    return {
        "weights": Drawn((V, H), -half, half, seed),
        "biases": random.random(V + H, dtype=np.float32) * np.float32(0.02) - np.float32(0.01),
        "examples": Drawn((BATCHES, B, V), 0.0, 1.0, [seed, 1]),
        "rows": checked_rows(B, seed),
    }


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The first step in float64 for the checked examples, on the backend's own draws; what it changed in the weights
    and biases from the activations of all examples, as they were seen."""
    V, _, _ = _sizes(case)
    rows, W = inputs["rows"], inputs["weights"]
    v0 = np.asarray(inputs["examples"][0])[rows].astype(np.float64)
    b, c = np.split(inputs["biases"].astype(np.float64), [V])
    h0 = sigmoid(W.times(v0) + c)
    # By the program's own h0, which is checked: a draw between the two falls on either side, whatever the precision.
    sample = (seen["uniform"] < seen["h0"]).astype(np.float64)
    v1 = sigmoid(W.transposed_times(sample) + b)
    return {"h0": h0, "v1": v1, "h1": -sigmoid(W.times(v1) + c), **changes(case, seen)}


def changes(case: Case, seen: Arrays) -> Expected:
    """What a step changes in the parameters, by the activations of both phases as they were seen."""
    _, _, B = _sizes(case)
    rate, visible, hidden = case.parameters["learning_rate"] / B, seen["visible"], seen["hidden"]
    change = visible[:B].sum(axis=0, dtype=np.float64) - visible[B:].sum(axis=0, dtype=np.float64)
    return {
        "weights": Product(visible.T, hidden, rate),
        # One vector: what the hidden biases change by cancels almost wholly, and is no scale for their rounding.
        "biases": rate * np.concatenate([change, hidden.sum(axis=0, dtype=np.float64)]),
    }


def flops(case: Case) -> float:
    """Five products, 10 B V H; the elementwise work is not counted, as in the paper's arithmetic."""
    V, H, B = _sizes(case)
    return 10.0 * B * V * H


def traffic_bytes(case: Case) -> float:
    """W read by four products and written by one; each activation written once and read by what uses it, fp32."""
    V, H, B = _sizes(case)
    return 4.0 * (5 * V * H + B * (2 * 3 * V + 4 * 3 * H))


def memory_bytes(case: Case) -> float:
    """Weights, the mini-batches, and the two-phase buffers, fp32."""
    V, H, B = _sizes(case)
    return 4.0 * (V * H + BATCHES * B * V + 2 * B * V + 3 * B * H)


def _sizes(case: Case) -> tuple[int, int, int]:
    return int(case.parameters["visible"]), int(case.parameters["hidden"]), int(case.parameters["batch"])
