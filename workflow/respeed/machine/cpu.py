"""The CPU, and which of its cores this process may use."""

import functools
import json
import math
import os
import platform
import subprocess
from pathlib import Path

import psutil

from respeed.control_group import cpu_quota
from respeed.machine.topology import SYS, usable_topology

_SYS_CPU = SYS / "system/cpu"
# As Linux calls them.
TELLING = frozenset({
    "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16", "amx_tile",
    "asimd", "asimdhp", "bf16", "sve",
})  # fmt: skip
# As macOS does, under hw.optional.
_ON_MACOS = {
    "sse4_2": "sse4_2", "avx1_0": "avx", "avx2_0": "avx2", "fma": "fma", "avx512f": "avx512f", "AdvSIMD": "asimd",
    "arm.AdvSIMD": "asimd", "arm.FEAT_FP16": "asimdhp", "arm.FEAT_BF16": "bf16",
}  # fmt: skip


@functools.cache
def cpu_model() -> str:
    """The CPU's name as it gives it, such as "Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz"."""
    for command, read in ((["lscpu", "-J"], _lscpu_model), (["sysctl", "-n", "machdep.cpu.brand_string"], str.strip)):
        try:
            text = subprocess.run(
                command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}
            )
            if model := read(text.stdout):
                return model
        except (OSError, subprocess.CalledProcessError, ValueError):
            continue
    return platform.processor() or platform.machine() or "unknown CPU"


def _lscpu_model(text: str) -> str:
    def walk(fields: list[dict]) -> str:  # type: ignore[type-arg]
        for field in fields:
            if field["field"] == "Model name:":
                return str(field["data"]).strip()
            if found := walk(field.get("children", [])):
                return found
        return ""

    return walk(json.loads(text)["lscpu"])


def usable_cores(sys: Path = SYS) -> tuple[int, ...]:
    """One logical CPU for each physical core that this process may run on, as many as its CPU quota pays for."""
    cores = usable_topology(sys)
    firsts = [core.cpus[0] for core in cores] if cores else list(range(psutil.cpu_count(logical=False) or 1))
    return tuple(sorted(firsts))[: paid_cpus(cpu_quota())]


def paid_cpus(quota: float | None) -> int | None:
    """How many CPUs at once a quota pays for; None if there is none."""
    return None if quota is None else max(1, math.floor(quota))


def socket_count(sys_cpu: Path = _SYS_CPU) -> int | None:
    """How many CPU packages the machine has; None where the system does not tell."""
    found = set()
    for path in sys_cpu.glob("cpu[0-9]*/topology/physical_package_id"):
        found.add(path.read_text().strip())
    return len(found) or None


def frequency_governor() -> str | None:
    """The rule by which the kernel sets the clocks; None where it leaves that to others (virtual machines)."""
    found = {path.read_text().strip() for path in _SYS_CPU.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(found)) or None


def cpu_flags() -> list[str]:
    """The vector extensions that decide how fast a product can be, of those the CPU has."""
    if platform.system() == "Darwin":
        return _flags_of_macos()
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return []
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in {"flags", "Features"}:
            return sorted(TELLING & set(value.split()))
    return []


def _flags_of_macos() -> list[str]:
    try:
        text = subprocess.run(["sysctl", "hw.optional"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    has = {
        name.removeprefix("hw.optional.")
        for name, _, value in (line.partition(": ") for line in text.splitlines())
        if value == "1"
    }
    return sorted({flag for name, flag in _ON_MACOS.items() if name in has})
