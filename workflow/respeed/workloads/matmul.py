"""Matrix products, dense, sparse, repeated, also those of an RBM's step alone, and the inverse of a matrix."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.sparse import csr_array

from respeed.kernels.blas import gemm
from respeed.kernels.layers import copy
from respeed.workloads import Arrays, Pairs, Row, Workload
from respeed.workloads.arrays import (
    Drawn,
    Zeros,
    applied,
    both,
    checked_rows,
    product,
    random_vectors,
    times,
    times_transposed,
)

# The strong elements of the inverse's matrix, over the root of n: the largest singular value of a matrix of uniform
# draws is 1.15 times that root, so that the condition number stays below 2 at any size.
STRENGTH = 4.0


@dataclass(frozen=True, kw_only=True)
class Matmul(Workload):
    """Multiply two matrices, C <- alpha A B + beta C; A (m, k), B (k, n), C (m, n).

    C stays finite over any number of steps if beta is at most 1: below 1 it converges to alpha / (1 - beta) A B; at 1
    it grows by alpha A B a step, until that is less than its last digit. In fp16, alpha must then be small: 1 / k.

    Parameters
    ----------
    m, k, n : int
        Rows of A, columns of A, columns of B.
    alpha, beta : float
        The factors of the product and of C.
    transposed : {"", "a", "b", "ab"}
        Which of A and B lie transposed in memory.
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

    @property
    def state(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return C, with which a step begins unless it only writes to C."""
        return ("C",) if self.beta else ()

    def arrays(self, random: np.random.Generator) -> dict[str, Any]:
        """Draw A and B from [-1, 1).

        Where beta is not 0, C begins as signs (m,) times a vector (n,): of rank one, which costs little to make, and so
        large that beta C is about a third of alpha A B, beside which an error of the product still shows.
        """
        m, k, n = self.m, self.k, self.n
        A = Drawn(random, (k, m) if "a" in self.transposed else (m, k), -1.0)
        B = Drawn(random, (n, k) if "b" in self.transposed else (k, n), -1.0)
        if not self.beta:
            return {"A": A, "B": B, "C": Zeros(m, n)}
        largest = self.alpha * k**0.5 / (6 * self.beta)
        start = random.uniform(-largest, largest, n).astype(np.float32)
        return {"A": A, "B": B, "C": np.outer(random.choice(np.array([-1, 1], np.float32), m), start)}

    def _factors(self, a: Arrays) -> tuple[Any, Any]:
        """Return A (m, k) and B (k, n), however they lie in memory."""
        return a.A.T if "a" in self.transposed else a.A, a.B.T if "b" in self.transposed else a.B

    def torch(self, a: Arrays, row: Row) -> None:
        """Multiply."""
        import torch

        torch.addmm(a.C, *self._factors(a), beta=self.beta, alpha=self.alpha, out=a.C)

    def numpy(self, a: Arrays, row: Row) -> None:
        """Multiply by SciPy's BLAS."""
        gemm(*self._factors(a), out=a.C, alpha=self.alpha, beta=self.beta)

    def jax(self, a: Arrays, uniform: Callable[..., Any]) -> dict[str, Any]:
        """Multiply."""
        A, B = self._factors(a)
        C = self.alpha * (A @ B)
        return {"C": C + self.beta * a.C if self.beta else C}

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare C by its products with random vectors z: C z = alpha A (B z) + beta C z."""

        def multiply(name: str, vectors: np.ndarray) -> np.ndarray:
            matrix = getattr(given, name)
            return times(vectors.T, matrix).T if name.lower() in self.transposed else applied(matrix, vectors)

        z = random_vectors(self.n)
        expected = self.alpha * multiply("A", multiply("B", z))
        if self.beta:
            expected += self.beta * applied(given.C, z)
        return {"C": (applied(seen.C, z), expected)}

    def flops(self) -> float:
        """Count 2 m k n: a multiplication and an addition for each term. Those of alpha and beta are not counted."""
        return 2.0 * self.m * self.k * self.n

    def traffic_bytes(self) -> float:
        """Count A and B, read once, and C, written once, and read where beta is not 0."""
        return 4.0 * (self.m * self.k + self.k * self.n + (2 if self.beta else 1) * self.m * self.n)


@dataclass(frozen=True, kw_only=True)
class RepeatedProduct(Workload):
    """Multiply the same two squares several times, C <- A B: a step takes exactly `times` as long as one product.

    So it is a control of the timing. Every product writes to the same C: more memory would cost more than the product.
    XLA would do the product once, and so JAX has no step.

    Parameters
    ----------
    side : int
        Rows and columns of A, B and C.
    times : int
        How many products a step has.
    run : {"first", "again"}
        The name of one of two equal cases, each measured by itself.
    """

    side: int
    times: int
    run: Literal["first", "again"] = "first"

    tests: ClassVar = {"times": (2, 3)}

    @cached_property
    def product(self) -> Matmul:
        """Return one of the products."""
        return Matmul(m=self.side, k=self.side, n=self.side)

    def arrays(self, random: np.random.Generator) -> dict[str, Any]:
        """Draw A and B from [-1, 1)."""
        return self.product.arrays(random)

    def torch(self, a: Arrays, row: Row) -> None:
        """Multiply, again and again."""
        for _ in range(self.times):
            self.product.torch(a, row)

    def numpy(self, a: Arrays, row: Row) -> None:
        """Multiply by SciPy's BLAS, again and again."""
        for _ in range(self.times):
            self.product.numpy(a, row)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare C after the last product."""
        return self.product.check(given, seen)

    def flops(self) -> float:
        """Count the FLOP of every product."""
        return self.times * self.product.flops()

    def traffic_bytes(self) -> float:
        """Count the bytes of every product, as if none found its matrices in a cache."""
        return self.times * self.product.traffic_bytes()


@dataclass(frozen=True, kw_only=True)
class SparseMatmul(Workload):
    """Multiply a sparse matrix by a dense one, C <- A B, by the library of torch: MKL, cuSPARSE, rocSPARSE.

    Only the entries of A that are not 0 are stored, row after row (CSR).

    Parameters
    ----------
    m, k, n : int
        Rows of A, columns of A, columns of B.
    zeros : float
        The share of A's entries that is 0.
    """

    m: int
    k: int
    n: int
    zeros: float

    precisions: ClassVar = ("fp32", "fp64")
    products: ClassVar = False
    # The library takes memory of its own, which no graph holds.
    allocates: ClassVar = True
    captured = False
    tests: ClassVar = {"zeros": (0.5, 0.95)}

    @property
    def nonzero(self) -> int:
        """Return how many entries of A are not 0."""
        return round(self.m * self.k * (1.0 - self.zeros))

    def arrays(self, random: np.random.Generator) -> dict[str, Any]:
        """Draw entries from [-1, 1), and their places without replacement: all cases have equally many."""
        places = np.sort(random.permutation(self.m * self.k)[: self.nonzero])
        return {
            "values": Drawn(random, (self.nonzero,), -1.0),
            "columns": places % self.k,
            "starts": np.searchsorted(places, self.k * np.arange(self.m + 1)),  # of the rows, in `values`
            "B": Drawn(random, (self.k, self.n), -1.0),
            "C": Zeros(self.m, self.n),
        }

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Make A, whose entries lie in `values`."""
        import torch

        with warnings.catch_warnings(action="ignore", category=UserWarning):  # torch calls its CSR a beta
            a.A = torch.sparse_csr_tensor(a.starts.int(), a.columns.int(), a.values, size=(self.m, self.k))
        del a.starts, a.columns

    def torch(self, a: Arrays, row: Row) -> None:
        """Multiply."""
        import torch

        torch.mm(a.A, a.B, out=a.C)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare C by its products with random vectors z: C z = A (B z)."""
        z, values = random_vectors(self.n), np.asarray(given.values, np.float64)
        A = csr_array((values, given.columns, given.starts), shape=(self.m, self.k))
        return {"C": (applied(seen.C, z), A @ applied(given.B, z))}

    def flops(self) -> float:
        """Count 2 n for each entry that is not 0."""
        return 2.0 * self.nonzero * self.n

    def traffic_bytes(self) -> float:
        """Count reads of each entry, its column (4 bytes), the row starts and B, and writes of C."""
        return 8.0 * self.nonzero + 4.0 * (self.m + 1 + self.k * self.n + self.m * self.n)

    memory_bytes = traffic_bytes


@dataclass(frozen=True, kw_only=True)
class Cd1Products(Workload):
    """Do the bare matrix products of one CD-1 mini-batch: the floor of the workloads rbm and patches.

    For each of P patches, or for the one matrix of a dense RBM, P = 1, with W (V, H) and X (B, V)::

        Y0 = X W (B, H)    Z = Y0 W^T (B, V)    Y1 = Z W (B, H)    G = [X; Z]^T [Y0; Y1] (V, H)

    Five products of 2 B V H FLOP a patch; the gradient's two are one over 2 B rows, as those workloads do it. No patch
    adds to another. On a CPU a core takes one patch after another, from its first product to its last; a single matrix
    is multiplied by all of them. A GPU takes all patches at once.

    Parameters
    ----------
    visible, hidden, batch, patches : int
        V, H, B and P.
    """

    visible: int
    hidden: int
    batch: int
    patches: int

    # [X; Z]: Z is written below X.
    state: ClassVar = ("v",)
    tests: ClassVar = {"patches": (2, 3)}

    def arrays(self, random: np.random.Generator) -> dict[str, Any]:
        """Draw X from [-1, 1), and W so that repeated products neither grow nor vanish."""
        P, V, H, B = self.patches, self.visible, self.hidden, self.batch
        half = (3.0 / max(V, H)) ** 0.5
        return {
            "W": Drawn(random, (P, V, H), -half, half),
            "v": Drawn(random, (P, 2 * B, V), -1.0),  # [X; Z]: what is drawn for Z is written over
            "h": Zeros(P, 2 * B, H),  # [Y0; Y1]
            "G": Zeros(P, V, H),
        }

    def torch(self, a: Arrays, row: Row) -> None:
        """Multiply matrices, or stacks of them."""
        import torch

        self._multiply(a, row, torch.mm if row.in_pieces or self.patches == 1 else torch.bmm)

    def numpy(self, a: Arrays, row: Row) -> None:
        """Multiply by SciPy's BLAS."""
        self._multiply(a, row, gemm)

    def _multiply(self, a: Arrays, row: Row, multiply: Callable[..., Any]) -> None:
        B = self.batch

        def multiply_patch(p: Any) -> None:
            W, v, h = a.W[p], a.v[p], a.h[p]
            multiply(v[..., :B, :], W, out=h[..., :B, :])
            multiply(h[..., :B, :], W.mT, out=v[..., B:, :])
            multiply(v[..., B:, :], W, out=h[..., B:, :])
            multiply(v.mT, h, out=a.G[p])

        one_by_one = row.in_pieces or self.patches == 1
        row.each(range(self.patches) if one_by_one else [slice(None)], multiply_patch)

    def jax(self, a: Arrays, uniform: Callable[..., Any]) -> dict[str, Any]:
        """Multiply stacks of matrices."""
        import jax.numpy as jnp

        x = a.v[:, : self.batch]
        y0 = x @ a.W
        z = y0 @ a.W.mT
        v, h = jnp.concatenate([x, z], 1), jnp.concatenate([y0, z @ a.W], 1)
        return {"v": v, "h": h, "G": v.mT @ h}

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare the products of some examples, and the gradient with that of the step's own products for all."""
        B, rows, v, h, units = self.batch, checked_rows(self.batch), seen.v, seen.h, []
        for W, x in zip(given.W, given.v, strict=True):
            y0 = times(np.asarray(x, np.float64)[rows], W)
            z = times_transposed(y0, W)
            units.append((y0, z, times(z, W)))
        y0, z, y1 = map(np.stack, zip(*units, strict=True))
        return {
            "Y0": (h[:, rows], y0),
            "Z": (v[:, B + rows], z),
            "Y1": (h[:, B + rows], y1),
            "G": both(*map(product, seen.G, v.mT, h)),
        }

    def flops(self) -> float:
        """Count five products of every patch, 10 P B V H."""
        return 10.0 * self.patches * self.batch * self.visible * self.hidden

    def traffic_bytes(self) -> float:
        """Count W of every patch, read by three products, G, written, and activations where written or read."""
        V, H, B = self.visible, self.hidden, self.batch
        return 4.0 * self.patches * (4 * V * H + B * (5 * V + 5 * H))


@dataclass(frozen=True, kw_only=True)
class Inverse(Workload):
    """Invert a matrix, X = A^-1 (n, n), by LU factors with pivoting.

    ::

        A = P L U        2/3 n^3 FLOP
        X = U^-1 L^-1 P^T, or L U X = P^T        4/3 n^3 FLOP, or 2 n^3

    LAPACK's getrf and getri compute the first form, with 2 n^3 FLOP in all, which is the count; torch and cuSOLVER
    solve for the columns of the identity. LAPACK is column-major: it sees a row-major array as the transpose, whose
    inverse is the transpose of the inverse, so that nothing has to be transposed.

    Parameters
    ----------
    size : int
        n.
    """

    size: int

    precisions: ClassVar = ("fp32", "fp64")
    # No product is asked of the framework itself.
    products: ClassVar = False
    # LAPACK's workspace is allocated in the step.
    allocates: ClassVar = True
    captured = False

    def arrays(self, random: np.random.Generator) -> dict[str, Any]:
        """Draw A from [-1, 1), but one strong element in every row, in a column of its own and not on the diagonal.

        So A is well conditioned, and rows must be exchanged.
        """
        n = self.size
        A = random.random((n, n), dtype=np.float32) * 2 - 1
        A[np.arange(n), random.permutation(n)] += np.float32(STRENGTH * n**0.5)
        return {"A": A, "X": Zeros(n, n)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Allocate the factors, and the identity that the step solves for."""
        import torch

        a.lu, a.identity = torch.zeros_like(a.A).mT, torch.eye(self.size).to(a.A).mT
        a.pivots, a.info = (torch.zeros(shape, dtype=torch.int32, device=row.device) for shape in ((self.size,), ()))

    def torch(self, a: Arrays, row: Row) -> None:
        """Invert, without testing whether A is singular: on a GPU the host would wait for the result."""
        import torch

        torch.linalg.lu_factor_ex(a.A.mT, out=(a.lu, a.pivots, a.info))
        torch.linalg.lu_solve(a.lu, a.pivots, a.identity, out=a.X.mT)

    def prepare_numpy(self, a: Arrays, row: Row) -> None:
        """Find LAPACK's functions, and how large a workspace the second needs."""
        a.getrf, a.getri, getri_lwork = get_lapack_funcs(("getrf", "getri", "getri_lwork"), dtype=a.A.dtype)
        a.lwork = int(getri_lwork(self.size)[0])

    def numpy(self, a: Arrays, row: Row) -> None:
        """Invert in place, in X."""
        copy(a.X.reshape(-1), a.A.reshape(-1))
        lu, pivots, _ = a.getrf(a.X.T, overwrite_a=True)
        _, info = a.getri(lu, pivots, lwork=a.lwork, overwrite_lu=True)
        if info:
            raise FloatingPointError("the matrix has no inverse")

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare by random vectors z: A (X z) = z; and A must be as it was."""
        z, A = random_vectors(self.size), given.A
        return {"z": (applied(A, applied(seen.X, z)), z), "A": (seen.A - A, np.zeros_like(A))}

    def flops(self) -> float:
        """Count 2 n^3, as LAPACK does getrf and getri together."""
        return 2.0 * self.size**3

    def traffic_bytes(self) -> float:
        """Count A, read, and X, written."""
        return 8.0 * self.size**2

    def memory_bytes(self) -> float:
        """Count A, its factors, the identity and X."""
        return 16.0 * self.size**2
