"""The inverse of a matrix by LAPACK as SciPy has it (OpenBLAS, Accelerate, ...), in place: getrf and getri by their
addresses. Those of scipy.linalg.lapack make a new workspace at every call. The addresses are part of
scipy.linalg.cython_lapack, SciPy's interface for compiled code.
"""

import ctypes
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address

# LAPACK's letter of a type.
LETTERS = {"float32": "s", "float64": "d"}


class LuFactors:
    """What getrf and getri need beside a matrix (n, n): the pivots, and the workspace that getri asks for.

    LAPACK is column-major. Of a row-major array that is the transpose, whose inverse is the transpose of the inverse:
    nothing has to be turned round.
    """

    def __init__(self, n: int, dtype: Any = np.float32) -> None:
        self.dtype, self._n = np.dtype(dtype), ctypes.c_int(n)
        self._getrf, self._getri = (_routine(LETTERS[self.dtype.name] + name) for name in ("getrf", "getri"))
        self._pivots = np.zeros(n, np.int32)
        self._info = ctypes.c_int(0)
        asked = np.zeros(1, self.dtype)
        self._workspace, self._size = asked, ctypes.c_int(-1)  # -1: only say how large the workspace should be
        self._call_getri(asked)
        self._size = ctypes.c_int(int(asked[0]))
        self._workspace = np.zeros(self._size.value, self.dtype)

    def invert(self, matrix: np.ndarray) -> None:
        """matrix <- its inverse. It must be C-contiguous; FloatingPointError if it has none."""
        if matrix.shape != (self._n.value,) * 2 or matrix.dtype != self.dtype or not matrix.flags.c_contiguous:
            raise ValueError(f"inverts C-contiguous {self.dtype} matrices of side {self._n.value}")
        n, info = ctypes.byref(self._n), ctypes.byref(self._info)
        self._getrf(n, n, matrix.ctypes.data, n, self._pivots.ctypes.data, info)
        if self._info.value == 0:
            self._call_getri(matrix)
        if self._info.value != 0:
            raise FloatingPointError("the matrix has no inverse")

    def _call_getri(self, matrix: np.ndarray) -> None:
        n, size, info = ctypes.byref(self._n), ctypes.byref(self._size), ctypes.byref(self._info)
        self._getri(n, matrix.ctypes.data, n, self._pivots.ctypes.data, self._workspace.ctypes.data, size, info)


def _routine(name: str) -> Any:
    """A routine of LAPACK, which takes everything by address; Python's lock is free while it runs."""
    address = get_cython_function_address("scipy.linalg.cython_lapack", name)
    arguments = {"getrf": 6, "getri": 7}[name[1:]]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)
