"""Matrix products and the inverse of a matrix."""

from typing import ClassVar

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product, Program
from respeed.workloads._common import WorkloadClass, limit_threads, limited_step, sizes

# Of the inverse: vectors that it is checked by.
VECTORS = 8
# Over the root of n: the larger singular values of a matrix of uniform draws come to 1.15 of these, so that the
# condition number stays below 2 at any size.
STRENGTH = 4.0


class _Product:
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


class Matmul(WorkloadClass):
    """C = A B: one matrix product, A (m, k), B (k, n), C (m, n)."""

    PARAMETERS: ClassVar = {"m": "whole", "k": "whole", "n": "whole"}
    TESTS: ClassVar = {
        "smoke": {"m": 16, "k": 24, "n": 8},
        "odd": {"m": 37, "k": 53, "n": 29},
        "large": {"m": 320, "k": 320, "n": 320},
    }

    program = _Product

    def inputs(self, case: Case, seed: int) -> Inputs:
        """A and B, uniform in [-1, 1)."""
        m, k, n = sizes(case, "m", "k", "n")
        random = np.random.default_rng(seed)
        return {
            "a": random.random((m, k), dtype=np.float32) * 2 - 1,
            "b": random.random((k, n), dtype=np.float32) * 2 - 1,
        }

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        return {"c": Product(inputs["a"], inputs["b"])}

    def flops(self, case: Case) -> float:
        """2 m k n: a multiplication and an addition for each term."""
        m, k, n = sizes(case, "m", "k", "n")
        return 2.0 * m * k * n

    def traffic_bytes(self, case: Case) -> float:
        """A and B read once, C written once, fp32."""
        m, k, n = sizes(case, "m", "k", "n")
        return 4.0 * (m * k + k * n + m * n)

    def memory_bytes(self, case: Case) -> float:
        return self.traffic_bytes(case)


class MatmulThreads(Matmul):
    """On some of a row's threads alone: what more of them bring where work is computing."""

    PARAMETERS: ClassVar = {"m": "whole", "k": "whole", "n": "whole", "threads": "whole"}
    TESTS: ClassVar = {
        "smoke": {"m": 64, "k": 64, "n": 64, "threads": 1},
        "odd": {"m": 37, "k": 53, "n": 29, "threads": 1},
        "large": {"m": 320, "k": 320, "n": 320, "threads": 1},
    }
    PRECISIONS = ("fp32", "fp64")
    ASKS = ("limited",)

    def build(self, backend: BackendContract, case: Case, inputs: Inputs) -> Program:
        limit = limit_threads(backend, case)
        program = _Product(backend, case, inputs)
        program.step = limited_step(limit, program.multiply)
        return program


class _Inverted:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        (n,) = sizes(case, "size")
        self.backend, self.inputs = backend, inputs
        self.matrix = backend.array(inputs["matrix"])  # (n, n)
        self.factors = backend.factors(n)
        self.inverse = backend.zeros(n, n)

    def step(self) -> None:
        self.backend.inverse(self.matrix, self.factors, self.inverse)

    def state(self) -> Arrays:
        """A (X r), where X alone is the program's; and its own A, which must be as it was."""
        X, A = self.backend.host(self.inverse), self.inputs["matrix"]
        vectors = A.astype(np.float64) @ (X.astype(np.float64) @ self.inputs["random"])
        return {"vectors": vectors, "matrix": self.backend.host(self.matrix)}


class Inverse(WorkloadClass):
    """X = A^-1: the inverse of a matrix A (n, n), by LU factors with pivoting.

        A = P L U        2/3 n^3 FLOP
        X = U^-1 L^-1 P^T, or L U X = P^T        4/3 n^3 FLOP, or 2 n^3

    LAPACK's getrf and getri do the first, and 2 n^3 in all, as is counted; torch and cuSOLVER solve for the columns of
    the identity. Checked by random vectors r: A (X r) = r.
    """

    PARAMETERS: ClassVar = {"size": "whole"}
    TESTS: ClassVar = {"smoke": {"size": 64}, "odd": {"size": 67}, "large": {"size": 320}}
    PRECISIONS = ("fp32", "fp64")
    # None that the backend's `gemm` makes.
    PRODUCTS = False
    ASKS = ("factors", "inverse")

    program = _Inverted

    def inputs(self, case: Case, seed: int) -> Inputs:
        """A uniform in [-1, 1), and in every row one strong element, each in a column of its own but not on the
        diagonal: well conditioned, and rows must be exchanged. `random`: the vectors that it is checked by."""
        (n,), random = sizes(case, "size"), np.random.default_rng(seed)
        matrix = random.random((n, n), dtype=np.float32) * 2 - 1
        matrix[np.arange(n), random.permutation(n)] += np.float32(STRENGTH * n**0.5)
        return {"matrix": matrix, "random": random.standard_normal((n, VECTORS))}

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        return {"vectors": inputs["random"], "matrix": np.zeros_like(inputs["matrix"])}

    def flops(self, case: Case) -> float:
        """2 n^3, LAPACK's count of getrf and getri together."""
        return 2.0 * sizes(case, "size")[0] ** 3

    def traffic_bytes(self, case: Case) -> float:
        """A read and X written, fp32."""
        return 8.0 * sizes(case, "size")[0] ** 2

    def memory_bytes(self, case: Case) -> float:
        """A, its factors, the identity and X, fp32."""
        return 16.0 * sizes(case, "size")[0] ** 2
