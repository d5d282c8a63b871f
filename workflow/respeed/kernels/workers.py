"""Spreads a kernel's rows over threads of our own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

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
