"""respeed doctor: what this machine is, which profiles it can run, and whether it is fit to measure now."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
from tabulate import tabulate

from respeed.backends import make_backend
from respeed.errors import NotMeasurable
from respeed.inputs.config import load_config
from respeed.inputs.machines import told_of
from respeed.inputs.profiles import PROFILE_FILES, Profile
from respeed.machine.accelerators import device_facts, missing_device
from respeed.machine.cpu import cpu_flags, cpu_model, frequency_governor, show_list, usable_cores
from respeed.machine.description import machine_slug
from respeed.machine.energy import energy_in_a_line
from respeed.machine.limits import cpu_quota, memory_left
from respeed.machine.lock import who_measures
from respeed.machine.software import library_label, package_versions, scipy_library
from respeed.measure.case import make_bench
from respeed.protocol import REAL, quiet_probe
from respeed.schedule.availability import probe_device, resolve_threads

# A process that takes more than this of one core while we look will take it while we measure.
BUSY_SHARE = 0.05
# Steal time above this share of the cores says that the host gives them to others.
STEAL_SHARE = 0.01
LOOK_SECONDS = 1.0
# Swap in use above this share of the memory says that programs have to wait for their memory.
SWAP_SHARE = 0.1
# Probes of a few milliseconds each: a second of what a round would see.
PROBES = 200
# With more than this share of its probes slow, a machine would have most of its blocks discarded.
MAX_SLOW_SHARE = 0.2
# A reason that several profiles share is told once if it is longer.
LONG = 60


class Finding(NamedTuple):
    """One thing that was looked at; `advice` is empty where nothing is to be done."""

    subject: str
    found: str
    advice: str = ""


def examine() -> int:
    """Print what the machine is, what was found and what to do about it, and a line for every profile; the exit code is
    1 if the machine is not fit to measure."""
    name = load_config().machine or machine_slug()
    findings = [*_facts(name), *_cpu(), *_memory(), *_programs(), *_devices(), *_lock_and_steadiness()]
    rows = [(subject, found, advice or "–") for subject, found, advice in findings]
    print(f"{name}\n\n{tabulate(rows, ['looked at', 'found', 'do'], disable_numparse=True)}\n")
    headers = ["profile", "label", "applies", "threads and CPUs, or why not"]
    print(f"{tabulate(_profiles(), headers, disable_numparse=True)}\n")
    fit = not any(finding.advice for finding in findings)
    print(
        "fit to measure" if fit else "not quite fit to measure: see the column `do`; what is disturbed will be marked"
    )
    return 0 if fit else 1


def _facts(name: str) -> Iterator[Finding]:
    """Tell what the machine is; nothing here is to be mended."""
    yield Finding("CPU", f"{cpu_model()}: {len(usable_cores())} physical cores usable, {os.cpu_count()} logical CPUs")
    yield Finding("instructions", ", ".join(cpu_flags()))
    versions = {key: version for key, version in package_versions().items() if key != "respeed"}
    yield Finding("packages", ", ".join(f"{key} {version}" for key, version in versions.items()))
    yield Finding("BLAS of SciPy", library_label(scipy_library()))
    yield Finding("energy", energy_in_a_line())
    price = told.price if (told := told_of(name)) else None
    yield Finding("price", f"{price.per_hour:g} {price.currency} an hour" if price else "none is told")


def _cpu() -> Iterator[Finding]:
    quota, cores = cpu_quota(), psutil.cpu_count(logical=False) or 1
    fewer = "raise the container's CPU limit, or expect fewer threads" if quota is not None and quota < cores else ""
    yield Finding("CPU quota", "none" if quota is None else f"{quota:g} CPUs", fewer)
    allowed = len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else os.cpu_count()
    if allowed != os.cpu_count():
        yield Finding("affinity", f"this shell may use {allowed} logical CPUs", "start without taskset")
    if governor := frequency_governor():
        faster = "set it to performance: sudo cpupower frequency-set -g performance"
        yield Finding("frequency governor", governor, "" if governor == "performance" else faster)
    if battery := psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None:
        low = "" if battery.power_plugged else "plug it in: clocks are lower on battery"
        yield Finding("power", "battery" if low else "mains", low)


def _memory() -> Iterator[Finding]:
    memory, swap, left = psutil.virtual_memory(), psutil.swap_memory(), memory_left()
    limit = "" if left is None else f"; the control group leaves {left / 2**30:.1f} GiB"
    free = f"{memory.available / 2**30:.1f} of {memory.total / 2**30:.1f} GiB free{limit}"
    swapped = swap.used > SWAP_SHARE * memory.total
    yield Finding("memory", free, "close programs: memory was swapped out" if swapped else "")


def _programs() -> Iterator[Finding]:
    """Look for a second at what else runs, and what the host keeps from us."""
    for _ in psutil.process_iter(["cpu_percent"]):  # each share is one since this
        pass
    steal = getattr(psutil.cpu_times_percent(interval=LOOK_SECONDS), "steal", 0.0) / 100
    others = [one for one in psutil.process_iter(["cpu_percent", "name"]) if one.pid != os.getpid()]
    busy = sorted(((one.info["cpu_percent"] or 0.0, one.info["name"]) for one in others), reverse=True)
    names = [f"{name} ({percent:.0f}% of a core)" for percent, name in busy if percent > 100 * BUSY_SHARE]
    yield Finding("other programs", ", ".join(names[:4]) or "none busy", "close them, or measure later" * bool(names))
    if steal > STEAL_SHARE:
        yield Finding("host", f"gives {steal:.0%} of our time to others", "use a host of your own, or more rounds")
    if not Path("/proc/self/schedstat").exists():
        blind = "only the reference probe can see a busy neighbour; keep the machine idle"
        yield Finding("kernel", "does not tell how long threads wait for a core", blind)


def _devices() -> Iterator[Finding]:
    """Tell what NVIDIA's driver says of its devices, and how a moment's trial of each kind of row ended."""
    for facts in device_facts():
        told = [f"{fact.replace('_', ' ')} {value}" for fact, value in facts.items() if fact != "name"]
        limit, usual = (facts.get(key, 0.0) for key in ("power_limit_watts", "default_power_limit_watts"))
        advice = f"raise the power limit: sudo nvidia-smi -pl {usual:g}" if 0 < limit < usual else ""
        advice = "end the other programs on it, or measure later" if facts.get("processes") else advice
        yield Finding(facts.get("name", "NVIDIA GPU"), ", ".join(told), advice)
    rows = [one for one in PROFILE_FILES.load_right().values() if not (one.is_cpu or one.optional)]
    for backend, device in dict.fromkeys((one.backend, one.device) for one in rows if not missing_device(one.device)):
        answer = probe_device(backend, device, anew=True)
        reasons = [answer.get("reason"), *answer.get("reasons", {}).values()]
        reason = next(filter(None, reasons), "") if answer.get("reason") or None not in reasons[1:] else ""
        yield Finding(f"{backend} on {device}", "cannot be used" if reason else "a small product is right", reason)


def _lock_and_steadiness() -> Iterator[Finding]:
    """Measure the reference probe for a second, unless that would disturb another measurement."""
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
    seconds = [bench.probe.seconds() for _ in range(PROBES)]
    slow = sum(one > REAL.max_probe_ratio * quiet_probe(seconds) for one in seconds) / PROBES
    found = f"{slow:.0%} of {PROBES} products more than {REAL.max_probe_ratio - 1:.0%} slower than a quiet one"
    unsteady = "something disturbs the cores: measure later, or on a quieter host"
    yield Finding("reference probe", found, unsteady if slow > MAX_SLOW_SHARE else "")
    ran = proof["threads_ran"]
    wrong = "check OMP_NUM_THREADS and its like" if ran not in (None, cores) else ""
    yield Finding("threads", f"{'unknown' if ran is None else ran} ran, {cores} asked", wrong)


def _profiles() -> list[list[str]]:
    """Return a row for every profile: whether it applies here, on how many threads and which CPUs, or why not."""
    rows = sorted([name, one.label, *_applies(one)] for name, one in PROFILE_FILES.load_right().items())
    first = dict[str, str]()
    for row in rows:
        if (named := first.setdefault(row[-1], row[0])) != row[0] and len(row[-1]) > LONG:
            row[-1] = f"as {named}"
    return rows


def _applies(profile: Profile) -> tuple[str, str]:
    try:
        threads, cpus = resolve_threads(profile)
    except NotMeasurable as reason:
        return "no", str(reason)
    where = f" on CPU {show_list(cpus)}" if cpus else ""
    named = ", measured only where it is named" if profile.optional else ""
    return "yes", f"{threads} thread{'s' if threads > 1 else ''}{where}{named}"
