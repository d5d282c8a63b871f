"""NAME: a layer of linear units, to be replaced by what you want to time.

Y = X W + b        X (B, V), W (V, H), b (H,)

One product of 2 B V H FLOP, which adds to the bias that was copied into Y.
Source: the paper, section and equation that the step follows.
"""

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs
from respeed.workloads._common import Drawn, checked_rows

# What a case must give: "whole", "real", or a tuple of the texts that it may be.
PARAMETERS = {"visible": "whole", "hidden": "whole", "batch": "whole"}
# What the conformance suite tries: tiny, of no round size, and large enough for an allocated array to be seen.
TESTS = {
    "smoke": {"visible": 16, "hidden": 24, "batch": 8},
    "odd": {"visible": 37, "hidden": 53, "batch": 29},
    "large": {"visible": 320, "hidden": 320, "batch": 320},
}
# What it asks of a backend beyond what every one has, such as ("sample_layer", "draws"); leave it out if nothing.
ASKS = ()


class _Layer:
    """All arrays are made here; `step` writes into them and allocates nothing."""

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        _, H, B = _sizes(case)
        self.backend, self.rows = backend, inputs["rows"]
        self.x = backend.array(inputs["x"])  # (B, V)
        self.weights = backend.parameters(inputs["weights"])  # (V, H)
        self.bias = backend.array(inputs["bias"])  # (1, H)
        self.y = backend.zeros(B, H)
        # One request to the device, instead of one for each operation.
        self.step = backend.captured(self._forward)

    def _forward(self) -> None:
        self.backend.copy(self.bias, self.y)
        self.backend.gemm(self.x, self.weights, self.y, beta=1.0)

    def state(self) -> Arrays:
        """What `reference` is compared with: of the examples that are checked."""
        return {"y": self.backend.host(self.y)[self.rows]}


def build(backend: BackendContract, case: Case, inputs: Inputs) -> _Layer:
    return _Layer(backend, case, inputs)


def inputs(case: Case, seed: int) -> Inputs:
    """X uniform in [0, 1), W in +-sqrt(3 / V), b in [0, 1); `rows`: the examples that are checked. Large arrays are
    `Drawn`: they are made where they are needed, and again for the check."""
    V, H, B = _sizes(case)
    half = (3.0 / V) ** 0.5
    return {
        "x": Drawn((B, V), 0.0, 1.0, [seed, 1]),
        "weights": Drawn((V, H), -half, half, seed),
        "bias": np.random.default_rng(seed).random((1, H), dtype=np.float32),
        "rows": checked_rows(B, seed),
    }


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The same in NumPy float64, for a few examples. A program that is off by more than 1e-4 is not timed."""
    x = np.asarray(inputs["x"])[inputs["rows"]].astype(np.float64)
    return {"y": inputs["weights"].times(x) + inputs["bias"]}


def flops(case: Case) -> float:
    """One product, 2 B V H."""
    V, H, B = _sizes(case)
    return 2.0 * B * V * H


def traffic_bytes(case: Case) -> float:
    """The least that a step reads and writes: X, W, b and Y once each, fp32."""
    V, H, B = _sizes(case)
    return 4.0 * (B * V + V * H + H + B * H)


def memory_bytes(case: Case) -> float:
    """What the program keeps on the device; the same arrays."""
    return traffic_bytes(case)


def _sizes(case: Case) -> tuple[int, int, int]:
    return int(case.parameters["visible"]), int(case.parameters["hidden"]), int(case.parameters["batch"])
