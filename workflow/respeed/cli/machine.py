"""respeed hardware: what this machine is, and which profiles apply. respeed doctor: is it fit to measure now?"""

import contextlib
import importlib.metadata
import importlib.util
import os
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from tabulate import tabulate

from respeed.backends import make_backend, scipy_backend
from respeed.errors import NotMeasurable
from respeed.inputs.config import denied_papers, load_config
from respeed.inputs.machines import read_told, told_machines
from respeed.inputs.papers import read_paper
from respeed.inputs.profiles import Profile, read_profiles
from respeed.machine.accelerators import NAMELESS, device_facts, device_users, missing_device
from respeed.machine.cpu import cores_of_facts, frequency_governor, show_list, usable_cores, usable_topology
from respeed.machine.description import describe_machine, machine_slug
from respeed.machine.energy import energy_in_a_line
from respeed.machine.limits import cpu_quota, memory_left
from respeed.machine.own_packages import upon
from respeed.machine.software import library_label, package_versions, packages_of_own_python
from respeed.measure.case import make_bench
from respeed.measure.lock import Holder, who_measures
from respeed.protocol import REAL, quiet_probe
from respeed.records.fingerprint import FIELDS
from respeed.schedule.availability import probe_device, resolve_threads

# A process that takes more than this of one core while we look will take it while we measure.
BUSY_SHARE = 0.05
# Steal time above this share of the cores says that the host gives them to others.
STEAL_SHARE = 0.01
LOOK_SECONDS = 1.0
# A reason that several profiles share is told once if it is longer.
LONG = 60
# The host's own numbers of processes, no container's (include/uapi/linux/nsfs.h, PID_NS_INIT_INO).
HOSTS_PROCESSES = f"pid:[{0xEFFFFFFC}]"
_COMPILER, _HEADERS = "a C compiler (Debian: apt install gcc)", "Python's headers (Debian: apt install python3-dev)"
# Probes of a few milliseconds each: a second of what a round would see.
PROBES = 200
# With more than this share of its probes slow, a machine would have most of its blocks discarded.
MAX_SLOW_SHARE = 0.2


def show_hardware() -> None:
    """Print the machine and a line for every profile."""
    machine, name = describe_machine(), load_config(strict=False).machine or machine_slug()
    print(f"{name}\n")
    told = [("price", _price(name)), ("energy", energy_in_a_line())]
    for field, text in [*_lines(machine), *told]:
        print(f"  {field:<20} {text}")
    print(f"\nwhat tells it from other machines (its fingerprint): {', '.join(FIELDS.values())}")
    profiles, wrong = read_profiles()
    rows = {profile.name: [profile.label, *_applies(profile)] for profile in profiles.values()}
    rows |= {name: ["–", "wrong", mistakes[0]] for name, mistakes in wrong.items()}
    headers, first = ["profile", "label", "applies", "threads and CPUs, or why not"], dict[str, str]()
    for name in sorted(rows):
        if (said := first.setdefault(rows[name][-1], name)) != name and len(rows[name][-1]) > LONG:
            rows[name][-1] = f"as {said}"
    print("\n" + tabulate([[name, *rows[name]] for name in sorted(rows)], headers, disable_numparse=True))


