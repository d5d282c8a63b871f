"""Is this machine fit to measure now? What the system tells without timing anything."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from respeed.machine.cgroup import cpu_quota, memory_left
from respeed.machine.cpu import frequency_governor, usable_cores, usable_topology

# A process that takes more than this of one core while we look will take it while we measure.
BUSY_SHARE = 0.05
# Steal time above this share of the cores says that the host gives them to others.
STEAL_SHARE = 0.01
LOOK_SECONDS = 1.0

_SCHEDSTAT = Path("/proc/self/schedstat")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `advice` is empty where nothing is to be done."""

    subject: str
    found: str
    advice: str = ""


def examine_machine() -> list[Finding]:
    """Everything that is known to spoil measurements and can be seen beforehand."""
    return [*_cores(), _quota(), *_governor(), *_busy(), *_power(), _memory(), _sight()]


def _cores() -> Iterator[Finding]:
    cores, logical = len(usable_cores()), os.cpu_count() or 1
    yield Finding("cores", f"{cores} physical cores usable, {logical} logical CPUs")
    if hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) < logical:
        yield Finding("affinity", f"this shell may use {len(os.sched_getaffinity(0))} of them", "start without taskset")


def _quota() -> Finding:
    quota = cpu_quota()
    if quota is None:
        return Finding("CPU quota", "none")
    topology = usable_topology()
    cores = psutil.cpu_count(logical=False) or 1 if topology is None else len(topology)
    advice = "" if quota >= cores else "raise the container's CPU limit, or expect fewer threads"
    return Finding("CPU quota", f"{quota:g} CPUs", advice)


def _governor() -> Iterator[Finding]:
    if governor := frequency_governor():
        slow = governor != "performance"
        advice = "set it to performance: sudo cpupower frequency-set -g performance" if slow else ""
        yield Finding("frequency governor", governor, advice)


def _busy() -> Iterator[Finding]:
    """Look for a second at what runs: processes by name, and what the host keeps from us."""
    processes = [process for process in psutil.process_iter() if process.pid != os.getpid()]
    for process in processes:
        _percent(process)
    times = psutil.cpu_times_percent(interval=LOOK_SECONDS)
    busy = sorted(((_percent(process), process) for process in processes), key=lambda item: -item[0])
    names = [f"{_name(process)} ({share:.0%} of a core)" for share, process in busy if share > BUSY_SHARE]
    advice = "close it, or measure later" if names else ""
    yield Finding("other programs", ", ".join(names[:4]) or "none busy", advice)
    steal = getattr(times, "steal", 0.0) / 100
    if steal > STEAL_SHARE:
        yield Finding("host", f"gives {steal:.0%} of our time to others", "use a host of your own, or more rounds")


def _percent(process: psutil.Process) -> float:
    """Share of one core since the last call for this process; 0 for one that has ended."""
    try:
        return process.cpu_percent() / 100
    except psutil.Error:
        return 0.0


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return f"process {process.pid}"


def _power() -> Iterator[Finding]:
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    if battery is not None:
        plugged = bool(battery.power_plugged)
        yield Finding(
            "power", "mains" if plugged else "battery", "" if plugged else "plug it in: clocks are lower on battery"
        )


def _memory() -> Finding:
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    advice = "close programs: memory was swapped out" if swap.used > 0.1 * memory.total else ""
    left = memory_left()
    limit = "" if left is None else f"; the control group leaves {left / 2**30:.1f}"
    return Finding("memory", f"{memory.available / 2**30:.1f} of {memory.total / 2**30:.1f} GiB free{limit}", advice)


def _sight() -> Finding:
    if _SCHEDSTAT.exists():
        return Finding("disturbances", "the kernel tells how long threads wait for a core")
    return Finding(
        "disturbances",
        "this kernel does not tell how long threads wait for a core",
        "only the reference probe can see a busy neighbour here; keep the machine idle",
    )
