"""How all kernels are compiled."""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., object])

# Everything that lets sums be vectorised; not what would let NaN and infinity be ignored where a check looks for them.
FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}


def compiled(function: Kernel) -> Kernel:
    """Compile once and keep the result beside the source; runs without Python's lock."""
    return cast(Kernel, njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")(function))
