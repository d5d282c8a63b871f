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
# A core with at most this share of the largest core's capacity is small; those of one kind differ by a few percent.
SMALL_SHARE = 0.8
# The kernel's number for the largest core's capacity.
LARGEST = 1024
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
    """Return the logical CPUs of each physical core that this process may run on, the largest cores first.

    Returns None where the system cannot bind a process to CPUs (macOS).
    """
    cores: dict[str, list[int]] = {}
    for cpu in allowed_cpus():
        siblings = read_word(SYS / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu)
        cores.setdefault(siblings, []).append(cpu)
    return sorted(cores.values(), key=lambda core: -_capacity(core[0])) or None


def _capacity(cpu: int) -> float:
    """Return how much a CPU computes, as a share of the largest; 1 if the system does not tell cores apart."""
    if reported := read_word(SYS / f"cpu{cpu}/cpu_capacity"):
        return int(reported) / LARGEST
    # Older kernels report only which of Intel's cores are efficient ones.
    is_efficient = cpu in (parse_list(read_word(SYS.parents[1] / "cpu_atom/cpus")) or ())
    return SMALL_SHARE if is_efficient else 1.0


def small_cores() -> int:
    """Return how many of the usable cores are much smaller than the largest one."""
    capacities = [_capacity(cpu) for cpu in usable_cores()]
    return sum(capacity <= SMALL_SHARE * max(capacities) for capacity in capacities)


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
    names = (
        line[1] if line else "",
        output_of("sysctl", "-n", "machdep.cpu.brand_string"),
        _cpuinfo("model name"),
        f"ARM {_cpuinfo('CPU implementer')} {part}" if (part := _cpuinfo("CPU part")) else "",
        platform.processor(),
        platform.machine(),
    )
    # Some have runs of spaces in their name, which records have as one; lscpu prints "-" for a name that is not known.
    return next((name for name in map(squeeze, names) if name not in ("", "-")), "unknown CPU")


def _cpuinfo(key: str) -> str:
    """Return the value of a key in Linux's description of the first CPU; "" if there is none."""
    line = re.search(rf"^{key}\s*:(.*)$", read_word(Path("/proc/cpuinfo")), re.MULTILINE)
    return line[1] if line else ""


def cpu_flags() -> list[str]:
    """Return those vector extensions in `INSTRUCTIONS` that the CPU has."""
    if platform.system() == "Darwin":
        has = re.findall(r"^hw\.optional\.(\S+): 1$", output_of("sysctl", "hw.optional"), re.MULTILINE)
        return sorted(_ON_MACOS[name] for name in has if name in _ON_MACOS)
    return sorted({*INSTRUCTIONS}.intersection(_cpuinfo("(?:flags|Features)").split()))


def frequency_governor() -> str | None:
    """Return the kernel's rule for the CPUs' clocks; None if the kernel does not set the clocks (virtual machines)."""
    governors = {read_word(path) for path in SYS.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(governors)) or None
