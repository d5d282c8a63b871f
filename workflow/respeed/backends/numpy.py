"""NumPy's arrays, with matrix products by the BLAS that SciPy uses, and compiled passes between these products."""

import ctypes
import os
import platform
from typing import Any

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from respeed.backends._cpu import OnCpu
from respeed.errors import NotMeasurable
from respeed.kernels import empty_aligned, layers
from respeed.kernels.blas import TAKES_INT, gemm
from respeed.machine.process import Facts
from respeed.machine.software import LIBRARIES, controller, scipy_library
from respeed.workloads.arrays import Drawn

DEVICES = ("cpu",)
PRECISIONS = ("fp32", "fp64")


# Compiled passes, by activation f: out <- f(out + bias), and error <- error f'(z).
ADDED = {"": layers.add_bias, "tanh": layers.add_tanh, "sigmoid": layers.add_sigmoid}
SLOPES = {"tanh": layers.times_tanh_slope, "sigmoid": layers.times_sigmoid_slope}


class Operations(OnCpu):
    """What steps do with NumPy's arrays: matrix products by `add_product`, which a subclass may replace, and passes."""

    framework = "numpy"
    library = np

    def write(self, values: Any, out: np.ndarray) -> None:
        """Copy `values`, an array or one number for all elements, into `out`."""
        out[...] = values

    def host(self, array: Any) -> Any:
        """Return `array` itself, since it lies on the host."""
        return array

    def operands(self, *parameters: Any) -> Any:
        """Return learned arrays as operands of matrix products, which they are."""
        return parameters

    def add_product(self, out: Any, a: Any, b: Any, alpha: float = 1.0, beta: float = 1.0) -> None:
        """Compute out <- beta out + alpha a b for matrices."""
        gemm(a, b, out=out, alpha=alpha, beta=beta)

    def add_rows(self, out: Any, rows: Any, signs: Any, alpha: float) -> None:
        """Add alpha times the sum of `rows`, each with its sign."""
        self.add_product(out[None], signs[None], rows, alpha=alpha)

    def units(
        self, bias: Any, x: Any, W: Any, *, out: Any, alpha: float = 1.0, sampled: Any = None, negated: Any = None
    ) -> None:
        """Compute out <- sigmoid(alpha x W + bias) by a product and one compiled pass; see `Row.units`."""
        self.add_product(out, x, W, alpha=alpha, beta=0.0)
        if sampled:
            layers.add_sigmoid_sample(out, bias, sample=sampled[1], draws=self.uniform(sampled[0]))
        else:
            layers.add_sigmoid(out, bias)
        if negated:
            np.negative(negated[0], out=negated[1])

    def affine(self, bias: Any, x: Any, W: Any, *, out: Any, activation: str = "") -> None:
        """Compute out <- f(x W + bias) by a product and one compiled pass; see `Row.affine`."""
        self.add_product(out, x, W, beta=0.0)
        ADDED[activation](out, bias)

    def times_slope(self, error: Any, out: Any, activation: str) -> None:
        """Compute error <- error f'(z), where out = f(z)."""
        SLOPES[activation](error, out)

    def softmax_error(self, out: Any, z: Any, y: Any, costs: Any) -> None:
        """Compute out <- softmax(z) - onehot(y) and costs <- -log softmax(z) at y; y and costs (B, 1)."""
        layers.softmax_error(out, z, y[:, 0], costs[:, 0])

    def sigmoid_error(self, out: Any, x: Any, costs: Any) -> None:
        """Compute out <- x - sigmoid(z) for the logits z in `out`, and their cross-entropies; see `Row`."""
        layers.sigmoid_error(out, x, costs)

    def mask(self, out: Any, x: Any, draws: Any, share: float) -> None:
        """Draw anew, and compute out <- x where draws are at least `share`, else 0."""
        layers.mask(out, x, self.uniform(draws), share)


class Backend(Operations):
    """NumPy with SciPy's BLAS; NotMeasurable if this BLAS cannot be called from here, or its threads cannot be set."""

    def __init__(self, *, device: str, precision: str, threads: int, seed: int) -> None:
        self._name = name = scipy_library()
        if name not in LIBRARIES:
            raise NotMeasurable(f"SciPy computes with {name} here, whose threads cannot be set")
        if not TAKES_INT:
            raise NotMeasurable(f"this SciPy's {LIBRARIES[name]} takes sizes of 64 bits; calls here have 32")
        self._library: Any = Accelerate(threads) if name == "accelerate" else controller(name)
        if not self._library:
            raise NotMeasurable(f"threadpoolctl does not find this SciPy's {LIBRARIES[name]}, to set its threads")
        # Without this, a row of two threads was seen to run on one, whatever the environment says.
        self._limits = threadpool_limits(threads)
        super().__init__(precision, threads, seed)

    def set_threads(self, threads: int) -> None:
        """Set how many threads the calling thread's matrix products use; some libraries set it for all threads."""
        self._library.set_num_threads(threads)

    def array(self, values: Any, *, exact: bool = False) -> np.ndarray:
        """Return `values` as an array in the row's precision; integers keep their type."""
        if isinstance(values, Drawn):  # drawn where it is to lie
            return np.asarray(values, self.host_dtype)
        given = np.asarray(values)
        # Large arrays begin where a cache line does, and their pages are touched here, not by the first step.
        out = empty_aligned(given.shape, given.dtype if given.dtype.kind in "iu" else self.host_dtype)
        out[...] = given
        return out

    def describe(self) -> Facts:
        """Return the facts about SciPy and its BLAS for a record."""
        pool = self._library.info()
        return {
            "package": f"scipy {scipy.__version__}",
            "library": LIBRARIES[self._name],
            "version": pool.get("version") or "unknown",
            "kernel": pool.get("architecture") or "unknown",
            "threads_set": pool["num_threads"],
        }


class Accelerate:
    """Apple's BLAS, with the methods of threadpoolctl's controllers. SciPy's wheels for macOS 14 and later use it.

    Each calling thread chooses whether Accelerate uses one thread, or as many as the environment allowed when it was
    loaded. On Apple's own chips, matrix products run on matrix units that the cores of a cluster share, so one thread
    may be nearly as fast as all. The constructor raises NotMeasurable before macOS 15, which has no such choice.
    """

    FRAMEWORK = "/System/Library/Frameworks/Accelerate.framework/Accelerate"

    def __init__(self, threads: int) -> None:
        os.environ["VECLIB_MAXIMUM_THREADS"] = str(threads)  # it is read once, before the first product
        self._most = threads
        try:
            self._set = ctypes.CDLL(self.FRAMEWORK).BLASSetThreading
        except (OSError, AttributeError):
            raise NotMeasurable("needs macOS 15 or later to set Accelerate's threads") from None

    def set_num_threads(self, threads: int) -> None:
        """Use one thread, or as many as the environment allowed; raise NotMeasurable for any other number."""
        if threads not in (1, self._most):
            raise NotMeasurable("Accelerate uses one thread, or as many as when it was loaded")
        self._set(int(threads == 1))  # Apple's enum BLAS_THREADING: 0 is many, 1 is one

    def info(self) -> Facts:
        """Return the version of macOS as Accelerate's, and the largest number of threads that it uses."""
        return {"version": f"macOS {platform.mac_ver()[0] or 'unknown'}", "num_threads": self._most}
