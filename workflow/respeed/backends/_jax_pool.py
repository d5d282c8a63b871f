"""XLA's pool of threads: how many it is told to have, and how many it has."""

import os
from pathlib import Path

# XLA looks for these, the first of them first, when the pool is made, once in a process; or else it takes as many
# threads as the process has CPUs. (Its own flags and OMP_NUM_THREADS say nothing of it.)
NAMES = ("PJRT_NPROC", "NPROC")
# What the kernel calls the pool's threads.
_THREAD = "tf_XLAEigen"


def set_pool(threads: int) -> None:
    """Before JAX is loaded. What the environment says already stays: the pool may be there, and is what counts."""
    for name in NAMES:
        os.environ.setdefault(name, str(threads))


def pool_size(tasks: Path = Path("/proc/self/task")) -> int:
    """The pool's threads, counted; what they were asked to be where the system does not show them."""
    return sum(_name(task).startswith(_THREAD) for task in tasks.glob("*")) or int(os.environ[NAMES[0]])


def _name(task: Path) -> str:
    try:
        return (task / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:  # the thread has just ended
        return ""
