"""Find the rows that this machine can run, with their threads and CPUs, and why it cannot run the others."""

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import distributions
from itertools import chain

from respeed.errors import NotMeasurable, UserError
from respeed.inputs.machines import Profile, Profiles, other_library
from respeed.machine import HOST, describe_machine, difference
from respeed.machine.cpu import paid_cpus, parse_list, show_list
from respeed.machine.devices import (
    accelerator_driver,
    accelerator_names,
    driver_error,
    missing_device,
    name_card,
)
from respeed.machine.process import Facts, telling_environment
from respeed.paths import private_folder, read_kept, records_folder, write_json
from respeed.records import DESCRIPTION, is_imported, known_hardware, recorded_machines
from respeed.text import counted, shorten

# A process that begins to use a device takes seconds; one that waits for a device that is stuck would wait for ever.
PROBE_SECONDS = 120.0
_LIBRARIES = ("torch", "jax")
# Instructions without which a CPU only emulates a precision, in more time than fp32 takes. (asimdhp: half precision.)
INSTRUCTIONS = {
    "bf16": {"avx512_bf16", "amx_bf16", "bf16"},
    "fp16": {"avx512_fp16", "amx_fp16", "asimdhp"},
}
# The backend of tables with a ladder of threads: SciPy's BLAS, as for the CPU rows of Raina et al.
LADDER_BACKEND = "numpy"


@dataclass(frozen=True)
class Row:
    """A row of the tables on this machine; its `threads` are bound to `cpus`, or not bound if `cpus` is empty."""

    profile: Profile
    threads: int
    cpus: tuple[int, ...]


# The rows of a machine, by profile.
Rows = Mapping[str, Row]


def check_same_machine(machine: str, smoke: bool) -> None:
    """Raise UserError if the records under this machine's name were imported, or measured on another machine."""
    if is_imported(machine, smoke):
        raise UserError(f"{machine} is the name of imported records; give this machine another: --config machine=NAME")
    recorded = known_hardware(machine, smoke)
    facts = describe_machine()
    if recorded and (differs := difference(recorded, facts)):
        folder = records_folder(smoke) / machine
        line = f"{folder} was measured on another machine ({differs}); give this one a name: --config machine=NAME"
        if not difference(recorded, facts | {HOST: recorded[HOST]}):
            mark = f'"{HOST}": {json.dumps(facts[HOST])}'
            line += f"; or, as only the system's ID differs, which a new image changes, write {mark} in "
            line += f"{folder / DESCRIPTION}, if it is the same machine"
        raise UserError(line)


def say_renamed(machine: str, smoke: bool) -> list[str]:
    """Return a line for each folder of this machine's records that has another name, if none has the machine's name."""
    names = [*recorded_machines(smoke)]
    if machine in names:
        return []
    facts = describe_machine()
    start = "was measured on this machine; to go on with it, write in config.yaml: machine:"
    lines = []
    for name in names:
        if not is_imported(name, smoke) and not difference(known_hardware(name, smoke), facts):
            lines.append(f"{records_folder(smoke) / name} {start} {name}")
    return lines


def find_rows(profiles: Profiles) -> tuple[dict[str, Row], dict[str, str]]:
    """Return, by profile, the rows that this machine can run, and the reasons why it cannot run the others."""
    facts = describe_machine()
    rows = {}
    why_not = {}
    for name, profile in profiles.items():
        if reason := missing_device(profile.device) or unmet(profile, facts) or unusable(profile):
            why_not[name] = reason
            continue
        try:
            rows[name] = Row(profile, *place(profile, facts))
        except NotMeasurable as error:
            why_not[name] = str(error)
    return rows, why_not


def climb(row: Row) -> list[Row]:
    """Return a row for each number of threads in a ladder: 1 to 4, then powers of two, then all cores."""
    rows = []
    for count in range(1, row.threads + 1):
        is_power = count.bit_count() == 1
        if not is_power and count not in (3, row.threads):
            continue
        profile = replace(
            row.profile,
            name=f"{row.profile.name}-t{count}",
            label=f"{row.profile.package}, {counted(count, 'thread')}",
            architecture="multi-cpu" if count > 1 else "single-cpu",
            threads=count,
            ladder=True,
        )
        rows.append(Row(profile, count, row.cpus[:count]))
    return rows


