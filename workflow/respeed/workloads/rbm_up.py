"""Hidden probabilities of a mini-batch: what a trained layer of a deep belief network hands to the next.

h = sigmoid(v W + c)        v (B, V), W (V, H), c (H,)
"""

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs
from respeed.workloads._common import Drawn, checked_rows, sigmoid

PARAMETERS = {"visible": "whole", "hidden": "whole", "batch": "whole"}
TESTS = {
    "smoke": {"visible": 16, "hidden": 24, "batch": 8},
    "odd": {"visible": 37, "hidden": 53, "batch": 29},
    "large": {"visible": 320, "hidden": 320, "batch": 320},
}
ASKS = ("dense_layer",)


class _Up:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend, self.rows = backend, inputs["rows"]
        self.visible = backend.array(inputs["visible"])  # (B, V)
        self.weights = backend.parameters(inputs["weights"])  # (V, H)
        self.bias = backend.parameters(inputs["bias"])  # (1, H)
        self.hidden = backend.zeros(len(inputs["visible"]), inputs["weights"].shape[1])  # (B, H)
        self.step = backend.captured(self._up)

    def _up(self) -> None:
        self.backend.dense_layer(self.visible, self.weights, self.bias, self.hidden, activation="sigmoid")

    def state(self) -> Arrays:
        return {"hidden": self.backend.host(self.hidden)[self.rows]}


build = _Up


def inputs(case: Case, seed: int) -> Inputs:
    """Examples uniform in [0, 1), weights in +-1.5 sqrt(3 / V), which leaves no unit saturated, and biases
    in +-0.01; `rows`: the examples that are checked."""
    V, H, B = _sizes(case)
    random, half = np.random.Generator(np.random.SFC64(seed)), 1.5 * (3.0 / V) ** 0.5
    return {
        "visible": random.random((B, V), dtype=np.float32),
        "weights": Drawn((V, H), -half, half, seed),
        "bias": random.random((1, H), dtype=np.float32) * np.float32(0.02) - np.float32(0.01),
        "rows": checked_rows(B, seed),
    }


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    rows = inputs["rows"]
    z = inputs["weights"].times(inputs["visible"][rows].astype(np.float64))
    return {"hidden": sigmoid(z + inputs["bias"])}


def flops(case: Case) -> float:
    """One product, 2 B V H."""
    V, H, B = _sizes(case)
    return 2.0 * B * V * H


def traffic_bytes(case: Case) -> float:
    """Examples, weights and biases read, hidden units written, fp32."""
    V, H, B = _sizes(case)
    return 4.0 * (V * H + B * V + B * H)


def memory_bytes(case: Case) -> float:
    return traffic_bytes(case)


def _sizes(case: Case) -> tuple[int, int, int]:
    return int(case.parameters["visible"]), int(case.parameters["hidden"]), int(case.parameters["batch"])
