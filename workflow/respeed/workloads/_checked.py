"""Which examples of a mini-batch the float64 reference computes: all would cost more than what it checks."""

import numpy as np

CHECKED = 8


def checked_rows(batch: int, seed: int) -> np.ndarray:
    """Indices of up to 8 examples, ascending: the first, the last (a kernel's odd end), and others drawn by `seed`."""
    if batch <= CHECKED:
        return np.arange(batch)
    inner = np.random.default_rng(seed).choice(np.arange(1, batch - 1), CHECKED - 2, replace=False)
    return np.concatenate([[0], np.sort(inner), [batch - 1]])
