"""Arrays that begin where a cache line does."""

import math

import numpy as np

# Bytes of a cache line, and of the widest vector register. NumPy's own large arrays begin 16 bytes behind one: OpenBLAS
# took 1.12 times as long for a product with a large matrix on its right. Torch's begin at one.
LINE = 64


def empty(*shape: int) -> np.ndarray:
    """A float32 array of any contents."""
    count = math.prod(shape)
    raw = np.empty(count + LINE // 4, np.float32)
    first = -raw.ctypes.data % LINE // 4
    return raw[first : first + count].reshape(shape)
