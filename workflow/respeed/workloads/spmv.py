"""The product of a sparse matrix and a vector: the vector is read at indices that the matrix lists."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from respeed.workloads import Arrays, Named, Pairs, Row, Workload
from respeed.workloads.arrays import Drawn, Zeros


@dataclass(frozen=True, kw_only=True)
class Spmv(Workload):
    """Multiply a square sparse matrix and a vector, y <- A x; A (n, n) stored row after row (CSR).

    Parameters
    ----------
    rows : int
        n.
    nonzero : int
        Nonzero entries of each row. The row is divided into so many equal parts, with one entry at random in each.
    """

    rows: int
    nonzero: int

    precisions = ("fp32", "fp64")
    products = False
    # The library allocates memory by itself, which a graph cannot keep.
    allocates = True
    one_thread = ("numpy",)
    captured = False
    tests: ClassVar = {"rows": (64, 1811), "nonzero": (4, 7)}

    def arrays(self, random: Generator) -> Named:
        """Draw the entries and x from [-1, 1), and the column of each entry."""
        n, each = self.rows, self.nonzero
        part = n // each
        columns = random.integers(0, part, (n, each), dtype=np.int32) + part * np.arange(each, dtype=np.int32)
        return {
            "values": Drawn(random, (n * each,), -1.0),
            "columns": columns.reshape(-1),
            "starts": np.arange(0, n * each + 1, each, dtype=np.int32),  # of the rows, in `values`
            "x": Drawn(random, (n,), -1.0),
            "y": Zeros(n),
        }

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Make A as a sparse tensor of `values`."""
        import torch

        with warnings.catch_warnings(action="ignore", category=UserWarning):  # torch calls its CSR a beta
            a.A = torch.sparse_csr_tensor(a.starts.int(), a.columns.int(), a.values, size=(self.rows, self.rows))
        del a.starts, a.columns

    def torch(self, a: Arrays, row: Row) -> None:
        """Multiply by torch's library: MKL, cuSPARSE or rocSPARSE."""
        import torch

        torch.mv(a.A, a.x, out=a.y)

    def prepare_numpy(self, a: Arrays, row: Row) -> None:
        """Make A as a sparse array of `values`."""
        a.A = csr_array((a.values, a.columns, a.starts), shape=(self.rows, self.rows))

    def numpy(self, a: Arrays, row: Row) -> None:
        """Multiply by SciPy."""
        a.y[...] = a.A @ a.x

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare all of y."""
        entries = np.asarray(given.values, np.float64), given.columns, given.starts
        return {"y": (seen.y, csr_array(entries, shape=(self.rows, self.rows)) @ np.asarray(given.x, np.float64))}

    def flops(self) -> float:
        """Count a multiplication and an addition for each nonzero entry."""
        return 2.0 * self.rows * self.nonzero

    def traffic_bytes(self) -> float:
        """Count one read of each entry, its column index (4 bytes), the row starts and x, and writes of y."""
        return 8.0 * self.rows * self.nonzero + 4.0 * (3 * self.rows + 1)
