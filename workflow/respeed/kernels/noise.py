"""Noise that is put on examples, by draws as `layers` makes them: a function of their place and of a key.

Arrays are (P, m, n): layer p of row r is r // m.
"""

import numpy as np

from respeed.kernels.compiled import compiled
from respeed.kernels.layers import uniform


@compiled
def mask_rows(
    start: int, stop: int, x: np.ndarray, share: float, out: np.ndarray, first: np.uint32, second: np.uint32
) -> None:
    """out <- x, but 0 where a fresh draw is below `share`."""
    each, n, below, zero = out.shape[1], np.uint32(out.shape[2]), np.float32(share), out.dtype.type(0)
    for row in range(start, stop):
        o, v = out[row // each, row % each], x[row // each, row % each]
        place = np.uint32(np.uint32(row) * n)
        for j in range(o.shape[0]):
            o[j] = v[j] if uniform(np.uint32(place + np.uint32(j)), first, second) >= below else zero
