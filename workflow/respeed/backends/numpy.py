"""NumPy's arrays, the products of whatever BLAS SciPy computes with, and compiled passes between them."""

import ctypes
import os
import platform
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from respeed.backends import Step
from respeed.backends._cpu import OnCpu
from respeed.errors import NotMeasurable
from respeed.kernels import empty_aligned
from respeed.kernels.blas import TAKES_INT
from respeed.machine.software import LIBRARIES, controller, scipy_library
from respeed.workloads.arrays import Drawn

DEVICES = ("cpu",)
PRECISIONS = ("fp32", "fp64")


class _Numpy(OnCpu):
    framework = "numpy"

    def array(self, values: Any, *, exact: bool = False) -> np.ndarray:
        if isinstance(values, Drawn):  # drawn where it is to lie
            return np.asarray(values, self.host_dtype)
        values = np.asarray(values)
        # Large arrays begin where a cache line does, and their pages are touched here, not by the first step.
        out = empty_aligned(values.shape, values.dtype if values.dtype.kind in "iu" else self.host_dtype)
        out[...] = values
        return out

    def write(self, values: Any, out: np.ndarray) -> None:
        out[...] = values

    def host(self, array: Any) -> Any:
        return array

    def facts(self, threads_set: int) -> dict[str, Any]:
        return {
            "library": LIBRARIES[scipy_library()],
            "threads_set": threads_set,
            "package": f"scipy {scipy.__version__}",
            "device": "cpu",
            "precision": self.precision,
        }


class _Steered(_Numpy):
    """A library whose threads threadpoolctl sets at any time: OpenBLAS, MKL, BLIS."""

    def __init__(self, precision: str, threads: int, seed: int) -> None:
        name = scipy_library()
        self._library: Any = controller(name)
        if not self._library:
            raise NotMeasurable(f"threadpoolctl does not find this SciPy's {LIBRARIES[name]}, to set its threads")
        # The environment has set this before the libraries were loaded; said again for callers from Python.
        self._limits = threadpool_limits(threads)
        super().__init__(precision, threads, seed)
        self._of_thread = self.threads > 1 and not self._is_of_the_process()

    def set_threads(self, threads: int) -> None:
        self._library.set_num_threads(threads)

    def begin_thread(self) -> None:
        if self._of_thread:
            self.set_threads(1)

    def _is_of_the_process(self) -> bool:
        """Whether a thread that sets the number sets it for all, as in some libraries and some of their versions."""
        other = Thread(target=self.set_threads, args=(1,))
        other.start()
        other.join()
        changed = bool(self._library.num_threads != self.threads)
        self.set_threads(self.threads)
        return changed

    def describe(self) -> dict[str, Any]:
        pool = self._library.info()
        return {
            **self.facts(pool["num_threads"]),
            "version": pool.get("version") or "unknown",
            "kernel": pool.get("architecture") or "unknown",
            "threading": pool.get("threading_layer") or "unknown",
        }


_FRAMEWORK = "/System/Library/Frameworks/Accelerate.framework/Accelerate"
# Accelerate reads it once, before its first product.
_VARIABLE = "VECLIB_MAXIMUM_THREADS"
# Apple's enum BLAS_THREADING.
_MANY, _ONE = 0, 1


class _Accelerate(_Numpy):
    """Apple's, which SciPy's wheels for macOS 14 and later compute with.

    On Apple's own chips its products run on matrix units that the cores of a cluster share, so that one thread may do
    nearly what all do.
    """

    def __init__(self, precision: str, threads: int, seed: int) -> None:
        os.environ[_VARIABLE] = str(threads)
        self._set_threading = _threading_setter()
        super().__init__(precision, threads, seed)

    def set_threads(self, threads: int) -> None:
        """Use one, or as many as the environment allowed; of the calling thread. Before macOS 15 always so many."""
        if self._set_threading:
            self._set_threading(_ONE if threads == 1 else _MANY)

    def begin_thread(self) -> None:
        self.set_threads(1)

    def limited(self, step: Step, threads: int) -> Step:
        if threads != self.threads and (threads != 1 or not self._set_threading):
            raise NotMeasurable("Accelerate uses as many threads as when it was loaded, or from macOS 15 on one")
        return super().limited(step, threads)

    def describe(self) -> dict[str, Any]:
        return {**self.facts(int(os.environ[_VARIABLE])), "version": f"macOS {platform.mac_ver()[0] or 'unknown'}"}


def _threading_setter() -> Callable[[int], int] | None:
    """Return BLASSetThreading, which macOS has since 15."""
    try:
        setter = ctypes.CDLL(_FRAMEWORK).BLASSetThreading
    except (OSError, AttributeError):
        return None
    setter.argtypes, setter.restype = (ctypes.c_uint,), ctypes.c_int
    return lambda model: int(setter(model))


def Backend(*, device: str, precision: str, threads: int, seed: int) -> _Numpy:  # noqa: N802, as every backend's
    """Return NumPy with the library that SciPy has; NotMeasurable if that cannot be called, or steered, from here."""
    name = scipy_library()
    if name not in LIBRARIES:
        raise NotMeasurable(f"SciPy computes with {name} here, whose threads cannot be set")
    if not TAKES_INT:
        raise NotMeasurable(f"this SciPy's {LIBRARIES[name]} counts in 64-bit numbers; it is called with 32-bit ones")
    return (_Accelerate if name == "accelerate" else _Steered)(precision, threads, seed)
