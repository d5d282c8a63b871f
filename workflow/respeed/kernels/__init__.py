"""Passes (loops over arrays) that BLAS lacks, compiled by Numba: in place, in fp32 or fp64, without Python's lock.

Passes take NumPy arrays; a torch tensor on a CPU is passed as its ``numpy()``, which is the same memory. Compiled code
is kept in a folder that is named by a hash of all sources: Numba only looks at the time stamp of a function's own file,
and would miss a change in a function that is called from another file.
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

from respeed.paths import private_folder

Function = TypeVar("Function", bound=Callable[..., Any])
# The arrays that passes take, and their types.
Array = np.ndarray
float32 = np.float32

# All options that let sums be vectorised, but none that may ignore NaN and infinity, which checks look for.
FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": FAST, "error_model": "numpy"}
# Bytes of a cache line, and of the widest vector register. NumPy's own large arrays begin 16 bytes after the start of a
# line: with such a matrix on the right, OpenBLAS took 1.12 times as long for a matrix product. Torch's begin at a line.
LINE = 64
# A pass over fewer elements takes less time on one thread than waking the other threads takes. Backends set this.
FEW = 2**14
# Called before a matrix product while no thread works: there the reference probe may run. Whoever times a step sets it.
AT_MARK: Callable[[], None] | None = None


def _folder_of_sources() -> str:
    sources = b"\0".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    name = f"kernels-{hashlib.sha256(sources).hexdigest()[:16]}"
    return str(private_folder(name))


config.CACHE_DIR = _folder_of_sources()
# A pass that is not compiled would take hours; the variable is set by who debugs another program.
config.DISABLE_JIT = 0


def compiled(function: Function) -> Function:
    """Compile a function at its first call, and keep the compiled code on disk."""
    return cast(Function, _compile(function))


def compiled_for(types: str, function: Callable[..., None]) -> Callable[..., None]:
    """Compile a function now, for arguments of these types alone."""
    dispatcher = _compile(function)
    dispatcher.compile(types)
    dispatcher.disable_compile()
    return cast(Callable[..., None], dispatcher)


def compiled_twice(function: Function) -> tuple[Function, Function]:
    """Compile a loop over `prange` twice: for one thread, with `prange` as `range`, and for all threads."""
    # Numba keeps compiled code by the function's name: the second version needs another one.
    name = f"{function.__name__}_on_all_threads"
    twin = FunctionType(function.__code__, function.__globals__, name, function.__defaults__)
    twin.__qualname__ = name
    return compiled(function), cast(Function, _compile(twin, parallel=True))


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    """Return Numba's dispatcher, to which kept code that cannot be read counts as absent."""
    dispatcher = njit(**OPTIONS, **options)(function)
    load = dispatcher._cache.load_overload

    def load_or_forget(signature: Any, target: Any) -> Any:
        try:
            return load(signature, target)
        except MemoryError:
            raise
        except Exception:  # what unpickling a damaged file may raise
            dispatcher._cache.flush()
            return None

    dispatcher._cache.load_overload = load_or_forget
    return dispatcher


def compiled_parallel(function: Function, worth: int = 1) -> Function:
    """Compile a loop over `prange` for one thread and for all threads; each call uses the faster version.

    One thread is used if the first argument is a small array, or after ``numba.set_num_threads(1)``. `worth` is the
    time for an element, as a multiple of an element's time in a simple pass.
    """
    on_one, on_all = compiled_twice(function)

    def call(out: Array, *arguments: Any, **named: Any) -> None:
        (on_one if worth * out.size < FEW or get_num_threads() == 1 else on_all)(out, *arguments, **named)

    return cast(Function, call)


def empty_aligned(shape: Sequence[int], dtype: DTypeLike = float32) -> Array:
    """Return an uninitialised array that begins at the start of a cache line."""
    count = math.prod(shape)
    size = np.dtype(dtype).itemsize
    raw = np.empty(count + LINE // size, dtype)
    first = -raw.ctypes.data % LINE // size
    return raw[first : first + count].reshape(shape)