def _lines(machine: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kinds = ", ".join(f"{count} {kind} cores" for kind, count in machine["core_kinds"].items())
    devices = [f"{kind}: {'some' if count is None else count}" for kind, count in machine["devices"].items()]
    words = {
        "memory_bytes": f"{machine['memory_bytes'] / 2**30:.1f} GiB",
        "core_kinds": kinds or "all alike",
        "blas": f"{library_label(machine['blas'])}, of SciPy",
        "devices": devices,
    }
    for key, value in (machine | words).items():
        if key != "cores":
            text = ", ".join(value) if isinstance(value, list) else value
            yield key.replace("_bytes", "").replace("_", " "), "none" if text in (None, "") else str(text)
    # Each socket and kind of cores, in the words that a profile's `cpus` may use.
    for group in machine["cores"] or ():
        names = [f"socket {group['socket']}" if group["socket"] is not None else "", group["kind"] or ""]
        cores = cores_of_facts([group])
        cpus = show_list(cpu for core in cores for cpu in core.cpus)
        per_core = max(len(core.cpus) for core in cores)
        many = f", {per_core} a core" if per_core > 1 else ""
        yield " ".join(filter(None, names)) or "cores", f"{len(cores)} usable, CPU {cpus}{many}"


def _price(machine: str) -> str:
    """What is told of the machine's price, or what its file has wrong."""
    told, mistakes = read_told(machine) if machine in told_machines() else (None, [])
    price = told.price if told else None
    if price:
        return f"{price.per_hour:g} {price.currency} an hour ({price.source}, {price.date})"
    return "; ".join(mistakes) or f"none is told: ./run respeed new machine {machine}"


def _applies(profile: Profile) -> tuple[str, str]:
    try:
        threads, cpus = resolve_threads(profile)
    except NotMeasurable as reason:
        return "no", str(reason)
    where = f" on CPU {show_list(cpus)}" if cpus else ""
    named = ", measured only where it is named" if profile.optional else ""
    return "yes", f"{threads} thread{'s' if threads > 1 else ''}{where}{named}"


class Finding(NamedTuple):
    """One thing that was looked at. `advice` is empty where nothing is to be done."""

    subject: str
    found: str
    advice: str = ""


def examine() -> int:
    """Print what was found and what to do about it; the exit code is 1 if the machine is not fit."""
    holder = who_measures()
    findings = [*_cpu(), *_others(), *_system(), *_devices(), _packages(), _jax(), *_programs(), _lock(holder)]
    findings += _steadiness(holder)
    rows = [(subject, found, advice or "–") for subject, found, advice in findings]
    print(tabulate(rows, ["looked at", "found", "do"], disable_numparse=True))
    fit = not any(finding.advice for finding in findings)
    unfit = "not quite fit to measure: see the last column; what is disturbed will be marked"
    print("\nfit to measure" if fit else f"\n{unfit}")
    return 0 if fit else 1


def _cpu() -> Iterator[Finding]:
    logical, quota, topology = os.cpu_count() or 1, cpu_quota(), usable_topology()
    yield Finding("cores", f"{len(usable_cores())} physical cores usable, {logical} logical CPUs")
    if hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) < logical:
        yield Finding("affinity", f"this shell may use {len(os.sched_getaffinity(0))} of them", "start without taskset")
    cores = psutil.cpu_count(logical=False) or 1 if topology is None else len(topology)
    fewer = "raise the container's CPU limit, or expect fewer threads" if quota is not None and quota < cores else ""
    yield Finding("CPU quota", "none" if quota is None else f"{quota:g} CPUs", fewer)
    if governor := frequency_governor():
        faster = "set it to performance: sudo cpupower frequency-set -g performance"
        yield Finding("frequency governor", governor, "" if governor == "performance" else faster)


def _others() -> Iterator[Finding]:
    """Look for a second at what runs: processes by name, and what the host keeps from us."""
    for _ in psutil.process_iter(["cpu_percent"]):  # each share is one since this
        pass
    steal = getattr(psutil.cpu_times_percent(interval=LOOK_SECONDS), "steal", 0.0) / 100
    processes = [(one.info["cpu_percent"] or 0.0, one) for one in psutil.process_iter(["cpu_percent", "name"])]
    busy = sorted((one for one in processes if one[0] > 100 * BUSY_SHARE), key=lambda one: -one[0])
    names = [
        f"{one.info['name'] or f'process {one.pid}'} ({percent:.0f}% of a core)"
        for percent, one in busy
        if one.pid != os.getpid()
    ]
    advice = "close it, or measure later" if names else ""
    yield Finding("other programs", ", ".join(names[:4]) or "none busy", advice)
    if steal > STEAL_SHARE:
        yield Finding("host", f"gives {steal:.0%} of our time to others", "use a host of your own, or more rounds")


def _system() -> Iterator[Finding]:
    if battery := psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None:
        low = "" if battery.power_plugged else "plug it in: clocks are lower on battery"
        yield Finding("power", "battery" if low else "mains", low)
    memory, swap, left = psutil.virtual_memory(), psutil.swap_memory(), memory_left()
    advice = "close programs: memory was swapped out" if swap.used > 0.1 * memory.total else ""
    limit = "" if left is None else f"; the control group leaves {left / 2**30:.1f}"
    free = f"{memory.available / 2**30:.1f} of {memory.total / 2**30:.1f} GiB free{limit}"
    yield Finding("memory", free, advice)
    blind = "only the reference probe can see a busy neighbour here; keep the machine idle"
    blind = "" if Path("/proc/self/schedstat").exists() else blind
    tells = f"the kernel {'does not tell' if blind else 'tells'} how long threads wait for a core"
    yield Finding("disturbances", tells, blind)


def _packages() -> Finding:
    versions, own = package_versions(), packages_of_own_python()
    told = ", ".join(f"{name} {versions[name]}" for name in own or versions if name not in ("python", "respeed"))
    whose = f" of {', '.join(upon())} (RESPEED_PYTHON); RESPEED_PYTHON= ./run goes back to the lock's" if own else ""
    return Finding("packages", f"{told}{whose or ', all of this environment'}")


_UNKNOWN = dict.fromkeys(("capability", "driver", "driver_cuda", "highest_clock_mhz"), "unknown")
# What is said of a device's state, by the fact that NVML must tell for it.
_STATE = {
    "power_limit_watts": "power limit {:g} W", "default_power_limit_watts": "by default {:g} W",
    "clock_mhz": "clock {} of {highest_clock_mhz} MHz", "temperature_celsius": "temperature {} °C",
    "ecc": "ECC {}", "compute_mode": "compute mode {}", "mig": "MIG {}",
}  # fmt: skip


