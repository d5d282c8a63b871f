"""Matrix products: dense, repeated, and only those of an RBM's step; and the inverse of a matrix."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from scipy.linalg import get_lapack_funcs

from respeed.kernels.layers import copy
from respeed.model import Names
from respeed.workloads import Arrays, Named, Pairs, Row, Uniform, Workload, workload
from respeed.workloads.arrays import (
    Drawn,
    Zeros,
    applied,
    both,
    checked_rows,
    double,
    product,
    random_vectors,
    symmetric,
    times,
    times_transposed,
)

# The strong elements of the matrix that is inverted, divided by sqrt(n). The largest singular value of a matrix of
# uniform draws is 1.15 sqrt(n), so that the condition number stays below 2 at any size.
STRENGTH = 4.0


@workload
class Matmul(Workload):
    """Multiply two matrices, C <- alpha A B + beta C; A (m, k), B (k, n), C (m, n).

    C stays finite over any number of steps if beta is at most 1. If beta < 1, C converges to alpha / (1 - beta) A B; if
    beta = 1, each step adds alpha A B, until this is less than the last digit of C. In fp16, beta = 1 needs a small
    alpha: 1 / k.

    Parameters
    ----------
    m, k, n : int
        Rows of A, columns of A, columns of B.
    alpha, beta : float
        The factors of A B and of C.
    transposed : {"", "a", "b", "ab"}
        Which of A and B are stored transposed.
    threads : int
        How many of the row's threads multiply; all if 0.
    """

    m: int
    k: int
    n: int
    alpha: float = 1.0
    beta: float = 0.0
    transposed: Literal["", "a", "b", "ab"] = ""
    threads: int = 0

    together = True

    @property
    def state(self) -> Names:  # type: ignore[override]
        """Return C if a step reads it, that is, if beta is not 0."""
        return ("C",) if self.beta else ()

    def arrays(self, random: Generator) -> Named:
        """Draw A and B from [-1, 1).

        If beta is not 0, C begins as the outer product of signs (m,) and a vector (n,), which costs little to make. The
        size of beta C is about a third of that of alpha A B, so that an error of A B still shows.
        """
        m = self.m
        k = self.k
        n = self.n
        arrays = {
            "A": Drawn(random, (k, m) if "a" in self.transposed else (m, k), -1.0),
            "B": Drawn(random, (n, k) if "b" in self.transposed else (k, n), -1.0),
            "C": Zeros(m, n),
        }
        if self.beta:
            largest = self.alpha * k**0.5 / (6 * self.beta)
            start = random.uniform(-largest, largest, n).astype(np.float32)
            arrays["C"] = np.outer(random.choice(np.array([-1, 1], np.float32), m), start)
        return arrays

    def _factors(self, a: Arrays) -> tuple[Any, Any]:
        """Return A as (m, k) and B as (k, n), however they are stored."""
        A = a.A.T if "a" in self.transposed else a.A
        B = a.B.T if "b" in self.transposed else a.B
        return A, B

    def step(self, a: Arrays, row: Row) -> None:
        """Multiply."""
        row.add_product(a.C, *self._factors(a), alpha=self.alpha, beta=self.beta)

    def jax(self, a: Arrays, uniform: Uniform) -> Named:
        """Multiply."""
        A, B = self._factors(a)
        C = self.alpha * (A @ B)
        return {"C": C + self.beta * a.C if self.beta else C}

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare the new C with random vectors z: C z = alpha A (B z) + beta C z, with the old C on the right."""

        def multiply(name: str, vectors: np.ndarray) -> np.ndarray:
            matrix = getattr(given, name)
            return times(vectors.T, matrix).T if name.lower() in self.transposed else applied(matrix, vectors)

        z = random_vectors(self.n)
        expected = self.alpha * multiply("A", multiply("B", z))
        if self.beta:
            expected += self.beta * applied(given.C, z)
        return {"C": (applied(seen.C, z), expected)}

    def flops(self) -> float:
        """Count 2 m k n: a multiplication and an addition for each term of A B; alpha and beta are not counted."""
        return 2.0 * self.m * self.k * self.n

    def traffic_bytes(self) -> float:
        """Count a read of A and of B, a write of C, and, if beta is not 0, a read of C."""
        return 4.0 * (self.m * self.k + self.k * self.n + (2 if self.beta else 1) * self.m * self.n)


