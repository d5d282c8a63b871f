"""respeed hardware: what this machine is, which profiles apply and why the others do not."""

from collections.abc import Mapping
from typing import Any

from tabulate import tabulate

from respeed.errors import NotMeasurable
from respeed.inputs.config import load_config
from respeed.inputs.machines import read_told, told_machines
from respeed.inputs.profiles import Profile, read_profiles
from respeed.machine.cpu import cores_of_facts, show_list
from respeed.machine.description import describe_machine, machine_slug
from respeed.machine.energy import energy_in_a_line
from respeed.machine.software import library_label
from respeed.records.fingerprint import FIELDS
from respeed.schedule.availability import resolve_threads


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
