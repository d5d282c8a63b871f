"""respeed doctor: this machine's hardware, the profiles that it can run, and whether it is fit to measure now."""

import math
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

import psutil
from tabulate import tabulate

from respeed.analysis.neighbours import find_quiet
from respeed.backends import make_backend
from respeed.errors import NotMeasurable
from respeed.inputs.config import load_config
from respeed.inputs.machines import PROFILE_FILES
from respeed.machine.cpu import cpu_flags, cpu_model, frequency_governor, show_list, small_cores, usable_cores
from respeed.machine.devices import cpu_counters, device_facts, missing_device
from respeed.machine.process import cpu_quota, memory_left, who_measures
from respeed.machine.software import library_label, package_versions, scipy_library
from respeed.measure.case import make_bench
from respeed.measure.timing import difference, seconds_now, take_snapshot, wrong_clock
from respeed.protocol import REAL
from respeed.schedule.rows import find_rows, probe_device
from respeed.text import NOTHING, counted

# A process that takes more than this share of a core while we look will probably take as much while we measure.
BUSY_SHARE = 0.05
# The counters of all CPUs have a grain of 10 ms, and programs that have just ended are not shown either.
HIDDEN_SHARE = 0.25
# Steal time above this share of the cores shows that the host gives them to others.
STEAL_SHARE = 0.01
LOOK_SECONDS = 1.0
# Swap in use above this share of the memory shows that programs have to wait for their memory.
SWAP_SHARE = 0.1
# Probes of a few milliseconds each, so about a second in all.
PROBES = 200
# With more than this share of its probes slow, a machine has neighbours that widen its intervals.
MAX_SLOW_SHARE = 0.2


class Finding(NamedTuple):
    """One `subject` that was examined, and its `state`; `advice` is None if nothing needs to be done."""

    subject: str
    state: str
    advice: str | None = None


def examine() -> int:
    """Print the facts of the machine, each finding with advice, and a line for every profile.

    Returns
    -------
    int
        The exit code: 1 if there is any advice, otherwise 0.
    """
    name = load_config().this_machine
    findings = [*_facts(), *_cpu(), *_memory(), *_programs(), *_devices(), *_lock_and_steadiness()]
    table = tabulate(findings, ["looked at", "found", "do"], missingval=NOTHING)
    print(f"{name}\n\n{table}\n")
    headers = ["profile", "label", "applies", "threads and CPUs, or why not"]
    print(f"{tabulate(_profiles(), headers)}\n")
    if not any(finding.advice for finding in findings):
        print("fit to measure")
        return 0
    print("can measure, with advice: see the column `do`; disturbed results will be marked")
    return 1


def _facts() -> Iterator[Finding]:
    """Yield the facts of the machine, none of which needs advice."""
    cores = f"{len(usable_cores())} physical cores usable"
    if small := small_cores():
        cores += f" of two kinds, {small} of them small"
    yield Finding("CPU", f"{cpu_model()}: {cores}, {os.cpu_count()} logical CPUs")
    yield Finding("instructions", ", ".join(cpu_flags()))
    yield Finding("packages", ", ".join(f"{name} {version}" for name, version in package_versions().items()))
    yield Finding("BLAS of SciPy", library_label(scipy_library()))
    counters, why_not = cpu_counters()
    domains = [counter.domain for counter in counters]
    yield Finding("energy", ", ".join(domains) or f"not measured: {why_not}")


def _cpu() -> Iterator[Finding]:
    if wrong := wrong_clock():
        yield Finding("clock", wrong, "set it")
    quota = cpu_quota()
    if quota is None:
        yield Finding("CPU quota", "none")
    else:
        is_enough = quota >= (psutil.cpu_count(logical=False) or 1)
        advice = None if is_enough else "raise the container's CPU limit, or expect fewer threads"
        yield Finding("CPU quota", f"{quota:g} CPUs", advice)
    if governor := frequency_governor():
        advice = "set it to performance: sudo cpupower frequency-set -g performance"
        yield Finding("frequency governor", governor, None if governor == "performance" else advice)
    battery = getattr(psutil, "sensors_battery", lambda: None)()
    if battery and not battery.power_plugged:
        yield Finding("power", "battery", "plug it in: clocks are lower on battery")


def _memory() -> Iterator[Finding]:
    memory = psutil.virtual_memory()
    free = f"{memory.available / 2**30:.1f} of {memory.total / 2**30:.1f} GiB free"
    allowed = memory_left()
    if allowed is not None:
        free += f"; the control group leaves {allowed / 2**30:.1f} GiB"
    is_swapped = psutil.swap_memory().used > SWAP_SHARE * memory.total
    yield Finding("memory", free, "close programs: memory was swapped out" if is_swapped else None)


