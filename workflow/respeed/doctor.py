"""respeed doctor: this machine's hardware and speed, the profiles that it can run, and whether it is fit to measure."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import psutil
from tabulate import tabulate

from respeed.analysis.neighbours import find_quiet
from respeed.backends import make_backend
from respeed.errors import NotMeasurable, UserError
from respeed.inputs.config import load_config
from respeed.inputs.machines import PROFILE_FILES, Profile, Profiles, find_bounds
from respeed.machine.cpu import (
    Bound,
    cpu_flags,
    cpu_model,
    frequency_governor,
    is_virtual,
    show_list,
    small_cores,
    usable_cores,
)
from respeed.machine.devices import (
    accelerator_names,
    cpu_counters,
    device_facts,
    driver_error,
    missing_device,
    name_card,
)
from respeed.machine.process import Facts, allowed_cpus, bind, cpu_quota, memory_left, who_measures
from respeed.machine.software import library_label, package_versions, scipy_library
from respeed.measure.case import make_bench, measure_ceilings
from respeed.measure.timing import difference, seconds_now, take_snapshot, wrong_clock
from respeed.paths import COMPLAINTS, bytes_free, check_room, find_lacking, private_folder, results_folder
from respeed.protocol import REAL
from respeed.schedule.rows import check_same_machine, find_rows, forget_trials, probe_device
from respeed.text import NOTHING, counted, format_number

# A process that takes more than these percent of a core while we look will probably take as much while we measure.
BUSY_PERCENT = 5
# The counters of all CPUs have a grain of 10 ms, and programs that have just ended are not shown either.
HIDDEN_PERCENT = 25
# Steal time above these percent of the cores shows that the host gives them to others.
STEAL_PERCENT = 1
LOOK_SECONDS = 1.0
# The ways in which a CPU works; a guest's time is in the user's.
WORKING = ("user", "nice", "system", "irq", "softirq")
# Swap in use above this share of the memory shows that programs have to wait for their memory.
SWAP_SHARE = 0.1
# Probes of a few milliseconds each, so about a second in all.
PROBES = 200
# With more than this share of its probes slow, a machine has neighbours that widen its intervals.
MAX_SLOW_SHARE = 0.2
# A good library's product comes to 70 % or more of the computed rate, less what the clock is lowered by under load.
LOW_SHARE = 0.5
# OpenBLAS's kernels that use AVX-512.
WIDE_KERNELS = ("SkylakeX", "Cooperlake", "SapphireRapids")
VIRTUAL = "virtual CPUs that share a core (try half as many threads)"
SMALL = "small cores, which the others wait for"
UNSEEN = "what the lines above name? heat or a power limit (watch the clock while it computes)"
# What the kernel counts, as a finding: its subject, what happens, and what to do.
LOST = {
    "quota_seconds": (
        "throttling", "the CPU quota stops threads",
        "raise the container's CPU limit, or ask for fewer threads",
    ),
    "throttled_seconds": (
        "clocks", "lowered for heat",
        "cool it, or expect lower clocks: a machine that is always hot is measured as it is",
    ),
}  # fmt: skip
# What to do on a disk that lacks something.
LACKS = {
    "permission to write": "make it writable, or start elsewhere",
    "locks": "without locks, start nothing else here while it measures",
}
ADVISED = "can measure, with advice: see the column `do`; disturbed results will be marked"
# Wider columns of findings are cut into lines.
WIDTHS = [None, 60, 60]


class Finding(NamedTuple):
    """One `subject` that was examined, and its `state`; `advice` is None if nothing needs to be done.

    `speed` has the numbers of a speed: its `rate` in a `unit`, the `computed` rate, and its `share` of that.
    """

    subject: str
    state: str
    advice: str | None = None
    speed: Facts | None = None


def examine(as_json: bool) -> int:
    """Print the facts of the machine, each finding with advice, and a line for every profile.

    Returns
    -------
    int
        The exit code: 1 if there is any advice, otherwise 0.
    """
    name = load_config().this_machine
    profiles = PROFILE_FILES.load_all(chosen=())
    findings = [*_facts(), *_cpu(), *_memory(), *_files(name), *_programs(), *_devices()]
    tried = list(profiles.values())
    if holder := who_measures():
        findings.append(Finding("respeed", f"another measurement is running: {holder}", "wait for it"))
        # Beside another measurement nothing is tried on a device.
        tried = [profile for profile in tried if profile.is_cpu]
    else:
        findings += [*_trials(profiles), *_steadiness()]
    rows = _profiles(profiles, tried)
    is_fit = not any(finding.advice for finding in findings)
    if as_json:
        facts = [finding._asdict() for finding in findings]
        document = {"machine": name, "fit": is_fit, "findings": facts, "profiles": rows}
        print(json.dumps(document, indent=1, allow_nan=False))
    else:
        lines = [finding[:3] for finding in findings]
        table = tabulate(lines, ["looked at", "found", "do"], maxcolwidths=WIDTHS, missingval=NOTHING)
        table_rows = [row | {"applies": "yes" if row["applies"] else "no"} for row in rows]
        print(f"{name}\n\n{table}\n\n{tabulate(table_rows, headers='keys', missingval=NOTHING)}\n")
        print("fit to measure" if is_fit else ADVISED)
    return int(not is_fit)


def _facts() -> Iterator[Finding]:
    """Yield the facts of the machine, none of which needs advice."""
    cores = f"{counted(len(usable_cores()), 'physical core')} usable"
    if small := small_cores():
        cores += f" of two kinds; {small} are small, and a row of all cores waits for them"
    yield Finding("CPU", f"{cpu_model()}: {cores}, {os.cpu_count()} logical CPUs")
    yield Finding("instructions", ", ".join(cpu_flags()))
    yield Finding("packages", ", ".join(f"{name} {version}" for name, version in package_versions().items()))
    yield Finding("BLAS of SciPy", library_label(scipy_library()))
    counters, why_not = cpu_counters()
    domains = ", ".join(counter.domain for counter in counters)
    yield Finding("energy", domains or f"not measured: {why_not}")


def _cpu() -> Iterator[Finding]:
    if wrong := wrong_clock():
        yield Finding("clock", wrong, "set it")
    quota = cpu_quota()
    is_short = quota is not None and quota < (psutil.cpu_count(logical=False) or 1)
    advice = "raise the container's CPU limit, or expect fewer threads"
    yield Finding("CPU quota", "none" if quota is None else f"{quota:g} CPUs", advice if is_short else None)
    if refusal := _complaint(partial(bind, allowed_cpus())):
        advice = "allow sched_setaffinity in the container's seccomp profile; until then rows of CPUs are not measured"
        yield Finding("binding to CPUs", f"refused: {refusal}", advice)
    if governor := frequency_governor():
        advice = "set it to performance: sudo cpupower frequency-set -g performance"
        yield Finding("frequency governor", governor, None if governor == "performance" else advice)
    battery = psutil.sensors_battery()
    if battery and battery.power_plugged is False:  # None if it is not known, as where charging stops at 80 %
        yield Finding("power", "battery", "plug it in: clocks are lower on battery")


def _memory() -> Iterator[Finding]:
    memory = psutil.virtual_memory()
    free = f"{memory.available / 2**30:.1f} of {memory.total / 2**30:.1f} GiB free"
    allowed = memory_left()
    if allowed is not None:
        free += f"; the control group leaves {allowed / 2**30:.1f} GiB"
    is_swapped = psutil.swap_memory().used > SWAP_SHARE * memory.total
    yield Finding("memory", free, "close programs: memory was swapped out" if is_swapped else None)


def _complaint(action: Callable[[], object]) -> str:
    """Return the error of the user or the system that an action ends with; "" if none."""
    try:
        action()
    except (UserError, OSError) as error:
        return str(error)
    return ""


def _files(machine: str) -> Iterator[Finding]:
    """Look at the disks of the cache and the results, and for records that a run would refuse."""
    cache = private_folder()
    folders = ("cache", cache, "; ".join(COMPLAINTS)), ("results", results_folder(False), "")
    for name, folder, complaint in folders:
        lacking = find_lacking(folder)
        state = [f"{folder}, {bytes_free(folder) / 1e9:.3g} GB free", *(f"no {kind}" for kind in lacking)]
        advice = [complaint, _complaint(partial(check_room, folder)), *map(LACKS.get, lacking)]
        yield Finding(name, ", ".join(state), "; ".join(filter(None, advice)) or None)
    if refusal := _complaint(partial(check_same_machine, machine, False)):
        yield Finding("records", "of another machine", refusal)


def _programs() -> Iterator[Finding]:
    """Watch for a second how busy other programs are, and what share of our CPU time the host gives to others."""
    for _ in psutil.process_iter(["cpu_percent"]):  # the shares below are counted from here on
        pass
    spent = psutil.cpu_times_percent(LOOK_SECONDS)._asdict()  # percent of all CPUs, in each way
    visible = 0.0
    busy = []
    for process in psutil.process_iter(["cpu_percent", "name"]):
        percent = process.info["cpu_percent"] or 0.0
        visible += percent
        if percent > BUSY_PERCENT and process.pid != os.getpid():
            busy.append((percent, process.info["name"]))
    busy.sort(reverse=True)
    if busy:
        names = ", ".join(f"{name} ({percent:.0f}% of a core)" for percent, name in busy[:4])
        yield Finding("other programs", names, "close them, or measure later")
    else:
        yield Finding("other programs", "none busy")
    # Other users' programs may be hidden, as those outside of a container are; the counters of all CPUs have them.
    hidden = sum(spent.get(way, 0.0) for way in WORKING) * (os.cpu_count() or 1) - visible
    if hidden > HIDDEN_PERCENT:
        yield Finding("hidden programs", f"busy ({hidden:.0f}% of a core)", "measure when nobody else uses this host")
    steal = spent.get("steal", 0.0)
    if steal > STEAL_PERCENT:
        yield Finding("host", f"gives {steal:.0f}% of our time to others", "use a host of your own, or more rounds")


def _devices() -> Iterator[Finding]:
    """Yield the driver's facts of NVIDIA's devices."""
    names = accelerator_names()
    chosen = name_card(names, os.environ) if names else "none that NVIDIA's driver shows"
    yield Finding("accelerators", chosen, driver_error())
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


def _trials(profiles: Profiles) -> Iterator[Finding]:
    """Yield whether each backend computes rightly on each device, but for SciPy's BLAS, whose products are timed."""
    rows = [row for row in profiles.values() if not row.optional and row.backend not in ("numpy", "program")]
    forget_trials()
    pairs = sorted({(row.backend, row.device) for row in rows if not missing_device(row.device)})
    with ThreadPoolExecutor() as pool:  # each trial is a process, which takes seconds to import its library
        answers = pool.map(lambda pair: probe_device(*pair), pairs)
        for (backend, device), answer in zip(pairs, answers, strict=True):
            reasons = [*answer.get("reasons", answer).values()]  # of each precision, or of all
            advice = None if None in reasons else reasons[0]
            yield Finding(f"{backend} on {device}", "cannot be used" if advice else "a small product is right", advice)


