"""OpenBLAS as SciPy ships it: the descendant of the Goto BLAS that the paper's CPU rows used.

SciPy's BLAS is column-major. A C-ordered (m, n) array passed transposed is a column-major (n, m) array of the same
memory, so that C = A B is asked for as C^T = B^T A^T and nothing is copied.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy.linalg.blas import sgemm
from threadpoolctl import threadpool_info, threadpool_limits

from respeed.backends._cpu import CpuSteps
from respeed.kernels.workers import Workers
from respeed.model.errors import NotMeasurable

DEVICES = ("cpu",)
PRECISIONS = ("fp32",)

# Elements below which one thread is done sooner, in a millisecond, than others have been woken.
TWO_THREADS = 2**21


def _scipy_pools() -> list[dict[str, Any]]:
    """SciPy's OpenBLAS. NumPy has one of its own, in numpy.libs, whose file is called libscipy_openblas too."""
    return [
        pool
        for pool in threadpool_info()
        if pool["internal_api"] == "openblas" and "scipy" in str(Path(pool["filepath"]).parent)
    ]


class Backend(CpuSteps):
    synchronous = True
    # OpenBLAS's own threads, and those of the compiled steps between products.
    pools = 2

    def __init__(self, *, device: str, precision: str, threads: int, seed: int) -> None:
        super().__init__(threads, seed)
        self.threads, self.workers = threads, Workers(threads)
        if not _scipy_pools():
            raise NotMeasurable("this SciPy computes with another BLAS than OpenBLAS")
        # The environment has set this before the libraries were loaded; said again for callers from Python.
        self._limits = threadpool_limits(threads)

    def array(self, values: np.ndarray) -> np.ndarray:
        fresh = not isinstance(values, np.ndarray)  # what makes an array when it is asked for one
        return np.array(values, dtype=np.float32, order="C", copy=None if fresh else True)

    def zeros(self, *shape: int) -> np.ndarray:
        # full, not zeros: the pages are touched here, not by the first step.
        return np.full(shape, 0.0, dtype=np.float32)

    def host(self, array: np.ndarray) -> np.ndarray:
        return array

    def run(self, kernel: Callable[..., None], count: int, elements: int, *arguments: Any) -> None:
        self._spread(lambda start, stop: kernel(start, stop, *arguments), count, elements)

    def copy(self, source: np.ndarray, out: np.ndarray) -> None:
        here = np.broadcast_to(source, out.shape)
        self._spread(lambda start, stop: np.copyto(out[start:stop], here[start:stop]), len(out), out.size)

    def take_rows(self, source: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
        # Not "raise", the default: that would take the rows by way of a copy.
        np.take(source, rows, axis=0, out=out, mode="clip")

    def put_rows(self, source: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
        out[rows] = source

    def add(self, source: np.ndarray, out: np.ndarray) -> None:
        here = np.broadcast_to(source, out.shape)
        add = np.add
        self._spread(lambda start, stop: add(out[start:stop], here[start:stop], out[start:stop]), len(out), out.size)

    def _spread(self, work: Callable[[int, int], object], count: int, elements: int) -> None:
        pieces = 1 if elements < TWO_THREADS else None
        self.workers.spread(lambda start, stop, _: work(start, stop), count, pieces)

    def gemm(
        self,
        a: np.ndarray,
        b: np.ndarray,
        out: np.ndarray,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        if out.ndim == 3:  # no batched product in SciPy
            for index in range(len(out)):
                self.gemm(
                    a if a.ndim == 2 else a[index], b if b.ndim == 2 else b[index], out[index],
                    transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, beta=beta,
                )  # fmt: skip
            return
        # SciPy copies silently what is not laid out as it needs it, and the step would be timed with the copies.
        if not (a.flags.c_contiguous and b.flags.c_contiguous and out.flags.c_contiguous):
            raise ValueError("gemm takes C-contiguous arrays")
        result = sgemm(alpha, b.T, a.T, beta=beta, c=out.T, trans_a=transpose_b, trans_b=transpose_a, overwrite_c=True)
        if not np.may_share_memory(result, out):
            raise ValueError("gemm copied its output: give float32 arrays")

    def describe(self) -> dict[str, Any]:
        pool = _scipy_pools()[0]
        return {
            "library": "OpenBLAS",
            "version": pool.get("version", "unknown"),
            "kernel": pool.get("architecture", "unknown"),
            "threading": pool.get("threading_layer", "unknown"),
            "threads_set": pool.get("num_threads"),
            "package": f"scipy {scipy.__version__}",
            "device": "cpu",
            "precision": "fp32",
        }
