"""How much CPU time and memory this process may use. Uses nothing of the project.

The limits of every control group above its own hold as well: the least counts. A container shows its own group as the
root; elsewhere (systemd, Slurm) it lies deeper, and /proc/self/cgroup says where.
"""

import contextlib
import resource
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import psutil

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
# What the first version writes where there is no limit, 2^63 bytes but a page, is more than this.
UNLIMITED = 2**62
# The files of what is allowed and used, and the counter of what the kernel keeps of files; and of the first version.
_MEMORY = "memory.max", "memory.current", "inactive_file"
_FIRST_MEMORY = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"


def cpu_quota() -> float | None:
    """How many CPUs' worth of time is allowed; None where there is no limit."""
    return min(_told(_quota, "cpu"), default=None)


def memory_left() -> float | None:
    """How many bytes more may be used before the kernel ends a process; None where there is no limit."""
    return min(_told(_left, "memory"), default=None)


def quota_throttles() -> int | None:
    """How often the CPU time that is allowed was used up; None where nothing tells."""
    told = _told(lambda folder: _counter(folder / "cpu.stat", "nr_throttled"), "cpu")
    return int(sum(told)) if told else None


def memory_kills() -> int | None:
    """How many processes of this group the kernel has ended for want of memory, its own or the machine's; None where it
    does not tell. Those of groups above are no matter: others are in them."""
    for folders in _groups("memory"):
        own = next((folder for folder in folders if folder.is_dir()), folders[0])
        for file in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                return _counter(own / file, "oom_kill")
    return None


def memory_free() -> float:
    """How many bytes this process may have in all: what it holds, and what system, control group and its own limits
    (ulimit -v, -d) leave. What it has freed it keeps, for the next case to use."""
    now = psutil.Process().memory_info()
    left = [psutil.virtual_memory().available, memory_left(), _below(resource.RLIMIT_AS, now.vms)]
    if data := getattr(now, "data", None):  # what it may write to and shares with nobody, libraries not counted (Linux)
        left.append(_below(resource.RLIMIT_DATA, data))
    return float(now.rss + max(0, min(room for room in left if room is not None)))


def _below(limit: int, used: int) -> int | None:
    soft, _ = resource.getrlimit(limit)
    return None if soft == resource.RLIM_INFINITY else soft - used


def _groups(controller: str) -> Iterator[list[Path]]:
    """The folders of this process's group and of those above it, for the second version and for the first."""
    try:
        lines = MEMBERSHIP.read_text().splitlines()
    except OSError:
        lines = ["0::/"]
    for number, controllers, path in (line.split(":", 2) for line in lines):
        if number == "0" or controller in controllers.split(","):
            top = ROOT if number == "0" else ROOT / controller
            inner = PurePosixPath(path.lstrip("/"))
            yield [top / part for part in (inner, *inner.parents)]


def _told(read: Callable[[Path], float | None], controller: str) -> list[float]:
    """What is read in those folders that tell it: not where a file is missing, or has a word for a number ("max")."""
    found = []
    for folder in (folder for folders in _groups(controller) for folder in folders):
        with contextlib.suppress(OSError, ValueError, KeyError):
            if (value := read(folder)) is not None:
                found.append(value)
    return found


def _quota(folder: Path) -> float | None:
    if (folder / "cpu.max").exists():
        quota, period = map(int, (folder / "cpu.max").read_text().split())
    else:
        quota, period = (int((folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
    return quota / period if quota > 0 else None


def _left(folder: Path) -> float | None:
    """What the kernel keeps of files it gives up before it ends anybody."""
    limit, used, files = _MEMORY if (folder / _MEMORY[0]).exists() else _FIRST_MEMORY
    most = int((folder / limit).read_text())
    kept = _counter(folder / "memory.stat", files)
    return None if most > UNLIMITED else max(0, most - int((folder / used).read_text()) + kept)


def _counter(path: Path, key: str) -> int:
    return int(dict(line.split(maxsplit=1) for line in path.read_text().splitlines())[key])
