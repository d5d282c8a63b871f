"""Sorting of numbers: only comparisons, exchanges and memory access."""

import numpy as np
from numpy.random import Generator

from respeed.workloads import Arrays, Named, Pairs, Row, Workload, workload
from respeed.workloads.arrays import Zeros, double, symmetric


@workload
class Sort(Workload):
    """Sort numbers in ascending order into another array; the given array does not change.

    Parameters
    ----------
    batch : int
        How many numbers are sorted.
    """

    batch: int

    precisions = ("fp32", "fp64")
    products = False
    # The library allocates memory by itself, which a graph cannot keep.
    allocates = True
    one_thread = ("numpy", "torch")
    captured = False

    def arrays(self, random: Generator) -> Named:
        """Draw numbers from [-1, 1)."""
        return {"keys": symmetric(random, 1.0, self.batch), "out": Zeros(self.batch)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Allocate an array for the numbers' original indices, which `torch.sort` always writes."""
        import torch

        a.places = torch.zeros(self.batch, dtype=torch.int64, device=row.device)

    def torch(self, a: Arrays, row: Row) -> None:
        """Sort."""
        import torch

        torch.sort(a.keys, out=(a.out, a.places))

    def numpy(self, a: Arrays, row: Row) -> None:
        """Sort a copy, as np.sort does."""
        np.copyto(a.out, a.keys)
        a.out.sort()

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare every number."""
        return {"out": (seen.out, np.sort(double(given.keys)))}

    def flops(self) -> None:
        """Count nothing: nothing is added or multiplied."""

    def traffic_bytes(self) -> float:
        """Count a read and a write of each number."""
        return 8.0 * self.batch

    def memory_bytes(self) -> float:
        """Count the given numbers, the sorted numbers, and the original index of each (8 bytes)."""
        return 16.0 * self.batch
