"""What the control groups of this process allow: CPU time and memory (Linux). Uses nothing of the project.

The limits of every group above hold as well: the least counts. A container shows its own group as the root; elsewhere
(systemd, Slurm) it lies deeper, and /proc/self/cgroup says where.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
# What the first version writes where there is no limit, 2^63 bytes but a page, is more than this.
UNLIMITED = 2**62


def cpu_quota(root: Path = ROOT, membership: Path = MEMBERSHIP) -> float | None:
    """How many CPUs' worth of time is allowed; None where there is no limit."""
    found = [_told(read, folder) for folder in _folders("cpu", root, membership) for read in (_quota, _first_quota)]
    return min((quota for quota in found if quota is not None), default=None)


def memory_left(root: Path = ROOT, membership: Path = MEMBERSHIP) -> float | None:
    """How many bytes more may be used before the kernel ends a process; None where there is no limit."""
    found = [_told(read, folder) for folder in _folders("memory", root, membership) for read in (_left, _first_left)]
    return min((left for left in found if left is not None), default=None)


def quota_throttles(root: Path = ROOT, membership: Path = MEMBERSHIP) -> int | None:
    """How often the CPU time that is allowed was used up; None where nothing tells."""
    found = [_told(_throttles, folder) for folder in _folders("cpu", root, membership)]
    told = [int(count) for count in found if count is not None]
    return sum(told) if told else None


def memory_kills(root: Path = ROOT, membership: Path = MEMBERSHIP) -> int | None:
    """How many processes of this group the kernel has ended for want of memory, its own or the machine's; None where it
    does not tell. Those of groups above are no matter: others are in them."""
    for folders in _hierarchies("memory", root, membership):
        own = next((folder for folder in folders if folder.is_dir()), None)
        for path in (own / "memory.events", own / "memory.oom_control") if own else ():
            if (count := _told(lambda path: _counter(path, "oom_kill"), path)) is not None:
                return int(count)
    return None


def _folders(controller: str, root: Path, membership: Path) -> Iterator[Path]:
    """The group's folder and those above it, of the second version and of the first."""
    return itertools.chain.from_iterable(_hierarchies(controller, root, membership))


def _hierarchies(controller: str, root: Path, membership: Path) -> Iterator[list[Path]]:
    """The same for each version: from the group's folder up."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        lines = ["0::/"]
    for number, controllers, path in (line.split(":", 2) for line in lines):
        if number == "0" or controller in controllers.split(","):
            top = root if number == "0" else root / controller
            inner = PurePosixPath(path.lstrip("/"))
            yield [top / part for part in (inner, *inner.parents)]


def _quota(folder: Path) -> float | None:
    quota, period = (folder / "cpu.max").read_text().split()
    return None if quota == "max" else int(quota) / int(period)


def _first_quota(folder: Path) -> float | None:
    quota, period = (_number(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    return quota / period if quota > 0 else None


def _throttles(folder: Path) -> float:
    return _counter(folder / "cpu.stat", "nr_throttled")


def _left(folder: Path) -> float | None:
    return _room(folder, "memory.max", "memory.current", "inactive_file")


def _first_left(folder: Path) -> float | None:
    return _room(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def _room(folder: Path, limit: str, used: str, files: str) -> float | None:
    """What the kernel keeps of files it gives up before it ends anybody."""
    most = _number(folder / limit)
    kept = _counter(folder / "memory.stat", files)
    return None if most > UNLIMITED else max(0, most - _number(folder / used) + kept)


def _told(read: Callable[[Path], float | None], path: Path) -> float | None:
    """What is read; None where there is no such file, or it has a word in place of a number ("max")."""
    try:
        return read(path)
    except (OSError, ValueError, KeyError):
        return None


def _number(path: Path) -> int:
    return int(path.read_text())


def _counter(path: Path, key: str) -> int:
    return int(dict(line.split(maxsplit=1) for line in path.read_text().splitlines())[key])
