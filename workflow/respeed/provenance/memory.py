"""How large this machine's memories are: caches of the CPU, and the accelerators' own."""

from collections.abc import Collection
from pathlib import Path

from respeed.provenance.accelerators import accelerator_names

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
    if not accelerator_names():
        return {}
    import pynvml

    pynvml.nvmlInit()
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        return {
            str(pynvml.nvmlDeviceGetName(handle)): int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
            for handle in handles
        }
    finally:
        pynvml.nvmlShutdown()
