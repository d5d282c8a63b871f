"""Find the rows that this machine can run, with their threads and CPUs, and why it cannot run the others."""

import contextlib
import functools
import hashlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import distributions
from typing import Any

from respeed.errors import NotMeasurable, UserError
from respeed.inputs.machines import Profile, other_library
from respeed.machine import describe_machine, difference
from respeed.machine.cpu import paid_cpus, parse_list, show_list
from respeed.machine.devices import accelerator_driver, accelerator_names, missing_device
from respeed.machine.process import private_folder, telling_environment
from respeed.paths import records_folder, write_json
from respeed.records import known_hardware
from respeed.text import first_sentences

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


def check_same_machine(machine: str, smoke: bool) -> None:
    """Raise UserError if the records under this machine's name were measured on another machine."""
    if differs := difference(known_hardware(machine, smoke), describe_machine()):
        raise UserError(
            f"{records_folder(smoke) / machine} was measured on another machine ({differs}); give this one a name: "
            "--config machine=NAME"
        )


def find_rows(profiles: Mapping[str, Profile]) -> tuple[dict[str, Row], dict[str, str]]:
    """Return, by profile, the rows that this machine can run, and the reasons why it cannot run the others."""
    rows, why_not = dict[str, Row](), dict[str, str]()
    for name, profile in profiles.items():
        try:
            rows[name] = resolve_row(profile)
        except NotMeasurable as reason:
            why_not[name] = str(reason)
    return rows, why_not


def resolve_row(profile: Profile) -> Row:
    """Return the row of a profile; raise NotMeasurable, with the reason, if this machine cannot measure it."""
    facts = describe_machine()
    if reason := missing_device(profile.device) or unmet(profile, facts) or unusable(profile):
        raise NotMeasurable(reason)
    return Row(profile, *place(profile, facts))


def climb(row: Row) -> list[Row]:
    """Return a row for each number of threads in a ladder: 1 to 4, then powers of two, then all cores."""
    cores = len(row.cpus) or row.threads
    counts = sorted({*range(1, min(cores, 4) + 1), *(2**power for power in range(2, cores.bit_length())), cores})
    return [
        Row(
            replace(row.profile, name=f"{row.profile.name}-t{count}", label=f"{row.profile.package}, {count} threads"
                    if count > 1 else f"{row.profile.package}, 1 thread", threads=count, ladder=True,
                    architecture="multi-cpu" if count > 1 else "single-cpu"),
            count, row.cpus[:count],
        )
        for count in counts
    ]  # fmt: skip


@functools.cache
def probe_device(backend: str, device: str, *, anew: bool = False) -> Mapping[str, Any]:
    """Return the result of `backends.try_device` for the backend and the device.

    The trial runs in a process of its own, because a process may not recover from a device error. If the trial's
    process fails, the result has only a `reason`. A trial takes seconds, so its result is kept in memory. A lasting
    result is also kept in a file until the driver, a package or the devices change; with `anew`, that file is not read.
    """
    asked = [backend, device, accelerator_driver(), accelerator_names(), telling_environment(), sys.prefix]
    # Versions of every library, as a backend may use another backend's library.
    versions = sorted((one.name, one.version) for one in distributions() if one.name.lower().startswith(_LIBRARIES))
    name = hashlib.sha256(json.dumps([asked, versions]).encode()).hexdigest()[:16]
    kept = private_folder("devices") / f"{name}.json"
    with contextlib.suppress(OSError, ValueError):  # there is none, or it is damaged
        if not anew:
            return dict(json.loads(kept.read_text(encoding="utf-8")))
    answer = _ask_process(backend, device)
    if answer.get("lasting"):
        with contextlib.suppress(OSError, UserError):
            write_json(kept, answer)
    return answer


def _ask_process(backend: str, device: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "respeed.cli", "probe", backend, device]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        return {"reason": f"a small product on it was not done in {PROBE_SECONDS:g} s"}
    if done.returncode:
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        return {"reason": f"a process that used it for a moment ended: {first_sentences(said)}"}
    return dict(json.loads(done.stdout or "{}"))


def unusable(profile: Profile) -> str | None:
    """Return why a short trial could not use the profile's device; None if it could, or if the device is the CPU."""
    if profile.is_cpu:
        return None
    answer = probe_device(profile.backend, profile.device)
    reason: str | None = answer.get("reason") or answer.get("reasons", {}).get(profile.precision)
    return reason


def unmet(profile: Profile, facts: Mapping[str, Any]) -> str | None:
    """Return the first requirement that the machine does not meet, as a reason; None if it meets all."""
    needs, flags = profile.requires, facts["cpu_flags"]
    emulated = INSTRUCTIONS.get(profile.precision, set()) if profile.is_cpu else set()
    if emulated and not emulated & set(flags):
        return f"the CPU has no instructions for {profile.precision}"
    if missing := [name for name in needs.get("instructions", ()) if name not in flags]:
        return f"the CPU has no {' and no '.join(missing)}"
    if (needed := needs.get("memory_gb", 0)) > (there := facts["memory_bytes"] / 1e9):
        return f"needs {needed:g} GB of memory, has {there:.1f}"
    for name in needs.get("packages", ()):
        if importlib.util.find_spec(name) is None:
            return f"needs the Python package {name}, which is not installed"
    return other_library(profile, facts)


def place(profile: Profile, facts: Mapping[str, Any]) -> tuple[int, tuple[int, ...]]:
    """Return the number of threads, and the CPUs to run on, one of each physical core.

    An accelerator's row gets no CPUs and is not bound: its driver's threads would have to share one core. No row is
    bound on a system that cannot bind processes. Raises NotMeasurable, with the reason, if the machine lacks the CPUs
    or cores that the profile asks for.
    """
    cores = facts.get("core_cpus")
    if cores is None:
        if profile.cpus is not None:
            raise NotMeasurable("this system binds no process to CPUs")
        return _count(profile, int(facts["usable_cores"])), ()
    if profile.cpus is not None:
        usable, listed = {cpu for core in cores for cpu in core}, parse_list(profile.cpus) or ()
        if missing := set(listed) - usable:
            raise NotMeasurable(f"may not use CPU {show_list(missing)}: those that may be used are {show_list(usable)}")
        cores = [[cpu for cpu in core if cpu in listed] for core in cores]
    cpus = [core[0] for core in cores if core][: paid_cpus(facts.get("cpu_quota"))]
    threads = _count(profile, len(cpus))
    return threads, tuple(sorted(cpus[:threads])) if profile.is_cpu else ()


def _count(profile: Profile, there: int) -> int:
    if profile.threads == "all":
        return there
    if profile.threads > there:
        among = "" if profile.cpus is None else f" among CPUs {profile.cpus}"
        raise NotMeasurable(f"needs {profile.threads} cores, {there} usable{among}")
    return profile.threads
