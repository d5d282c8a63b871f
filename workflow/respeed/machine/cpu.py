"""The CPU: its name, caches and vector extensions, and which logical CPUs form a core, of which socket and kind."""

import contextlib
import functools
import math
import os
import platform
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil

from respeed.machine.limits import cpu_quota
from respeed.machine.process import output_of, read_word

# What a hardware profile may say of its CPUs in words; a kind's word is also what a machine's facts call it.
KINDS = ("performance", "efficiency")
CHOICES = "a list of CPUs such as 0-3,8 or [0, 1], a socket such as socket 1, performance cores, or efficiency cores"
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_SOCKET = re.compile(r"socket (\d{1,5})")
# No machine has more; a longer range is a slip of the pen.
MOST = 65536


@dataclass(frozen=True)
class Core:
    """The logical CPUs of one physical core, its socket and its kind; None where the system does not tell, or all
    cores are of one kind."""

    cpus: tuple[int, ...]
    socket: int | None = None
    kind: str | None = None


def parse_list(text: str) -> tuple[int, ...] | None:
    """The CPUs of a list as Linux writes it, "0-3,8"; None if it is none."""
    found: dict[int, None] = {}
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < MOST:
            return None
        found |= dict.fromkeys(range(first, last + 1))
    return tuple(found)


def show_list(cpus: Iterable[int]) -> str:
    """The inverse, as short as it can be: "0-3, 8"."""
    parts = []
    for _, group in groupby(enumerate(sorted(set(cpus))), key=lambda item: item[1] - item[0]):
        run = [cpu for _, cpu in group]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(parts)


def choice_as_text(value: Any) -> str | None:
    """What a profile says of its CPUs, as one text; None if it is none of the `CHOICES`."""
    if isinstance(value, list):
        fits = all(type(cpu) is int and 0 <= cpu < MOST for cpu in value)
        return show_list(value) if value and fits and len({*value}) == len(value) else None
    text = " ".join(str(value).split())
    if listed := parse_list(text):
        return show_list(listed)
    return text if socket_of(text) is not None or kind_of(text) else None


def socket_of(choice: str) -> int | None:
    """The number of the socket that a choice names; None if it names none."""
    match = _SOCKET.fullmatch(choice)
    return int(match[1]) if match else None


def kind_of(choice: str) -> str | None:
    """The kind of cores that a choice names; None if it names none."""
    kind = choice.removesuffix(" cores")
    return kind if kind in KINDS and kind != choice else None


def cores_as_facts(cores: Collection[Core]) -> list[dict[str, Any]]:
    """Cores for a machine's facts: those of one socket and kind together, "0,64 1,65" being two of two CPUs each."""
    groups: dict[tuple[int | None, str | None], list[str]] = {}
    for core in cores:
        groups.setdefault((core.socket, core.kind), []).append(",".join(map(str, core.cpus)))
    return [{"socket": socket, "kind": kind, "cores": " ".join(texts)} for (socket, kind), texts in groups.items()]


def cores_of_facts(facts: Iterable[Mapping[str, Any]]) -> tuple[Core, ...]:
    """The inverse."""
    return tuple(
        Core(tuple(map(int, text.split(","))), group["socket"], group["kind"])
        for group in facts
        for text in group["cores"].split()
    )


# What Linux tells of its devices.
SYS = Path("/sys/devices")
# A core is an efficiency core if it can do less than this share of what the fastest can. Cores of one kind that differ
# by the luck of the die come within 10 %; small ones of CPUs that have both reach 30 to 65 %.
ALIKE = 0.7
PERFORMANCE, EFFICIENCY = KINDS


