"""Sparse coding as on the paper's GPU: all examples and all coefficients of a batch at once.

Coefficients, from S = 0, at most 150 times: every coordinate's own minimiser with the others fixed, x*_j =
soft(Q_j, gamma) / G_jj with Q_j = (B x - G s)_j + G_jj s_j; along the direction x* - s each example takes the first of
the steps 3, 1, 0.1, 0.03, 0.01 that lowers its objective by a relative 1e-6, and is done when none does. One product of
2 m n^2 FLOP a time.
Bases: 30 projected-gradient steps, B <- P(B - r_t (S^T S B - S^T X)), r_t = 0.04 * 10 / (10 + t), P scaling what is
longer than 1 back to it; one product of 2 n^2 k FLOP each.
Source: the authors' published code, see the paper's file for how sure that is.
"""

from functools import partial

import numpy as np

from respeed.backends import Array, BackendContract
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
ASKS = ("take_rows", "put_rows", "coordinate_step", "line_search", "gradient_step")
# The optimum, proved to 1e-8, is what the coefficients are held to: no low precision comes near it.
PRECISIONS = ("fp32",)

LENGTHS = (3.0, 1.0, 0.1, 0.03, 0.01)
LEAST = 1e-6
MAX_ITERATIONS = 150
# Whether any example still goes on is asked only so often: on a GPU the answer costs a wait for the device.
ASK_EVERY = 10
BASIS_STEPS = 30
# Examples that are done are left out as soon as no more than this share goes on.
CLOSE_RANKS = 0.9
# An example of which progress is slow stops early: one in a thousand more than 1 % above its optimum, at most 2 %.
EXCESS = 0.05


def basis_rate(t: int) -> float:
    """The length of projected-gradient step t = 0, 1, ..."""
    return 0.04 * 10 / (10 + t)


class _Parallel(SparseProgram):
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        super().__init__(backend, case, inputs)
        timed, n = self.timed, len(inputs["bases"])
        self.zero, self.one = backend.zeros(1, 1), backend.array(np.ones((1, 1)))
        self.left, self.direction, self.moved, self.going_on = (backend.zeros(timed, n) for _ in range(4))
        # Of every batch, 1/2 ||x||^2: the objective at S = 0.
        halves = 0.5 * np.square(inputs["x"][:, :timed], dtype=np.float64).sum(axis=2, keepdims=True)
        self.at_zero = [backend.array(half) for half in halves]
        self.objective, self.going = backend.zeros(timed, 1), backend.zeros(timed, 1)
        self.diagonals = {id(gram): backend.zeros(n) for gram in (self.start_gram, self.gram)}
        self.product = backend.zeros(n, inputs["bases"].shape[1])
        # From either bases that a batch begins with. (What goes on for the coefficients is another number of rows from
        # one answer of the device to the next: no step that could be captured.)
        self.descend = {
            id(bases): backend.captured(partial(self._descend, bases)) for bases in (self.start_bases, self.bases)
        }

    def solve(self, gram: Array, correlations: Array, coefficients: Array, x: Array) -> None:
        backend, diagonal = self.backend, self.diagonals[id(gram)]
        backend.copy(gram.diagonal(), diagonal)
        backend.copy(correlations, self.left)
        backend.copy(self.zero, self.going_on)
        backend.copy(self.at_zero[self.count % len(self.x)], self.objective)
        backend.copy(self.one, self.going)
        rows = np.arange(self.timed)  # which examples are worked on, in the first rows of the arrays
        for iteration in range(1, MAX_ITERATIONS + 1):
            self._iterate(gram, diagonal, len(rows))
            if iteration % ASK_EVERY == 0:
                on = np.flatnonzero(backend.host(self.going)[: len(rows), 0])
                if len(on) == 0:
                    break
                if len(on) <= CLOSE_RANKS * len(rows):
                    backend.put_rows(self.going_on[: len(rows)], rows, coefficients)
                    self._close_ranks(on)
                    rows = rows[on]
        backend.put_rows(self.going_on[: len(rows)], rows, coefficients)

    def _iterate(self, gram: Array, diagonal: Array, count: int) -> None:
        """Every example that goes on, once: its direction, and as far along it as its objective falls."""
        backend = self.backend
        left, found, direction, moved, objective, going = (
            array[:count]
            for array in (self.left, self.going_on, self.direction, self.moved, self.objective, self.going)
        )
        backend.coordinate_step(left, found, diagonal, self.penalty, going, direction)
        backend.gemm(direction, gram, moved)
        backend.line_search(direction, moved, left, found, self.penalty, LENGTHS, LEAST, objective, going)

    def _close_ranks(self, on: np.ndarray) -> None:
        """The examples that go on come first; products are then of as many rows as there are such examples."""
        backend, count = self.backend, len(on)
        for name, spare in (("left", "moved"), ("going_on", "direction"), ("objective", "going")):
            here, there = getattr(self, name), getattr(self, spare)
            backend.take_rows(here, on, there[:count])
            setattr(self, name, there)
            setattr(self, spare, here)
        backend.copy(self.one, self.going)

    def improve(self, bases: Array) -> None:
        self.descend[id(bases)]()

    def _descend(self, bases: Array) -> None:
        here, there = bases, self.previous
        for t in range(BASIS_STEPS):
            self.backend.gemm(self.second, here, self.product)
            self.backend.gradient_step(here, self.product, self.cross, basis_rate(t), there)
            here, there = there, self.bases if there is self.previous else self.previous

    def learned(self) -> Arrays:
        return {"previous": self.backend.host(self.previous), "bases_after": self._checked_bases()}

    def _checked_bases(self) -> np.ndarray:
        learned = self.backend.host(self.bases)
        checked: np.ndarray = learned[_sparse.checked_bases(len(learned))]
        return checked


build = _Parallel


def build_learner(backend: BackendContract, case: Case) -> _Parallel:
    """A program that goes on learning from pass to pass."""
    program = _Parallel(backend, case, _sparse.inputs(case, seed=1))
    program.restart = False
    return program


def inputs(case: Case, seed: int) -> Inputs:
    return _sparse.inputs(case, seed)


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The common check, and the last of the 30 steps for some bases, from where the one before it left them."""
    rows = _sparse.checked_bases(len(inputs["bases"]))
    previous = seen["previous"].astype(np.float64)
    gradient = seen["second"][rows].astype(np.float64) @ previous - seen["cross"][rows]
    after = previous[rows] - basis_rate(BASIS_STEPS - 1) * gradient
    after /= np.maximum(1.0, np.linalg.norm(after, axis=1, keepdims=True))
    return {**_sparse.expected(case, inputs, seen, excess=EXCESS), "bases_after": after}


def part_weights(case: Case) -> dict[str, float]:
    return dict(_sparse.part_weights(case))


def flops(case: Case) -> None:
    """Not known beforehand: it depends on when the examples are done."""


def traffic_bytes(case: Case) -> float:
    return _sparse.traffic_bytes(case)


def memory_bytes(case: Case) -> float:
    return _sparse.memory_bytes(case) + 4.0 * int(case.parameters["bases"]) * int(case.parameters["side"]) ** 2
