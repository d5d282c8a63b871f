"""Sparse coding: one problem, and four algorithms for it, each in two parts that are timed separately.

For examples X (m, k), find bases B (n, k) and coefficients S (m, n). A row is an example, which is a patch of a
photograph, a basis b_j, or the coefficients of an example::

    min over S, B of 1/2 ||X - S B||^2 + gamma ||S||_1        every ||b_j|| <= 1

A step solves for the coefficients of a batch with the bases fixed, and then for the bases with these coefficients
fixed. The algorithms work on the matrix products X B^T and G = B B^T, and then on A = S^T S and C = S^T X.
"""

import functools
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numba import get_num_threads
from numpy.random import Generator
from scipy.linalg.lapack import spotrf, spotri, spotrs
from scipy.optimize import nnls

from respeed.data import natural_patches
from respeed.kernels import Array
from respeed.kernels.blas import gemm
from respeed.kernels.sparse import (
    coordinate_descent,
    coordinate_step,
    descend_bases,
    feature_sign_search,
    gradient_step,
    line_search,
    make_workspaces,
)
from respeed.workloads import Arrays, Named, Pairs, Row, Weights, Workload, workload
from respeed.workloads.arrays import Zeros, checked_rows, double, product

if TYPE_CHECKING:
    from torch import Tensor

# The patches and bases are the same in every round: the penalty was found on them.
DATA_SEED = 2009
# The share of nonzero coefficients may be off by 0.2 points, or by 12 coefficients where there are few.
SHARE_MARGIN = 0.002
COUNT_MARGIN = 12
# A coefficient below this share of the penalty counts as zero: an algorithm of partial steps may leave a small
# remainder of a coefficient that goes to zero.
NEGLIGIBLE = 1e-3


