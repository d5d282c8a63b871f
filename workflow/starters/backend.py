"""NAME: NumPy's products on the CPU, to be replaced by the library that you want to time."""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from respeed.backends.numpy import Operations

DEVICES = ("cpu",)
PRECISIONS = ("fp32",)
# The framework whose steps it runs: NumPy's work on any arrays that its functions take, most of them by `add_product`
# below. Without this line, and with a `framework` of its own, it runs steps of its own name, which the workloads must
# then have: a method NAME(self, a, row) in matmul.py, for example.
FRAMEWORK = "numpy"


class Backend(Operations):
    """Arrays, threads, and the facts of a record about the library. `respeed.backends.Backend` explains each method."""

    def __init__(self, *, device: str, precision: str, threads: int, seed: int) -> None:
        """Set the library up, or raise NotMeasurable with the reason why it cannot run here."""
        # The environment has set this before the library was loaded; set again for callers from Python.
        self._limits = threadpool_limits(threads, user_api="blas")
        super().__init__(precision, threads, seed)

    def set_threads(self, threads: int) -> None:
        """Set the number of threads of products."""
        threadpool_limits(threads, user_api="blas")

    def array(self, values: Any, *, exact: bool = False) -> np.ndarray:
        """Return `values` as an array of the library; whole numbers stay whole."""
        values = np.asarray(values)
        # full, not empty: the pages are touched here, not by the first step
        out = np.full(values.shape, 0, values.dtype if values.dtype.kind in "iu" else self.host_dtype)
        out[...] = values
        return out

    def add_product(self, out: Any, a: Any, b: Any, alpha: float = 1.0, beta: float = 1.0) -> None:
        """Compute out <- beta out + alpha a b for matrices, by the library; if beta is 0, `out` may hold NaN."""
        product = alpha * (a @ b)
        out[...] = product + beta * out if beta else product

    def describe(self) -> dict[str, Any]:
        """Return the facts of a record about the library as it is in force."""
        threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return {
            "package": f"numpy {np.__version__}",
            "library": "NumPy's BLAS",
            "threads_set": max(threads, default=self.threads),
        }
