"""Apple's Accelerate, which SciPy's wheels for macOS 14 and later compute with. On Apple's own chips its products run
on matrix units that the cores of a cluster share, so that one thread may do nearly what all do."""

import ctypes
import os
import platform
from collections.abc import Callable
from contextlib import AbstractContextManager

from respeed.backends import Facts, _scipy_blas
from respeed.backends._scipy_blas import ScipyBlas
from respeed.errors import NotMeasurable

DEVICES = _scipy_blas.DEVICES
PRECISIONS = _scipy_blas.PRECISIONS
OFFERS = _scipy_blas.OFFERS
LIBRARY = "accelerate"

_FRAMEWORK = "/System/Library/Frameworks/Accelerate.framework/Accelerate"
# Accelerate reads it once, before its first product.
_VARIABLE = "VECLIB_MAXIMUM_THREADS"
# Apple's enum BLAS_THREADING.
_MANY, _ONE = 0, 1


class AccelerateFacts(Facts):
    version: str  # it is a part of the system


class Backend(ScipyBlas):
    library = LIBRARY

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

    def describe(self) -> AccelerateFacts:
        return {**self.facts(int(os.environ[_VARIABLE])), "version": f"macOS {platform.mac_ver()[0] or 'unknown'}"}


def _threading_setter() -> Callable[[int], int] | None:
    """BLASSetThreading, which macOS has since 15."""
    try:
        setter = ctypes.CDLL(_FRAMEWORK).BLASSetThreading
    except (OSError, AttributeError):
        return None
    setter.argtypes, setter.restype = (ctypes.c_uint,), ctypes.c_int
    return lambda model: int(setter(model))
