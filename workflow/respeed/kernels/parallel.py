"""The row kernels spread over Numba's own threads, from inside one compiled call: for a few microseconds, not tens.

On Linux these are the threads of the OpenMP runtime that torch has loaded, so that they and torch's products take
turns. Threads of another pool would meet those of the products, which go on looking for work on the same cores.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import njit, prange

from respeed.kernels import elementwise
from respeed.kernels.compiled import FAST

# Pieces for each thread where rows may be done already, and then cost nothing.
PIECES = {elementwise.line_search: 4}

# Stand for those of each function that `_spread` makes.
KERNEL: Callable[..., None] = elementwise.sigmoid_elements
PARTS = 1


def _over_all(count: int, threads: int, *arguments: Any) -> None:
    parts = PARTS * threads
    for part in prange(parts):
        KERNEL(part * count // parts, (part + 1) * count // parts, *arguments)


def _spread(kernel: Callable[..., None]) -> Callable[..., None]:
    """`_over_all` of its own for a kernel, by global names: Numba keeps no compiled function that is given another one,
    and keeps one under its name."""
    names = globals() | {"KERNEL": kernel, "PARTS": PIECES.get(kernel, 1)}
    function = FunctionType(_over_all.__code__, names, kernel.__name__)
    function.__qualname__ = kernel.__name__
    options = {"parallel": True, "cache": True, "nogil": True, "fastmath": FAST, "error_model": "numpy"}
    compiled: Callable[..., None] = njit(**options)(function)
    return compiled


# A kernel of rows [start, stop), and the same over all rows on some threads.
SPREAD: dict[Callable[..., None], Callable[..., None]] = {
    kernel: _spread(kernel)
    for kernel in (
        elementwise.sigmoid_elements, elementwise.dense_rows, elementwise.backward_elements,
        elementwise.softmax_error_rows, elementwise.sigmoid_error_rows, elementwise.sample_rows, elementwise.mask_rows,
        elementwise.coordinate_step, elementwise.line_search, elementwise.gradient_step, elementwise.cut_windows,
        elementwise.add_windows,
    )
}  # fmt: skip
