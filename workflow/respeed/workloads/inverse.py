"""X = A^-1: the inverse of a matrix A (n, n), by LU factors with pivoting.

    A = P L U        2/3 n^3 FLOP
    X = U^-1 L^-1 P^T, or L U X = P^T        4/3 n^3 FLOP, or 2 n^3

LAPACK's getrf and getri do the first, and 2 n^3 in all, as is counted; torch and cuSOLVER solve for the columns of the
identity. Checked by random vectors r: A (X r) = r.
"""

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs

PARAMETERS = {"size": "whole"}
TESTS = {"smoke": {"size": 64}, "odd": {"size": 67}, "large": {"size": 320}}
PRECISIONS = ("fp32", "fp64")
# None that the backend's `gemm` makes.
PRODUCTS = False
ASKS = ("factors", "inverse")

VECTORS = 8
# Over the root of n: the larger singular values of a matrix of uniform draws come to 1.15 of these, so that the
# condition number stays below 2 at any size.
STRENGTH = 4.0


class _Inverse:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend, self.inputs = backend, inputs
        self.matrix = backend.array(inputs["matrix"])  # (n, n)
        self.factors = backend.factors(_size(case))
        self.inverse = backend.zeros(_size(case), _size(case))  # (n, n)

    def step(self) -> None:
        self.backend.inverse(self.matrix, self.factors, self.inverse)

    def state(self) -> Arrays:
        """A (X r), where X alone is the program's; and its own A, which must be as it was."""
        X, A = self.backend.host(self.inverse), self.inputs["matrix"]
        vectors = A.astype(np.float64) @ (X.astype(np.float64) @ self.inputs["random"])
        return {"vectors": vectors, "matrix": self.backend.host(self.matrix)}


build = _Inverse


def inputs(case: Case, seed: int) -> Inputs:
    """A uniform in [-1, 1), and in every row one strong element, each in a column of its own but not on the diagonal:
    well conditioned, and rows must be exchanged. `random`: the vectors that it is checked by."""
    n, random = _size(case), np.random.default_rng(seed)
    matrix = random.random((n, n), dtype=np.float32) * 2 - 1
    matrix[np.arange(n), random.permutation(n)] += np.float32(STRENGTH * n**0.5)
    return {"matrix": matrix, "random": random.standard_normal((n, VECTORS))}


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    return {"vectors": inputs["random"], "matrix": np.zeros_like(inputs["matrix"])}


def flops(case: Case) -> float:
    """2 n^3, LAPACK's count of getrf and getri together."""
    return 2.0 * _size(case) ** 3


def traffic_bytes(case: Case) -> float:
    """A read and X written, fp32."""
    return 8.0 * _size(case) ** 2


def memory_bytes(case: Case) -> float:
    """A, its factors, the identity and X, fp32."""
    return 16.0 * _size(case) ** 2


def _size(case: Case) -> int:
    return int(case.parameters["size"])