def _steadiness() -> Iterator[Finding]:
    """Time the reference probe, products and copies, and count threads."""
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
    happened = difference(before, take_snapshot())
    elapsed = seconds_now() - began
    for cause, (subject, state, advice) in LOST.items():
        # The quota's seconds are those of all threads together, the clocks' those of the hottest core.
        clocks = cores if cause == "quota_seconds" else 1
        share = (happened[cause] or 0.0) / (elapsed * clocks)
        if share > REAL.max_lost_share:
            yield Finding(subject, f"{state} for {share:.0%} of the time", advice)
    limit = REAL.max_probe_ratio * find_quiet([probes]).seconds
    slow = sum(seconds > limit for seconds in probes) / PROBES
    state = f"{slow:.0%} of {PROBES} products more than {REAL.max_probe_ratio - 1:.0%} slower than a quiet one"
    advice = "neighbours take part of the cores, and intervals will be wider: measure later, or on a quieter host"
    yield Finding("reference probe", state, advice if slow > MAX_SLOW_SHARE else None)
    ran = proof["threads_ran"]
    state = f"{ran or 'unknown'} ran, {cores} asked"
    advice = "check OMP_NUM_THREADS and its like; OpenBLAS in wheels has at most 64 threads"
    yield Finding("threads", state, None if ran in (None, cores) else advice)
    yield from _speeds()


