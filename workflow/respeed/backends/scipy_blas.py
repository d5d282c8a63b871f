"""The products of whatever BLAS SciPy computes with, on NumPy's arrays: a backend for each library, which says how its
threads are set. `SteeredBlas` is for those whose threads threadpoolctl sets at any time: OpenBLAS, MKL, BLIS.
"""

import ctypes
import os
import platform
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Thread
from typing import Any

import numpy as np
import scipy
from scipy.linalg import get_lapack_funcs
from scipy.linalg.blas import dgemv, sgemv
from threadpoolctl import threadpool_limits

from respeed.backends import make_backend, scipy_backend
from respeed.backends._cpu import CpuSteps
from respeed.errors import NotMeasurable
from respeed.kernels import compiled
from respeed.kernels.blas import TAKES_INT, make_gemm
from respeed.kernels.compiled import Workers
from respeed.machine import software
from respeed.machine.software import library_label

DEVICES = ("cpu",)
PRECISIONS = ("fp32", "fp64")
OFFERS = (
    "workers", "stack_bytes", "lanes", "each", "stream", "take_rows", "put_rows", "add", "sigmoid", "dense_layer",
    "activation_backward", "labels", "softmax_error", "sigmoid_error", "draws", "sample_layer", "mask", "cut", "add_up",
    "coordinate_step", "line_search", "gradient_step", "sum", "factors", "inverse", "mirrored", "limited",
)  # fmt: skip

# Elements below which one thread is done sooner, in a millisecond, than others have been woken.
TWO_THREADS = 2**21


