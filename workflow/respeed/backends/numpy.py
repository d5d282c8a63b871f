"""NumPy's arrays, the products of whatever BLAS SciPy computes with, and compiled passes between them."""

import ctypes
import os
import platform
from typing import Any

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from respeed.backends._cpu import OnCpu
from respeed.errors import NotMeasurable
from respeed.kernels import empty_aligned
from respeed.kernels.blas import TAKES_INT
from respeed.machine.software import LIBRARIES, controller, scipy_library
from respeed.workloads.arrays import Drawn

DEVICES = ("cpu",)
PRECISIONS = ("fp32", "fp64")


class Backend(OnCpu):
    """NumPy with the library that SciPy has; NotMeasurable if that cannot be called, or steered, from here."""

    framework = "numpy"

    def __init__(self, *, device: str, precision: str, threads: int, seed: int) -> None:
        self._name = name = scipy_library()
        if name not in LIBRARIES:
            raise NotMeasurable(f"SciPy computes with {name} here, whose threads cannot be set")
        if not TAKES_INT:
            raise NotMeasurable(f"this SciPy's {LIBRARIES[name]} counts in 64-bit numbers; called with 32-bit ones")
        self._library: Any = Accelerate(threads) if name == "accelerate" else controller(name)
        if not self._library:
            raise NotMeasurable(f"threadpoolctl does not find this SciPy's {LIBRARIES[name]}, to set its threads")
        # The environment has set this before the libraries were loaded; said again for callers from Python.
        self._limits = threadpool_limits(threads)
        super().__init__(precision, threads, seed)

    def set_threads(self, threads: int) -> None:
        """Have products of the calling thread use so many threads; in some libraries those of all."""
        self._library.set_num_threads(threads)

    def array(self, values: Any, *, exact: bool = False) -> np.ndarray:
        """Return a copy of `values` in the row's precision; whole numbers stay what they are."""
        if isinstance(values, Drawn):  # drawn where it is to lie
            return np.asarray(values, self.host_dtype)
        values = np.asarray(values)
        # Large arrays begin where a cache line does, and their pages are touched here, not by the first step.
        out = empty_aligned(values.shape, values.dtype if values.dtype.kind in "iu" else self.host_dtype)
        out[...] = values
        return out

    def write(self, values: Any, out: np.ndarray) -> None:
        """Compute out <- values; a number goes to all places."""
        out[...] = values

    def host(self, array: Any) -> Any:
        """Return the array itself."""
        return array

    def describe(self) -> dict[str, Any]:
        """Return what a record says of SciPy and of its library."""
        pool = self._library.info()
        return {
            "package": f"scipy {scipy.__version__}",
            "library": LIBRARIES[self._name],
            "version": pool.get("version") or "unknown",
            "kernel": pool.get("architecture") or "unknown",
            "threads_set": pool["num_threads"],
        }


class Accelerate:
    """Apple's library, steered as threadpoolctl steers others. SciPy's wheels for macOS 14 and later have it.

    It uses one thread, or as many as the environment said when it was loaded; each calling thread says which. On
    Apple's own chips its products run on matrix units that the cores of a cluster share, so that one thread may do
    nearly what all do. NotMeasurable before macOS 15, in which nothing sets this.
    """

    FRAMEWORK = "/System/Library/Frameworks/Accelerate.framework/Accelerate"

    def __init__(self, threads: int) -> None:
        os.environ["VECLIB_MAXIMUM_THREADS"] = str(threads)  # it is read once, before the first product
        self._most = threads
        try:
            self._set = ctypes.CDLL(self.FRAMEWORK).BLASSetThreading
        except (OSError, AttributeError):
            raise NotMeasurable("Accelerate's threads can be set from macOS 15 on") from None

    def set_num_threads(self, threads: int) -> None:
        """Use one, or as many as the environment allowed."""
        if threads not in (1, self._most):
            raise NotMeasurable("Accelerate uses one thread, or as many as when it was loaded")
        self._set(int(threads == 1))  # Apple's enum BLAS_THREADING: 0 is many, 1 is one

    def info(self) -> dict[str, Any]:
        """Return its version, and the most threads that it uses."""
        return {"version": f"macOS {platform.mac_ver()[0] or 'unknown'}", "num_threads": self._most}
