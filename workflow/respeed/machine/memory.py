"""How large this machine's memories are: caches of the CPU, the accelerators' own, and what is free of the main one."""

import resource
from collections.abc import Collection
from pathlib import Path

import psutil

from respeed.machine import cgroup
from respeed.machine.accelerators import accelerator_names, device_handles, nvml

_SYS_CPU = Path("/sys/devices/system/cpu")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def cache_bytes(cpus: Collection[int], sys_cpu: Path = _SYS_CPU) -> dict[str, int]:
    """By level, such as L2, all data caches that these CPUs have, together; empty where the system does not tell."""
    caches: dict[tuple[str, str], int] = {}
    for path in (path for cpu in cpus for path in sorted((sys_cpu / f"cpu{cpu}/cache").glob("index[0-9]*"))):
        try:
            kind, level, size, shared = (
                (path / name).read_text().strip() for name in ("type", "level", "size", "shared_cpu_list")
            )
            if kind != "Instruction":
                caches[f"L{level}", shared] = int(size[:-1]) * _UNITS[size[-1]]
        except (OSError, ValueError, KeyError, IndexError):
            continue
    levels = sorted({level for level, _ in caches})
    return {level: sum(size for (found, _), size in caches.items() if found == level) for level in levels}


def accelerator_bytes() -> dict[str, int]:
    """By name, the memory of one NVIDIA device of those that the driver shows; empty where there is none."""
    with nvml() as driver:
        handles = device_handles(driver) if accelerator_names() else []
        return {
            str(driver.nvmlDeviceGetName(handle)): int(driver.nvmlDeviceGetMemoryInfo(handle).total)
            for handle in handles
        }


def memory_free() -> float:
    """How many bytes this process may have in all: what it holds, and what system, control group and its own limits
    (ulimit -v, -d) leave. What it has freed it keeps, for the next case to use."""
    now = psutil.Process().memory_info()
    left = [psutil.virtual_memory().available, cgroup.memory_left()]
    left.append(_below(resource.RLIMIT_AS, now.vms))
    if data := getattr(now, "data", None):  # what it may write to and shares with nobody, libraries not counted (Linux)
        left.append(_below(resource.RLIMIT_DATA, data))
    return float(now.rss + max(0, min(room for room in left if room is not None)))


def _below(limit: int, used: int) -> int | None:
    soft, _ = resource.getrlimit(limit)
    return None if soft == resource.RLIM_INFINITY else soft - used
