"""Sparse coding: the problem, the timed pass in two parts and its check, and four algorithms.

    min over S, B of 1/2 ||X - S B||^2 + gamma ||S||_1, every basis of norm at most 1

X (m, k): an example a row, natural-image patches; B (n, k): a basis a row; S (m, n): coefficients. A pass goes through
the patches in batches: coefficients of a batch for the bases as they are, then the bases for these coefficients.

`timed` of a batch's examples are coded in a step; the coefficients of the others were computed beforehand, so that the
update of the bases has the whole batch whatever is timed. The timed ones are drawn evenly from all, ordered by how many
nonzero coefficients they have. A batch that is timed whole hands its bases on to the next batch of the pass.

Coefficients are checked by the lasso in plain NumPy and float64 (below).
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import spotrf, spotri, spotrs

from respeed.backends import Array, BackendContract
from respeed.data import natural_patches
from respeed.kernels.compiled import workspace
from respeed.kernels.sparse import descend, descend_bases, search
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product
from respeed.workloads._common import WorkloadClass, checked_rows, sizes

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
# The optimum, proved to 1e-8, is what the coefficients are held to: no low precision comes near it.
PRECISIONS = ("fp32",)

# The patches and bases are the same in every round: the penalty was found on them.
DATA_SEED = 2009
# The share of nonzero coefficients may be off by so much, 0.2 points; or by so many, where there are few.
SHARE_MARGIN, COUNT_MARGIN = 0.002, 12
# A coefficient below this share of the penalty counts as zero: an algorithm that goes a part of the way at a time
# shrinks what is to become zero, and leaves a trace of it.
NEGLIGIBLE = 1e-3
CHECKED_BASES = 16

# Of block coordinate descent.
SWEEPS = 2
BLOCK = 64

# Of the Lagrange dual.
MAX_NEWTON = 30
# Norms may miss 1 by so much.
SETTLED = 1e-5
# Keeps a basis that no example uses from making A + L singular.
FLOOR = 1e-5
RIDGE = 1e-5

# Of the algorithm that takes all examples at once.
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


class SparseProgram(ABC):
    """One pass's step. `parts` are its two halves, which are timed apart."""

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        n, k = inputs["bases"].shape
        self.backend, self.penalty = backend, case.parameters["penalty"]
        self.rows, self.timed = inputs["rows"], int(case.parameters["timed"])
        self.first, self.first_bases = inputs["x"][0], inputs["bases"]
        self.x = [backend.array(batch) for batch in inputs["x"]]
        self.start_bases, self.start_gram = backend.array(inputs["bases"]), backend.array(inputs["gram"])
        self.bases, self.gram = backend.array(inputs["bases"]), backend.array(inputs["gram"])
        self.previous = backend.zeros(n, k)
        self.coefficients = backend.array(inputs["coefficients"])  # (m, n), of which the first `timed` are solved for
        self.correlations = backend.zeros(self.timed, n)  # X B^T
        self.second, self.cross = backend.zeros(n, n), backend.zeros(n, k)  # S^T S and S^T X
        self.count = 0

    @property
    def parts(self) -> Mapping[str, Callable[[], None]]:
        return {"coefficients": self.code, "bases": self.learn}

    def step(self) -> None:
        self.code()
        self.learn()

    def code(self) -> None:
        """The coefficients of the timed examples, from zero."""
        x, bases, gram = self._now()
        self.backend.gemm(x[: self.timed], bases, self.correlations, transpose_b=True)
        self.solve(gram, self.correlations, self.coefficients[: self.timed], x[: self.timed])

    def learn(self) -> None:
        """The bases for the coefficients of the whole batch, and their Gram matrix, with which the next one begins."""
        x, bases, _ = self._now()
        self.backend.gemm(self.coefficients, self.coefficients, self.second, transpose_a=True)
        self.backend.gemm(self.coefficients, x, self.cross, transpose_a=True)
        self.improve(bases)
        self.backend.gemm(self.bases, self.bases, self.gram, transpose_b=True)
        self.count += 1

    def _now(self) -> tuple[Array, Array, Array]:
        """This batch, and the bases and Gram matrix it is coded with: every pass starts from the same bases."""
        place = self.count % len(self.x)
        if place == 0:
            return self.x[0], self.start_bases, self.start_gram
        return self.x[place], self.bases, self.gram

    @abstractmethod
    def solve(self, gram: Array, correlations: Array, coefficients: Array, x: Array) -> None:
        """coefficients <- the minimisers for correlations = x B^T and gram = B B^T."""

    @abstractmethod
    def improve(self, bases: Array) -> None:
        """self.bases <- better bases for S^T S in self.second and S^T X in self.cross, starting at `bases`."""

    def state(self) -> Arrays:
        host = self.backend.host
        coefficients = host(self.coefficients)
        found = coefficients[self.rows].astype(np.float64)
        return {
            "found": found,
            "coefficients": coefficients,
            "share": np.array([(np.abs(coefficients[: self.timed]) > NEGLIGIBLE * self.penalty).mean()]),
            "second": host(self.second),
            "cross": host(self.cross),
            "learned": host(self.bases),
            "gram_after": host(self.gram),
            **self.coded(found),
            **self.learned(),
        }

    def coded(self, found: np.ndarray) -> Arrays:
        """What the `found` coefficients of the checked examples are worth."""
        return {"objective": objective(self.first[self.rows], self.first_bases, found, self.penalty)}

    def learned(self) -> Arrays:
        """What more the check of the bases has to see."""
        return {}


