"""Backends whose arrays lie in the host's memory: compiled steps between the products, and what is simple where an
operation is finished when it returns. `Limited` is one that uses some of its threads alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from threading import Lock
from types import TracebackType
from typing import Any

import numpy as np

from respeed.backends import Activation, Draws, Item, Mirror, Step, Stream, host_dtype
from respeed.errors import NotMeasurable
from respeed.kernels import elementwise
from respeed.kernels.compiled import Workers


class Limited:
    """While it is entered, products, compiled steps and lanes of `backend` use `threads` threads.

    The limit is for a step, not for a program: the reference probe between two steps uses all threads, as always.
    """

    def __init__(self, backend: Any, threads: int) -> None:
        if threads > backend.threads:
            raise NotMeasurable(f"needs {threads} cores, the row has {backend.threads}")
        self._backend, self._threads = backend, threads
        self._workers = backend.workers.fewer(threads)
        self._before = backend.threads, backend.lanes, backend.workers

    def __enter__(self) -> None:
        self._set(self._threads, self._threads, self._workers)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._set(*self._before)

    def _set(self, threads: int, lanes: int, workers: Any) -> None:
        self._backend.threads, self._backend.lanes, self._backend.workers = threads, lanes, workers
        self._backend.limit(threads)


class OnHost:
    """A part of the contract. The class has `threads`, `lanes` and `workers`, and `limit`, after
    which products that the calling thread asks for use so many threads."""

    def limited(self, threads: int) -> AbstractContextManager[None]:
        return Limited(self, threads)

    def captured(self, step: Step) -> Step:
        return step

    def stream(self, chunks: Sequence[np.ndarray]) -> Stream:
        return Copies(self, chunks)

    def mirrored(self, values: np.ndarray, *, pinned: bool) -> Mirror:
        return Same(self, values)

    def bytes_free(self) -> float | None:
        return None

    def sync(self) -> None:
        pass


class Copies:
    """Chunks that are copied when they are asked for: there is nobody to copy the next one meanwhile."""

    def __init__(self, backend: Any, chunks: Sequence[np.ndarray]) -> None:
        self._copy, self._chunks = backend.copy, [backend.array(chunk) for chunk in chunks]
        self.arrays = (backend.array(chunks[0]), backend.array(chunks[0]))
        self._asked = 0

    def advance(self) -> int:
        place = self._asked % 2
        self._copy(self._chunks[self._asked % len(self._chunks)], self.arrays[place])
        self._asked += 1
        return place


class Same:
    """An array that is its own twin: there is nothing to copy."""

    apart = False

    def __init__(self, backend: Any, values: np.ndarray) -> None:
        self.array, self._host = backend.array(values), backend.host

    def upload(self) -> None:
        pass

    def download(self) -> None:
        pass

    def values(self) -> np.ndarray:
        here: np.ndarray = self._host(self.array)
        return here


# Of one core. Today's have 0.5 to 2 MiB; to be off by that much costs little.
L2_BYTES = 2**20


def stack(array: np.ndarray) -> np.ndarray:
    """As (P, m, n): a matrix is a stack of one, a vector a matrix of one row."""
    return array[(None,) * (3 - array.ndim)]


class CpuSteps(OnHost, ABC):
    """What of the contract is no product and no copy. The class has `host`, an array as NumPy sees it, `gemm`, and
    `workers`; `run`, which spreads a kernel over threads where it is not `apart`; and `limit`."""

    array: Any
    host: Any
    gemm: Any
    limit: Any
    workers: Workers

    def __init__(self, precision: str, threads: int, seed: int, least_spread: int) -> None:
        self.precision, self.host_dtype = precision, host_dtype(precision)
        self.memory_factor = self.host_dtype.itemsize / 4
        self.lanes, self.stack_bytes = threads, L2_BYTES / self.memory_factor
        # Fewer elements are done sooner by one thread.
        self.least_spread = least_spread
        # Whether lanes are at work: everything is then done by the thread that asks for it.
        self.apart = False
        self._seeds = np.random.SeedSequence(seed)
        self._rows: dict[int, Lock] = {}

    @abstractmethod
    def run(self, kernel: Callable[..., None], count: int, elements: int, *arguments: Any) -> None:
        """kernel(start, stop, *arguments) over rows 0 ... count - 1, which have so many elements in all."""

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        return nullcontext(), self._as_if_large()

    @contextmanager
    def _as_if_large(self) -> Iterator[None]:
        kept = self.least_spread, self.stack_bytes
        self.least_spread, self.stack_bytes = 0, 0.0  # every kernel by all threads, every patch a stack
        try:
            yield
        finally:
            self.least_spread, self.stack_bytes = kept

    def each(self, items: Sequence[Item], work: Callable[[Item, int], None]) -> None:
        if self.lanes == 1 or len(items) == 1:
            for item in items:
                work(item, 0)
            return
        # A strip of neighbours for each lane, and from all strips the first, then the second, ...
        strip = -(-len(items) // self.lanes)
        order = [item for place in range(strip) for item in items[place::strip]]
        self.apart = True
        self.limit(1)
        try:
            self.workers.spread(lambda place, _, lane: work(order[place], lane), len(order), pieces=len(order))
        finally:
            self.limit(self.lanes)
            self.apart = False

    def parameters(self, values: np.ndarray) -> Any:
        return self.array(values)

    def _flat(self, array: Any) -> np.ndarray:
        flat: np.ndarray = self.host(array).view()
        flat.shape = (-1,)  # an error, not a copy, where the elements do not lie side by side
        return flat

    def sigmoid(self, out: Any) -> None:
        flat = self._flat(out)
        self.run(elementwise.sigmoid_elements, flat.size, flat.size, flat)

    def dense_layer(
        self,
        x: Any,
        weights: Any,
        bias: Any,
        out: Any,
        *,
        activation: Activation,
        transpose: bool = False,
        scale: float = 1.0,
    ) -> None:
        self.gemm(x, weights, out, transpose_b=transpose)
        here = stack(self.host(out))
        count = here.shape[0] * here.shape[1]
        arguments = (here, stack(self.host(bias)), elementwise.ACTIVATIONS[activation], scale)
        self.run(elementwise.dense_rows, count, here.size, *arguments)

    def activation_backward(self, out: Any, error: Any, *, activation: Activation) -> None:
        here, there = self._flat(out), self._flat(error)
        self.run(elementwise.backward_elements, here.size, here.size, here, there, elementwise.ACTIVATIONS[activation])

    def labels(self, values: np.ndarray) -> np.ndarray:
        return np.array(values, np.int64)

    def softmax_error(self, logits: Any, labels: np.ndarray, out: Any, costs: Any) -> None:
        here = self.host(logits)
        self.run(elementwise.softmax_error_rows, len(here), here.size, here, labels, self.host(out), self.host(costs))

    def sigmoid_error(self, x: Any, out: Any, costs: Any) -> None:
        here = self.host(out)
        self.run(elementwise.sigmoid_error_rows, len(here), here.size, self.host(x), here, self.host(costs))

    def draws(self, *shape: int) -> Draws:
        return _Keys(shape, np.random.Generator(np.random.SFC64(self._seeds.spawn(1)[0])))

    def sample_layer(
        self,
        x: Any,
        weights: Any,
        bias: Any,
        out: Any,
        sample: Any,
        draws: Any,
        *,
        transpose: bool = False,
        scale: float = 1.0,
    ) -> None:
        self.gemm(x, weights, out, transpose_b=transpose)
        key = draws.next()
        here = stack(self.host(out))
        count = here.shape[0] * here.shape[1]
        arguments = (here, stack(self.host(bias)), stack(self.host(sample)), scale, *key)
        self.run(elementwise.sample_rows, count, here.size, *arguments)

    def mask(self, x: Any, share: float, out: Any, draws: Any) -> None:
        here, there = stack(self.host(x)), stack(self.host(out))
        count = there.shape[0] * there.shape[1]
        self.run(elementwise.mask_rows, count, there.size, here, share, there, *draws.next())

    def cut(self, image: Any, first: int, across: int, out: Any, top: int) -> None:
        here, there = self.host(image), self.host(out)
        count = len(there) * here.shape[2]
        self.run(elementwise.cut_windows, count, there.size, here, first, across, there, top)

    def add_up(self, added: Any, first: int, across: int, image: Any) -> None:
        here, there = self.host(added), self.host(image)
        side = there.shape[0] - across + 1
        with self._alone_on(range(first // side, (first + len(here) - 1) // side + across)):
            self.run(elementwise.add_windows, here.shape[1], here.size, here, first, across, there)

    @contextmanager
    def _alone_on(self, rows: range) -> Iterator[None]:
        """These rows of tiles of an image for the calling lane alone."""
        with ExitStack() as held:
            # Every lane from the top down, so that they do not wait in a circle.
            for row in rows if self.apart else ():
                held.enter_context(self._rows.setdefault(row, Lock()))
            yield

    def coordinate_step(
        self, left: Any, coefficients: Any, diagonal: Any, penalty: float, going: Any, out: Any
    ) -> None:
        host, there = self.host, self.host(out)
        arguments = (host(left), host(coefficients), host(diagonal), penalty, host(going), there)
        self.run(elementwise.coordinate_step, len(there), there.size, *arguments)

    def line_search(
        self,
        direction: Any,
        moved: Any,
        left: Any,
        coefficients: Any,
        penalty: float,
        lengths: tuple[float, ...],
        least: float,
        objective: Any,
        going: Any,
        least_of_norm: float = 0.0,
    ) -> None:
        arrays = [self.host(array) for array in (direction, moved, left, coefficients)]
        state = [self.host(array) for array in (objective, going)]
        numbers = penalty, np.array(lengths, self.host_dtype), least
        self.run(elementwise.line_search, len(arrays[0]), arrays[0].size, *arrays, *numbers, *state, least_of_norm)

    def gradient_step(self, bases: Any, product: Any, target: Any, rate: float, out: Any) -> None:
        arrays, there = [self.host(array) for array in (bases, product, target)], self.host(out)
        self.run(elementwise.gradient_step, len(there), there.size, *arrays, rate, there)


class _Keys:
    """Draws that are never written down: they follow from the key of the last sample."""

    def __init__(self, shape: tuple[int, ...], keys: np.random.Generator) -> None:
        self.shape, self._keys = shape, keys
        self.key = np.zeros(2, np.uint32)

    def next(self) -> np.ndarray:
        """A fresh key, from a sequence of these draws' own: lanes sample in any order."""
        self.key = self._keys.integers(0, 2**32, 2, dtype=np.uint32)
        return self.key

    def last(self, rows: np.ndarray | None = None) -> np.ndarray:
        *layers_of, each, n = self.shape
        rows = np.arange(each) if rows is None else rows
        out = np.empty((*layers_of, len(rows), n), np.float32)
        elementwise.uniform_rows(rows, each, stack(out), *self.key)
        return out
