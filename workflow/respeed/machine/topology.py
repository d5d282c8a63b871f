"""Which logical CPUs form a core, which socket it is in, and of which kind it is."""

import functools
import os
import platform
import subprocess
from pathlib import Path

from respeed.model.cpus import KINDS, Core, parse_list

SYS = Path("/sys/devices")
# A core is an efficiency core if it can do less than this share of what the fastest can. Cores of one kind that differ
# by the luck of the die come within 10 %; small ones of CPUs that have both reach 30 to 65 %.
ALIKE = 0.7
PERFORMANCE, EFFICIENCY = KINDS


def usable_topology(sys: Path = SYS) -> tuple[Core, ...] | None:
    """The cores that this process may run on, with those of their logical CPUs that it may use, in the order of their
    first; None where the system binds no process to CPUs (macOS)."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    return _cores(tuple(sorted(os.sched_getaffinity(0))), sys)


@functools.lru_cache(maxsize=8)  # hundreds of small files, which stay as they are
def _cores(allowed: tuple[int, ...], sys: Path) -> tuple[Core, ...]:
    kinds = _kinds(allowed, sys)
    groups: dict[str, list[int]] = {}
    for cpu in allowed:
        groups.setdefault(_read(_of(cpu, sys) / "topology/thread_siblings_list") or str(cpu), []).append(cpu)
    return tuple(
        Core(tuple(cpus), _number(_read(_of(cpus[0], sys) / "topology/physical_package_id")), kinds.get(cpus[0]))
        for cpus in groups.values()
    )


def kind_counts() -> dict[str, int]:
    """How many cores there are of each kind where the system tells only that (macOS); nothing where all are alike."""
    if platform.system() != "Darwin":
        return {}
    counts = [_sysctl(f"hw.perflevel{level}.physicalcpu") for level in range(len(KINDS))]
    return dict(zip(KINDS, counts, strict=True)) if all(counts) else {}


def _kinds(allowed: tuple[int, ...], sys: Path) -> dict[int, str]:
    """The kind of each CPU; nothing where all are alike, or nothing is told."""
    named = {
        kind: parse_list(_read(sys / folder / "cpus")) or ()
        for kind, folder in ((PERFORMANCE, "cpu_core"), (EFFICIENCY, "cpu_atom"))
    }
    if all(named.values()):
        return {cpu: kind for kind, cpus in named.items() for cpu in cpus}
    for file in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
        able = {cpu: _number(_read(_of(cpu, sys) / file)) or 0 for cpu in _all_cpus(sys) | set(allowed)}
        most = max(able.values(), default=0)
        if most and any(value < ALIKE * most for value in able.values() if value):
            return {cpu: PERFORMANCE if value >= ALIKE * most else EFFICIENCY for cpu, value in able.items() if value}
    return {}


def _all_cpus(sys: Path) -> set[int]:
    return {int(path.name[3:]) for path in (sys / "system/cpu").glob("cpu[0-9]*")}


def _of(cpu: int, sys: Path) -> Path:
    return sys / f"system/cpu/cpu{cpu}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _sysctl(name: str) -> int:
    try:
        done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return _number(done.stdout.strip()) or 0