class ScipyBlas(CpuSteps):
    """The class has LIBRARY, its name in `LIBRARIES`, `limit` and `describe`. Where threads that multiply each for
    themselves must be told so each for itself, `each_alone` does it."""

    LIBRARY: str
    each_alone: Callable[[], None] | None = None
    synchronous = True
    # The library's own threads, and those of the compiled steps between products.
    pools = 2

    def __init__(self, *, device: str, precision: str, threads: int, seed: int) -> None:
        super().__init__(precision, threads, seed, TWO_THREADS)
        label, found = library_label(self.LIBRARY), software.scipy_library()
        if found != self.LIBRARY:
            raise NotMeasurable(f"SciPy computes with {library_label(found)} here, not with {label}")
        if not TAKES_INT:
            raise NotMeasurable(f"this SciPy's {label} counts in 64-bit numbers, and is called with 32-bit ones here")
        self.threads = threads
        self._multiply = make_gemm(self.host_dtype)
        self._multiply_vector = dgemv if precision == "fp64" else sgemv
        self.take_threads()
        self.workers = Workers(threads, self.each_alone)

    def take_threads(self) -> None:
        """Have the library use as many threads as the row has. The environment has said so before it was loaded."""
        raise NotImplementedError

    def array(self, values: np.ndarray) -> np.ndarray:
        fresh = not isinstance(values, np.ndarray)  # what makes an array when it is asked for one
        if fresh:
            return np.asarray(values, self.host_dtype)
        out = compiled.empty_aligned(*values.shape, dtype=self.host_dtype)
        out[...] = values
        return out

    def zeros(self, *shape: int) -> np.ndarray:
        out = compiled.empty_aligned(*shape, dtype=self.host_dtype)
        out.fill(0.0)  # the pages are touched here, not by the first step
        return out

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

    def sum(self, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        add = np.add
        self._spread(lambda start, stop: add(a[start:stop], b[start:stop], out[start:stop]), len(out), out.size)

    def factors(self, n: int) -> Any:
        """Return LAPACK's getrf and getri, and how large a workspace the second asks for."""
        getrf, getri, getri_lwork = get_lapack_funcs(("getrf", "getri", "getri_lwork"), dtype=self.host_dtype)
        return getrf, getri, int(getri_lwork(n)[0])

    def inverse(self, a: np.ndarray, factors: Any, out: np.ndarray) -> None:
        # LAPACK is column-major. Of a row-major array that is the transpose, whose inverse is that of the array,
        # transposed: nothing has to be turned round, and `out` is overwritten.
        getrf, getri, lwork = factors
        self.copy(a, out)
        lu, pivots, info = getrf(out.T, overwrite_a=True)
        if info == 0:
            _, info = getri(lu, pivots, lwork=lwork, overwrite_lu=True)
        if info:
            raise FloatingPointError("the matrix has no inverse")

    def _spread(self, work: Callable[[int, int], object], count: int, elements: int) -> None:
        pieces = 1 if self.apart or elements < self.least_spread else None
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
        if len(out) == 1 and not transpose_a and not transpose_b:
            self._vector_times(a[0], b, out[0], alpha, beta)
        else:
            self._multiply(a, b, out, transpose_a, transpose_b, alpha, beta)

    def _vector_times(self, a: np.ndarray, b: np.ndarray, out: np.ndarray, alpha: float, beta: float) -> None:
        """out (n,) <- alpha a (k,) @ b (k, n) + beta out. As a matrix of one row it would take up to eight times as
        long: all of b is first laid out for a product of many rows."""
        result = self._multiply_vector(alpha, b.T, a, beta=beta, y=out, overwrite_y=True)
        # SciPy copies silently what it cannot take as it is.
        if not b.flags.c_contiguous or not np.may_share_memory(result, out):
            raise ValueError(f"gemm takes C-contiguous {self.host_dtype} arrays")

    def facts(self, threads_set: int) -> dict[str, Any]:
        """What every one of these says of itself."""
        return {
            "library": library_label(self.LIBRARY),
            "threads_set": threads_set,
            "package": f"scipy {scipy.__version__}",
            "device": "cpu",
            "precision": self.precision,
        }


class SteeredBlas(ScipyBlas):
    def take_threads(self) -> None:
        found = software.controller(self.LIBRARY)
        if found is None:
            label = library_label(self.LIBRARY)
            raise NotMeasurable(f"threadpoolctl does not find this SciPy's {label}, and cannot set its threads")
        self._library = found
        # The environment has set this before the libraries were loaded; said again for callers from Python.
        self._limits = threadpool_limits(self.threads)
        if self.threads > 1 and not self._is_of_the_process():
            self.each_alone = self._alone

    def _alone(self) -> None:
        self._library.set_num_threads(1)

    def _is_of_the_process(self) -> bool:
        """Whether a thread that sets the number sets it for all, as in some libraries and some of their versions. (The
        others either keep a number for each thread, or listen to this one alone.)"""
        other = Thread(target=self._alone)
        other.start()
        other.join()
        changed = bool(self._library.num_threads != self.threads)
        self._library.set_num_threads(self.threads)
        return changed

    def limit(self, threads: int) -> None:
        self._library.set_num_threads(threads)

    def describe(self) -> dict[str, Any]:
        pool = self._library.info()
        return {
            **self.facts(pool["num_threads"]),
            "version": pool.get("version") or "unknown",
            "kernel": pool.get("architecture") or "unknown",
            "threading": pool.get("threading_layer") or "unknown",
        }


class Openblas(SteeredBlas):
    """As SciPy ships it: the descendant of the Goto BLAS that the paper's CPU rows used."""

    LIBRARY = "openblas"


class Mkl(SteeredBlas):
    """Where SciPy computes with it, as conda's may. (PyTorch has an MKL of its own: the backend torch.)"""

    LIBRARY = "mkl"


class Blis(SteeredBlas):
    """Where SciPy computes with it, as conda's and Linux distributions' may."""

    LIBRARY = "blis"


_FRAMEWORK = "/System/Library/Frameworks/Accelerate.framework/Accelerate"
# Accelerate reads it once, before its first product.
_VARIABLE = "VECLIB_MAXIMUM_THREADS"
# Apple's enum BLAS_THREADING.
_MANY, _ONE = 0, 1


class Accelerate(ScipyBlas):
    """Apple's, which SciPy's wheels for macOS 14 and later compute with. On Apple's own chips its products run on
    matrix units that the cores of a cluster share, so that one thread may do nearly what all do."""

    LIBRARY = "accelerate"

    def take_threads(self) -> None:
        os.environ[_VARIABLE] = str(self.threads)
        self._set_threading = _threading_setter()
        if self._set_threading:
            self.each_alone = lambda: self.limit(1)
            self.limit(self.threads)

    def limit(self, threads: int) -> None:
        """One, or as many as the environment allowed; of the calling thread. Before macOS 15 always so many."""
        if self._set_threading:
            self._set_threading(_ONE if threads == 1 else _MANY)

    def limited(self, threads: int) -> AbstractContextManager[None]:
        if threads != self.threads and (threads != 1 or not self._set_threading):
            raise NotMeasurable("Accelerate uses as many threads as when it was loaded, or from macOS 15 on one")
        return super().limited(threads)

    def describe(self) -> dict[str, Any]:
        return {**self.facts(int(os.environ[_VARIABLE])), "version": f"macOS {platform.mac_ver()[0] or 'unknown'}"}


class Program:
    """What programs of somebody else's are measured beside: the probe and the ceilings, on the CPU of SciPy's BLAS, on
    a device of torch."""

    DEVICES = ("cpu", "cuda")
    PRECISIONS = ("fp32", "fp64")
    OFFERS = ()
    RUNS = ("program",)

    def __new__(cls, *, device: str, **how: Any) -> Any:
        return make_backend(scipy_backend() if device == "cpu" else "torch", device=device, **how)

    @staticmethod
    def probe(device: str) -> Any:
        from respeed.backends.torch import probe

        return probe(device)


def _threading_setter() -> Callable[[int], int] | None:
    """BLASSetThreading, which macOS has since 15."""
    try:
        setter = ctypes.CDLL(_FRAMEWORK).BLASSetThreading
    except (OSError, AttributeError):
        return None
    setter.argtypes, setter.restype = (ctypes.c_uint,), ctypes.c_int
    return lambda model: int(setter(model))