@functools.cache
def probe_device(backend: str, device: str) -> Facts:
    """Return the result of `backends.try_device` for the backend and the device.

    The trial runs in a process of its own, because a process may not recover from a device error. If the trial's
    process fails, the result has only a `reason`. A trial takes seconds, so its result is kept in memory. A lasting
    result is also kept in a file until the driver, a package or the devices change.
    """
    # Versions of every library, as a backend may use another backend's library.
    libraries = [library for library in distributions() if library.name.lower().startswith(_LIBRARIES)]
    versions = sorted(f"{library.name} {library.version}" for library in libraries)
    facts = [backend, device, accelerator_driver(), accelerator_names(), telling_environment(), sys.prefix, versions]
    text = json.dumps(facts)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = private_folder("devices") / f"{name}.json"
    answer = read_kept(file)
    if not isinstance(answer.get("reasons"), dict):
        answer = _ask_process(backend, device)
        if answer.get("lasting"):
            with contextlib.suppress(OSError, UserError):
                write_json(file, answer)
    return answer


def forget_trials() -> None:
    """Forget what trials of devices found, so that each is tried anew."""
    probe_device.cache_clear()
    shutil.rmtree(private_folder("devices"), ignore_errors=True)


def _ask_process(backend: str, device: str) -> Facts:
    program = "import sys; from respeed.backends import probe; probe(*sys.argv[1:])"
    command = [sys.executable, "-P", "-c", program, backend, device]
    try:
        trial = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        return {"reason": f"a small product on it was not done in {PROBE_SECONDS:g} s"}
    if trial.returncode:
        lines = [f"exit code {trial.returncode}", *trial.stderr.strip().splitlines()]
        return {"reason": f"a process that used it for a moment ended: {shorten(lines[-1])}"}
    answer: Facts = json.loads(trial.stdout)
    return answer


def unusable(profile: Profile) -> str | None:
    """Return why a short trial could not use the profile's device; None if it could, or if the device is the CPU."""
    if profile.is_cpu:
        return None
    answer = probe_device(profile.backend, profile.device)
    reasons = answer.get("reasons", {})
    reason: str | None = answer.get("reason", reasons.get(profile.precision))
    if reason and profile.device.startswith("cuda"):
        if error := driver_error():
            return f"{reason}; {error}"
        if "CUDA_VISIBLE_DEVICES" in os.environ:
            return f"{reason}; the driver has {name_card(accelerator_names(), os.environ)}"
    return reason


def unmet(profile: Profile, facts: Facts) -> str | None:
    """Return the first requirement that the machine does not meet, as a reason; None if it meets all."""
    requires = profile.requires
    flags = facts["cpu_flags"]
    sufficient = INSTRUCTIONS.get(profile.precision)
    if profile.is_cpu and sufficient and sufficient.isdisjoint(flags):
        return f"the CPU has no instructions for {profile.precision}"
    if missing := [name for name in requires.get("instructions", ()) if name not in flags]:
        return f"the CPU has no {' and no '.join(missing)}"
    needed = requires.get("memory_gb", 0)
    memory_gb = facts["memory_bytes"] / 1e9
    if needed > memory_gb:
        return f"needs {needed:g} GB of memory, has {memory_gb:.1f}"
    for name in requires.get("packages", ()):
        if importlib.util.find_spec(name) is None:
            return f"needs the Python package {name}, which is not installed"
    return other_library(profile, facts)


def place(profile: Profile, facts: Facts) -> tuple[int, tuple[int, ...]]:
    """Return the number of threads, and the CPUs to run on, one of each physical core.

    An accelerator's row gets no CPUs and is not bound: its driver's threads would have to share one core. No row is
    bound on a system that cannot bind processes. Raises NotMeasurable, with the reason, if the machine lacks the CPUs
    or cores that the profile asks for.
    """
    cpus: list[int] = []
    cores = facts["usable_cores"]
    if core_cpus := facts["core_cpus"]:
        usable = set(chain.from_iterable(core_cpus))
        listed = set(parse_list(profile.cpus or "") or usable)
        if missing := listed - usable:
            raise NotMeasurable(f"may not use CPU {show_list(missing)}: those that may be used are {show_list(usable)}")
        for core in core_cpus:
            cpus += sorted(listed.intersection(core))[:1]
        cpus = cpus[: paid_cpus(facts["cpu_quota"])]
        cores = len(cpus)
    elif profile.cpus:
        raise NotMeasurable("this system binds no process to CPUs")
    threads = cores if profile.threads == "all" else profile.threads
    if threads > cores:
        among = f" among CPUs {profile.cpus}" if profile.cpus else ""
        raise NotMeasurable(f"needs {threads} cores, {cores} usable{among}")
    bound = sorted(cpus[:threads]) if profile.is_cpu else []
    return threads, tuple(bound)