@workload
class RepeatedProduct(Workload):
    """Multiply the same two square matrices `times` times, C <- A B, as a control of the timing.

    A step should take exactly `times` times as long as one matrix product. Every product writes to the same C: other
    memory would cost extra time. JAX has no step, as XLA would multiply only once.

    Parameters
    ----------
    side : int
        Rows and columns of A, B and C.
    times : int
        How many matrix products a step has.
    run : {"first", "again"}
        A name that tells two equal cases apart, which are measured separately.
    """

    side: int
    times: int
    run: Literal["first", "again"] = "first"

    together = True

    @cached_property
    def product(self) -> Matmul:
        """Return one of the matrix products."""
        return Matmul(m=self.side, k=self.side, n=self.side)

    def arrays(self, random: Generator) -> Named:
        """Draw A and B from [-1, 1)."""
        return self.product.arrays(random)

    def step(self, a: Arrays, row: Row) -> None:
        """Multiply, again and again."""
        for _ in range(self.times):
            self.product.step(a, row)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare C after the last product."""
        return self.product.check(given, seen)

    def flops(self) -> float:
        """Count the FLOP of all products."""
        return self.times * self.product.flops()

    def traffic_bytes(self) -> float:
        """Count the bytes of all products, as if no matrix were still in a cache."""
        return self.times * self.product.traffic_bytes()


@workload
class Cd1Products(Workload):
    """Do only the matrix products of one CD-1 mini-batch: the least work of a step of `rbm` or `patches`.

    For each of P patches (P = 1 for a dense RBM), with W (V, H) and X (B, V)::

        Y0 = X W (B, H)    Z = Y0 W^T (B, V)    Y1 = Z W (B, H)    G = [X; Z]^T [Y0; Y1] (V, H)

    These are five matrix products of 2 B V H FLOP for each patch; as in `rbm` and `patches`, the gradient's two are
    done as one, G, over 2 B rows. Results of patches are not added. On a CPU, each core does all products of a patch
    before it takes another patch; a single patch's products are shared by all cores. A GPU multiplies all patches at
    once.

    Parameters
    ----------
    visible, hidden, batch, patches : int
        V, H, B and P.
    """

    visible: int
    hidden: int
    batch: int
    patches: int

    together = True
    # [X; Z]: a step writes Z into the rows after X.
    state = ("v",)
    divisible = True

    def arrays(self, random: Generator) -> Named:
        """Draw X from [-1, 1), and W such that products with W and W^T neither grow nor vanish."""
        P = self.patches
        V = self.visible
        H = self.hidden
        B = self.batch
        half = (3.0 / max(V, H)) ** 0.5
        return {
            "W": symmetric(random, half, P, V, H),
            "v": symmetric(random, 1.0, P, 2 * B, V),  # [X; Z]: what is drawn for Z is written over
            "h": Zeros(P, 2 * B, H),  # [Y0; Y1]
            "G": Zeros(P, V, H),
        }

    def step(self, a: Arrays, row: Row) -> None:
        """Multiply matrices or, for several patches on a GPU, stacks of matrices."""
        B = self.batch

        def multiply_patch(p: int | slice) -> None:
            W = a.W[p]
            h = a.h[p]
            v = a.v[p]
            y0 = h[..., :B, :]
            z = v[..., B:, :]
            row.add_product(y0, v[..., :B, :], W, beta=0.0)
            row.add_product(z, y0, W.mT, beta=0.0)
            row.add_product(h[..., B:, :], z, W, beta=0.0)
            row.add_product(a.G[p], v.mT, h, beta=0.0)

        # Each patch's matrices by themselves, or stacks of matrices.
        patches: Sequence[int | slice] = [slice(None)]
        if row.in_pieces or self.patches == 1:
            patches = range(self.patches)
        row.each(patches, multiply_patch)

    def jax(self, a: Arrays, uniform: Uniform) -> Named:
        """Multiply stacks of matrices."""
        import jax.numpy as jnp

        x = a.v[:, : self.batch]
        y0 = x @ a.W
        z = y0 @ a.W.mT
        v = jnp.concatenate([x, z], 1)
        h = jnp.concatenate([y0, z @ a.W], 1)
        return {"v": v, "h": h, "G": v.mT @ h}

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare Y0, Z and Y1 of some examples with float64, and G with the step's own [X; Z]^T [Y0; Y1]."""
        rows = checked_rows(self.batch)
        v = seen.v
        h = seen.h
        units = []
        for W, x in zip(given.W, given.v, strict=True):
            y0 = times(double(x)[rows], W)
            z = times_transposed(y0, W)
            units.append((y0, z, times(z, W)))
        y0, z, y1 = map(np.stack, zip(*units, strict=True))
        return {
            "Y0": (h[:, rows], y0),
            "Z": (v[:, self.batch + rows], z),
            "Y1": (h[:, self.batch + rows], y1),
            "G": both(*map(product, seen.G, v.mT, h)),
        }

    def flops(self) -> float:
        """Count five matrix products for every patch, 10 P B V H."""
        return 10.0 * self.patches * self.batch * self.visible * self.hidden

    def traffic_bytes(self) -> float:
        """Count for every patch three reads of W, a write of G, and all reads and writes of X, Z, Y0 and Y1."""
        V = self.visible
        H = self.hidden
        return 4.0 * self.patches * (4 * V * H + 5 * self.batch * (V + H))