def usable_topology() -> tuple[Core, ...] | None:
    """The cores that this process may run on, with those of their logical CPUs that it may use, in the order of their
    first; None where the system binds no process to CPUs (macOS)."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    return _cores(tuple(sorted(os.sched_getaffinity(0))))


@functools.lru_cache(maxsize=8)  # hundreds of small files, which stay as they are
def _cores(allowed: tuple[int, ...]) -> tuple[Core, ...]:
    kinds = _kinds(allowed)
    groups: dict[str, list[int]] = {}
    for cpu in allowed:
        groups.setdefault(_told_of(cpu, "topology/thread_siblings_list") or str(cpu), []).append(cpu)
    return tuple(
        Core(tuple(cpus), _number(_told_of(cpus[0], "topology/physical_package_id")), kinds.get(cpus[0]))
        for cpus in groups.values()
    )


def kind_counts() -> dict[str, int]:
    """How many cores there are of each kind where the system tells only that (macOS); nothing where all are alike."""
    if platform.system() != "Darwin":
        return {}
    told = [output_of("sysctl", "-n", f"hw.perflevel{level}.physicalcpu") for level in range(len(KINDS))]
    counts = [_number(text) or 0 for text in told]
    return dict(zip(KINDS, counts, strict=True)) if all(counts) else {}


def _kinds(allowed: tuple[int, ...]) -> dict[int, str]:
    """The kind of each CPU; nothing where all are alike, or nothing is told."""
    named = {
        kind: parse_list(read_word(SYS / folder / "cpus")) or ()
        for kind, folder in ((PERFORMANCE, "cpu_core"), (EFFICIENCY, "cpu_atom"))
    }
    if all(named.values()):
        return {cpu: kind for kind, cpus in named.items() for cpu in cpus}
    there = {int(path.name[3:]) for path in (SYS / "system/cpu").glob("cpu[0-9]*")}
    for file in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
        able = {cpu: _number(_told_of(cpu, file)) or 0 for cpu in there | set(allowed)}
        most = max(able.values(), default=0)
        if most and any(value < ALIKE * most for value in able.values() if value):
            return {cpu: PERFORMANCE if value >= ALIKE * most else EFFICIENCY for cpu, value in able.items() if value}
    return {}


def _told_of(cpu: int, file: str) -> str:
    return read_word(SYS / f"system/cpu/cpu{cpu}" / file)


def _told_of_all(file: str) -> set[str]:
    """What is told of any CPU."""
    return {read_word(path) for path in (SYS / "system/cpu").glob(f"cpu[0-9]*/{file}")} - {""}


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


# The vector extensions that decide how fast a product can be, as Linux calls them.
INSTRUCTIONS = (
    "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16", "amx_tile",
    "asimd", "asimdhp", "bf16", "sve",
)  # fmt: skip
# As macOS does, under hw.optional.
_ON_MACOS = {
    "sse4_2": "sse4_2", "avx1_0": "avx", "avx2_0": "avx2", "fma": "fma", "avx512f": "avx512f", "AdvSIMD": "asimd",
    "arm.AdvSIMD": "asimd", "arm.FEAT_FP16": "asimdhp", "arm.FEAT_BF16": "bf16",
}  # fmt: skip


@functools.cache
def cpu_model() -> str:
    """The CPU's name as it gives it, such as "Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz"."""
    told = re.search(r"^\s*Model name:(.*)$", output_of("lscpu"), re.MULTILINE)
    found = told[1].strip() if told else output_of("sysctl", "-n", "machdep.cpu.brand_string")
    return found or platform.processor() or platform.machine() or "unknown CPU"


def usable_cores() -> tuple[int, ...]:
    """One logical CPU for each physical core that this process may run on, as many as its CPU quota pays for."""
    cores = usable_topology()
    firsts = [core.cpus[0] for core in cores] if cores else list(range(psutil.cpu_count(logical=False) or 1))
    return tuple(sorted(firsts))[: paid_cpus(cpu_quota())]


def paid_cpus(quota: float | None) -> int | None:
    """How many CPUs at once a quota pays for; None if there is none."""
    return None if quota is None else max(1, math.floor(quota))


def socket_count() -> int | None:
    """How many CPU packages the machine has; None where the system does not tell."""
    return len(_told_of_all("topology/physical_package_id")) or None


def frequency_governor() -> str | None:
    """The rule by which the kernel sets the clocks; None where it leaves that to others (virtual machines)."""
    return ", ".join(sorted(_told_of_all("cpufreq/scaling_governor"))) or None


_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def cache_bytes(cpus: Collection[int], sys_cpu: Path = SYS / "system/cpu") -> dict[str, int]:
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


def cpu_flags() -> list[str]:
    """Those of `INSTRUCTIONS` that the CPU has."""
    if platform.system() == "Darwin":
        has = re.findall(r"^hw\.optional\.(\S+): 1$", output_of("sysctl", "hw.optional"), re.MULTILINE)
        return sorted({_ON_MACOS[name] for name in has if name in _ON_MACOS})
    text = ""
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text()
    told_of = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return sorted({*INSTRUCTIONS} & {*(told_of[1].split() if told_of else ())})
