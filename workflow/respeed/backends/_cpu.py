"""The base class of backends on CPUs: compiled random draws, and threads that each work alone."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from threading import Barrier
from typing import Any

import numba
import numpy as np
from numpy.random import Generator

from respeed import kernels
from respeed.backends import Backend, set_within
from respeed.errors import NotMeasurable
from respeed.kernels.layers import fill_uniform
from respeed.workloads import Item, Step

# Draws that a thread takes at a time, where an array is so divided.
SHORT_ROW = 2**12


class OnCpu(Backend):
    """A backend on CPUs. A subclass defines `set_threads`, the number of threads of the library's matrix products."""

    in_pieces = True
    # The library's own threads, those of compiled passes, and those of `each`.
    pools = 3
    # Below this number of elements, a compiled pass runs on one thread: the other threads of passes sleep since the
    # last pass, and those of a matrix product still look for work on the same cores.
    few = 2**18

    def __init__(self, precision: str, threads: int, seed: int) -> None:
        super().__init__(precision, threads)
        kernels.FEW = self.few
        self._keys = Generator(np.random.SFC64(seed))
        self._helpers = ThreadPoolExecutor(max(1, threads - 1), "respeed-each", self.begin_thread)
        # All threads begin here: in some libraries the number that one thread sets for itself holds for all threads.
        together = Barrier(max(1, threads - 1))
        list(self._helpers.map(lambda _: together.wait(), range(threads - 1)))
        self._limit(threads)

    def set_threads(self, threads: int) -> None:
        """Set the number of threads that the library uses for a matrix product."""
        raise NotImplementedError

    def _limit(self, threads: int) -> None:
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        self.set_threads(threads)

    def begin_thread(self) -> None:
        """Set up the calling thread to work alone: its matrix products and compiled passes use one core."""
        self._limit(1)

    def each(self, items: Sequence[Item], work: Callable[[Item], object]) -> None:
        """Call `work` for every item, in this thread and the helpers; each thread's matrix products use one core."""
        if self.threads == 1 or len(items) == 1:
            super().each(items, work)
            return
        # A strip of neighbours for each thread, and from all strips the first, then the second, ...
        strip = -(-len(items) // self.threads)
        order: list[Item] = []
        for first in range(strip):
            order += items[first::strip]
        queue = iter(order)

        def take() -> None:
            for item in queue:
                work(item)

        self._limit(1)
        with set_within(kernels, "AT_MARK", None):
            helpers = [self._helpers.submit(take) for _ in range(self.threads - 1)]
            try:
                take()
            finally:
                wait(helpers)
                self._limit(self.threads)
        for helper in helpers:
            helper.result()

    def limited(self, step: Step, threads: int) -> Step:
        """Return the step limited to `threads` threads; the probe between two blocks still uses all threads.

        Raises NotMeasurable if the row has fewer threads.
        """
        before = self.threads
        if threads > before:
            raise NotMeasurable(f"needs {threads} cores, the row has {before}")

        def limited_step() -> None:
            self.threads = threads
            try:
                self._limit(threads)
                step()
            finally:
                self.threads = before
                self._limit(before)

        return limited_step

    def marked(self, at_mark: Step) -> AbstractContextManager[Any]:
        """Return a context in which steps call `at_mark` before matrix products while no thread works."""
        return set_within(kernels, "AT_MARK", at_mark)

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        """Return two contexts for compiled passes on small arrays: on one thread, and on all, as for large arrays."""
        return (nullcontext(), set_within(kernels, "FEW", 0))

    def uniform(self, out: Any) -> Any:
        """Fill an array with uniform random numbers, drawn with a new key, and return it."""
        array = self.host(out)
        width = array.shape[-1]
        # A draw depends on its place alone, wherever rows end: there are short ones for every thread.
        if array.size % SHORT_ROW == 0:
            width = SHORT_ROW
        fill_uniform(array.reshape(-1, width), *self._keys.integers(0, 2**32, 2, dtype=np.uint32))
        return out
