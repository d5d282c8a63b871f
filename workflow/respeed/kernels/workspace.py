"""The square array that a thread of the lasso solvers works in."""

import numpy as np

# Rows a little longer than a power of two, or all of them would meet in one set of the cache.
PADDING = 16


def workspace(bases: int) -> np.ndarray:
    """What a thread needs to solve for so many bases."""
    return np.zeros((bases, bases + PADDING), np.float32)
