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

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Factors

PARAMETERS = {"visible": "whole", "hidden": "whole", "batch": "whole", "learning_rate": "real"}

# Mini-batches that are cycled through. More than one, so that a step finds its examples in memory, not in a cache.
BATCHES = 8
# A draw this close to its probability may fall on either side of it in fp32 and in float64.
SAMPLE_MARGIN = 1e-5


class _Rbm:
    def __init__(self, backend: BackendContract, case: Case, inputs: Arrays) -> None:
        V, H, B = _sizes(case)
        self.backend = backend
        self.rate = case.parameters["learning_rate"] / B
        self.examples = [backend.array(batch) for batch in inputs["examples"]]  # BATCHES x (B, V)
        self.weights = backend.array(inputs["weights"])  # (V, H)
        self.visible_bias = backend.array(inputs["biases"][None, :V])  # (1, V)
        self.hidden_bias = backend.array(inputs["biases"][None, V:])  # (1, H)
        # Both phases in one array each, so that one product makes the gradient.
        self.visible = backend.zeros(2 * B, V)  # [v0; v1]
        self.hidden = backend.zeros(2 * B, H)  # [h0; -h1]
        self.v0, self.v1 = self.visible[:B], self.visible[B:]
        self.h0, self.h1 = self.hidden[:B], self.hidden[B:]
        self.uniform = backend.zeros(B, H)
        self.sample = backend.zeros(B, H)
        self.ones = backend.array(np.ones((1, 2 * B)))
        self.signs = backend.array(np.repeat([1.0, -1.0], B)[None, :])  # (1, 2B)
        self.count = 0

    def step(self) -> None:
        backend = self.backend
        backend.copy(self.examples[self.count % BATCHES], self.v0)
        self.count += 1
        backend.sigmoid_layer(self.v0, self.weights, self.hidden_bias[0], self.h0)
        backend.bernoulli(self.h0, self.uniform, self.sample)
        backend.sigmoid_layer(self.sample, self.weights, self.visible_bias[0], self.v1, transpose=True)
        backend.sigmoid_layer(self.v1, self.weights, self.hidden_bias[0], self.h1)
        backend.scale(self.h1, -1.0)
        backend.gemm(self.visible, self.hidden, self.weights, transpose_a=True, alpha=self.rate, beta=1.0)
        backend.gemm(self.signs, self.visible, self.visible_bias, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones, self.hidden, self.hidden_bias, alpha=self.rate, beta=1.0)

    def state(self) -> Arrays:
        host = self.backend.host
        return {
            "weights": host(self.weights),
            "biases": np.concatenate([host(self.visible_bias)[0], host(self.hidden_bias)[0]]),
            "hidden": host(self.hidden),
            "visible": host(self.visible),
            "sample": host(self.sample),
            "uniform": host(self.uniform),
        }


def build(backend: BackendContract, case: Case, inputs: Arrays) -> _Rbm:
    return _Rbm(backend, case, inputs)


def inputs(case: Case, seed: int) -> Arrays:
    """Weights N(0, 0.01^2); examples uniform in [0, 1), as pixel intensities are; small biases, visible then hidden.

    Biases usually start from 0; these do not, so that a step that left them out would not pass as correct.
    """
    V, H, B = _sizes(case)
    random = np.random.default_rng(seed)
    weights = random.standard_normal((V, H), dtype=np.float32)
    weights *= np.float32(0.01)
    return {
        "weights": weights,
        "biases": random.random(V + H, dtype=np.float32) * np.float32(0.02) - np.float32(0.01),
        "examples": random.random((BATCHES, B, V), dtype=np.float32),
    }


def reference(case: Case, inputs: Arrays, seen: Arrays) -> Expected:
    """The first step in float64, on the uniform draws that the backend made; of weights and biases, their change."""
    V, _, B = _sizes(case)
    rate = case.parameters["learning_rate"] / B
    W = inputs["weights"].astype(np.float64)
    v0 = inputs["examples"][0].astype(np.float64)
    b, c = np.split(inputs["biases"].astype(np.float64), [V])
    h0 = _sigmoid(v0 @ W + c)
    sample = np.where(np.abs(seen["uniform"] - h0) < SAMPLE_MARGIN, seen["sample"], seen["uniform"] < h0)
    v1 = _sigmoid(sample @ W.T + b)
    h1 = _sigmoid(v1 @ W + c)
    visible, hidden = np.concatenate([v0, v1]), np.concatenate([h0, -h1])
    return {
        "weights": Factors(rate * visible.T, hidden),
        # One vector: what the hidden biases change by cancels almost wholly, and is no scale for their rounding.
        "biases": rate * np.concatenate([(v0 - v1).sum(axis=0), (h0 - h1).sum(axis=0)]),
        "hidden": hidden,
        "visible": visible,
        "sample": sample.astype(np.float64),
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
    return 4.0 * (V * H + BATCHES * B * V + 2 * B * V + 4 * B * H)


def _sizes(case: Case) -> tuple[int, int, int]:
    return int(case.parameters["visible"]), int(case.parameters["hidden"]), int(case.parameters["batch"])


def _sigmoid(z: np.ndarray) -> np.ndarray:
    # tanh neither overflows nor warns, whatever z is.
    half: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * z))
    return half
