"""Products of a sparse matrix, stored row after row (CSR): with a vector, and with a dense matrix."""

import warnings
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from respeed.workloads import Arrays, Named, Pairs, Row, Workload, workload
from respeed.workloads.arrays import Zeros, applied, double, random_vectors, symmetric


class _Sparse(Workload):
    """Multiply by a sparse matrix A in CSR format.

    It has the nonzero `values` row after row, their `columns`, and the places where rows begin, `starts`.
    """

    precisions = ("fp32", "fp64")
    products = False
    # The library allocates memory by itself, which a graph cannot keep.
    allocates = True
    captured = False

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of rows and columns of A."""
        raise NotImplementedError

    def matrix(self, a: Arrays, values: np.ndarray) -> Any:
        """Return A as SciPy's array, with these values."""
        return csr_array((values, a.columns, a.starts), shape=self.shape)

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Make A as a sparse tensor of `values`."""
        import torch

        with warnings.catch_warnings(action="ignore", category=UserWarning):  # torch calls its CSR a beta
            a.A = torch.sparse_csr_tensor(a.starts.int(), a.columns.int(), a.values, size=self.shape)
        del a.starts, a.columns


@workload
class Spmv(_Sparse):
    """Multiply a square sparse matrix and a vector, y <- A x; A (n, n).

    Parameters
    ----------
    rows : int
        n.
    nonzero : int
        Nonzero entries of each row. The row is divided into so many equal parts, with one entry at random in each.
    """

    rows: int
    nonzero: int

    one_thread = ("numpy",)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, n)."""
        return self.rows, self.rows

    def arrays(self, random: Generator) -> Named:
        """Draw the entries and x from [-1, 1), and the column of each entry."""
        n = self.rows
        each = self.nonzero
        part = n // each
        begins = part * np.arange(each, dtype=np.int32)
        columns = random.integers(0, part, (n, each), dtype=np.int32) + begins
        return {
            "values": symmetric(random, 1.0, n * each),
            "columns": columns.reshape(-1),
            "starts": np.arange(0, n * each + 1, each, dtype=np.int32),  # of the rows, in `values`
            "x": symmetric(random, 1.0, n),
            "y": Zeros(n),
        }

    def torch(self, a: Arrays, row: Row) -> None:
        """Multiply by torch's library: MKL, cuSPARSE or rocSPARSE."""
        import torch

        torch.mv(a.A, a.x, out=a.y)

    def prepare_numpy(self, a: Arrays, row: Row) -> None:
        """Make A as a sparse array of `values`."""
        a.A = self.matrix(a, a.values)

    def numpy(self, a: Arrays, row: Row) -> None:
        """Multiply by SciPy."""
        a.y[...] = a.A @ a.x

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare all of y."""
        A = self.matrix(given, double(given.values))
        return {"y": (seen.y, A @ double(given.x))}

    def flops(self) -> float:
        """Count a multiplication and an addition for each nonzero entry."""
        return 2.0 * self.rows * self.nonzero

    def traffic_bytes(self) -> float:
        """Count one read of each entry, its column index (4 bytes), the row starts and x, and writes of y."""
        return 8.0 * self.rows * self.nonzero + 4.0 * (3 * self.rows + 1)


@workload
class SparseMatmul(_Sparse):
    """Multiply a sparse matrix by a dense one, C <- A B, by torch's library: MKL, cuSPARSE or rocSPARSE.

    Parameters
    ----------
    m, k, n : int
        Rows of A, columns of A, columns of B.
    zeros : float
        The share of zeros among A's entries.
    """

    m: int
    k: int
    n: int
    zeros: float

    @property
    def shape(self) -> tuple[int, int]:
        """Return (m, k)."""
        return self.m, self.k

    @property
    def nonzero(self) -> int:
        """Return the number of nonzero entries of A."""
        return round(self.m * self.k * (1.0 - self.zeros))

    def arrays(self, random: Generator) -> Named:
        """Draw entries from [-1, 1), and their places without replacement: exactly `nonzero`, whatever the seed."""
        places = np.sort(random.permutation(self.m * self.k)[: self.nonzero])
        rows = self.k * np.arange(self.m + 1)
        return {
            "values": symmetric(random, 1.0, self.nonzero),
            "columns": places % self.k,
            "starts": np.searchsorted(places, rows),  # of the rows, in `values`
            "B": symmetric(random, 1.0, self.k, self.n),
            "C": Zeros(self.m, self.n),
        }

    def torch(self, a: Arrays, row: Row) -> None:
        """Multiply."""
        import torch

        torch.mm(a.A, a.B, out=a.C)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare C with random vectors z: C z = A (B z)."""
        z = random_vectors(self.n)
        A = self.matrix(given, double(given.values))
        return {"C": (applied(seen.C, z), A @ applied(given.B, z))}

    def flops(self) -> float:
        """Count 2 n for each nonzero entry."""
        return 2.0 * self.nonzero * self.n

    def traffic_bytes(self) -> float:
        """Count reads of each entry, its column index (4 bytes), the row starts and B, and writes of C."""
        return 8.0 * self.nonzero + 4.0 * (self.m + 1 + self.k * self.n + self.m * self.n)

    memory_bytes = traffic_bytes
