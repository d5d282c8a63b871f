"""respeed hardware: what this machine is, and which profiles apply. respeed doctor: is it fit to measure now?"""

import importlib.metadata
import importlib.util
from collections.abc import Mapping
from typing import Any

from tabulate import tabulate

from respeed.backends import make_backend, scipy_backend
from respeed.errors import NotMeasurable
from respeed.inputs.config import load_config
from respeed.inputs.machines import read_told, told_machines
from respeed.inputs.profiles import Profile, read_profiles
from respeed.machine.cpu import cores_of_facts, show_list, usable_cores
from respeed.machine.description import describe_machine, machine_slug
from respeed.machine.doctor import Finding, examine_machine
from respeed.machine.energy import energy_in_a_line
from respeed.machine.software import library_label
from respeed.measure.bench import make_bench
from respeed.measure.lock import Holder, who_measures
from respeed.protocol import REAL, quiet_probe
from respeed.records.fingerprint import FIELDS
from respeed.schedule.availability import resolve_threads

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
    print(f"\nits fingerprint, by which it is another machine than others: {', '.join(FIELDS.values())}")
    profiles, wrong = read_profiles()
    rows = {profile.name: [profile.label, *_applies(profile)] for profile in profiles.values()}
    rows |= {name: ["–", "wrong", mistakes[0]] for name, mistakes in wrong.items()}
    headers = ["profile", "label", "applies", "threads and CPUs, or why not"]
    print("\n" + tabulate([[name, *rows[name]] for name in sorted(rows)], headers, disable_numparse=True))


def _lines(machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    shown = {
        **machine,
        "memory_bytes": f"{machine['memory_bytes'] / 2**30:.1f} GiB",
        "core_kinds": ", ".join(f"{count} {kind} cores" for kind, count in machine["core_kinds"].items())
        or "all alike",
        "blas": f"{library_label(machine['blas'])}, of SciPy",
        "devices": ", ".join(
            f"{kind}: {'some' if count is None else count}" for kind, count in machine["devices"].items()
        ),
    }
    del shown["cores"]
    lines = [(key.replace("_bytes", "").replace("_", " "), _text(value)) for key, value in shown.items()]
    return [*lines, *_cpus(machine)]


def _cpus(machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A line for each socket and kind of cores, in the words that a profile's `cpus` may use."""
    lines = []
    for group in machine["cores"] or ():
        names = [f"socket {group['socket']}" if group["socket"] is not None else "", group["kind"] or ""]
        cores = cores_of_facts([group])
        cpus = show_list(cpu for core in cores for cpu in core.cpus)
        per_core = max(len(core.cpus) for core in cores)
        lines.append(
            (
                " ".join(filter(None, names)) or "cores",
                f"{len(cores)} usable, CPU {cpus}" + f", {per_core} a core" * (per_core > 1),
            )
        )
    return lines


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "none" if value in (None, "") else str(value)


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


def examine() -> int:
    """Print what was found and what to do about it; the exit code is 1 if the machine is not fit."""
    holder = who_measures()
    findings = [*examine_machine(), _jax(), _lock(holder), *_steadiness(holder)]
    rows = [[finding.subject, finding.found, finding.advice or "–"] for finding in findings]
    print(tabulate(rows, ["looked at", "found", "do"], disable_numparse=True))
    fit = not any(finding.advice for finding in findings)
    print(
        "\nfit to measure"
        if fit
        else "\nnot quite fit to measure: see the last column; what is disturbed will be marked"
    )
    return 0 if fit else 1


def _jax() -> Finding:
    """An optional package: nothing is amiss where it is not there."""
    there = importlib.util.find_spec("jax") is not None
    return Finding("JAX", f"{importlib.metadata.version('jax')}, for rows that are named" if there else "not installed")


def _lock(holder: Holder | None) -> Finding:
    if holder and holder.pid:
        return Finding("respeed", f"another measurement is running: {holder}", "wait for it")
    if holder:
        return Finding("respeed", f"the lock of measurements is held: {holder}", "wait for it; only root can name it")
    return Finding("respeed", "no other measurement is running")


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
