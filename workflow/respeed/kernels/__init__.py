"""Compiled passes for what BLAS lacks: Numba, in place, on NumPy's arrays in fp32 or fp64, without Python's lock.

A tensor of torch on a CPU is passed by its ``numpy()``, which is the same memory. Compiled code is kept in a folder
that is named by a hash of the sources: Numba looks at the time stamp of a function's own file alone, and would keep an
old version of a function that this one calls from another file.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np
from numba import config, get_num_threads, njit
from numpy.typing import DTypeLike

from respeed.machine.process import private_folder

Function = TypeVar("Function", bound=Callable[..., Any])

# All options that let sums be vectorised; none by which NaN and infinity, which checks look for, may be ignored.
FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": FAST, "error_model": "numpy"}
# Bytes of a cache line, and of the widest vector register. NumPy's own large arrays begin 16 bytes behind one: OpenBLAS
# took 1.12 times as long for a product with a large matrix on its right. Torch's begin at one.
LINE = 64
# A pass over fewer elements takes less time on one thread than it takes to wake the others. Rows set it.
FEW = 2**14


def _folder_of_sources() -> str:
    sources = b"\0".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    name = f"kernels-{hashlib.sha256(sources).hexdigest()[:16]}"
    return str(Path(config.CACHE_DIR, name) if config.CACHE_DIR else private_folder(name))


config.CACHE_DIR = _folder_of_sources()


def compiled(function: Function) -> Function:
    """Compile once, and keep the result."""
    return cast(Function, njit(**OPTIONS)(function))


def compiled_twice(function: Function) -> tuple[Function, Function]:
    """Compile a loop over `prange` for one thread, in which `prange` is `range`, and for all."""
    # A name of its own, by which Numba keeps what it has compiled.
    name = f"{function.__name__}_on_all_threads"
    twin = FunctionType(function.__code__, function.__globals__, name, function.__defaults__)
    twin.__qualname__ = name
    return compiled(function), cast(Function, njit(parallel=True, **OPTIONS)(twin))


def compiled_parallel(function: Function, worth: int = 1) -> Function:
    """Compile a loop over `prange` for one thread and for all; each call takes the better one.

    Small arrays (the first argument) and threads that work alone (``numba.set_num_threads(1)``) take the first. An
    element takes the time of `worth` elements of a simple pass.
    """
    on_one, on_all = compiled_twice(function)

    def call(out: np.ndarray, *arguments: Any, **named: Any) -> None:
        (on_one if worth * out.size < FEW or get_num_threads() == 1 else on_all)(out, *arguments, **named)

    return cast(Function, call)


def empty_aligned(shape: Sequence[int], dtype: DTypeLike = np.float32) -> np.ndarray:
    """Return an array of any contents that begins where a cache line does."""
    count, size = math.prod(shape), np.dtype(dtype).itemsize
    raw = np.empty(count + LINE // size, dtype)
    first = -raw.ctypes.data % LINE // size
    return raw[first : first + count].reshape(shape)
