"""Large random matrices of the inputs, which are drawn anew whenever they are read."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from respeed.kernels.layers import fill_uniform

# Elements that are drawn together: in float64 they fit the second-level cache.
BLOCK = 2**16


class Drawn:
    """Uniform in [-half, half), float32, of any shape.

    A program's parameters are the largest thing that a round has in memory. The step that changes them is checked
    against what they were before: rather than to keep that beside them, it is drawn again, block by block.
    """

    def __init__(self, shape: tuple[int, ...], half: float, seed: int) -> None:
        self.shape, self.half = shape, half
        self.key = np.random.Generator(np.random.SFC64(seed)).integers(0, 2**32, 2, dtype=np.uint32)
        self.row = int(np.prod(shape[1:]))

    def __len__(self) -> int:
        return self.shape[0]

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows, a block after the other: which they are, and their values in float64, until the next one."""
        step = max(1, BLOCK // self.row)
        kept = np.empty(step * self.row)
        for start in range(0, len(self), step):
            rows = slice(start, min(start + step, len(self)))
            values = kept[: (rows.stop - start) * self.row]
            fill_uniform(values, start * self.row, self.half, *self.key)
            yield rows, values.reshape(-1, *self.shape[1:])

    def times(self, x: np.ndarray) -> np.ndarray:
        """x (r, m) @ this matrix (m, n), float64."""
        out = np.zeros((len(x), self.shape[1]))
        for rows, values in self.blocks():
            out += x[:, rows] @ values
        return out

    def transposed_times(self, x: np.ndarray) -> np.ndarray:
        """x (r, n) @ this matrix (m, n) transposed, float64."""
        out = np.empty((len(x), self.shape[0]))
        for rows, values in self.blocks():
            out[:, rows] = x @ values.T
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        whole = np.empty(self.shape, np.float32)
        fill_uniform(whole.reshape(-1), 0, self.half, *self.key)
        return whole if dtype is None else whole.astype(dtype, copy=False)