@functools.lru_cache(maxsize=1)
def patches_and_bases(bases: int, side: int, patches: int) -> tuple[np.ndarray, np.ndarray]:
    """The patches, and other ones to begin with as bases."""
    drawn = natural_patches(bases + patches, side, DATA_SEED)
    return drawn[bases:], drawn[:bases]


# The algorithms of one sparsity follow one another in no order: their common problem is set up once.
@functools.lru_cache(maxsize=4)
def _problem(parameters: tuple[tuple[str, float], ...]) -> dict[str, np.ndarray]:
    given = dict(parameters)
    n, side, patches, batch, timed = (int(given[name]) for name in ("bases", "side", "patches", "batch", "timed"))
    x, bases = patches_and_bases(n, side, patches)
    gram = bases @ bases.T
    coefficients = np.zeros((batch, n), np.float32)
    if timed == batch:
        batches = x[: patches // batch * batch].reshape(-1, batch, x.shape[1])
        return {"x": batches, "bases": bases, "gram": gram, "coefficients": coefficients}
    first = x[:batch]
    descend(0, batch, gram, first @ bases.T, given["penalty"], coefficients, workspace(n))
    # Every (batch / timed)-th by the number of nonzero coefficients, and then the others.
    ordered = np.argsort(np.count_nonzero(coefficients, axis=1), kind="stable")
    picked = ordered[(np.arange(timed) * batch + batch // 2) // timed]
    order = np.concatenate([picked, np.setdiff1d(ordered, picked)])
    return {"x": first[order][None], "bases": bases, "gram": gram, "coefficients": coefficients[order]}


def _sizes(case: Case) -> tuple[int, int, int]:
    """Bases, pixels, examples of a batch."""
    n, side, m = sizes(case, "bases", "side", "batch")
    return n, side**2, m


class SparseCoding(WorkloadClass):
    """What the algorithms have in common. One whose rule stops it short of the optimum may leave an example's objective
    above it by the share `excess`."""

    excess = 0.0

    def inputs(self, case: Case, seed: int) -> Inputs:
        """Patches (batches, m, k), bases (n, k) that are patches too, scaled to norm 1, their Gram matrix, the
        coefficients of the first batch, and the `rows` that are checked."""
        rows = checked_rows(int(case.parameters["timed"]), seed)
        return {**_problem(tuple(sorted(case.parameters.items()))), "rows": rows}

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """What every algorithm must have reached, in float64: the optimal objective of the checked examples, the share
        of nonzero coefficients that the case is named after, and the three products."""
        x, bases = self.coded(inputs, seen)
        best = optimum(x[inputs["rows"]], bases, seen["found"], case.parameters["penalty"])
        least = objective(x[inputs["rows"]], bases, best, case.parameters["penalty"])
        wanted, few = case.parameters["nonzero"], COUNT_MARGIN / (case.parameters["timed"] * case.parameters["bases"])
        margin = max(SHARE_MARGIN, few)
        return {
            "objective": np.clip(seen["objective"], least, (1 + self.excess) * least),
            "share": np.clip(seen["share"], wanted - margin, wanted + margin),
            "second": Product(seen["coefficients"].T, seen["coefficients"]),
            "cross": Product(seen["coefficients"].T, x),
            "gram_after": Product(seen["learned"], seen["learned"].T),
        }

    def coded(self, inputs: Inputs, seen: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """The batch whose coefficients are seen, and the bases that it was coded with."""
        return inputs["x"][0], inputs["bases"]

    def part_weights(self, case: Case) -> Mapping[str, float]:
        """How often each part of a step counts: the examples that were not timed take as long as those that were."""
        return {"coefficients": case.parameters["batch"] / case.parameters["timed"], "bases": 1.0}

    def flops(self, case: Case) -> float | None:
        """Not known beforehand: it depends on how many coefficients the examples need, and when they are done."""
        return None

    def traffic_bytes(self, case: Case) -> float:
        """Examples, coefficients, bases and square matrices once each, fp32: the least that any algorithm touches."""
        n, k, m = _sizes(case)
        return 4.0 * (m * k + m * n + 2 * n * k + 2 * n * n)

    def memory_bytes(self, case: Case) -> float:
        """Examples, coefficients and correlations, bases three times, and the square matrices, fp32."""
        n, k, m = _sizes(case)
        batches = case.parameters["patches"] / m if case.parameters["timed"] == m else 1
        return float(4.0 * (batches * m * k + 4 * m * n + 5 * n * k + 3 * n * n))


class _OnCpu(SparseProgram):
    """Coefficients by a compiled solver, spread over examples. Products are those of the backends whose arrays are
    NumPy's."""

    solver: Callable[..., None]

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        super().__init__(backend, case, inputs)
        self.workers = backend.workers
        self.workspaces = [workspace(len(inputs["bases"])) for _ in range(backend.threads)]

    def solve(self, gram: np.ndarray, correlations: np.ndarray, coefficients: np.ndarray, x: np.ndarray) -> None:
        solver = type(self).solver

        def solve(start: int, stop: int, worker: int) -> None:
            solver(start, stop, gram, correlations, self.penalty, coefficients, self.workspaces[worker])

        self.workers.spread(solve, len(coefficients))


class _Descent(_OnCpu):
    solver = descend

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        super().__init__(backend, case, inputs)
        n, k = inputs["bases"].shape
        self.gradient, self.change = (np.zeros((min(BLOCK, n), k), np.float32) for _ in range(2))

    def improve(self, bases: np.ndarray) -> None:
        if bases is not self.bases:
            np.copyto(self.bases, bases)
        for _ in range(SWEEPS):
            for first in range(0, len(bases), BLOCK):
                last = min(first + BLOCK, len(bases))
                gradient, change = self.gradient[: last - first], self.change[: last - first]
                np.copyto(gradient, self.cross[first:last])
                self.backend.gemm(self.second[first:last], self.bases, gradient, beta=-1.0)
                descend_bases(first, last, self.second, gradient, self.bases, change)

    def learned(self) -> Arrays:
        return {"last_basis": self.bases[-1]}


class SparseDescent(SparseCoding):
    """Sparse coding with the fastest CPU solver that we know how to write; not the paper's.

    Coefficients: compiled coordinate descent over a working set for each example, see respeed.kernels.sparse.
    Bases: block coordinate descent, each basis in turn to its own minimum with the others fixed (Mairal et al., Online
    learning for matrix factorization and sparse coding, 2010, algorithm 2), SWEEPS times over all, which leaves the
    objective near the Lagrange dual's and far below where the paper's 30 gradient steps leave it. The gradients of
    BLOCK bases at a time are one product; what changes within a block is made good as it changes.
    """

    ASKS = ("workers",)
    BACKENDS = ("openblas", "accelerate", "mkl", "blis")
    program = _Descent

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """The common check, and the last basis: the minimum with the others as they were left."""
        weights = seen["second"][-1].astype(np.float64)
        bases = seen["learned"].astype(np.float64)
        best = bases[-1]
        if weights[-1] > 0:
            best = (seen["cross"][-1] - weights[:-1] @ bases[:-1]) / weights[-1]
            best = best / max(1.0, float(np.linalg.norm(best)))
        return {**super().reference(case, inputs, seen), "last_basis": best}


class _FeatureSign(_OnCpu):
    solver = search

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        super().__init__(backend, case, inputs)
        n = len(inputs["bases"])
        self.multipliers = np.full(n, 1.0, np.float32)
        self.system, self.squares = np.zeros((n, n), np.float32), np.zeros((n, n), np.float32)

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


class SparseFeatureSign(SparseCoding):
    """Sparse coding as on the paper's CPU: feature-sign search for the coefficients, the Lagrange dual for the bases.

    Bases: with multipliers L = diag(l), l >= 0, for the norms, the minimiser is B(l) = (S^T S + L)^-1 S^T X, and l
    maximises the concave dual -1/2 tr(C^T (A + L)^-1 C) - 1/2 sum(l), A = S^T S, C = S^T X, by Newton's method on the l
    that are not held at 0: gradient (||b_j||^2 - 1) / 2, Hessian -(A + L)^-1 o (B B^T).
    Compiled and spread over examples; products and factorisations by LAPACK. Single precision.
    Source: Lee, Battle, Raina and Ng, Efficient sparse coding algorithms, NIPS 2006, section 4.
    """

    ASKS = ("workers",)
    # The Lagrange dual solves systems whose size changes from one Newton step to the next, by LAPACK, which returns
    # arrays.
    ALLOCATES = True
    BACKENDS = ("openblas", "accelerate", "mkl", "blis")
    program = _FeatureSign

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """The common check, and the optimum's own conditions: (A + L) B = C, and norm 1 wherever a multiplier is not
        0."""
        system = seen["second"] + np.diag(seen["multipliers"])
        held = np.where(seen["multipliers"] > FLOOR, 1.0, np.minimum(seen["norms"], 1.0))
        return {**super().reference(case, inputs, seen), "stationary": Product(system, seen["learned"]), "norms": held}

    def memory_bytes(self, case: Case) -> float:
        return super().memory_bytes(case) + 8.0 * int(case.parameters["bases"]) ** 2


def basis_rate(t: int) -> float:
    """The length of projected-gradient step t = 0, 1, ..."""
    return 0.04 * 10 / (10 + t)


class _Parallel(SparseProgram):
    # By how much an iteration must lower an example's objective, as shares of it and of its penalty's term; and how
    # long a projected-gradient step is.
    least, least_of_norm, rate = LEAST, 0.0, staticmethod(basis_rate)

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
        numbers = self.penalty, LENGTHS, self.least
        backend.line_search(direction, moved, left, found, *numbers, objective, going, self.least_of_norm)

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
            self.backend.gradient_step(here, self.product, self.cross, self.rate(t), there)
            here, there = there, self.bases if there is self.previous else self.previous

    def learned(self) -> Arrays:
        learned = self.backend.host(self.bases)
        return {"previous": self.backend.host(self.previous), "bases_after": learned[_checked_bases(len(learned))]}


class SparseParallel(SparseCoding):
    """Sparse coding as on the paper's GPU: all examples and all coefficients of a batch at once.

    Coefficients, from S = 0, at most 150 times: every coordinate's own minimiser with the others fixed, x*_j =
    soft(Q_j, gamma) / G_jj with Q_j = (B x - G s)_j + G_jj s_j; along the direction x* - s each example takes the first
    of the steps 3, 1, 0.1, 0.03, 0.01 that lowers its objective by a relative 1e-6, and is done when none does. One
    product of 2 m n^2 FLOP a time.
    Bases: 30 projected-gradient steps, B <- P(B - r_t (S^T S B - S^T X)), r_t = 0.04 * 10 / (10 + t), P scaling what is
    longer than 1 back to it; one product of 2 n^2 k FLOP each.
    Source: the authors' published code, see the paper's file for how sure that is.
    """

    ASKS = ("take_rows", "put_rows", "coordinate_step", "line_search", "gradient_step")
    program: ClassVar[type[_Parallel]] = _Parallel
    excess = EXCESS

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """The common check, and the last of the 30 steps for some bases, from where the one before it left them."""
        rows = _checked_bases(len(inputs["bases"]))
        previous = seen["previous"].astype(np.float64)
        gradient = seen["second"][rows].astype(np.float64) @ previous - seen["cross"][rows]
        after = previous[rows] - self.program.rate(BASIS_STEPS - 1) * gradient
        after /= np.maximum(1.0, np.linalg.norm(after, axis=1, keepdims=True))
        return {**super().reference(case, inputs, seen), "bases_after": after}

    def memory_bytes(self, case: Case) -> float:
        return super().memory_bytes(case) + 4.0 * int(case.parameters["bases"]) * int(case.parameters["side"]) ** 2


class _Published(_Parallel):
    """A step is a whole pass, each half of each batch a part of its own: the first batch is coded in a few iterations,
    those after it, with bases that have begun to look like patches, in many times as many."""

    least, least_of_norm = 0.0, LEAST

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        super().__init__(backend, case, inputs)
        self.last, self.coded_with = inputs["x"][-1], backend.array(inputs["bases"])

    @staticmethod
    def rate(t: int) -> float:
        """Theirs is the gradient of ||X - S B||^2, twice ours."""
        return 2 * basis_rate(t)

    @property
    def parts(self) -> Mapping[str, Callable[[], None]]:
        return dict(zip(_parts(len(self.x)), len(self.x) * (self.code, self.learn), strict=True))

    def step(self) -> None:
        for part in self.parts.values():
            part()

    def code(self) -> None:
        self.backend.copy(self._now()[1], self.coded_with)
        super().code()

    def coded(self, found: np.ndarray) -> Arrays:
        bases = self.backend.host(self.coded_with)
        return {"objective": objective(self.last[self.rows], bases, found, self.penalty), "coded_with": bases}


class SparsePublished(SparseParallel):
    """Sparse coding as the program of the paper's authors does it, with better products.

    As above, but bases are random at first: uniform in -0.5..0.5, without their mean, of norm 1; patches are of the
    norm that theirs have, on which the length of a gradient step depends; an example is done when no step lowers its
    objective by a relative 1e-6 of gamma ||s||_1; gradients of bases are doubled. All batches of a pass are timed, one
    after another. What theirs does besides changes no number: B x - G s anew in every iteration, a second product of
    2 m n^2 FLOP; B B^T and B X by kernels of its own; a call for each norm; the objective after each batch.
    Source: github.com/viirya/Sparse-coding-with-GPU, sparse_coding/cuda, main.cu, l1ls_coord_descent.cu and
    proj_grad_descent.cu at b4bb55e.
    """

    ASKS = ("take_rows", "put_rows", "coordinate_step", "line_search", "gradient_step")
    # A pass takes seconds on a CPU: one row there, by the library that the GPU's row is computed with.
    BACKENDS = ("torch",)
    PARAMETERS: ClassVar = {
        "bases": "whole", "side": "whole", "patches": "whole", "batch": "whole", "timed": "whole", "penalty": "real",
        "nonzero": "real", "norm": "real",
    }  # fmt: skip
    TESTS: ClassVar = {
        "smoke": {
            "bases": 32, "side": 6, "patches": 64, "batch": 32, "timed": 32, "penalty": 1.5, "nonzero": 0.2539,
            "norm": 10,
        },
        "odd": {
            "bases": 37, "side": 7, "patches": 93, "batch": 31, "timed": 31, "penalty": 1.5, "nonzero": 0.2045,
            "norm": 10,
        },
        "large": {
            "bases": 320, "side": 18, "patches": 640, "batch": 320, "timed": 320, "penalty": 1.5, "nonzero": 0.0301,
            "norm": 10,
        },
    }  # fmt: skip
    program: ClassVar[type[_Parallel]] = _Published

    def inputs(self, case: Case, seed: int) -> Inputs:
        """As for the others, but for the bases and the patches' norm; examples are checked of the last batch."""
        inputs = dict(super().inputs(case, seed))
        bases = np.random.default_rng(DATA_SEED).random(inputs["bases"].shape, dtype=np.float32) - np.float32(0.5)
        bases -= bases.mean(axis=1, keepdims=True)
        bases /= np.linalg.norm(bases, axis=1, keepdims=True)
        x = inputs["x"] * np.float32(case.parameters["norm"])
        return {**inputs, "x": x, "bases": bases, "gram": bases @ bases.T}

    def coded(self, inputs: Inputs, seen: Arrays) -> tuple[np.ndarray, np.ndarray]:
        return inputs["x"][-1], seen["coded_with"]

    def part_weights(self, case: Case) -> Mapping[str, float]:
        """A step of the table is one batch."""
        patches, batch = sizes(case, "patches", "batch")
        return dict.fromkeys(_parts(patches // batch), 1 / (patches // batch))

    def memory_bytes(self, case: Case) -> float:
        n, k, _ = _sizes(case)
        return super().memory_bytes(case) + 4.0 * n * k


def _parts(batches: int) -> list[str]:
    return [f"{half} {batch}" for batch in range(1, batches + 1) for half in ("coefficients", "bases")]


def _checked_bases(count: int) -> np.ndarray:
    """Rows of the bases that the reference computes."""
    return checked_rows(count, CHECKED_BASES)


# A solution whose duality gap is at most this share of its objective is the optimum, as far as fp32 can tell.
GAP = 1e-8
MAX_STEPS = 5000
# Bases that depend on one another share what they explain between them; the gap tells if this were too much.
RIDGE = 1e-10


def objective(x: np.ndarray, bases: np.ndarray, coefficients: np.ndarray, penalty: float) -> np.ndarray:
    """1/2 ||x - s B||^2 + gamma ||s||_1 of every example, float64."""
    s = coefficients.astype(np.float64)
    rest = x - s @ bases.astype(np.float64)
    out: np.ndarray = 0.5 * (rest**2).sum(axis=1) + penalty * np.abs(s).sum(axis=1)
    return out


def duality_gap(x: np.ndarray, bases: np.ndarray, coefficients: np.ndarray, penalty: float) -> np.ndarray:
    """How far the objective of every example can be above the optimum, at most.

    For every v with |B v| <= gamma, 1/2 ||x||^2 - 1/2 ||x - v||^2 is a lower bound; v is the rest x - s B, scaled.
    """
    bases = bases.astype(np.float64)
    rest = x - coefficients.astype(np.float64) @ bases
    largest = np.abs(rest @ bases.T).max(axis=1, keepdims=True)
    v = rest * np.minimum(1.0, penalty / np.maximum(largest, 1e-300))
    bound = 0.5 * (np.square(x, dtype=np.float64).sum(axis=1) - ((x - v) ** 2).sum(axis=1))
    out: np.ndarray = objective(x, bases, coefficients, penalty) - bound
    return out


def optimum(x: np.ndarray, bases: np.ndarray, start: np.ndarray, penalty: float) -> np.ndarray:
    """The minimisers (m, n) in float64, each with its duality gap closed; NaN for an example where that failed.

    `start` only shortens the way: whatever it is, the gap proves the result.
    """
    wide = bases.astype(np.float64)
    gram = wide @ wide.T
    correlations = x.astype(np.float64) @ wide.T
    found = np.stack([_one(gram, q, s, penalty) for q, s in zip(correlations, start, strict=True)])
    gap = duality_gap(x, wide, found, penalty)
    found[gap > GAP * np.maximum(objective(x, wide, found, penalty), 1e-12)] = np.nan
    return found


def _one(gram: np.ndarray, q: np.ndarray, start: np.ndarray, penalty: float) -> np.ndarray:
    """Solve on the support with its signs held; what changes its sign leaves on the way, the worst violation joins."""
    # Much more than half of the coefficients is no start: their piece of G may be singular.
    s = start.astype(np.float64) if 2 * np.count_nonzero(start) <= len(start) else np.zeros(len(start))
    signs = np.sign(s)
    for _ in range(MAX_STEPS):
        support = np.flatnonzero(signs)
        if len(support):
            part = gram[np.ix_(support, support)]
            part.flat[:: len(support) + 1] += RIDGE
            goal = np.linalg.solve(part, q[support] - penalty * signs[support])
            here = s[support]
            wrong = goal * signs[support] <= 0
            if wrong.any():
                # As far towards the goal as all signs hold: the objective falls all the way.
                with np.errstate(divide="ignore", invalid="ignore"):
                    reach = np.where(wrong, np.abs(here) / (np.abs(here) + np.abs(goal)), np.inf)
                reach = np.nan_to_num(reach, nan=0.0, posinf=np.inf)
                first = int(np.argmin(reach))
                s[support] = here + reach[first] * (goal - here)
                s[support[first]] = signs[support[first]] = 0.0
                continue
            s[support] = goal
        left = q - gram @ s
        left[signs != 0] = 0.0
        worst = int(np.argmax(np.abs(left)))
        if abs(left[worst]) <= penalty * (1 + 1e-10):
            break
        signs[worst] = np.sign(left[worst])
    return s
