"""Large random matrices of the inputs, which are drawn anew whenever they are read."""

from collections.abc import Iterator

import numpy as np

# Elements that are drawn together: as float32 and as float64 they fit the caches.
BLOCK = 2**16


class Drawn:
    """Uniform in [-half, half), float32, of any shape; every block of rows from a generator of its own.

    A program's parameters are the largest thing that a round has in memory. The step that changes them is checked
    against what they were before: rather than to keep that beside them, it is drawn again, block by block.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, shape: tuple[int, ...], half: float, seed: int) -> None:
        self.shape, self.half, self.seed = shape, half, seed
        self.step = max(1, BLOCK // int(np.prod(shape[1:])))

    def __len__(self) -> int:
        return self.shape[0]

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows, a block after the other: which they are, and their values."""
        for number, start in enumerate(range(0, len(self), self.step)):
            stop = min(start + self.step, len(self))
            random = np.random.Generator(np.random.SFC64((self.seed, number)))
            values = random.random((stop - start, *self.shape[1:]), dtype=np.float32)
            values -= np.float32(0.5)
            values *= np.float32(2 * self.half)
            yield slice(start, stop), values

    def times(self, x: np.ndarray) -> np.ndarray:
        """x (r, m) @ this matrix (m, n), float64."""
        out = np.zeros((len(x), self.shape[1]))
        for rows, values in self.blocks():
            out += x[:, rows] @ values.astype(np.float64)
        return out

    def transposed_times(self, x: np.ndarray) -> np.ndarray:
        """x (r, n) @ this matrix (m, n) transposed, float64."""
        out = np.empty((len(x), self.shape[0]))
        for rows, values in self.blocks():
            out[:, rows] = x @ values.T.astype(np.float64)
        return out

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        whole = np.empty(self.shape, np.float32)
        for rows, values in self.blocks():
            whole[rows] = values
        return whole
