"""Bases by block coordinate descent: each in turn to its own minimum, the others fixed."""

import numpy as np

from respeed.kernels.compiled import compiled


@compiled
def descend_bases(
    first: int, last: int, second: np.ndarray, gradient: np.ndarray, bases: np.ndarray, change: np.ndarray
) -> None:
    """Minimise 1/2 tr(B^T A B) - tr(B^T C) over the rows first ... last - 1 of B (n, k), norms at most 1.

    `gradient` (rows, k) is A B - C for these rows, of the bases as they are; `change` (rows, k) <- what was added.
    """
    k = bases.shape[1]
    for row in range(first, last):
        here = row - first
        g, b, d = gradient[here], bases[row], change[here]
        for before in range(here):
            weight, moved = second[row, first + before], change[before]
            for j in range(k):
                g[j] += weight * moved[j]
        curvature = second[row, row]
        if curvature <= 0.0:
            d[:] = 0.0
            continue
        square = np.float32(0.0)
        for j in range(k):
            d[j] = b[j] - g[j] / curvature
            square += d[j] * d[j]
        scale = np.float32(1.0) / np.sqrt(max(square, np.float32(1.0)))
        for j in range(k):
            new = d[j] * scale
            d[j] = new - b[j]
            b[j] = new
