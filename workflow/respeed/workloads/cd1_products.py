"""The bare matrix products of one CD-1 mini-batch: the floor under the rbm workload, to tell its overhead.

    Y = X W (B, H)    Z = Y W^T (B, V)    Y = Z W (B, H)    G = [X; Z]^T [Y; Y] (V, H)

Five products of 2 B V H FLOP; the gradient's two are one over 2 B rows, as the rbm workload does it.
"""

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Factors, Inputs
from respeed.workloads._checked import checked_rows
from respeed.workloads._drawn import Drawn

PARAMETERS = {"visible": "whole", "hidden": "whole", "batch": "whole"}


class _Products:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        V, H, B = _sizes(case)
        self.backend, self.rows = backend, inputs["rows"]
        self.weights = backend.parameters(inputs["weights"])  # (V, H)
        self.gradient = backend.zeros(V, H)
        self.visible = backend.array(np.concatenate([inputs["x"], inputs["x"]]))  # (2B, V)
        self.hidden = backend.zeros(2 * B, H)
        self.x, self.z = self.visible[:B], self.visible[B:]
        self.y0, self.y1 = self.hidden[:B], self.hidden[B:]
        self.step = backend.captured(self._multiply)

    def _multiply(self) -> None:
        backend = self.backend
        backend.gemm(self.x, self.weights, self.y0)
        backend.gemm(self.y0, self.weights, self.z, transpose_b=True)
        backend.gemm(self.z, self.weights, self.y1)
        backend.gemm(self.visible, self.hidden, self.gradient, transpose_a=True)

    def state(self) -> Arrays:
        host, B, rows = self.backend.host, len(self.x), self.rows
        visible, hidden = host(self.visible), host(self.hidden)
        return {
            "y0": hidden[rows],
            "z": visible[B + rows],
            "y1": hidden[B + rows],
            "gradient": host(self.gradient),
            "visible": visible,
            "hidden": hidden,
        }


def build(backend: BackendContract, case: Case, inputs: Inputs) -> _Products:
    return _Products(backend, case, inputs)


def inputs(case: Case, seed: int) -> Inputs:
    """W and X uniform in [-1, 1), W scaled by sqrt(3 / max(V, H)) so that repeated products neither grow nor vanish;
    `rows`: the examples that are checked.
    """
    V, H, B = _sizes(case)
    random, half = np.random.default_rng(seed), (3.0 / max(V, H)) ** 0.5
    return {
        "weights": Drawn((V, H), -half, half, seed),
        "x": random.random((B, V), dtype=np.float32) * 2 - 1,
        "rows": checked_rows(B, seed),
    }


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The products in float64 for the checked examples; the gradient from those of all examples, as they were seen."""
    W = inputs["weights"]
    y0 = W.times(inputs["x"][inputs["rows"]].astype(np.float64))
    z = W.transposed_times(y0)
    return {"y0": y0, "z": z, "y1": W.times(z), "gradient": Factors(seen["visible"].T, seen["hidden"])}


def flops(case: Case) -> float:
    """Five products, 10 B V H."""
    V, H, B = _sizes(case)
    return 10.0 * B * V * H


def traffic_bytes(case: Case) -> float:
    """W read by three products, the gradient written; activations written once, read by what uses them, fp32."""
    V, H, B = _sizes(case)
    return 4.0 * (4 * V * H + B * (5 * V + 5 * H))


def memory_bytes(case: Case) -> float:
    V, H, B = _sizes(case)
    return 4.0 * (2 * V * H + 2 * B * (V + H))


def _sizes(case: Case) -> tuple[int, int, int]:
    return int(case.parameters["visible"]), int(case.parameters["hidden"]), int(case.parameters["batch"])
