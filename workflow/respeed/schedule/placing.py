"""How many threads a profile has on a machine, and on which CPUs, from the machine's facts alone."""

from collections.abc import Mapping
from typing import Any

from respeed.errors import NotMeasurable
from respeed.inputs.profiles import Profile
from respeed.machine.cpu import Core, cores_of_facts, kind_of, paid_cpus, parse_list, show_list, socket_of


def place(profile: Profile, facts: Mapping[str, Any]) -> tuple[int, tuple[int, ...]]:
    """The number of threads, and the CPUs to run on: a physical core each, or with `smt` a logical CPU each.
    NotMeasurable, with the reason, where the machine has no such CPUs.

    A profile of an accelerator is not bound: its driver's own threads would share the one core. Nor is any where the
    system binds no process to CPUs.
    """
    if facts.get("cores") is None:
        return _count(profile, int(facts["usable_cores"]), _unbound(profile, facts)), ()
    cores = _chosen(profile.cpus, cores_of_facts(facts["cores"]))
    if profile.smt and all(len(core.cpus) == 1 for core in cores):
        raise NotMeasurable(f"no SMT: each core{_among(profile)} is one CPU that may be used")
    # Core by core: Linux numbers the second CPUs of all cores after the first ones, and few threads would share none.
    cores = tuple(sorted(cores, key=lambda core: min(core.cpus)))
    cpus = [cpu for core in cores for cpu in (core.cpus if profile.smt else core.cpus[:1])]
    cpus = cpus[: paid_cpus(facts.get("cpu_quota"))]
    threads = _count(profile, len(cpus), "logical CPUs" if profile.smt else "cores")
    return threads, tuple(sorted(cpus[:threads])) if profile.is_cpu else ()


def _count(profile: Profile, there: int, what: str) -> int:
    if profile.threads == "all":
        return there
    if profile.threads > there:
        raise NotMeasurable(f"needs {profile.threads} {what}, {there} usable{_among(profile)}")
    return profile.threads


def _unbound(profile: Profile, facts: Mapping[str, Any]) -> str:
    if profile.cpus is None and not profile.smt:
        return "cores"
    kinds = facts.get("core_kinds") or {}
    number = kinds.get(kind_of(profile.cpus or ""))
    instead = f"; threads: {number} is as many as it has {profile.cpus}" if number else ""
    raise NotMeasurable(f"this system binds no process to CPUs{instead}")


def _chosen(choice: str | None, cores: tuple[Core, ...]) -> tuple[Core, ...]:
    """The cores that a profile's `cpus` leaves, with those of their CPUs that it leaves."""
    if choice is None:
        return cores
    if listed := parse_list(choice):
        usable = {cpu for core in cores for cpu in core.cpus}
        if missing := set(listed) - usable:
            raise NotMeasurable(f"may not use CPU {show_list(missing)}: those that may be used are {show_list(usable)}")
        left = (Core(tuple(cpu for cpu in core.cpus if cpu in listed), core.socket, core.kind) for core in cores)
        return tuple(core for core in left if core.cpus)
    socket, kind = socket_of(choice), kind_of(choice)
    if kind:
        if not any(core.kind for core in cores):
            raise NotMeasurable(f"no {choice}: all cores of this CPU are alike")
        found = tuple(core for core in cores if core.kind == kind)
        return _some(found, f"no {choice} among those that may be used")
    sockets = {core.socket for core in cores if core.socket is not None}
    there = show_list(sockets) or "none that the system tells of"
    return _some(tuple(core for core in cores if core.socket == socket), f"no {choice}: usable are those of {there}")


def _some(cores: tuple[Core, ...], reason: str) -> tuple[Core, ...]:
    if not cores:
        raise NotMeasurable(reason)
    return cores


def _among(profile: Profile) -> str:
    if profile.cpus is None:
        return ""
    if parse_list(profile.cpus):
        return f" among CPUs {profile.cpus}"
    return f" {'among' if kind_of(profile.cpus) else 'in'} {profile.cpus}"
