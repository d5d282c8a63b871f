"""Compiled steps between the products, for backends whose arrays lie in the host's memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from respeed.backends import Draws
from respeed.backends._host import OnHost
from respeed.kernels import layers, rows, windows

# Of one core. Today's have 0.5 to 2 MiB; to be off by that much costs little.
L2_BYTES = 2**20


def stack(array: np.ndarray) -> np.ndarray:
    """As (P, m, n): a matrix is a stack of one, a vector a matrix of one row."""
    return array[(None,) * (3 - array.ndim)]


class CpuSteps(OnHost, ABC):
    """What of the contract is no product and no copy. The class has `host`, an array as NumPy sees it, `gemm`, and
    `run`, which spreads a kernel over threads."""

    memory_factor = 1.0
    array: Any
    host: Any
    gemm: Any

    def __init__(self, threads: int, seed: int) -> None:
        self.stack_bytes: float = L2_BYTES * threads
        self._keys = np.random.Generator(np.random.SFC64(seed))

    @abstractmethod
    def run(self, kernel: Callable[..., None], count: int, elements: int, *arguments: Any) -> None:
        """kernel(start, stop, *arguments) over rows 0 ... count - 1, which have so many elements in all."""

    def parameters(self, values: np.ndarray) -> Any:
        return self.array(values)

    def sigmoid(self, out: Any) -> None:
        flat = self.host(out).view()
        flat.shape = (-1,)  # an error, not a copy, where the elements do not lie side by side
        self.run(layers.sigmoid_elements, flat.size, flat.size, flat)

    def sigmoid_layer(
        self, x: Any, weights: Any, bias: Any, out: Any, *, transpose: bool = False, scale: float = 1.0
    ) -> None:
        self.gemm(x, weights, out, transpose_b=transpose)
        here = stack(self.host(out))
        count = here.shape[0] * here.shape[1]
        self.run(layers.sigmoid_rows, count, here.size, here, stack(self.host(bias)), scale)

    def draws(self, *shape: int) -> Draws:
        return _Keys(shape)

    def sample_layer(self, x: Any, weights: Any, bias: Any, out: Any, sample: Any, draws: Any) -> None:
        self.gemm(x, weights, out)
        draws.key = self._keys.integers(0, 2**32, 2, dtype=np.uint32)
        here = stack(self.host(out))
        count = here.shape[0] * here.shape[1]
        arguments = (here, stack(self.host(bias)), stack(self.host(sample)), *draws.key)
        self.run(layers.sample_rows, count, here.size, *arguments)

    def cut(self, image: Any, first: int, across: int, out: Any, top: int) -> None:
        here, there = self.host(image), self.host(out)
        count = len(there) * here.shape[2]
        self.run(windows.cut, count, there.size, here, first, across, there, top)

    def add_up(self, added: Any, first: int, across: int, image: Any) -> None:
        here, there = self.host(added), self.host(image)
        self.run(windows.add_up, here.shape[1], here.size, here, first, across, there)

    def coordinate_step(
        self, left: Any, coefficients: Any, diagonal: Any, penalty: float, going: Any, out: Any
    ) -> None:
        host, there = self.host, self.host(out)
        arguments = (host(left), host(coefficients), host(diagonal), penalty, host(going), there)
        self.run(rows.coordinate_step, len(there), there.size, *arguments)

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
    ) -> None:
        arrays = [self.host(array) for array in (direction, moved, left, coefficients)]
        state = [self.host(array) for array in (objective, going)]
        steps = np.array(lengths, np.float32)
        self.run(rows.line_search, len(arrays[0]), arrays[0].size, *arrays, penalty, steps, least, *state)

    def gradient_step(self, bases: Any, product: Any, target: Any, rate: float, out: Any) -> None:
        arrays, there = [self.host(array) for array in (bases, product, target)], self.host(out)
        self.run(rows.gradient_step, len(there), there.size, *arrays, rate, there)


class _Keys:
    """Draws that are never written down: they follow from the key of the last sample."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.key = np.zeros(2, np.uint32)

    def last(self) -> np.ndarray:
        out = np.empty(self.shape, np.float32)
        here = stack(out)
        layers.uniform_rows(0, here.shape[0] * here.shape[1], here, *self.key)
        return out
