"""Sparse coding with the fastest CPU solver that we know how to write; not the paper's.

Coefficients: compiled coordinate descent over a working set for each example, see respeed.kernels.sparse.
Bases: block coordinate descent, each basis in turn to its own minimum with the others fixed (Mairal et al., Online
learning for matrix factorization and sparse coding, 2010, algorithm 2), SWEEPS times over all, which leaves the
objective near the Lagrange dual's and far below where the paper's 30 gradient steps leave it. The gradients of BLOCK
bases at a time are one product; what changes within a block is made good as it changes.
"""

import numpy as np

from respeed.backends import BackendContract
from respeed.kernels.compiled import workspace
from respeed.kernels.sparse import descend, descend_bases
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, _sparse
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
# The optimum, proved to 1e-8, is what the coefficients are held to: no low precision comes near it.
PRECISIONS = ("fp32",)
# Compiled for the CPU; its products are those of the backends whose arrays are NumPy's.
BACKENDS = ("openblas", "accelerate", "mkl", "blis", "netlib")

SWEEPS = 2
BLOCK = 64


class _Descent(SparseProgram):
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        super().__init__(backend, case, inputs)
        n, k = inputs["bases"].shape
        self.workers = backend.workers
        self.workspaces = [workspace(n) for _ in range(backend.threads)]
        self.gradient, self.change = (np.zeros((min(BLOCK, n), k), np.float32) for _ in range(2))

    def solve(self, gram: np.ndarray, correlations: np.ndarray, coefficients: np.ndarray, x: np.ndarray) -> None:
        def solve(start: int, stop: int, worker: int) -> None:
            descend(start, stop, gram, correlations, self.penalty, coefficients, self.workspaces[worker])

        self.workers.spread(solve, len(coefficients))

    def improve(self, bases: np.ndarray) -> None:
        if bases is not self.bases:
            np.copyto(self.bases, bases)
        for _ in range(SWEEPS):
            for first in range(0, len(bases), BLOCK):
                last = min(first + BLOCK, len(bases))
                gradient, change = self.gradient[: last - first], self.change[: last - first]
                np.copyto(gradient, self.cross[first:last])
                self.backend.gemm(self.second[first:last], self.bases, gradient, beta=-1.0)
                self._descend(first, last, gradient, change)

    def _descend(self, first: int, last: int, gradient: np.ndarray, change: np.ndarray) -> None:
        descend_bases(first, last, self.second, gradient, self.bases, change)

    def learned(self) -> Arrays:
        return {"last_basis": self.bases[-1]}


build = _Descent


def build_learner(backend: BackendContract, case: Case) -> _Descent:
    """A program that goes on learning from pass to pass."""
    program = _Descent(backend, case, _sparse.inputs(case, seed=1))
    program.restart = False
    return program


def inputs(case: Case, seed: int) -> Inputs:
    return _sparse.inputs(case, seed)


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The common check, and the last basis: the minimum with the others as they were left."""
    weights = seen["second"][-1].astype(np.float64)
    bases = seen["learned"].astype(np.float64)
    best = bases[-1]
    if weights[-1] > 0:
        best = (seen["cross"][-1] - weights[:-1] @ bases[:-1]) / weights[-1]
        best = best / max(1.0, float(np.linalg.norm(best)))
    return {**_sparse.expected(case, inputs, seen), "last_basis": best}


def part_weights(case: Case) -> dict[str, float]:
    return dict(_sparse.part_weights(case))


def flops(case: Case) -> None:
    """Not known beforehand: it depends on how many coefficients the examples need."""


def traffic_bytes(case: Case) -> float:
    return _sparse.traffic_bytes(case)


def memory_bytes(case: Case) -> float:
    return _sparse.memory_bytes(case)