def _speeds() -> Iterator[Finding]:
    """Yield how fast a product is, on one core and on all, and a copy on all, beside what the hardware can reach."""
    cpus = usable_cores()
    for threads in sorted({1, len(cpus)}):
        backend = make_backend("numpy", device="cpu", precision="fp32", threads=threads, seed=0)
        rates = measure_ceilings(backend)
        peak, memory = find_bounds(cpus[:threads])
        causes = []
        if threads > 1:
            causes += [VIRTUAL] if is_virtual() else []
            causes += [SMALL] if small_cores() else []
        kernel = backend.describe()["kernel"]
        is_narrow = kernel and kernel not in WIDE_KERNELS and scipy_library() == "openblas"
        if "avx512f" in cpu_flags() and is_narrow:
            causes.append(f"{kernel} kernels without AVX-512 (try a newer SciPy, or MKL)")
        cores = counted(threads, "core")
        yield _compare(f"product, {cores}", 1e-9 * rates["flops_per_second"], "GFLOP/s", peak, [*causes, UNSEEN])
    yield _compare(f"copy, {cores}", 1e-9 * rates["bytes_per_second"], "GB/s", memory, [UNSEEN])
    if peak.rate and peak.remark:
        yield Finding("computed by", peak.remark)


def _compare(subject: str, rate: float, unit: str, bound: Bound, causes: list[str]) -> Finding:
    """Return a rate beside its bound; where its share is low, with what may be the causes."""
    share = rate / bound.rate if bound.rate else None
    speed = {"rate": rate, "unit": unit, "computed": bound.rate, "share": share}
    if share is None:
        return Finding(subject, f"{format_number(rate)} {unit}; not computed: {bound.how}", speed=speed)
    state = f"{format_number(rate)} of {format_number(bound.rate)} {unit} computed ({bound.how}), {share:.0%}"
    advice = f"slow for this machine: {'? '.join(causes)}?"
    return Finding(subject, state, advice if share < LOW_SHARE else None, speed)


def _profiles(profiles: Profiles, tried: Sequence[Profile]) -> list[Facts]:
    """Return for every profile whether it applies to this machine, with its threads and CPUs, or why it does not."""
    rows, why_not = find_rows({profile.name: profile for profile in tried})
    for name in profiles.keys() - rows.keys():
        why_not.setdefault(name, "not tried beside another measurement")
    lines = []
    for name, profile in sorted(profiles.items()):
        row = rows.get(name)
        remark = why_not.get(name, "measured only where it is named" if profile.optional else None)
        cores = {"threads": row and row.threads, "CPUs": row and show_list(row.cpus)}
        lines.append({"profile": name, "label": profile.label, "applies": name in rows, **cores, "remark": remark})
    return lines
