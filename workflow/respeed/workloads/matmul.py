"""C = A B: one matrix product, A (m, k), B (k, n), C (m, n)."""

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product

PARAMETERS = {"m": "whole", "k": "whole", "n": "whole"}
TESTS = {
    "smoke": {"m": 16, "k": 24, "n": 8},
    "odd": {"m": 37, "k": 53, "n": 29},
    "large": {"m": 320, "k": 320, "n": 320},
}


class Matmul:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend = backend
        self.a = backend.array(inputs["a"])  # (m, k)
        self.b = backend.array(inputs["b"])  # (k, n)
        self.c = backend.zeros(len(inputs["a"]), inputs["b"].shape[1])  # (m, n)
        self.step = backend.captured(self.multiply)

    def multiply(self) -> None:
        self.backend.gemm(self.a, self.b, self.c)

    def state(self) -> Arrays:
        return {"c": self.backend.host(self.c)}


build = Matmul


def inputs(case: Case, seed: int) -> Inputs:
    """A and B, uniform in [-1, 1)."""
    m, k, n = _sizes(case)
    random = np.random.default_rng(seed)
    return {
        "a": random.random((m, k), dtype=np.float32) * 2 - 1,
        "b": random.random((k, n), dtype=np.float32) * 2 - 1,
    }


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    return {"c": Product(inputs["a"], inputs["b"])}


def flops(case: Case) -> float:
    """2 m k n: a multiplication and an addition for each term."""
    m, k, n = _sizes(case)
    return 2.0 * m * k * n


def traffic_bytes(case: Case) -> float:
    """A and B read once, C written once, fp32."""
    m, k, n = _sizes(case)
    return 4.0 * (m * k + k * n + m * n)


def memory_bytes(case: Case) -> float:
    return traffic_bytes(case)


def _sizes(case: Case) -> tuple[int, int, int]:
    return int(case.parameters["m"]), int(case.parameters["k"]), int(case.parameters["n"])
