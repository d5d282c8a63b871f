"""The row kernels spread over Numba's own threads, from inside one compiled call: for a few microseconds, not tens.

On Linux these are the threads of the OpenMP runtime that torch has loaded, so that they and torch's products take
turns. Threads of another pool would meet those of the products, which go on looking for work on the same cores.
"""

from collections.abc import Callable
from typing import Any, cast

from numba import njit, prange

from respeed.kernels import elementwise
from respeed.kernels.compiled import FAST, Kernel

# Pieces for each thread where rows may be done already, and then cost nothing.
PIECES = 4


def _parallel(function: Kernel) -> Kernel:
    compiled = njit(parallel=True, cache=True, nogil=True, fastmath=FAST, error_model="numpy")(function)
    return cast(Kernel, compiled)


# One for each kernel: Numba keeps no compiled function that is given another one.


@_parallel
def _sigmoid_elements(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.sigmoid_elements(part * count // threads, (part + 1) * count // threads, *arguments)


@_parallel
def _dense_rows(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.dense_rows(part * count // threads, (part + 1) * count // threads, *arguments)


@_parallel
def _backward_elements(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.backward_elements(part * count // threads, (part + 1) * count // threads, *arguments)


@_parallel
def _softmax_error_rows(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.softmax_error_rows(part * count // threads, (part + 1) * count // threads, *arguments)


@_parallel
def _sigmoid_error_rows(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.sigmoid_error_rows(part * count // threads, (part + 1) * count // threads, *arguments)


@_parallel
def _sample_rows(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.sample_rows(part * count // threads, (part + 1) * count // threads, *arguments)


@_parallel
def _mask_rows(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.mask_rows(part * count // threads, (part + 1) * count // threads, *arguments)


@_parallel
def _coordinate_step(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.coordinate_step(part * count // threads, (part + 1) * count // threads, *arguments)


@_parallel
def _line_search(count: int, threads: int, *arguments: Any) -> None:
    pieces = PIECES * threads
    for part in prange(pieces):
        elementwise.line_search(part * count // pieces, (part + 1) * count // pieces, *arguments)


@_parallel
def _gradient_step(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.gradient_step(part * count // threads, (part + 1) * count // threads, *arguments)


@_parallel
def _cut_windows(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.cut_windows(part * count // threads, (part + 1) * count // threads, *arguments)


@_parallel
def _add_windows(count: int, threads: int, *arguments: Any) -> None:
    for part in prange(threads):
        elementwise.add_windows(part * count // threads, (part + 1) * count // threads, *arguments)


# A kernel of rows [start, stop), and the same over all rows on some threads.
SPREAD: dict[Callable[..., None], Callable[..., None]] = {
    getattr(elementwise, over_all.__name__.removeprefix("_")): over_all
    for over_all in (
        _sigmoid_elements, _dense_rows, _backward_elements, _softmax_error_rows, _sample_rows, _mask_rows,
        _sigmoid_error_rows, _cut_windows, _add_windows, _coordinate_step, _line_search, _gradient_step,
    )
}  # fmt: skip
