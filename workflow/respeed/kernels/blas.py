"""The matrix products of SciPy's BLAS, sgemm and dgemm, called by their addresses.

The functions of scipy.linalg.blas hold Python's lock until they are done: threads that each multiply alone would wait
for one another. The addresses come from scipy.linalg.cython_blas, SciPy's interface for compiled code. There the
functions are always named "sgemm" and "dgemm", and return nothing, whatever their names in the BLAS library ("sgemm_";
"sgemm_64_" in OpenBLAS with 64-bit sizes; "sgemm$NEWLAPACK" in Accelerate).
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.cpu import CPUContext
from numba.extending import get_cython_function_address, intrinsic
from scipy.linalg import cython_blas
from scipy.linalg.blas import dgemv, sgemv

from respeed import kernels
from respeed.kernels import Array

# Whether all BLAS functions take sizes as 32-bit integers, as this file passes them. They do in all wheels; another
# build of SciPy may take int64_t.
TAKES_INT = ", int *, int *, int *," in repr(cython_blas.__pyx_capi__["sgemm"])
_N = np.int8(ord("N"))
_T = np.int8(ord("T"))
# transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc: the places of arguments that are addresses already.
# Fortran takes all arguments by address.
_ARRAYS = {6, 8, 11}


@intrinsic  # type: ignore[untyped-decorator]
def _call(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the function at `address` with the tuple `arguments`, each passed by reference.

    The address is an argument, so that compiled code stays right in the next process, where the address differs.
    """

    def generate(context: CPUContext, builder: ir.IRBuilder, signature: Any, values: Any) -> Any:
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
    a: Array,
    b: Array,
    out: Array,
    transpose_a: bool,
    transpose_b: bool,
    alpha: np.floating[Any],
    beta: np.floating[Any],
) -> None:
    m, k = a.T.shape if transpose_a else a.shape
    inner, n = b.T.shape if transpose_b else b.shape
    if k != inner or out.shape != (m, n):
        raise ValueError("shapes do not fit")
    # BLAS is column-major: a row-major (m, n) array is a column-major (n, m) one of the same memory, so that C = A B is
    # asked for as C^T = B^T A^T, and nothing is copied.
    code_b = _T if transpose_b else _N
    code_a = _T if transpose_a else _N
    columns_b = np.int32(b.shape[1])
    columns_a = np.int32(a.shape[1])
    columns = np.int32(n)
    arguments = (
        code_b, code_a, columns, np.int32(m), np.int32(k), alpha,
        b.ctypes.data, columns_b, a.ctypes.data, columns_a, beta, out.ctypes.data, columns,
    )  # fmt: skip
    _call(address, arguments)


# By type: the compiled matrix product, the address of its BLAS function, and the product with a vector.
_PRODUCTS = {}
for _name, _gemm, _gemv in (("float32", "sgemm", sgemv), ("float64", "dgemm", dgemv)):
    _product = kernels.compiled_for(_TYPES.format(_name), _multiply)
    _address = get_cython_function_address("scipy.linalg.cython_blas", _gemm)
    _PRODUCTS[np.dtype(_name)] = (_product, _address, _gemv)


def gemm(a: Array, b: Array, out: Array, alpha: float = 1.0, beta: float = 0.0) -> Array:
    """Compute out <- alpha a @ b + beta out by SciPy's BLAS, and return `out`. Nothing is copied.

    Parameters
    ----------
    a, b, out : ndarray of shapes (m, k), (k, n) and (m, n)
        All of one type, fp32 or fp64. `out` is C-contiguous; `a` and `b` are too, or are transposes of such arrays.

    Raises
    ------
    KeyError, TypeError, ValueError
        If `out` is of another type, if arrays differ in type or have another layout, or if shapes do not fit.
    """
    if kernels.AT_MARK:
        kernels.AT_MARK()
    product, address, times_vector = _PRODUCTS[out.dtype]
    transpose_a = not a.flags.c_contiguous
    transpose_b = not b.flags.c_contiguous
    if len(out) == 1 and len(a) == 1 and not transpose_b:
        # The matrix product would take up to eight times as long for one row: it first copies all of b into a layout
        # for many rows.
        result = times_vector(alpha, b.T, a[0], beta=beta, y=out[0], overwrite_y=True)
        if not np.may_share_memory(result, out):  # SciPy copies silently what it cannot take as it is
            raise ValueError(f"gemm takes C-contiguous {out.dtype} arrays")
        return out
    if transpose_a:
        a = a.T
    if transpose_b:
        b = b.T
    product(address, a, b, out, transpose_a, transpose_b, alpha, beta)
    return out
