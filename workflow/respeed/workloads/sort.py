"""Sorting of numbers: only comparisons, exchanges and memory access."""

import numpy as np
from numpy.random import Generator

from respeed.workloads import Arrays, Named, Pairs, Row, Workload, workload
from respeed.workloads.arrays import Zeros, double, symmetric

# Every so many numbers of a sorted piece, one is looked at to find the bounds of ranges.
SAMPLED = 256


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
    one_thread = ("torch",)
    captured = False

    def arrays(self, random: Generator) -> Named:
        """Draw numbers from [-1, 1)."""
        return {"keys": symmetric(random, 1.0, self.batch), "out": Zeros(self.batch)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Allocate an array for the numbers' original indices, which `torch.sort` always writes."""
        import torch

        a.places = torch.zeros(self.batch, dtype=torch.int64, device=row.device)

    def torch(self, a: Arrays, row: Row) -> None:
        """Sort by torch, which on a CPU uses one thread for one array."""
        import torch

        torch.sort(a.keys, out=(a.out, a.places))

    def numpy(self, a: Arrays, row: Row) -> None:
        """Sort a copy by np.sort, which uses one thread: each sorts a piece, and then a range of all pieces."""
        if row.threads == 1:
            np.copyto(a.out, a.keys)
            a.out.sort()
            return
        threads = range(row.threads)
        keys = np.array_split(a.keys, row.threads)
        pieces = list(keys)

        def sort_piece(number: int) -> None:
            pieces[number] = np.sort(keys[number])

        row.each(threads, sort_piece)
        sample = np.sort(np.concatenate([piece[::SAMPLED] for piece in pieces]))
        bounds = sample[len(sample) * np.arange(1, row.threads) // row.threads]
        # Where each range begins in each piece, and where it ends in `out`.
        cuts = [[0, *np.searchsorted(piece, bounds), len(piece)] for piece in pieces]
        ends = np.sum(cuts, axis=0)

        def sort_range(number: int) -> None:
            out = a.out[ends[number] : ends[number + 1]]
            parts = []
            for piece, cut in zip(pieces, cuts, strict=True):
                parts.append(piece[cut[number] : cut[number + 1]])
            np.concatenate(parts, out=out)
            out.sort()

        row.each(threads, sort_range)

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
