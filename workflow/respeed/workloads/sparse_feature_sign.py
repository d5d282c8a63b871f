"""Sparse coding as on the paper's CPU: feature-sign search for the coefficients, the Lagrange dual for the bases.

Bases: with multipliers L = diag(l), l >= 0, for the norms, the minimiser is B(l) = (S^T S + L)^-1 S^T X, and l
maximises the concave dual -1/2 tr(C^T (A + L)^-1 C) - 1/2 sum(l), A = S^T S, C = S^T X, by Newton's method on the l
that are not held at 0: gradient (||b_j||^2 - 1) / 2, Hessian -(A + L)^-1 o (B B^T).
Compiled and spread over examples; products and factorisations by LAPACK. Single precision.
Source: Lee, Battle, Raina and Ng, Efficient sparse coding algorithms, NIPS 2006, section 4.
"""

import numpy as np
from scipy.linalg.lapack import spotrf, spotri, spotrs

from respeed.backends import BackendContract
from respeed.kernels.compiled import workspace
from respeed.kernels.sparse import search
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product, _sparse
from respeed.workloads._sparse import SparseProgram

PARAMETERS = {
    "bases": "whole", "side": "whole", "patches": "whole", "batch": "whole", "timed": "whole", "penalty": "real",
    "nonzero": "real",
}  # fmt: skip
TESTS = {
    "smoke": {
        "bases": 32, "side": 6, "patches": 64, "batch": 32, "timed": 16, "penalty": 0.15, "nonzero": 0.2832,
    },
    "odd": {"bases": 37, "side": 7, "patches": 93, "batch": 31, "timed": 17, "penalty": 0.15, "nonzero": 0.2289},
    "large": {
        "bases": 320, "side": 18, "patches": 320, "batch": 320, "timed": 320, "penalty": 0.15, "nonzero": 0.0357,
    },
}  # fmt: skip
ASKS = ("workers",)
# The Lagrange dual solves systems whose size changes from one Newton step to the next, by LAPACK, which returns arrays.
ALLOCATES = True
# The optimum, proved to 1e-8, is what the coefficients are held to: no low precision comes near it.
PRECISIONS = ("fp32",)
# Compiled for the CPU; its products are those of the backends whose arrays are NumPy's.
BACKENDS = ("openblas", "accelerate", "mkl", "blis", "netlib")

MAX_NEWTON = 30
# Norms may miss 1 by so much.
SETTLED = 1e-5
# Keeps a basis that no example uses from making A + L singular.
FLOOR = 1e-5
RIDGE = 1e-5


class _FeatureSign(SparseProgram):
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        super().__init__(backend, case, inputs)
        n = len(inputs["bases"])
        self.workers = backend.workers
        self.workspaces = [workspace(n) for _ in range(backend.threads)]
        self.multipliers = np.full(n, 1.0, np.float32)
        self.system, self.squares = np.zeros((n, n), np.float32), np.zeros((n, n), np.float32)

    def solve(self, gram: np.ndarray, correlations: np.ndarray, coefficients: np.ndarray, x: np.ndarray) -> None:
        def solve(start: int, stop: int, worker: int) -> None:
            search(start, stop, gram, correlations, self.penalty, coefficients, self.workspaces[worker])

        self.workers.spread(solve, len(coefficients))

    def improve(self, bases: np.ndarray) -> None:
        """Newton's method on the dual, from multipliers of 1."""
        multipliers = self.multipliers
        multipliers[:] = 1.0
        for _ in range(MAX_NEWTON):
            self._solve_for_bases()
            norms = np.einsum("ij,ij->i", self.bases, self.bases)
            free = (multipliers > FLOOR) | (norms > 1.0)
            if np.abs(np.where(free, norms - 1.0, 0.0)).max() <= SETTLED:
                return
            # (A + L)^-1 from its factor: the lower triangle, the one that Newton's system is read from.
            inverse, _ = spotri(self.system.T, lower=False, overwrite_c=True)
            self.backend.gemm(self.bases, self.bases, self.squares, transpose_b=True)
            self.squares *= inverse.T
            step = self._newton(free, 0.5 * (norms - 1.0))
            # Never more than a tenth of what is left of a multiplier: the dual is barely quadratic close to 0.
            np.maximum(multipliers + step, 0.1 * multipliers, out=multipliers)
            np.maximum(multipliers, FLOOR, out=multipliers)
        self._solve_for_bases()

    def _solve_for_bases(self) -> None:
        """bases <- (A + L)^-1 C; the factor stays in `system`."""
        np.copyto(self.system, self.second)
        self.system.flat[:: len(self.system) + 1] += self.multipliers
        # The transpose of a C-ordered array is what LAPACK calls by its own order: nothing is copied.
        _, info = spotrf(self.system.T, lower=False, overwrite_a=True, clean=False)
        if info:
            raise ArithmeticError("A + L is not positive definite")
        solved, _ = spotrs(self.system.T, self.cross, lower=False)
        np.copyto(self.bases, solved)

    def _newton(self, free: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        chosen = np.flatnonzero(free)
        step = np.zeros_like(gradient)
        part = np.ascontiguousarray(self.squares[np.ix_(chosen, chosen)])
        # A basis that no example uses has no curvature: its multiplier then goes to the floor, a tenth at a time.
        part.flat[:: len(chosen) + 1] += RIDGE * part.diagonal().max()
        factor, info = spotrf(part.T, lower=False, overwrite_a=True)
        if info:
            raise ArithmeticError("the dual's Hessian is not definite")
        step[chosen], _ = spotrs(factor, gradient[chosen], lower=False)
        return step

    def learned(self) -> Arrays:
        return {"multipliers": self.multipliers, "stationary": self.cross, "norms": np.linalg.norm(self.bases, axis=1)}


build = _FeatureSign


def build_learner(backend: BackendContract, case: Case) -> _FeatureSign:
    """A program that goes on learning from pass to pass."""
    program = _FeatureSign(backend, case, _sparse.inputs(case, seed=1))
    program.restart = False
    return program


def inputs(case: Case, seed: int) -> Inputs:
    return _sparse.inputs(case, seed)


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The common check, and the optimum's own conditions: (A + L) B = C, and norm 1 wherever a multiplier is not 0."""
    system = seen["second"] + np.diag(seen["multipliers"])
    held = np.where(seen["multipliers"] > FLOOR, 1.0, np.minimum(seen["norms"], 1.0))
    return {
        **_sparse.expected(case, inputs, seen),
        "stationary": Product(system, seen["learned"]),
        "norms": held,
    }


def part_weights(case: Case) -> dict[str, float]:
    return dict(_sparse.part_weights(case))


def flops(case: Case) -> None:
    """Not known beforehand: it depends on how many coefficients the examples need."""


def traffic_bytes(case: Case) -> float:
    return _sparse.traffic_bytes(case)


def memory_bytes(case: Case) -> float:
    return _sparse.memory_bytes(case) + 8.0 * int(case.parameters["bases"]) ** 2