@workload
class _SparseCoding(Workload):
    """The problem, its data, and the check of every algorithm's result.

    Parameters
    ----------
    bases, side : int
        The number of bases (n), and of pixels on a side of a patch (k = side^2).
    patches, batch : int
        The number of patches in a pass, and in a batch (m).
    timed : int
        The number of a batch's examples whose coefficients are solved for; their time counts batch / timed times. The
        other examples have coefficients from the start, so that the bases are always solved for with a full batch.
    penalty : float
        gamma.
    nonzero : float
        The share of nonzero coefficients that the penalty was tuned for, and that the check expects.
    """

    bases: int
    side: int
    patches: int
    batch: int
    timed: int
    penalty: float
    nonzero: float

    cycled = ("x",)
    handed_on: ClassVar = {"bases": "new_bases", "gram": "new_gram"}
    # Coefficients are compared with the optimum, proved to 1e-8: no low precision comes near it.
    precisions = ("fp32",)
    # The share by which an example's objective may be above the optimum, where the algorithm stops short of it.
    excess = 0.0

    def arrays(self, random: Generator) -> Named:
        """Cut examples from photographs, and other patches as the first bases.

        Both are the same in every round, since the penalty was found on them, but the examples' signs are drawn anew:
        the work stays the same, and the result of an earlier round would be wrong.
        """
        n = self.bases
        k = self.side**2
        x, bases, gram, coefficients = _problem(n, self.side, self.patches, self.batch, self.timed, self.penalty)
        signs = random.choice(np.array([-1, 1], np.float32), (len(x), self.batch, 1))
        return {
            "x": x * signs,  # (batches, m, k)
            "bases": bases,  # B (n, k)
            "gram": gram,  # G (n, n)
            "coefficients": Zeros(self.batch, n) if self.timed == self.batch else coefficients * signs[0],  # S (m, n)
            "second": Zeros(n, n),  # A
            "cross": Zeros(n, k),  # C
            "new_bases": Zeros(n, k),
            "new_gram": Zeros(n, n),
        }

    def numpy_bases(self, a: Arrays, row: Row) -> None:
        """Solve for the bases, given the coefficients of the full batch."""
        S = a.coefficients
        gemm(S.T, S, out=a.second)
        gemm(S.T, a.x, out=a.cross)
        self.improve_bases(a)
        gemm(a.new_bases, a.new_bases.T, out=a.new_gram)

    def improve_bases(self, a: Arrays) -> None:
        """Write better bases to ``a.new_bases``, given A and C."""
        raise NotImplementedError

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare some objectives with the optimum, the nonzero share with `nonzero`, matrix products with float64."""
        S = seen.coefficients
        B = seen.new_bases
        gamma = self.penalty
        rows = checked_rows(self.timed)
        x = double(given.x[rows])
        bases = double(given.bases)
        s = double(S[rows])
        best = optimum(x, bases, s, gamma)
        reached = objective(x, bases, s, gamma)
        least = objective(x, bases, best, gamma)
        is_nonzero = np.abs(S[: self.timed]) > NEGLIGIBLE * gamma
        share = is_nonzero.mean(keepdims=True)
        margin = max(SHARE_MARGIN, COUNT_MARGIN / is_nonzero.size)
        return {
            "objective": (reached, np.clip(reached, least, (1 + self.excess) * least)),
            "share": (share, np.clip(share, self.nonzero - margin, self.nonzero + margin)),
            "second": product(seen.second, S.T, S),
            "cross": product(seen.cross, S.T, given.x),
            "gram": product(given.gram, bases, bases.T),  # as the last step left it
            "new_gram": product(seen.new_gram, B, B.T),
        }

    def parts(self) -> Weights:
        """Return each part's weight: the time of the timed examples' coefficients is scaled to a full batch."""
        return {"coefficients": self.batch / self.timed, "bases": 1.0}

    def flops(self) -> None:
        """Count nothing: the FLOP depend on how many coefficients the examples need."""

    def traffic_bytes(self) -> float:
        """Count examples, coefficients, old and new bases and Gram matrices once each: the least of any algorithm."""
        n = self.bases
        k = self.side**2
        return 4.0 * (self.batch * (k + n) + 2 * n * (k + n))


# The algorithms run in random order: the problem that they share at one sparsity is set up once.
@functools.lru_cache(maxsize=4)
def _problem(
    n: int, side: int, patches: int, batch: int, timed: int, penalty: float
) -> tuple[Array, Array, Array, Array]:
    """Return batches of patches (batches, m, k), bases, their Gram matrix, and coefficients (m, n).

    Timed examples have coefficients of 0. If only some are timed, there is one batch, in which they come first.
    """
    drawn = natural_patches(n + patches, side, DATA_SEED)
    bases = drawn[:n]
    x = drawn[n:]
    gram = bases @ bases.T
    coefficients = np.zeros((batch, n), np.float32)
    if timed == batch:
        count = patches // batch
        return x[: count * batch].reshape(count, batch, -1), bases, gram, coefficients
    first = x[:batch]
    coordinate_descent(coefficients, gram, first @ bases.T, penalty, make_workspaces(get_num_threads(), n))
    # Every (batch / timed)-th example is timed, in order of the number of nonzero coefficients.
    ordered = np.argsort(np.count_nonzero(coefficients, axis=1), kind="stable")
    picked = ordered[(np.arange(timed) * batch + batch // 2) // timed]
    order = np.concatenate([picked, np.setdiff1d(ordered, picked)])
    coefficients = coefficients[order]
    coefficients[:timed] = 0.0
    return first[order][None], bases, gram, coefficients


# The algorithm that takes all examples at once.

LENGTHS = (3.0, 1.0, 0.1, 0.03, 0.01)
MAX_ITERATIONS = 150
# Iterations between two tests of whether any example is not done: each time, the host has to wait for a GPU.
ASK_EVERY = 10
# Examples that are done are removed when the share of the others is at most this.
CLOSE_RANKS = 0.9
# An even number, so that the last step writes to `new_bases`.
BASIS_STEPS = 30


class _Operations(NamedTuple):
    """The operations of an iteration in a framework; `kernels.sparse` describes the first two.

    Attributes
    ----------
    take_step, search : callable
        The functions that find the direction d of every example, and that move the example along d.
    multiply, where, take : callable
        The functions that multiply matrices, ``(a, b, out=)``, that return the indices of nonzero elements, and that
        copy the rows with these indices, ``(array, indices, out=)``.
    """

    take_step: Callable[..., None]
    search: Callable[..., None]
    multiply: Callable[..., Any]
    where: Callable[[Any], Any]
    take: Callable[..., Any]


@workload
class SparseParallel(_SparseCoding):
    """Sparse coding as on the paper's GPU: all examples and all coefficients of a batch at once.

    Coefficients: at most 150 iterations from S = 0. With Q = X B^T - S G, each coordinate's minimum s*_j with the other
    coordinates fixed is found, and each example moves along d, the way to s*, by a length t::

        s*_j = soft(Q_j + G_jj s_j, gamma) / G_jj        d = s* - s        soft(z, p) = sign(z) max(|z| - p, 0)
        s += t d     Q -= t d G                          t: the first of 3, 1, 0.1, 0.03, 0.01 to lower enough

    An example is done when no length lowers its objective by more than a share of 1e-6. The matrix product d G has
    2 m n^2 FLOP.

    Bases: 30 projected-gradient steps t = 0, 1, ... of 2 n^2 k FLOP each. P scales a basis longer than 1 to norm 1::

        B <- P(B - r_t (A B - C))        r_t = 0.04 * 10 / (10 + t)

    References
    ----------
    .. [1] The authors' code (see `SparsePublished`); the paper's file says how sure it is that this is their code.
    """

    # The coefficients are not captured: the host waits to learn whether any example is not done.
    captured = ("bases",)
    # One example in a thousand stops more than 1 % above its optimum, at most 2 %.
    excess = 0.05
    # The length of the first gradient step; and by how much a line search must lower the objective, as shares of the
    # objective and of gamma ||s||_1.
    rate = 0.04
    shares = (1e-6, 0.0)

    def arrays(self, random: Generator) -> Named:
        """Add arrays for the examples' values in an iteration, and for the gradient steps."""
        n = self.bases
        k = self.side**2
        m = self.timed
        return {
            **super().arrays(random),
            "correlations": Zeros(m, n),  # Q
            "iterate": Zeros(m, n),  # s
            "direction": Zeros(m, n),  # d
            "moved": Zeros(m, n),  # d G
            "lengths": np.array(LENGTHS, np.float32),
            "previous": Zeros(n, k),
            "product": Zeros(n, k),
            "norms": Zeros(n, 1),
        }

    def torch_coefficients(self, a: Arrays, row: Row) -> None:
        """Solve for the coefficients on a CPU or a GPU."""
        import torch

        def take(array: "Tensor", indices: "Tensor", out: "Tensor") -> "Tensor":
            return torch.index_select(array, 0, indices, out=out)

        def where(active: "Tensor") -> "Tensor":
            return active.nonzero()[:, 0]

        by = _Operations(*_passes(a.x, row), torch.mm, where, take)
        x = a.x[: self.timed]
        torch.mm(x, a.bases.T, out=a.correlations)
        objective = torch.linalg.vector_norm(x, dim=1).square_().div_(2)  # (m,)
        active = torch.ones_like(objective)
        self._descend(a, by, objective, active, torch.arange(len(x), device=x.device))

    def numpy_coefficients(self, a: Arrays, row: Row) -> None:
        """Solve for the coefficients with SciPy's BLAS and two compiled passes."""
        # Only mode "clip" writes to `out` without another array between.
        take = functools.partial(np.take, axis=0, mode="clip")
        by = _Operations(coordinate_step, line_search, gemm, np.flatnonzero, take)
        x = a.x[: self.timed]
        gemm(x, a.bases.T, out=a.correlations)
        objective = np.einsum("ij,ij->i", x, x) / 2  # (m,)
        self._descend(a, by, objective, np.ones_like(objective), np.arange(len(x)))

    def _descend(self, a: Arrays, by: "_Operations", objective: Any, active: Any, rows: Any) -> None:
        """Iterate from S = 0 until all examples are done, at most 150 times.

        Parameters
        ----------
        by : _Operations
            The operations of a framework.
        objective, active, rows : (m,)
            For each example that is not removed yet: its objective; 0 if it is done, else 1; and its row in S.
        """
        S = a.coefficients
        Q = a.correlations
        s = a.iterate
        d = a.direction
        moved = a.moved
        diagonal = 1.0 * a.gram.diagonal()  # a copy, whose elements are neighbours
        s[...] = 0
        for iteration in range(1, MAX_ITERATIONS + 1):
            by.take_step(d, Q, s, diagonal, self.penalty, active)
            by.multiply(d, a.gram, out=moved)
            by.search(s, Q, objective, active, d, moved, self.penalty, a.lengths, *self.shares)
            if iteration % ASK_EVERY:
                continue
            on = by.where(active)  # waits for the device
            count = len(on)
            if count == 0:
                break
            if count <= CLOSE_RANKS * len(rows):
                S[rows] = s
                # Examples not done move to the first rows of the arrays that are free until the next iteration, and
                # the arrays that they were in are free then.
                free = Q[:count]
                Q = by.take(Q, on, out=moved[:count])
                moved = free
                free = s[:count]
                s = by.take(s, on, out=d[:count])
                d = free
                objective = objective[on]
                active = active[on]
                rows = rows[on]
        S[rows] = s

    def torch_bases(self, a: Arrays, row: Row) -> None:
        """Solve for the bases, given the coefficients of the batch, on a CPU or a GPU."""
        import torch

        S = a.coefficients
        A = a.second
        C = a.cross
        torch.mm(S.T, S, out=A)
        torch.mm(S.T, a.x, out=C)
        for r, B, after in self._basis_steps(a):
            torch.add(B, C, alpha=r, out=after).addmm_(A, B, alpha=-r)
            after.div_(torch.linalg.vector_norm(after, dim=1, keepdim=True, out=a.norms).clamp_(min=1))
        torch.mm(a.new_bases, a.new_bases.T, out=a.new_gram)

    def improve_bases(self, a: Arrays) -> None:
        """Take 30 projected-gradient steps."""
        for r, B, after in self._basis_steps(a):
            gradient_step(after, B, gemm(a.second, B, out=a.product), a.cross, r)

    def _basis_steps(self, a: Arrays) -> Iterator[tuple[float, Any, Any]]:
        """Yield for each gradient step its length, the bases that it starts from, and the array that it writes to."""
        written = [a.bases, *[a.previous, a.new_bases] * (BASIS_STEPS // 2)]
        for t, (before, after) in enumerate(pairwise(written)):
            yield self.rate * 10 / (10 + t), before, after

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Add the change of some bases in the last gradient step.

        The change is much smaller than the bases but rounded as they are: its error is divided by at least a hundredth
        of the bases' largest element.
        """
        rows = checked_rows(self.bases)
        previous = double(seen.previous)
        before = previous[rows]
        r = self.rate * 10 / (9 + BASIS_STEPS)
        after = before - r * (seen.second[rows] @ previous - seen.cross[rows])
        after /= np.maximum(1.0, np.linalg.norm(after, axis=1, keepdims=True))
        size = 0.01 * float(np.abs(before).max())
        changes = seen.new_bases[rows] - before
        return {**super().check(given, seen), "new_bases": (changes, after - before, size)}


def _passes(x: "Tensor", row: Row) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the coordinate step and the line search, as in `kernels.sparse`, for the device of `x`."""
    if x.is_cpu:
        return _on_memory_of(coordinate_step), _on_memory_of(line_search)
    if row.fused:
        from respeed.kernels import fused

        return fused.coordinate_step, fused.line_search
    return _torch_coordinate_step, _torch_line_search


def _on_memory_of(compiled: Callable[..., None]) -> Callable[..., None]:
    """Return a function that calls a compiled pass with CPU tensors."""
    return lambda *arguments: compiled(*(each.numpy() if hasattr(each, "numpy") else each for each in arguments))


def _torch_coordinate_step(
    out: "Tensor", remaining: "Tensor", s: "Tensor", diagonal: "Tensor", penalty: float, active: "Tensor"
) -> None:
    import torch

    torch.addcmul(remaining, s, diagonal, out=out)
    torch.ops.aten.softshrink.out(out, penalty, out=out)
    out.div_(diagonal).sub_(s).mul_(active[:, None])


def _torch_line_search(
    s: "Tensor", remaining: "Tensor", objective: "Tensor", active: "Tensor", direction: "Tensor", moved: "Tensor",
    penalty: float, lengths: "Tensor", of_objective: float, of_norm: float,
) -> None:  # fmt: skip
    import torch

    slope = (remaining * direction).sum(1, keepdim=True)  # (m, 1)
    curve = (moved * direction).sum(1, keepdim=True)
    norm = torch.linalg.vector_norm(s, 1, 1, keepdim=True)
    tried = s[:, None] + direction[:, None] * lengths[:, None]  # (m, lengths, n)
    after = torch.linalg.vector_norm(tried, 1, 2)  # (m, lengths)
    change = lengths * (lengths / 2 * curve - slope) + penalty * (after - norm)
    enough = -of_objective * objective[:, None] - of_norm * penalty * norm
    lowers = (change < enough) & (active[:, None] > 0)
    taken = torch.where(lowers, lengths, 0.0).amax(1, keepdim=True)  # the first length that lowers is the largest; or 0
    s.addcmul_(direction, taken)
    remaining.addcmul_(moved, taken, value=-1.0)
    gained = torch.where(lengths == taken, change, 0.0)
    objective.add_(gained.sum(1))
    torch.gt(taken[:, 0], 0, out=active)


@workload
class SparsePublished(SparseParallel):
    """Sparse coding as the program of the paper's authors does it, with faster matrix products.

    As in `SparseParallel`, but the first bases are random: uniform in -0.5 to 0.5, less their mean, scaled to norm 1;
    an example is done when no length lowers its objective by more than 1e-6 gamma ||s||_1; and the gradient is that of
    ||X - S B||^2, twice that of `SparseParallel`. The authors' program does more, which changes no result and is left
    out: it computes Q anew in each iteration, by a second matrix product of 2 m n^2 FLOP, G and B X by its own kernels,
    each norm by a call, and the objective after each batch.

    The first batch needs few iterations. Later batches need many times as many, since the bases have begun to look like
    patches: all batches of a pass are timed.

    Parameters
    ----------
    norm : float
        The norm of every patch, on which the lengths of the gradient steps depend.

    References
    ----------
    .. [1] github.com/viirya/Sparse-coding-with-GPU at b4bb55e, sparse_coding/cuda: main.cu, l1ls_coord_descent.cu,
       proj_grad_descent.cu.
    """

    norm: float

    # A pass takes seconds on a CPU: it has only one row there, with the framework of the GPU's row.
    frameworks = ("torch",)
    whole_pass = True
    rate = 0.08
    shares = (0.0, 1e-6)

    def arrays(self, random: Generator) -> Named:
        """Draw bases, scale the patches, and add an array for the bases that the last batch is coded with."""
        given = super().arrays(random)
        bases = np.random.default_rng(DATA_SEED).random(given["bases"].shape, np.float32) - np.float32(0.5)
        bases -= bases.mean(axis=1, keepdims=True)
        bases /= np.linalg.norm(bases, axis=1, keepdims=True)
        x = given["x"] * np.float32(self.norm)
        return {**given, "x": x, "bases": bases, "gram": bases @ bases.T, "coded_with": Zeros(*bases.shape)}

    def torch_coefficients(self, a: Arrays, row: Row) -> None:
        """Solve for the coefficients, and keep the bases for the check, since the next batch has other bases."""
        a.coded_with.copy_(a.bases)
        super().torch_coefficients(a, row)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Check the last batch, given the bases that it was coded with."""
        before = Arrays(**vars(given))
        before.bases = seen.coded_with
        pairs = dict(super().check(before, seen))
        del pairs["gram"]  # that of the first batch
        return pairs

    def parts(self) -> Weights:
        """Return each part's weight for each batch, 1 / batches: a step of the table is the mean batch of a pass."""
        batches = self.patches // self.batch
        parts: dict[str, float] = {}
        for number in range(1, batches + 1):
            for part in ("coefficients", "bases"):
                parts[f"{part} {number}"] = 1 / batches
        return parts


# The algorithms that take one example after another.


@workload
class _OneByOne(_SparseCoding):
    """Sparse coding where each thread solves for the coefficients of one example after another."""

    # A compiled function of `kernels.sparse`.
    solver: ClassVar[Callable[..., None]]

    def arrays(self, random: Generator) -> Named:
        """Add an array for the correlations X B^T (m, n)."""
        return {**super().arrays(random), "correlations": Zeros(self.timed, self.bases)}

    def prepare_numpy(self, a: Arrays, row: Row) -> None:
        """Allocate a workspace for each thread."""
        a.workspaces = make_workspaces(row.threads, self.bases)

    def numpy_coefficients(self, a: Arrays, row: Row) -> None:
        """Solve for the coefficients by a compiled solver."""
        correlations = gemm(a.x[: self.timed], a.bases.T, out=a.correlations)
        self.solver(a.coefficients[: self.timed], a.gram, correlations, self.penalty, a.workspaces)


# A Lagrange dual is solved when the squared norms of bases whose multipliers are free miss 1 by at most this.
SETTLED = 1e-5
MAX_NEWTON = 30
# These keep A + L and the Hessian from being singular where no example uses a basis.
FLOOR = 1e-5
RIDGE = 1e-5


@workload
class SparseFeatureSign(_OneByOne):
    """Sparse coding as on the paper's CPU: feature-sign search, and the Lagrange dual for the bases.

    With multipliers l >= 0 of the norms and L = diag(l), the bases are B(l) = (A + L)^-1 C. Newton's method maximises
    the concave dual D over the multipliers that are above a floor of 1e-5 or whose bases are longer than 1::

        D(l) = -1/2 tr(C^T (A + L)^-1 C) - 1/2 sum(l)
        dD/dl_j = (||b_j||^2 - 1) / 2        Hessian = -(A + L)^-1 o (B B^T), elementwise

    References
    ----------
    .. [1] H. Lee, A. Battle, R. Raina and A. Y. Ng, "Efficient sparse coding algorithms", 2006, sections 3 and 4.
    """

    solver = staticmethod(feature_sign_search)
    # Systems whose size changes from one Newton step to the next are solved by LAPACK, which returns arrays.
    allocates = True

    def arrays(self, random: Generator) -> Named:
        """Add an array for the multipliers l (n,)."""
        return {**super().arrays(random), "multipliers": Zeros(self.bases)}

    def improve_bases(self, a: Arrays) -> None:
        """Maximise the dual, starting from multipliers of 1."""
        A = a.second
        C = np.asfortranarray(a.cross)
        multipliers = a.multipliers
        multipliers.fill(1)
        for _ in range(MAX_NEWTON):
            factor, B = _solve_for_bases(A, C, multipliers)
            norms = np.einsum("ij,ij->i", B, B)
            free = (multipliers > FLOOR) | (norms > 1.0)
            if np.abs(np.where(free, norms - 1.0, 0.0)).max() <= SETTLED:
                break
            step = _newton_step(factor, B, norms, free)
            # A multiplier keeps at least a tenth of its value: the dual is barely quadratic close to 0.
            np.maximum(multipliers + step, 0.1 * multipliers, out=multipliers)
            np.maximum(multipliers, FLOOR, out=multipliers)
        else:
            _, B = _solve_for_bases(A, C, multipliers)
        a.new_bases[...] = B

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Add the optimum's conditions: (A + L) B = C; norm 1 where a multiplier is above the floor, else at most 1."""
        B = seen.new_bases
        norms = np.linalg.norm(B, axis=1)
        system = seen.second + np.diag(seen.multipliers)
        right = np.where(seen.multipliers > FLOOR, 1.0, np.minimum(norms, 1.0))
        return {
            **super().check(given, seen),
            "stationary": product(seen.cross, system, B),
            "norms": (norms, right),
        }


def _solve_for_bases(A: Array, C: Array, multipliers: Array) -> tuple[Array, Array]:
    """Return the upper Cholesky factor of A + L, and B = (A + L)^-1 C, both in LAPACK's column-major order."""
    system = A.copy().T  # symmetric: the transpose has LAPACK's order, and is not copied once more
    np.einsum("ii->i", system)[:] += multipliers
    factor, failed = spotrf(system, lower=False, overwrite_a=True, clean=False)
    if failed:
        raise ArithmeticError("A + L is not positive definite")
    return factor, spotrs(factor, C, lower=False)[0]


def _newton_step(factor: Array, B: Array, norms: Array, free: Array) -> Array:
    """Return the Newton step of the multipliers, 0 for multipliers that are not free; overwrite `factor`."""
    inverse, _ = spotri(factor, lower=False, overwrite_c=True)  # its upper triangle
    chosen = np.flatnonzero(free)
    # The lower triangle of the transpose in row-major order: the upper triangle in column-major order.
    hessian = gemm(B, B.T, out=np.empty(inverse.shape, inverse.dtype))
    hessian *= inverse.T
    hessian = hessian[np.ix_(chosen, chosen)].T
    # A basis that no example uses has no curvature: its multiplier then goes to the floor, each time to a tenth.
    np.einsum("ii->i", hessian)[:] += RIDGE * hessian.diagonal().max()
    factor, failed = spotrf(hessian, lower=False, overwrite_a=True)
    if failed:
        raise ArithmeticError("the dual's Hessian is not definite")
    step = np.zeros_like(norms)
    step[chosen], _ = spotrs(factor, 0.5 * (norms[chosen] - 1.0), lower=False)
    return step


SWEEPS = 2
# The number of bases whose gradients are one matrix product.
BLOCK = 64


@workload
class SparseDescent(_OneByOne):
    """Sparse coding with the fastest CPU solver that we know how to write; not the paper's.

    Coefficients are found by coordinate descent over a working set, bases by block coordinate descent: twice, one basis
    after another goes to its own minimum with the others fixed::

        b_j <- P(b_j - (A B - C)_j / A_jj)        P scales a basis longer than 1 to norm 1

    The objective is then near that of the Lagrange dual, and far below that of the paper's 30 gradient steps.

    References
    ----------
    .. [1] J. Mairal, F. Bach, J. Ponce and G. Sapiro, "Online learning for matrix factorization and sparse coding",
       2010, algorithm 2.
    """

    solver = staticmethod(coordinate_descent)

    def arrays(self, random: Generator) -> Named:
        """Add arrays for the gradient and the changes of a block of bases."""
        block = min(BLOCK, self.bases), self.side**2
        return {**super().arrays(random), "gradient": Zeros(*block), "change": Zeros(*block)}

    def improve_bases(self, a: Arrays) -> None:
        """Go twice over all bases; a block's gradient is updated with the change of each basis in the block."""
        A = a.second
        C = a.cross
        B = a.new_bases
        B[...] = a.bases
        for first in SWEEPS * list(range(0, len(B), BLOCK)):
            block = slice(first, first + BLOCK)
            gradient = a.gradient[: len(C[block])]
            gradient[...] = C[block]
            descend_bases(B, gemm(A[block], B, out=gradient, beta=-1.0), A, first, a.change)  # A B - C

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Add the last basis, which must be at its minimum with the other bases fixed at their final values."""
        weights = double(seen.second[-1])
        B = double(seen.new_bases)
        best = B[-1]
        if weights[-1] > 0:
            best = (seen.cross[-1] - weights[:-1] @ B[:-1]) / weights[-1]
            best /= max(1.0, float(np.linalg.norm(best)))
        return {**super().check(given, seen), "last_basis": (B[-1], best)}


# The optimum in float64, proved by its duality gap.

# A solution whose duality gap is at most this share of its objective is the optimum, as far as fp32 can tell.
GAP = 1e-8
MAX_ROUNDS = 100
# So small that its square is negligible in the objective, and so large that its inverse costs the objective few digits.
TINY = 1e-6


def objective(x: Array, bases: Array, s: Array, penalty: float) -> Array:
    """Compute 1/2 ||x - s B||^2 + gamma ||s||_1 of every example (m,)."""
    rest = x - s @ bases
    out: Array = 0.5 * (rest**2).sum(axis=1) + penalty * np.abs(s).sum(axis=1)
    return out


def duality_gap(x: Array, bases: Array, s: Array, penalty: float) -> Array:
    """Compute an upper bound of how far each example's objective is above the optimum (m,).

    For every v with |B v| <= gamma, 1/2 ||x||^2 - 1/2 ||x - v||^2 is a lower bound of the optimum. v is the residual
    x - s B, scaled down to meet this condition.
    """
    rest = x - s @ bases
    largest = np.abs(rest @ bases.T).max(axis=1, keepdims=True)
    v = rest * np.minimum(1.0, penalty / np.maximum(largest, 1e-300))
    bound = 0.5 * (x**2 - (x - v) ** 2).sum(axis=1)
    gap: Array = objective(x, bases, s, penalty) - bound
    return gap


def optimum(x: Array, bases: Array, start: Array, penalty: float) -> Array:
    """Return the minimisers (m, n), each proved by its duality gap; NaN for an example without that proof.

    `start` (m, n) only saves rounds: the gap proves the result for any `start`.
    """
    solved = np.stack([_solve_lasso(*example, bases, penalty) for example in zip(x, start, strict=True)])
    gap = duality_gap(x, bases, solved, penalty)
    reached = objective(x, bases, solved, penalty)
    solved[gap > GAP * np.maximum(reached, 1e-12)] = np.nan
    return solved


def _solve_lasso(x: Array, start: Array, bases: Array, penalty: float) -> Array:
    """Minimise over the coordinates of known sign; coordinates that violate their condition join, until none does.

    With each row of B times its coordinate's sign, this is a nonnegative least-squares problem in z = |s|, with one
    more equation, whose coefficients are all a small t::

        1/2 ||x - z B||^2 + 1/2 (-gamma/t - t sum(z))^2 = 1/2 ||x - z B||^2 + gamma sum(z) + t^2/2 sum(z)^2 + constant
    """
    signs = np.sign(np.nan_to_num(start))
    for _ in range(MAX_ROUNDS):
        chosen = np.flatnonzero(signs)
        s = np.zeros(len(bases))
        if len(chosen):
            rows = signs[chosen, None] * bases[chosen]
            equations = np.vstack([rows.T, np.full(len(rows), TINY)])
            z, _ = nnls(equations, np.append(x, -penalty / TINY))
            s[chosen] = signs[chosen] * z
        correlations = bases @ (x - s @ bases)
        is_violated = np.abs(correlations) > penalty * (1 + 1e-10)
        joins = (s == 0) & is_violated
        if not joins.any():
            break
        signs = np.sign(np.where(joins, correlations, s))
    return s
