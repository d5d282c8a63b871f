"""What workloads share: large random inputs that are drawn anew when they are read, sizes of a case, which examples of
a mini-batch are checked, activations in float64, and steps of fewer threads than the row has.
"""

import copy as copying
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np

from respeed.backends import Activation, Array, BackendContract, Step
from respeed.kernels import compiled
from respeed.kernels.elementwise import fill_uniform
from respeed.model.paper import Case
from respeed.workloads import Inputs

# Elements that are drawn together: in float64 they fit the second-level cache.
CHUNK = 2**16


class Drawn:
    """Uniform in [low, high), float32, of any shape.

    A program's parameters and examples are the largest things that a round has in memory. The step that changes the
    parameters is checked against what they were before: rather than to keep that beside them, it is drawn again, chunk
    by chunk. Examples are drawn where the program has them, and again, a mini-batch, where it is checked.
    """

    def __init__(self, shape: tuple[int, ...], low: float, high: float, seed: int | Sequence[int]) -> None:
        self.shape, self.low, self.width = shape, low, high - low
        self.key = np.random.Generator(np.random.SFC64(seed)).integers(0, 2**32, 2, dtype=np.uint32)
        self.begin = 0  # of its draws, in elements: other than 0 for a part

    @property
    def row(self) -> int:
        """Elements of each of the first dimension."""
        return math.prod(self.shape[1:])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: int) -> "Drawn":
        if not 0 <= index < len(self):
            raise IndexError(index)  # as iteration expects
        return self._part(self.shape[1:], self.begin + index * self.row)

    def as_matrix(self) -> "Drawn":
        """The rows of a stack one below another."""
        return self._part((math.prod(self.shape[:-1]), self.shape[-1]), self.begin)

    def _part(self, shape: tuple[int, ...], begin: int) -> "Drawn":
        part = copying.copy(self)
        part.shape, part.begin = shape, begin
        return part

    def chunks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows, a chunk after the other: which they are, and their values in float64, until the next one."""
        step = max(1, CHUNK // self.row)
        kept = np.empty(step * self.row)
        for start in range(0, len(self), step):
            rows = slice(start, min(start + step, len(self)))
            values = kept[: (rows.stop - start) * self.row]
            fill_uniform(values, self.begin + start * self.row, self.low, self.width, *self.key)
            yield rows, values.reshape(-1, *self.shape[1:])

    def times(self, x: np.ndarray) -> np.ndarray:
        """x (r, m) @ this matrix (m, n), float64."""
        out = np.zeros((len(x), self.shape[1]))
        for rows, values in self.chunks():
            out += x[:, rows] @ values
        return out

    def transposed_times(self, x: np.ndarray) -> np.ndarray:
        """x (r, n) @ this matrix (m, n) transposed, float64."""
        out = np.empty((len(x), self.shape[0]))
        for rows, values in self.chunks():
            out[:, rows] = x @ values.T
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        # Drawn where it is to lie: in float64 the same values, without an array in float32 beside.
        whole = compiled.empty_aligned(*self.shape, dtype=np.float64 if dtype == np.float64 else np.float32)
        fill_uniform(whole.reshape(-1), self.begin, self.low, self.width, *self.key)
        return whole if dtype is None else whole.astype(dtype, copy=False)


class WorkloadClass:
    """A workload of a file that holds several; `program` is what it builds."""

    ASKS: tuple[str, ...] = ()
    program: ClassVar[type[Any]]

    def build(self, backend: BackendContract, case: Case, inputs: Inputs) -> Any:
        return self.program(backend, case, inputs)


class MiniBatches:
    """A program that goes through mini-batches: `captured` is a step for each, since a captured one is bound to its
    arrays. With the option `cost: read` the host waits for each step's `costs`, as one that adds them up does."""

    backend: BackendContract
    captured: list[Step]
    costs: Array
    reads = False
    count = 0

    def step(self) -> None:
        self.captured[self.count % len(self.captured)]()
        if self.reads:
            self.backend.host(self.costs)
        self.count += 1


def sizes(case: Case, *names: str) -> tuple[int, ...]:
    """Parameters of the case that are whole numbers."""
    return tuple(int(case.parameters[name]) for name in names)


def small_biases(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Uniform in +-0.01. Biases usually start from 0; these do not, so that a step that left them out would not pass as
    correct."""
    return random.random(shape, dtype=np.float32) * np.float32(0.02) - np.float32(0.01)


CHECKED = 8


def checked_rows(batch: int, seed: int) -> np.ndarray:
    """Indices of up to 8 examples, ascending: the first, the last (a kernel's odd end), and others drawn by `seed`."""
    if batch <= CHECKED:
        return np.arange(batch)
    inner = np.random.default_rng(seed).choice(np.arange(1, batch - 1), CHECKED - 2, replace=False)
    return np.concatenate([[0], np.sort(inner), [batch - 1]])


def sigmoid(z: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-z)) in float64; tanh neither overflows nor warns, whatever z is."""
    out: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * z))
    return out


_OUT: dict[Activation, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda z: z,
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0.0),
}
_SLOPE: dict[Activation, Callable[[np.ndarray], np.ndarray]] = {
    "none": np.ones_like,
    "sigmoid": lambda out: out * (1 - out),
    "tanh": lambda out: 1 - out**2,
    "relu": np.sign,
}


def activated(activation: Activation, z: np.ndarray) -> np.ndarray:
    """f(z)."""
    return _OUT[activation](z)


def slope(activation: Activation, out: np.ndarray) -> np.ndarray:
    """f'(z), where out = f(z)."""
    return _SLOPE[activation](out)


def softmax(z: np.ndarray) -> np.ndarray:
    """Of each row."""
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    out: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
    return out


def limit_threads(backend: BackendContract, case: Case) -> AbstractContextManager[None]:
    """To be entered for each step; NotMeasurable where there are fewer threads, before anything takes memory."""
    return backend.limited(int(case.parameters["threads"]))


def limited_step(limit: AbstractContextManager[None], step: Step) -> Step:
    """`step` within the limit."""

    def step_limited() -> None:
        with limit:
            step()

    return step_limited
