"""The row kernels spread over Numba's own threads, from inside one compiled call: for a few microseconds, not tens.

On Linux these are the threads of the OpenMP runtime that torch has loaded, so that they and torch's products take
turns. Threads of another pool would meet those of the products, which go on looking for work on the same cores.
"""

from collections.abc import Callable
from typing import cast

import numpy as np
from numba import njit, prange

from respeed.kernels import elementwise
from respeed.kernels.compiled import FAST, Kernel

# Pieces for each thread where rows may be done already, and then cost nothing.
PIECES = 4


def _parallel(function: Kernel) -> Kernel:
    compiled = njit(parallel=True, cache=True, nogil=True, fastmath=FAST, error_model="numpy")(function)
    return cast(Kernel, compiled)


@_parallel
def _sigmoid_elements(count: int, threads: int, out: np.ndarray) -> None:
    for part in prange(threads):
        elementwise.sigmoid_elements(part * count // threads, (part + 1) * count // threads, out)


@_parallel
def _dense_rows(count: int, threads: int, out: np.ndarray, bias: np.ndarray, activation: int, scale: float) -> None:
    for part in prange(threads):
        elementwise.dense_rows(part * count // threads, (part + 1) * count // threads, out, bias, activation, scale)


@_parallel
def _backward_elements(count: int, threads: int, out: np.ndarray, error: np.ndarray, activation: int) -> None:
    for part in prange(threads):
        elementwise.backward_elements(part * count // threads, (part + 1) * count // threads, out, error, activation)


@_parallel
def _softmax_error_rows(
    count: int, threads: int, logits: np.ndarray, labels: np.ndarray, out: np.ndarray, costs: np.ndarray
) -> None:
    for part in prange(threads):
        start, stop = part * count // threads, (part + 1) * count // threads
        elementwise.softmax_error_rows(start, stop, logits, labels, out, costs)


@_parallel
def _sample_rows(
    count: int,
    threads: int,
    out: np.ndarray,
    bias: np.ndarray,
    sample: np.ndarray,
    scale: float,
    first: np.uint32,
    second: np.uint32,
) -> None:
    for part in prange(threads):
        start, stop = part * count // threads, (part + 1) * count // threads
        elementwise.sample_rows(start, stop, out, bias, sample, scale, first, second)


@_parallel
def _mask_rows(
    count: int, threads: int, x: np.ndarray, share: float, out: np.ndarray, first: np.uint32, second: np.uint32
) -> None:
    for part in prange(threads):
        elementwise.mask_rows(part * count // threads, (part + 1) * count // threads, x, share, out, first, second)


@_parallel
def _coordinate_step(
    count: int,
    threads: int,
    left: np.ndarray,
    coefficients: np.ndarray,
    diagonal: np.ndarray,
    penalty: float,
    going: np.ndarray,
    out: np.ndarray,
) -> None:
    for part in prange(threads):
        start, stop = part * count // threads, (part + 1) * count // threads
        elementwise.coordinate_step(start, stop, left, coefficients, diagonal, penalty, going, out)


@_parallel
def _line_search(
    count: int,
    threads: int,
    direction: np.ndarray,
    moved: np.ndarray,
    left: np.ndarray,
    coefficients: np.ndarray,
    penalty: float,
    lengths: np.ndarray,
    least: float,
    objective: np.ndarray,
    going: np.ndarray,
) -> None:
    for part in prange(PIECES * threads):
        start, stop = part * count // (PIECES * threads), (part + 1) * count // (PIECES * threads)
        elementwise.line_search(
            start, stop, direction, moved, left, coefficients, penalty, lengths, least, objective, going
        )


@_parallel
def _gradient_step(
    count: int,
    threads: int,
    bases: np.ndarray,
    product: np.ndarray,
    target: np.ndarray,
    rate: float,
    out: np.ndarray,
) -> None:
    for part in prange(threads):
        start, stop = part * count // threads, (part + 1) * count // threads
        elementwise.gradient_step(start, stop, bases, product, target, rate, out)


@_parallel
def _cut(count: int, threads: int, image: np.ndarray, first: int, across: int, out: np.ndarray, top: int) -> None:
    for part in prange(threads):
        elementwise.cut_windows(part * count // threads, (part + 1) * count // threads, image, first, across, out, top)


@_parallel
def _add_up(count: int, threads: int, added: np.ndarray, first: int, across: int, image: np.ndarray) -> None:
    for part in prange(threads):
        elementwise.add_windows(part * count // threads, (part + 1) * count // threads, added, first, across, image)


# A kernel of rows [start, stop), and the same over all rows on some threads.
SPREAD: dict[Callable[..., None], Callable[..., None]] = {
    elementwise.sigmoid_elements: _sigmoid_elements,
    elementwise.dense_rows: _dense_rows,
    elementwise.backward_elements: _backward_elements,
    elementwise.softmax_error_rows: _softmax_error_rows,
    elementwise.sample_rows: _sample_rows,
    elementwise.mask_rows: _mask_rows,
    elementwise.cut_windows: _cut,
    elementwise.add_windows: _add_up,
    elementwise.coordinate_step: _coordinate_step,
    elementwise.line_search: _line_search,
    elementwise.gradient_step: _gradient_step,
}
