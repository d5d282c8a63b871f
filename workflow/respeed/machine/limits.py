"""How much CPU time and memory this process may use, by Linux's control groups of the second version."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import psutil

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def cpu_quota() -> float | None:
    """Return how many CPUs' worth of time is allowed; None where there is no limit."""
    return min(_read_groups(_quota), default=None)


def memory_left() -> float | None:
    """Return how many bytes more may be used before the kernel ends a process; None where there is no limit."""
    return min(_read_groups(_left), default=None)


def quota_throttles() -> int | None:
    """Return how often the CPU time that is allowed was used up; None where nothing tells."""
    told = _read_groups(lambda folder: _counter(folder / "cpu.stat", "nr_throttled"))
    return int(sum(told)) if told else None


def memory_free() -> float:
    """Return how many bytes this process may have in all: what it holds, which the next case may use, and what the
    system and its control group leave."""
    left = memory_left()
    available = psutil.virtual_memory().available
    return float(psutil.Process().memory_info().rss + (available if left is None else min(available, left)))


def _read_groups(read: Callable[[Path], float]) -> list[float]:
    """Return what is read in the folders of this process's control group and those above it, whose limits hold as well;
    nothing of one where a file is missing or has the word "max" for a number.

    A container shows its own group as the root; elsewhere (systemd, Slurm) it lies deeper.
    """
    group = ""
    with contextlib.suppress(OSError):
        group = MEMBERSHIP.read_text().partition("0::/")[2].partition("\n")[0]
    found = []
    for folder in (ROOT / group, *(ROOT / group).parents):
        if folder.is_relative_to(ROOT):
            with contextlib.suppress(OSError, ValueError, KeyError):
                found.append(read(folder))
    return found


def _quota(folder: Path) -> float:
    quota, period = (folder / "cpu.max").read_text().split()
    return int(quota) / int(period)


def _left(folder: Path) -> float:
    """Count what the kernel keeps of files as left: it gives that up before it ends anybody."""
    limit, used = (int((folder / f"memory.{name}").read_text()) for name in ("max", "current"))
    return max(0, limit - used + _counter(folder / "memory.stat", "inactive_file"))


def _counter(path: Path, key: str) -> int:
    return int(dict(line.split(maxsplit=1) for line in path.read_text().splitlines())[key])
