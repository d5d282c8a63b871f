"""SciPy's BLAS and LAPACK by their addresses: products, and the inverse of a matrix.

SciPy's sgemm and dgemm by their addresses: what scipy.linalg.blas offers holds Python's lock until it is done, and
threads that multiply each for itself would wait for one another. The addresses are part of scipy.linalg.cython_blas,
SciPy's interface for compiled code: whatever the library behind it calls them ("sgemm_", in OpenBLAS of 64-bit sizes
"sgemm_64_", in Accelerate "sgemm$NEWLAPACK"), there they are "sgemm" and "dgemm", and return nothing.

The inverse of a matrix by LAPACK as SciPy has it (OpenBLAS, Accelerate, ...), in place: getrf and getri by their
addresses. Those of scipy.linalg.lapack make a new workspace at every call. The addresses are part of
scipy.linalg.cython_lapack, SciPy's interface for compiled code.
"""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic
from scipy.linalg import cython_blas

_NAMES = {"float32": "sgemm", "float64": "dgemm"}
# Whether sizes are 32-bit numbers, as they are here handed over (so in all wheels); in a SciPy built otherwise they are
# of another type, int64_t. The same for all of BLAS and LAPACK.
TAKES_INT = ", int *, int *, int *," in repr(cython_blas.__pyx_capi__["sgemm"])
_N, _T = np.int8(ord("N")), np.int8(ord("T"))
# transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc: those that are addresses already. Fortran takes all so.
_ARRAYS = {6, 8, 11}


@intrinsic  # type: ignore[untyped-decorator]
def _call(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the function at `address` with the `arguments`, a tuple, by reference. Given as a number, an address does
    not keep compiled code from being used again by the next process, where it is another one."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        anything = cgutils.voidptr_t
        references = []
        for place, value in enumerate(cgutils.unpack_tuple(builder, values[1])):
            if place in _ARRAYS:
                references.append(builder.inttoptr(value, anything))
            else:
                references.append(builder.bitcast(cgutils.alloca_once_value(builder, value), anything))
        function = ir.FunctionType(ir.VoidType(), [anything] * len(references))
        builder.call(builder.inttoptr(values[0], function.as_pointer()), references)
        return context.get_dummy_value()

    return types.void(address, arguments), generate


_TYPES = "void(int64, {0}[:, ::1], {0}[:, ::1], {0}[:, ::1], boolean, boolean, {0}, {0})"


def _multiply(
    address: int,
    a: np.ndarray,
    b: np.ndarray,
    out: np.ndarray,
    transpose_a: bool,
    transpose_b: bool,
    alpha: np.floating[Any],
    beta: np.floating[Any],
) -> None:
    m, k = (a.shape[1], a.shape[0]) if transpose_a else (a.shape[0], a.shape[1])
    inner, n = (b.shape[1], b.shape[0]) if transpose_b else (b.shape[0], b.shape[1])
    if k != inner or out.shape[0] != m or out.shape[1] != n:
        raise ValueError("shapes do not fit")
    # BLAS is column-major: a row-major (m, n) array is a column-major (n, m) one of the same memory, so that C = A B is
    # asked for as C^T = B^T A^T, and nothing is copied.
    _call(
        address,
        (
            _T if transpose_b else _N, _T if transpose_a else _N, np.int32(n), np.int32(m), np.int32(k), alpha,
            b.ctypes.data, np.int32(b.shape[1]), a.ctypes.data, np.int32(a.shape[1]), beta,
            out.ctypes.data, np.int32(out.shape[1]),
        ),
    )  # fmt: skip


def make_gemm(dtype: np.dtype[Any]) -> Callable[..., None]:
    """gemm(a, b, out, transpose_a, transpose_b, alpha, beta) of arrays of this type, float32 or float64:

    out (m, n) <- alpha op(a) (m, k) @ op(b) (k, n) + beta out

    All C-contiguous and of the type, or else TypeError: nothing is copied. ValueError if the shapes do not fit. Runs
    without Python's lock.
    """
    address = get_cython_function_address("scipy.linalg.cython_blas", _NAMES[dtype.name])
    return partial(njit(_TYPES.format(dtype.name), cache=True, nogil=True)(_multiply), address)


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
