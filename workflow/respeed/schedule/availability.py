"""Which machine this is, and which hardware profiles it can run, on how many threads and which CPUs.

Its description (`machine.json`) keeps that, for tables, and for the head of a cluster, which plans with it.
"""

import contextlib
import functools
import hashlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from respeed.errors import NotMeasurable, UserError
from respeed.inputs.machines import told_of
from respeed.inputs.profiles import Profile, Requires, other_library
from respeed.machine.accelerators import (
    accelerator_driver,
    accelerator_names,
    missing_device,
)
from respeed.machine.cpu import paid_cpus, parse_list, show_list
from respeed.machine.description import describe_machine
from respeed.machine.environment import telling_environment
from respeed.machine.fingerprint import HOST, difference
from respeed.machine.process import private_folder
from respeed.paths import MACHINES, ROOT, parse_machine_path, records_folder
from respeed.records.store import known_hardware, read_description, write_json, write_record
from respeed.text import first_sentences

# A process that begins to use a device takes seconds; one that waits for a device that is stuck would wait for ever.
PROBE_SECONDS = 120.0
_LIBRARIES = ("torch", "jax")
# Instructions without which a CPU only emulates a precision, in more time than fp32 takes. (asimdhp: half precision.)
INSTRUCTIONS = {
    "bf16": {"avx512_bf16", "amx_bf16", "bf16"},
    "fp16": {"avx512_fp16", "amx_fp16", "asimdhp"},
}


def describe_as(machine: str) -> dict[str, Any]:
    """The facts of this machine under that name: without its mark, where any of several nodes alike has the name."""
    facts, told = describe_machine(), told_of(machine)
    if told and told.slurm and told.slurm.alike:
        del facts[HOST]
    return facts


def check_same_machine(machine: str, smoke: bool, here: Mapping[str, Any]) -> None:
    """Raise UserError if the records under this machine's name were measured on another one than `here`."""
    if differs := difference(known_hardware(machine, smoke), here):
        way_out = "give this one a name: --config machine=NAME"
        if (told := told_of(machine)) and told.slurm:
            file = (MACHINES / machine).relative_to(ROOT)
            way_out = f"in {file}.yaml write nodelist: NODE, or alike: true if any of several nodes may measure"
        raise UserError(f"{records_folder(smoke) / machine} was measured on another machine ({differs}); {way_out}")


def why_not(profile: Profile, facts: Mapping[str, Any] | None = None, *, tried: bool = True) -> str | None:
    """The reason why this machine cannot measure the profile; None if it can. Who asks of many has its `facts`. If not
    `tried`, what is there is thought to work."""
    try:
        resolve_threads(profile, facts, tried=tried)
    except NotMeasurable as reason:
        return str(reason)
    return None


def resolve_threads(
    profile: Profile, facts: Mapping[str, Any] | None = None, *, tried: bool = True
) -> tuple[int, tuple[int, ...]]:
    """The number of threads, and the CPUs to run on (`place`); NotMeasurable, with the reason, if this machine cannot
    measure the profile."""
    facts = facts or describe_machine()
    if reason := missing_device(profile.device) or unmet(profile, facts) or (tried and unusable(profile)):
        raise NotMeasurable(reason)
    return place(profile, facts)


@functools.cache
def probe_device(backend: str, device: str, *, anew: bool = False) -> Mapping[str, Any]:
    """What the backend finds that uses the device for a moment (`backends.probe`): once in a process, and where it
    stays so, not again until driver, package or devices change. Nothing where the backend has no such question.

    In a process of its own: an error of a device stays with the process that had it, and to load the package is slow.
    """
    known = {
        "asked": [backend, device, accelerator_driver(), accelerator_names(), telling_environment(), sys.prefix],
        # Of whichever library, also where a backend asks another's.
        "packages": sorted(
            (one.name, one.version) for one in distributions() if str(one.name).lower().startswith(_LIBRARIES)
        ),
    }
    name = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
    kept = private_folder("devices") / f"{name}.json"
    with contextlib.suppress(OSError, ValueError):
        if not anew:
            answer: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
            return answer
    answer = _ask_process(backend, device)
    if answer.get("lasting"):
        with contextlib.suppress(OSError, UserError):
            write_json(kept, answer)
    return answer


