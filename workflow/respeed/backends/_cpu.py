"""Compiled elementwise steps for backends whose arrays lie in the host's memory."""

import functools
from types import ModuleType

import numpy as np

from respeed.kernels.workers import Workers


@functools.cache
def _rows() -> ModuleType:
    # Loaded when first used: Numba takes half a second, and most programs need nothing of it.
    from respeed.kernels import rows

    return rows


class CpuSteps:
    """The row steps of the contract on NumPy arrays, spread over `threads` threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._workers = Workers(threads)

    def coordinate_step(
        self,
        left: np.ndarray,
        coefficients: np.ndarray,
        diagonal: np.ndarray,
        penalty: float,
        going: np.ndarray,
        out: np.ndarray,
    ) -> None:
        rows = _rows()
        self._workers.spread(
            lambda start, stop, _: rows.coordinate_step(start, stop, left, coefficients, diagonal, penalty, going, out),
            len(out),
        )

    def line_search(
        self,
        direction: np.ndarray,
        moved: np.ndarray,
        left: np.ndarray,
        coefficients: np.ndarray,
        penalty: float,
        lengths: tuple[float, ...],
        least: float,
        objective: np.ndarray,
        going: np.ndarray,
    ) -> None:
        rows, steps = _rows(), np.array(lengths, np.float32)
        self._workers.spread(
            lambda start, stop, _: rows.line_search(
                start, stop, direction, moved, left, coefficients, penalty, steps, least, objective, going
            ),
            len(direction),
        )

    def gradient_step(
        self, bases: np.ndarray, product: np.ndarray, target: np.ndarray, rate: float, out: np.ndarray
    ) -> None:
        rows = _rows()
        self._workers.spread(
            lambda start, stop, _: rows.gradient_step(start, stop, bases, product, target, rate, out), len(out)
        )
