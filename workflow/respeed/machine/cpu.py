"""The CPU: its name, vector extensions and governor, its physical cores, and the highest rates that it should reach.

Only this module reads what lscpu, /proc/cpuinfo and macOS say of the CPU.
"""

import functools
import math
import platform
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from respeed.machine.process import allowed_cpus, cpu_quota, output_of, read_word
from respeed.text import counted, squeeze

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
# FLOP in fp32 that a core does in a cycle, by the flags of its vector extension: two units of 16 or 8 multiply-adds;
# before FMA, a unit that adds and one that multiplies; with NEON, two pipes of 4 multiply-adds.
EXTENSIONS = {
    ("avx512f",): (64, "AVX-512 on two units"),
    ("avx2", "fma"): (32, "AVX2 and FMA on two units"),
    ("avx",): (16, "AVX"),
    ("sse2",): (8, "SSE2"),
    ("asimd",): (16, "NEON on two pipes"),
}  # fmt: skip
# Cores of another number of units than most, by the maker, family and model that they report: their FLOP in a cycle.
# By Intel's product pages ("# of AVX-512 FMA Units"), AMD's and Arm's software optimization guides, and for others by
# Agner Fog's tables of instructions and chipsandcheese.com.
CORES = {
    "AuthenticAMD 21 ": (16, "two units of 128 bits for a module of two cores"),
    "(AuthenticAMD 23 ([0-9]|[1-3][0-9]|4[0-7])|HygonGenuine 24) ": (16, "Zen's units of 128 bits"),
    "AuthenticAMD 25 ": (32, "Zen 4's units of 256 bits"),
    "AuthenticAMD 26 (3[2-9]|4[0-7]|9[6-9]|10[0-9]|11[01]) ": (32, "the units of 256 bits of Zen 5 in notebooks"),
    "GenuineIntel 6 (102|125|126|140|141|167) ": (32, "AVX-512 on one unit"),
    "GenuineIntel 6 85 .*(Bronze|Silver|Gold 5[12](?!22)|D-21)": (32, "AVX-512 on one unit"),
    "GenuineIntel 6 (151|154|170|172|181|183|186|191) .*small": (16, "an efficient core's units of 128 bits"),
    "GenuineIntel 6 (175|182|190) ": (16, "an efficient core's units of 128 bits"),
    "0x41 0xd0[3-9a] ": (8, "NEON on pipes of 64 bits"),
    "0x41 0xd(40|44|48|4[cef]|8[234]) ": (32, "NEON on four pipes"),
    "0x41 0xd85 ": (48, "NEON on six pipes"),
    "0x51 0x001 ": (32, "NEON on four pipes"),
    "(0x61 |Apple M).*small": (16, "NEON on two pipes, besides Apple's matrix units"),
    "(0x61 |Apple M)": (32, "NEON on four pipes, besides Apple's matrix units"),
}
# The bytes of an SVE register. On two pipes, multiply-adds of fp32, of four bytes each, are one FLOP for each byte.
SVE_BYTES = Path("/proc/sys/abi/sve_default_vector_length")


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
    # Older kernels report only which of Intel's cores are efficient ones, and macOS how many of Apple's are not.
    is_efficient = cpu in (parse_list(read_word(SYS.parents[1] / "cpu_atom/cpus")) or ())
    large = _sysctl().get("hw.perflevel0.physicalcpu")
    return SMALL_SHARE if is_efficient or (large and cpu >= int(large)) else 1.0


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


def cpu_model() -> str:
    """Return the name that the CPU reports, such as "Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz"."""
    facts = _cpuinfo()[0]
    part = facts.get("CPU part", "")
    names = (
        _lscpu().get("Model name", ""),
        _sysctl().get("machdep.cpu.brand_string", ""),
        facts.get("model name", ""),
        f"ARM {facts.get('CPU implementer', '')} {part}" if part else "",
        platform.processor(),
        platform.machine(),
    )
    # Some have runs of spaces in their name, which records have as one; lscpu prints "-" for a name that is not known.
    return next((name for name in map(squeeze, names) if name not in ("", "-")), "unknown CPU")


@functools.cache
def _lscpu() -> dict[str, str]:
    """Return what lscpu says, by its words; nothing where it is not installed."""
    return _fields(output_of("lscpu"))


@functools.cache
def _sysctl() -> dict[str, str]:
    """Return what macOS says of its hardware, by name; nothing elsewhere."""
    return _fields(output_of("sysctl", "hw", "machdep.cpu")) if platform.system() == "Darwin" else {}


@functools.cache
def _cpuinfo() -> list[dict[str, str]]:
    """Return what Linux says of each logical CPU, by key; one empty description where it says nothing."""
    return [_fields(block) for block in read_word(Path("/proc/cpuinfo")).split("\n\n")]


def _fields(text: str) -> dict[str, str]:
    """Return the values in lines such as "key: value"; of a key that comes again, the first one."""
    lines = re.findall(r"^\s*([^:\n]*[^:\s])\s*:[ \t]*(.*?)\s*$", text, re.MULTILINE)
    return dict(reversed(lines))


