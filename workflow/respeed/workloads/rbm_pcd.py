"""A binary restricted Boltzmann machine trained by persistent contrastive divergence (PCD-k).

For a mini-batch v0 of B examples, weights W (V, H), visible bias b (V,), hidden bias c (H,), learning rate r, and B
chains whose hidden units s persist from one step to the next:

    h0 = sigmoid(v0 W + c)
    k times:  v ~ Bernoulli(sigmoid(s W^T + b))    h = sigmoid(v W + c)    s ~ Bernoulli(h)
    W += r/B (v0^T h0 - v^T h)   b += r/B sum(v0 - v)   c += r/B sum(h0 - h)

1 + 2 k products of 2 B V H FLOP, and the two of the gradient as one, as in `rbm`, whose arrays and gradient these are.
Source: Tieleman, Training restricted Boltzmann machines using approximations to the likelihood gradient, 2008; what is
sampled and what is a probability follows the Deep Learning Tutorials' rbm.py.
"""

import numpy as np

from respeed.backends import Array, BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, rbm
from respeed.workloads._common import sigmoid

PARAMETERS = {"visible": "whole", "hidden": "whole", "batch": "whole", "gibbs": "whole", "learning_rate": "real"}
TESTS = {
    "smoke": {"visible": 36, "hidden": 16, "batch": 8, "gibbs": 3, "learning_rate": 0.05},
    "odd": {"visible": 37, "hidden": 53, "batch": 29, "gibbs": 1, "learning_rate": 0.05},
    "large": {"visible": 320, "hidden": 320, "batch": 320, "gibbs": 2, "learning_rate": 0.05},
}
ASKS = ("dense_layer", "sample_layer", "draws")


class Pcd(rbm.Rbm):
    """`visible` is [v0; v] and `hidden` [h0; -h]. The chains lie apart from the samples on the way to their next state:
    so what the last Gibbs step began with is still there after it, to be checked."""

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        V, H, B, self.gibbs = _sizes(case)
        self.chains = backend.array(inputs["chains"])  # (B, H)
        self.on_the_way = backend.zeros(B, H)
        self.mean = backend.zeros(B, V)  # of v
        self.visible_draws = backend.draws(B, V)
        self.taken = 0  # Gibbs steps that the last call of `train` asked for
        super().__init__(backend, case, inputs)

    def train(self, batch: Array) -> None:
        """Learn from one mini-batch (B, V)."""
        backend, last = self.backend, self.gibbs - 1
        backend.copy(batch, self.v0)
        backend.dense_layer(self.v0, self.weights, self.hidden_bias, self.h0, activation="sigmoid")
        self.taken = 0
        for step in range(self.gibbs):
            self.taken += 1
            begin = self.chains if step == 0 else self.on_the_way
            end, scale = (self.chains, -1.0) if step == last else (self.on_the_way, 1.0)
            backend.sample_layer(
                begin, self.weights, self.visible_bias, self.mean, self.v1, self.visible_draws, transpose=True
            )
            backend.sample_layer(self.v1, self.weights, self.hidden_bias, self.h1, end, self.draws, scale=scale)
        self.change()

    def state(self) -> Arrays:
        rows, host = self.rows, self.backend.host
        found = dict(super().state())
        return found | {
            "gibbs_steps": np.array([self.taken]),
            "mean": host(self.mean)[rows],
            "samples": host(self.chains)[rows],
            "on_the_way": host(self.on_the_way)[rows],
            "visible_uniform": self.visible_draws.last(rows),
        }


build = Pcd


def inputs(case: Case, seed: int) -> Inputs:
    """As rbm's; `chains`: hidden units that are 0 or 1 as often."""
    _, H, B, _ = _sizes(case)
    random = np.random.Generator(np.random.SFC64([seed, 2]))
    return {**rbm.inputs(case, seed), "chains": random.integers(0, 2, (B, H)).astype(np.float32)}


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The first step in float64 for the checked examples: the positive phase, and of the Gibbs steps the last one, each
    half by the program's own samples before it; what the step changed in the parameters as rbm's.

    To repeat all k would cost as much as the step, and show less: where one sample falls on the other side, the chains
    part.
    """
    V, _, _, gibbs = _sizes(case)
    W, rows = inputs["weights"], inputs["rows"]
    b, c = np.split(inputs["biases"].astype(np.float64), [V])
    v0 = np.asarray(inputs["examples"][0])[rows].astype(np.float64)
    begin = inputs["chains"][rows] if gibbs == 1 else seen["on_the_way"]
    v = (seen["visible_uniform"] < seen["mean"]).astype(np.float64)
    return {
        **rbm.changes(case, seen),
        "gibbs_steps": np.array([gibbs]),
        "h0": sigmoid(W.times(v0) + c),
        "mean": sigmoid(W.transposed_times(begin.astype(np.float64)) + b),
        "v1": v,
        "h1": -sigmoid(W.times(v) + c),
        "samples": (seen["uniform"] < -seen["h1"]).astype(np.float64),
    }


def flops(case: Case) -> float:
    """1 + 2 k products and the two of the gradient; drawing is not counted."""
    V, H, B, gibbs = _sizes(case)
    return 2.0 * (3 + 2 * gibbs) * B * V * H


def traffic_bytes(case: Case) -> float:
    """W read by every product and written by one; of each Gibbs step both layers' probabilities and samples written,
    and the samples read, fp32."""
    V, H, B, gibbs = _sizes(case)
    return 4.0 * ((3 + 2 * gibbs) * V * H + B * (4 * V + 4 * H + gibbs * 3 * (V + H)))


def memory_bytes(case: Case) -> float:
    """As rbm's, and the chains twice, the mean of v and its draws, fp32."""
    V, H, B, _ = _sizes(case)
    return rbm.memory_bytes(case) + 4.0 * B * (2 * H + 2 * V)


def _sizes(case: Case) -> tuple[int, int, int, int]:
    given = case.parameters
    return int(given["visible"]), int(given["hidden"]), int(given["batch"]), int(given["gibbs"])