def _ask_process(backend: str, device: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "respeed", "probe", backend, device]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        return {"reason": f"a small product on it was not done in {PROBE_SECONDS:g} s"}
    if done.returncode:
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        return {"reason": f"a process that used it for a moment ended: {first_sentences(said)}"}
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return answer


def unusable(profile: Profile) -> str | None:
    """Why the profile's device, which is there, cannot be used, by a moment's trial; None if it can."""
    if profile.is_cpu:
        return None
    answer = probe_device(profile.backend, profile.device)
    reason: str | None = answer.get("reason") or answer.get("reasons", {}).get(profile.precision)
    return reason


def unmet(profile: Profile, facts: Mapping[str, Any]) -> str | None:
    """The first requirement that the machine does not meet, as a reason; None if it meets all."""
    needs, flags = profile.requires, facts["cpu_flags"]
    emulated = INSTRUCTIONS.get(profile.precision, set()) if profile.is_cpu else set()
    if emulated and not emulated & set(flags):
        return f"the CPU has no instructions for {profile.precision}"
    if reason := other_library(profile, facts):
        return reason
    return lacking(needs, facts)


def lacking(needs: Requires, facts: Mapping[str, Any]) -> str | None:
    """The first of instructions, memory and packages that is needed and not there, as a reason; None if all are."""
    missing = [name for name in needs.get("instructions", ()) if name not in facts["cpu_flags"]]
    if missing:
        return f"the CPU has no {' and no '.join(missing)}"
    needed, there = needs.get("memory_gb", 0), facts["memory_bytes"] / 1e9
    if needed > there:
        return f"needs {needed:g} GB of memory, has {there:.1f}"
    # The same environment on all nodes of a cluster: looked at here.
    absent = next((name for name in needs.get("packages", ()) if importlib.util.find_spec(name) is None), None)
    return f"needs the Python package {absent}, which is not installed" if absent else None


def place(profile: Profile, facts: Mapping[str, Any]) -> tuple[int, tuple[int, ...]]:
    """Return the number of threads, and the CPUs to run on, one of each physical core; NotMeasurable, with the reason,
    where the machine has no such CPUs.

    A profile of an accelerator is not bound: its driver's own threads would share the one core. Nor is any where the
    system binds no process to CPUs.
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


def make_description(machine: str, profiles: Mapping[str, Profile]) -> dict[str, Any]:
    """Facts for `machine.json`. `not_measurable` maps a profile to the reason that the tables show; `profiles` has of
    each its threads, or why not, and what it was when it was asked."""
    hardware, answers = describe_as(machine), dict[str, dict[str, Any]]()
    for name, profile in profiles.items():
        answers[name] = {"asked": checksum(profile)}
        try:
            answers[name]["threads"] = resolve_threads(profile, hardware)[0]
        except NotMeasurable as reason:
            answers[name]["reason"] = str(reason)
    rows = [name for name, profile in profiles.items() if not other_library(profile, hardware)]
    return {
        "hardware": hardware,
        "not_measurable": {name: answers[name]["reason"] for name in rows if "reason" in answers[name]},
        "profiles": answers,
    }


def write_description(path: Path, profiles: Mapping[str, Profile]) -> None:
    """Describe this machine in `path`; UserError if the name is another machine's by what lies under it: its records
    would all be left out from then on."""
    machine, smoke = parse_machine_path(path, "machine.json")
    check_same_machine(machine, smoke, describe_as(machine))
    write_record(path, make_description(machine, profiles))


def checksum(profile: Profile) -> str:
    """Changes whenever the profile does, but for what it is called."""
    facts = asdict(profile)
    del facts["label"], facts["package"]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def read_answers(machine: str, smoke: bool) -> dict[str, dict[str, Any]]:
    """What a machine's description says of profiles; nothing where there is none, or none that can be used."""
    description = read_description(machine, smoke) or {}
    return dict(description.get("profiles", {}))


def resolve_described(answers: Mapping[str, Mapping[str, Any]], profile: Profile) -> tuple[int, tuple[int, ...]]:
    """As `resolve_threads` on the machine that gave these answers; its CPUs are its own affair."""
    answer = answers[profile.name]
    if reason := answer.get("reason"):
        raise NotMeasurable(reason)
    return answer["threads"], ()
