"""The pretended device as Python sees it: problems, what was queued, memory; by the C functions of runtime/."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.pretended_gpu.build import LIBRARY

WORK = ctypes.CFUNCTYPE(None, ctypes.c_long)


@cache
def library() -> ctypes.CDLL:
    """The library that this process has preloaded."""
    found = ctypes.CDLL(str(Path(os.environ["PRETENDED_GPU"]) / LIBRARY))
    found.pretended_memory.restype = ctypes.c_void_p
    found.pretended_memory_bytes.restype = ctypes.c_size_t
    found.pretended_running_stream.restype = ctypes.c_void_p
    found.pretended_comes_before.argtypes = [ctypes.c_void_p]
    found.pretended_queue.argtypes = [ctypes.c_void_p, ctypes.c_char_p, WORK, ctypes.c_long]
    found.pretended_add_problem.argtypes = [ctypes.c_char_p]
    found.pretended_note_count.restype = found.pretended_waiting.restype = ctypes.c_long
    for name in ("pretended_problem", "pretended_note_kind", "pretended_note_name"):
        getattr(found, name).restype = ctypes.c_char_p
    for name in ("pretended_note_kind", "pretended_note_name", "pretended_note_stream"):
        getattr(found, name).argtypes = [ctypes.c_long]
    return found


def take_problems() -> list[str]:
    """What would be wrong on a device, since this was last asked."""
    device = library()
    found = [device.pretended_problem(place).decode() for place in range(device.pretended_problem_count())]
    device.pretended_forget_problems()
    return found


_FORGIVING: list[bool] = []


@contextmanager
def forgiving() -> Iterator[None]:
    """For a test that provokes problems: none within fails it."""
    _FORGIVING.append(True)
    try:
        yield
    finally:
        _FORGIVING.pop()


def is_forgiving() -> bool:
    return bool(_FORGIVING)


@dataclass(frozen=True)
class Queued:
    """A kernel, product, copy or fill that was asked of the device, on a stream; or that the host waited for it (wait).
    The name of a product is how it sums: f32, tf32, f64."""

    kind: str
    name: str
    stream: int


def queued_by(work: Callable[[], object]) -> list[Queued]:
    """All that the work asked of the device, such as a plain step; a graph's run asks for nothing anew."""
    device = library()
    device.pretended_forget_notes()
    work()
    return [
        Queued(
            device.pretended_note_kind(place).decode(),
            device.pretended_note_name(place).decode(),
            device.pretended_note_stream(place),
        )
        for place in range(device.pretended_note_count())
    ]
