"""What all compiled kernels share: how they are compiled, arrays that begin where a cache line does, the lasso solvers'
square workspace of a thread, and threads of our own that a kernel's rows are spread over.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import DTypeLike

Kernel = TypeVar("Kernel", bound=Callable[..., object])
Array = np.ndarray

# Everything that lets sums be vectorised; not what would let NaN and infinity be ignored where a check looks for them.
FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}


def compiled(function: Kernel) -> Kernel:
    """Compile once and keep the result beside the source; runs without Python's lock."""
    return cast(Kernel, njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")(function))


# Bytes of a cache line, and of the widest vector register. NumPy's own large arrays begin 16 bytes behind one: OpenBLAS
# took 1.12 times as long for a product with a large matrix on its right. Torch's begin at one.
LINE = 64


def empty_aligned(*shape: int, dtype: DTypeLike = np.float32) -> np.ndarray:
    """An array of any contents."""
    count = math.prod(shape)
    size = np.dtype(dtype).itemsize
    raw = np.empty(count + LINE // size, dtype)
    first = -raw.ctypes.data % LINE // size
    return raw[first : first + count].reshape(shape)


# Rows a little longer than a power of two, or all of them would meet in one set of the cache.
PADDING = 16


def workspace(bases: int) -> np.ndarray:
    """What a thread needs to solve for so many bases."""
    return np.zeros((bases, bases + PADDING), np.float32)


# Pieces for each thread: examples differ in what they cost, and who is done early takes another piece.
PIECES = 8


class Workers:
    """`threads` threads, the calling one among them; the others `begin` with what must be set for each."""

    def __init__(self, threads: int, begin: Callable[[], None] | None = None) -> None:
        self.threads, self._begin = threads, begin
        self._fewer: dict[int, Workers] = {}
        self._pool = ThreadPoolExecutor(threads - 1, "respeed-worker", begin) if threads > 1 else None

    def fewer(self, threads: int) -> "Workers":
        """Others like these, so many: always the same ones."""
        if threads not in self._fewer:
            self._fewer[threads] = Workers(threads, self._begin)
        return self._fewer[threads]

    def spread(self, kernel: Callable[[int, int, int], object], rows: int, pieces: int | None = None) -> None:
        """Call kernel(start, stop, worker) until all of `rows` are done; worker = 0, ... threads - 1 tells whose
        workspace to use. A kernel that releases the lock runs in parallel. One piece is done by the calling thread."""
        if self._pool is None or pieces == 1:
            kernel(0, rows, 0)
            return
        size = max(1, -(-rows // (pieces or PIECES * self.threads)))
        starts = iter(range(0, rows, size))

        def work(worker: int) -> None:
            for start in starts:
                kernel(start, min(start + size, rows), worker)

        others = [self._pool.submit(work, worker) for worker in range(1, self.threads)]
        try:
            work(0)
        finally:
            wait(others)
        for other in others:
            other.result()