def _devices() -> Iterator[Finding]:
    """NVIDIA's devices as the driver tells of them, and what a moment's trial of each kind of row says."""
    for facts, users in zip(device_facts(), device_users(), strict=True):
        name, known = facts.get("name", NAMELESS), _UNKNOWN | facts
        size = f", {facts['memory_bytes'] / 2**30:.1f} GiB" if "memory_bytes" in facts else ""
        driver = "driver {driver} (CUDA {driver_cuda})".format_map(known)
        yield Finding("GPU", f"{name}{size}, compute capability {known['capability']}, {driver}")
        known |= {key: ("off", "on")[facts[key]] for key in ("ecc", "mig") if key in facts}
        state = [form.format(known[fact], **known) for fact, form in _STATE.items() if fact in facts]
        limit, usual = (facts.get(key, 0.0) for key in ("power_limit_watts", "default_power_limit_watts"))
        advice = f"raise it: sudo nvidia-smi -pl {usual:g}" if 0 < limit < usual else ""
        if facts.get("compute_mode") == "prohibited":
            advice = "let programs use it: sudo nvidia-smi -c DEFAULT"
        yield Finding(f"{name}: state", ", ".join(state), advice)
        if users:
            programs = ", ".join(map(_program, users[:4])) + (f" and {len(users) - 4} more" if users[4:] else "")
            yield Finding(f"{name}: others", f"{programs} use{'s' * (len(users) == 1)} it", "end it, or measure later")
        if untold := facts.get("untold"):
            whys = "; ".join(dict.fromkeys(untold.values()))
            yield Finding(f"{name}: not told", f"{', '.join(untold).replace('_', ' ')} ({whys})")
    rows = [
        one for one in read_profiles()[0].values() if not (one.is_cpu or one.optional or missing_device(one.device))
    ]
    for backend, device in dict.fromkeys((one.backend, one.device) for one in rows if one.backend != "program"):
        answer = probe_device(backend, device, anew=True)
        reasons = [answer.get("reason"), *answer.get("reasons", {}).values()]
        reason = reasons[0] or (reasons[1] if reasons[1:] and None not in reasons[1:] else None)
        found = "cannot be used" if reason else "a small product is right"
        yield Finding(f"{backend} on {device}", found, reason or "")
        if backend == "torch" and device.startswith("cuda") and not reason:
            lacks = [] if os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang") else [_COMPILER]
            lacks += [] if Path(sysconfig.get_path("include"), "Python.h").exists() else [_HEADERS]
            found = f"lacks {' and '.join(lacks)}" if lacks else "has a C compiler and Python's headers"
            yield Finding("Triton", found, "install them: or else steps between products are torch's" if lacks else "")


def _program(number: int) -> str:
    """A process of the host by its name. In a container numbers are its own: one there may be another's."""
    with contextlib.suppress(OSError, psutil.Error):
        if os.readlink("/proc/self/ns/pid") == HOSTS_PROCESSES:
            return f"{psutil.Process(number).name()} (process {number})"
    return f"process {number} of the host"


def _jax() -> Finding:
    """An optional package: nothing is amiss where it is not there."""
    there = importlib.util.find_spec("jax") is not None
    return Finding("JAX", f"{importlib.metadata.version('jax')}, for rows that you name" if there else "not installed")


def _programs() -> Iterator[Finding]:
    """Of the chosen papers, those whose programs may not be run."""
    for name, why in denied_papers(name for name in load_config(strict=False).papers if read_paper(name)[0]):
        line, _, advice = why.partition("; ")
        yield Finding(f"{name}'s program", f"not allowed: {line}", advice)


def _lock(holder: Holder | None) -> Finding:
    if holder is None:
        return Finding("respeed", "no other measurement is running")
    if holder.pid:
        return Finding("respeed", f"another measurement is running: {holder}", "wait for it")
    return Finding("respeed", f"the lock of measurements is held: {holder}", "wait for it; only root can name it")


def _steadiness(holder: Holder | None) -> list[Finding]:
    if holder:  # a second of products would disturb it
        why = "not looked at while another measurement is running"
        return [Finding("reference probe", why), Finding("threads", why)]
    cores = len(usable_cores())
    try:
        backend = make_backend(scipy_backend(), device="cpu", precision="fp32", threads=cores, seed=0)
    except NotMeasurable as reason:
        return [Finding("reference probe", f"not looked at: {reason}")]
    bench, proof = make_bench(backend)
    seconds = [bench.probe.seconds() for _ in range(PROBES)]
    quiet = quiet_probe(seconds)
    slow = sum(one > REAL.max_probe_ratio * quiet for one in seconds) / len(seconds)
    ran = proof["threads_ran"]
    return [
        Finding(
            "reference probe",
            f"{slow:.0%} of {PROBES} products more than {REAL.max_probe_ratio - 1:.0%} slower than a quiet one",
            "something disturbs the cores: measure later, or on a quieter host" if slow > MAX_SLOW_SHARE else "",
        ),
        Finding(
            "threads",
            f"{'unknown' if ran is None else ran} ran, {cores} asked",
            "check OMP_NUM_THREADS and its like" if ran not in (None, cores) else "",
        ),
    ]
