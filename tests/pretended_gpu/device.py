"""The pretended device from within a process that takes it for one: by the C functions of runtime/streams.cpp."""

import ctypes
from collections.abc import Callable
from functools import cache

WORK = ctypes.CFUNCTYPE(None, ctypes.c_long)


@cache
def library() -> ctypes.CDLL:
    """Return the library, which this process has preloaded."""
    found = ctypes.CDLL(None)
    found.pretended_memory.restype = ctypes.c_void_p
    found.pretended_waiting.restype = ctypes.c_long
    found.pretended_queue.argtypes = [ctypes.c_void_p, ctypes.c_char_p, WORK, ctypes.c_long]
    for name in ("pretended_take_problems", "pretended_take_notes", "pretended_sums"):
        getattr(found, name).restype = ctypes.c_char_p
    return found


def take_problems() -> list[str]:
    """Return what would be wrong on a device, since this was last asked."""
    return library().pretended_take_problems().decode().splitlines()


def asked_by(work: Callable[[], object]) -> list[str]:
    """Return what the work asks of the device, such as a plain step: a graph's run asks for nothing anew.

    Each is a kind and a name: a kernel, a copy ("copy pinned to device"), a fill, a product by how it sums (f32, tf32,
    f64), or "wait", the host for the device.
    """
    library().pretended_take_notes()
    work()
    return library().pretended_take_notes().decode().splitlines()
