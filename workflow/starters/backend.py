"""NAME: NumPy's products on the CPU, to be replaced by the library that you want to time.

Just what every backend must have, so that it runs the workloads that ask for nothing more, such as matmul.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from respeed.backends import Facts, Step

DEVICES = ("cpu",)
PRECISIONS = ("fp32",)
# What it has of BackendContract beyond REQUIRED, such as ("stream", "add"): workloads that ask for it then
# run here as well.
OFFERS = ()


class Backend:
    # An operation is finished when it returns. On an accelerator it is asked for, and `sync` waits.
    synchronous = True
    # Of threads: the library's own.
    pools = 1
    memory_factor = 1.0

    def __init__(self, *, device: str, precision: str, threads: int, seed: int) -> None:
        """Set the library up, or raise NotMeasurable with the reason why it cannot run here."""
        self.threads, self._device, self._precision = threads, device, precision
        # The environment has said so before the library was loaded; said again for callers from Python.
        self._limits = threadpool_limits(threads, user_api="blas")
        self._products: dict[tuple[int, ...], np.ndarray] = {}

    def array(self, values: np.ndarray) -> np.ndarray:
        return np.array(values, dtype=np.float32, order="C")

    def zeros(self, *shape: int) -> np.ndarray:
        return np.full(shape, 0.0, np.float32)  # the pages are touched here, not by the first step

    def parameters(self, values: np.ndarray) -> np.ndarray:
        return self.array(values)

    def host(self, array: np.ndarray) -> np.ndarray:
        return array

    def copy(self, source: np.ndarray, out: np.ndarray) -> None:
        np.copyto(out, source)

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
        a, b = (a.swapaxes(-1, -2) if transpose_a else a), (b.swapaxes(-1, -2) if transpose_b else b)
        if beta == 0.0:
            np.matmul(a, b, out=out)
            if alpha != 1.0:
                out *= np.float32(alpha)
            return
        # NumPy has no product that adds: it goes to an array of its own, made once and kept.
        if out.shape not in self._products:
            self._products[out.shape] = np.empty_like(out)
        product = self._products[out.shape]
        np.matmul(a, b, out=product)
        product *= np.float32(alpha)
        out *= np.float32(beta)
        out += product

    def captured(self, step: Step) -> Step:
        return step

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        return (nullcontext(),)

    def bytes_free(self) -> float | None:
        return None  # arrays lie in the host's memory

    def sync(self) -> None:
        pass

    def describe(self) -> Facts:
        threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return {
            "package": f"numpy {np.__version__}",
            "library": "NumPy's BLAS",
            "device": self._device,
            "precision": self._precision,
            "threads_set": max(threads, default=self.threads),
        }