def _facts(cpu: int) -> dict[str, str]:
    """Return what Linux says of one logical CPU; of the first one where it does not number them."""
    blocks = _cpuinfo()
    return next((block for block in blocks if block.get("processor") == str(cpu)), blocks[0])


def _flags(facts: dict[str, str]) -> set[str]:
    """Return the names of all extensions in a CPU's description; on macOS, of those that we know of."""
    of_macos = {name for fact, name in _ON_MACOS.items() if _sysctl().get(f"hw.optional.{fact}") == "1"}
    return of_macos | {*facts.get("flags", facts.get("Features", "")).split()}


def cpu_flags() -> list[str]:
    """Return those vector extensions in `INSTRUCTIONS` that the CPU has."""
    return sorted(_flags(_cpuinfo()[0]).intersection(INSTRUCTIONS))


def is_virtual() -> bool:
    """Return whether this is known to be a virtual machine, whose CPUs may be threads that share a physical core."""
    return "hypervisor" in _flags(_cpuinfo()[0]) or "Hypervisor vendor" in _lscpu()


class Clock(NamedTuple):
    """The highest clock of a core in GHz, None if the system does not report it.

    `source` says where the number is from if the highest clock may be higher, else it is empty.
    """

    ghz: float | None
    source: str = ""


def highest_clock(cpu: int) -> Clock:
    """Return the highest clock of the core that a logical CPU is on.

    Virtual machines do not report it: then the clock in the CPU's name and the present clocks are lower bounds.
    """
    in_khz = _as_number(read_word(SYS / f"cpu{cpu}/cpufreq/cpuinfo_max_freq"))
    in_mhz = _as_number(_lscpu().get("CPU max MHz", ""))
    if reported := 1e-6 * in_khz or 1e-3 * in_mhz:
        return Clock(reported)
    in_name = re.search(r"@ ([0-9.]+) ?GHz", cpu_model())
    named = _as_number(in_name[1]) if in_name else 0.0
    present = 1e-3 * max(_as_number(facts.get("cpu MHz", "")) for facts in _cpuinfo())
    if named >= present:
        return Clock(named or None, "the clock in the CPU's name" if named else "")
    return Clock(present, "the present clock")


def _as_number(text: str) -> float:
    """Return the number that a text is; 0 if it is none."""
    return float(text) if re.fullmatch(r"[0-9]+(\.[0-9]*)?", text) else 0.0


class Core(NamedTuple):
    """A kind of core: its highest clock, its FLOP in fp32 in a cycle (None if not known), and of which units."""

    clock: Clock
    flop: int | None
    units: str


def describe_core(cpu: int) -> Core:
    """Return the kind of the core that a logical CPU is on.

    The number of FLOP is a bound: flags do not tell how many units compute. No core of x86 does more than its flags
    allow, which a hypervisor may have chosen.
    """
    facts = _facts(cpu)
    flags = _flags(facts)
    clock = highest_clock(cpu)
    extensions = [counts for names, counts in EXTENSIONS.items() if flags.issuperset(names)]
    if not extensions:
        return Core(clock, None, "")
    flop, units = extensions[0]
    keys = ("vendor_id", "cpu family", "model", "CPU implementer", "CPU part")
    size = "small" if _capacity(cpu) <= SMALL_SHARE else "large"
    kind = squeeze(" ".join([*(facts.get(key, "") for key in keys), cpu_model(), size]))
    of_kind = next((counts for pattern, counts in CORES.items() if re.match(pattern, kind)), None)
    if of_kind and ("asimd" in flags or of_kind[0] < flop):
        flop, units = of_kind
    width = int(_as_number(read_word(SVE_BYTES))) if "sve" in flags else 0
    return Core(clock, width, f"SVE of {8 * width} bits on two pipes") if width > flop else Core(clock, flop, units)


class Bound(NamedTuple):
    """The highest rate, in GFLOP/s or GB/s, that hardware can have, and how it is computed.

    If `rate` is None, `how` says why. `remark` says what the computation takes for granted.
    """

    rate: float | None
    how: str
    remark: str = ""


def peak_of_cores(cpus: Sequence[int]) -> Bound:
    """Return the highest GFLOP/s in fp32 of the cores of these CPUs: cores x highest clock x FLOP in a cycle."""
    rate = 0.0
    terms = []
    remarks = dict[str, None]()
    for core, count in Counter(map(describe_core, cpus)).items():
        if core.flop is None:
            return Bound(None, "none of its vector extensions is known here")
        units = f"{core.flop} FLOP a cycle: {core.units}"
        if core.clock.ghz is None:
            return Bound(None, "the system reports no clock", units)
        rate += count * core.clock.ghz * core.flop
        terms.append(f"{counted(count, 'core')} x {core.clock.ghz:.3g} GHz x {core.flop} FLOP")
        remarks[units] = None
        if core.clock.source:
            remarks[f"{core.clock.ghz:.3g} GHz is {core.clock.source}, and the highest one may be higher"] = None
    return Bound(rate, " + ".join(terms), "; ".join(remarks))


def frequency_governor() -> str | None:
    """Return the kernel's rule for the CPUs' clocks; None if the kernel does not set the clocks (virtual machines)."""
    governors = {read_word(path) for path in SYS.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(governors)) or None