def _programs() -> Iterator[Finding]:
    """Watch for a second how busy other programs are, and what share of our CPU time the host gives to others."""
    for _ in psutil.process_iter(["cpu_percent"]):  # the shares below are counted from here on
        pass
    before = _cpu_seconds()
    time.sleep(LOOK_SECONDS)
    spent = {name: max(seconds - before[name], 0.0) for name, seconds in _cpu_seconds().items()}
    steal = 100 * spent.get("steal", 0.0) / (math.fsum(spent.values()) or math.inf)
    shares = []
    for process in psutil.process_iter(["cpu_percent", "name"]):
        shares.append((process.info["cpu_percent"] or 0.0, process.info["name"], process.pid != os.getpid()))
    busy = [
        f"{name} ({percent:.0f}% of a core)"
        for percent, name, is_other in sorted(shares, reverse=True)
        if is_other and percent > 100 * BUSY_SHARE
    ]
    if busy:
        yield Finding("other programs", ", ".join(busy[:4]), "close them, or measure later")
    else:
        yield Finding("other programs", "none busy")
    # Other users' programs may be hidden, as those outside of a container are; the counters of all CPUs have them.
    working = math.fsum(seconds for name, seconds in spent.items() if name not in ("idle", "iowait", "steal"))
    hidden = 100 * working / LOOK_SECONDS - sum(percent for percent, *_ in shares)
    if hidden > 100 * HIDDEN_SHARE:
        yield Finding("hidden programs", f"busy ({hidden:.0f}% of a core)", "measure when nobody else uses this host")
    if steal > 100 * STEAL_SHARE:
        yield Finding("host", f"gives {steal:.0f}% of our time to others", "use a host of your own, or more rounds")


def _cpu_seconds() -> dict[str, float]:
    """Return the seconds that all CPUs together spent in each way; a guest's are in the user's."""
    times = psutil.cpu_times()._asdict()
    return {name: seconds for name, seconds in times.items() if not name.startswith("guest")}


def _devices() -> Iterator[Finding]:
    """Yield the driver's facts of NVIDIA's devices, and whether each backend computes rightly on each device."""
    for facts in device_facts():
        name = facts.pop("name", "NVIDIA GPU")
        texts = [f"{fact.replace('_', ' ')} {value}" for fact, value in facts.items()]
        usual = facts.get("default_power_limit_watts", 0.0)
        advice = None
        if facts.get("processes"):
            advice = "end the other programs on it, or measure later"
        elif 0 < facts.get("power_limit_watts", 0.0) < usual:
            advice = f"raise the power limit: sudo nvidia-smi -pl {usual:g}"
        yield Finding(name, ", ".join(texts), advice)
    profiles = PROFILE_FILES.load_all(chosen=()).values()
    rows = [row for row in profiles if not (row.is_cpu or row.optional or missing_device(row.device))]
    for backend, device in dict.fromkeys((row.backend, row.device) for row in rows):
        answer = probe_device(backend, device, anew=True)
        reasons = [*answer.get("reasons", {"": answer.get("reason")}).values()]  # of each precision, or of all
        if None in reasons:
            yield Finding(f"{backend} on {device}", "a small product is right")
        else:
            yield Finding(f"{backend} on {device}", "cannot be used", reasons[0])


def _lock_and_steadiness() -> Iterator[Finding]:
    """Time the reference probe and count the threads that run, unless another measurement is running."""
    if holder := who_measures():
        yield Finding("respeed", f"another measurement is running: {holder}", "wait for it")
        return
    cores = len(usable_cores())
    try:
        backend = make_backend("numpy", device="cpu", precision="fp32", threads=cores, seed=0)
    except NotMeasurable as reason:
        yield Finding("reference probe", f"not looked at: {reason}")
        return
    bench, proof = make_bench(backend)
    before = take_snapshot()
    began = seconds_now()
    probes = [bench.probe.seconds() for _ in range(PROBES)]
    lost = difference(before, take_snapshot())["throttled_seconds"] or 0.0
    hot_share = lost / (seconds_now() - began)
    if hot_share > REAL.max_lost_share:
        advice = "cool it, or expect lower clocks: a machine that is always hot is measured as it is"
        yield Finding("clocks", f"lowered for heat for {hot_share:.0%} of the time", advice)
    limit = REAL.max_probe_ratio * find_quiet([probes]).seconds
    slow = sum(seconds > limit for seconds in probes) / PROBES
    state = f"{slow:.0%} of {PROBES} products more than {REAL.max_probe_ratio - 1:.0%} slower than a quiet one"
    advice = "neighbours take part of the cores, and intervals will be wider: measure later, or on a quieter host"
    yield Finding("reference probe", state, advice if slow > MAX_SLOW_SHARE else None)
    threads = proof["threads_ran"]
    if threads is None:
        yield Finding("threads", f"unknown ran, {cores} asked")
    else:
        advice = "check OMP_NUM_THREADS and its like; OpenBLAS in wheels has at most 64 threads"
        yield Finding("threads", f"{threads} ran, {cores} asked", advice if threads != cores else None)


def _profiles() -> list[list[str]]:
    """Return a line for every profile: whether this machine can run it, and its threads and CPUs, or why not."""
    profiles = PROFILE_FILES.load_all(chosen=())
    rows, why_not = find_rows(profiles)
    lines = [[name, profiles[name].label, "no", reason] for name, reason in why_not.items()]
    for name, row in rows.items():
        text = counted(row.threads, "thread")
        if row.cpus:
            text += f" on CPU {show_list(row.cpus)}"
        if row.profile.optional:
            text += ", measured only where it is named"
        lines.append([name, row.profile.label, "yes", text])
    return sorted(lines)
