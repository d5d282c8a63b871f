"""The CPU: its name, vector extensions and frequency governor, and which logical CPUs form a physical core."""

import functools
import math
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from respeed.machine.process import allowed_cpus, cpu_quota, output_of, read_word
from respeed.text import squeeze

# No machine has CPU numbers of more digits.
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
# Linux's files about its CPUs.
SYS = Path("/sys/devices/system/cpu")
# The vector extensions that decide how fast a matrix product can be, by Linux's names; below, macOS's names, under
# hw.optional.
INSTRUCTIONS = (
    "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16", "amx_tile",
    "asimd", "asimdhp", "bf16", "sve",
)  # fmt: skip
_ON_MACOS = {"AdvSIMD": "asimd", "arm.FEAT_FP16": "asimdhp", "arm.FEAT_BF16": "bf16"}


def parse_list(text: str) -> tuple[int, ...] | None:
    """Return the sorted CPUs of a list in Linux's notation, such as "0-3,8"; None if `text` is no such list."""
    listed = set[int]()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        cpus = range(int(match[1]), int(match[2] or match[1]) + 1) if match else ()
        if not cpus:
            return None
        listed.update(cpus)
    return tuple(sorted(listed))


def show_list(cpus: Iterable[int]) -> str:
    """Return CPUs as the shortest list that `parse_list` reads, such as "0-3, 8"."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def choice_as_text(value: Any) -> str:
    """Return a profile's list of CPUs, a text or a list of numbers, as one text; raise ValueError if it is neither."""
    listed = parse_list(",".join(map(str, value)) if isinstance(value, list) else str(value))
    if listed is None:
        raise ValueError("must be a list of CPUs such as 0-3,8 or [0, 1]")
    return show_list(listed)


def core_cpus() -> list[list[int]] | None:
    """Return the logical CPUs of each physical core that this process may run on.

    Returns None where the system cannot bind a process to CPUs (macOS).
    """
    cores: dict[str, list[int]] = {}
    for cpu in allowed_cpus():
        siblings = read_word(SYS / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu)
        cores.setdefault(siblings, []).append(cpu)
    return list(cores.values()) or None


def usable_cores() -> tuple[int, ...]:
    """Return one logical CPU of each physical core this process may run on, at most as many as its quota allows."""
    cores = core_cpus()
    firsts = [core[0] for core in cores] if cores else list(range(psutil.cpu_count(logical=False) or 1))
    return tuple(firsts[: paid_cpus(cpu_quota())])


def paid_cpus(quota: float | None) -> int | None:
    """Return how many CPUs a quota allows at the same time, at least 1; None if there is no quota."""
    return None if quota is None else max(1, math.floor(quota))


@functools.cache
def cpu_model() -> str:
    """Return the name that the CPU reports, such as "Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz"."""
    line = re.search(r"^\s*Model name:(.*)$", output_of("lscpu"), re.MULTILINE)
    name = line[1] if line else output_of("sysctl", "-n", "machdep.cpu.brand_string")
    # Some have runs of spaces in their name, which records have as one.
    return squeeze(name) or platform.processor() or platform.machine() or "unknown CPU"


def cpu_flags() -> list[str]:
    """Return those vector extensions in `INSTRUCTIONS` that the CPU has."""
    if platform.system() == "Darwin":
        has = re.findall(r"^hw\.optional\.(\S+): 1$", output_of("sysctl", "hw.optional"), re.MULTILINE)
        return sorted(_ON_MACOS[name] for name in has if name in _ON_MACOS)
    line = re.search(r"^(?:flags|Features)\s*:(.*)$", read_word(Path("/proc/cpuinfo")), re.MULTILINE)
    words = line[1].split() if line else []
    return sorted({*INSTRUCTIONS}.intersection(words))


def frequency_governor() -> str | None:
    """Return the kernel's rule for the CPUs' clocks; None if the kernel does not set the clocks (virtual machines)."""
    governors = {read_word(path) for path in SYS.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(governors)) or None