@workload
class Inverse(Workload):
    """Invert a matrix, X = A^-1 (n, n), by LU factors with pivoting.

    ::

        A = P L U        2/3 n^3 FLOP
        X = U^-1 L^-1 P^T, or L U X = P^T        4/3 n^3 FLOP, or 2 n^3

    LAPACK's getrf and getri compute the first form of X, with 2 n^3 FLOP in all, which `flops` counts; torch (and
    cuSOLVER) uses the second, and solves for the columns of X. LAPACK is column-major and reads a row-major A as A^T.
    The inverse of A^T is X^T, which in memory is a row-major X: nothing has to be transposed.

    Parameters
    ----------
    size : int
        n.
    """

    size: int

    precisions = ("fp32", "fp64")
    # The step calls no matrix product of the framework itself.
    products = False
    # LAPACK's workspace is allocated in the step.
    allocates = True
    captured = False

    def arrays(self, random: Generator) -> Named:
        """Draw A from [-1, 1), and add a large number to one element of every row, at a random permutation of columns.

        So A is well conditioned, and its rows must be exchanged.
        """
        n = self.size
        A = random.random((n, n), dtype=np.float32) * 2 - 1
        A[np.arange(n), random.permutation(n)] += np.float32(STRENGTH * n**0.5)
        return {"A": A, "X": Zeros(n, n)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Allocate the factors, and the identity that the step solves for."""
        import torch

        a.lu = torch.zeros_like(a.A).mT
        a.identity = torch.eye(self.size).to(a.A).mT
        a.pivots = torch.zeros(self.size, dtype=torch.int32, device=row.device)
        a.info = torch.zeros((), dtype=torch.int32, device=row.device)

    def torch(self, a: Arrays, row: Row) -> None:
        """Invert without testing whether A is singular: for this test, the host would wait for a GPU."""
        import torch

        torch.linalg.lu_factor_ex(a.A.mT, out=(a.lu, a.pivots, a.info))
        torch.linalg.lu_solve(a.lu, a.pivots, a.identity, out=a.X.mT)

    def prepare_numpy(self, a: Arrays, row: Row) -> None:
        """Find LAPACK's functions, and how large a workspace getri needs."""
        a.getrf, a.getri, getri_lwork = get_lapack_funcs(("getrf", "getri", "getri_lwork"), dtype=a.A.dtype)
        a.lwork = int(getri_lwork(self.size)[0])

    def numpy(self, a: Arrays, row: Row) -> None:
        """Copy A to X, and invert X in place."""
        copy(a.X.reshape(-1), a.A.reshape(-1))
        lu, pivots, _ = a.getrf(a.X.T, overwrite_a=True)
        _, info = a.getri(lu, pivots, lwork=a.lwork, overwrite_lu=True)
        if info:
            raise FloatingPointError("the matrix has no inverse")

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare A (X z) with z for random vectors z, and A with the A before the step."""
        z = random_vectors(self.size)
        A = given.A
        return {"z": (applied(A, applied(seen.X, z)), z), "A": (seen.A - A, np.zeros_like(A))}

    def flops(self) -> float:
        """Count 2 n^3, LAPACK's own count for getrf and getri together."""
        return 2.0 * self.size**3

    def traffic_bytes(self) -> float:
        """Count a read of A and a write of X."""
        return 8.0 * self.size**2

    def memory_bytes(self) -> float:
        """Count A, its factors, the identity and X."""
        return 16.0 * self.size**2
