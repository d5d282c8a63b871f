"""What this machine is: the facts that a record carries, its name, and what tells it from another one."""

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from respeed.machine.cpu import core_cpus, cpu_flags, cpu_model, frequency_governor, usable_cores
from respeed.machine.devices import accelerator_driver, accelerator_names
from respeed.machine.process import cpu_quota, output_of, read_word
from respeed.machine.software import scipy_library

# What a kernel leaves of the memory after its own start differs a little from boot to boot.
MEMORY_TOLERANCE = 0.05
# The mark of the system's own number, which two machines of one kind do not share.
HOST = "host"
# The facts that a machine does not change without becoming another one, and what they are called.
FIELDS = {
    "cpu": "CPU",
    "physical_cores": "physical cores",
    "usable_cores": "usable cores",
    "cpu_flags": "vector extensions",
    "memory_bytes": "memory",
    "accelerators": "accelerators",
    HOST: "host",
}
_NOISE = re.compile(r"\((r|tm|c)\)|\bcpu\b|\bprocessor\b|\b\d+-core\b|@.*|\bwith\b.*|\bnvidia\b", re.IGNORECASE)
# Not the number itself, which systemd asks to keep secret. With a purpose mixed in, nobody can work it out, or find the
# mark again in what another program made of it.
_PURPOSE = b"respeed: which machine a record was made on"
MACHINE_ID = Path("/etc/machine-id")


def machine_slug() -> str:
    """Return a readable name of this machine, such as intel-xeon-gold-6354-16c-h200-3fa9.

    CPU, usable cores and accelerators, and four digits of a hash of the hardware, so that no two machines share it.
    """
    parts = [_words(cpu_model()), f"{len(usable_cores())}c"]
    accelerators = accelerator_names()
    for name in dict.fromkeys(accelerators):
        count = accelerators.count(name)
        parts.append(f"{count}x-{_words(name)}" if count > 1 else _words(name))
    return f"{'-'.join(parts)[:59].rstrip('-')}-{hardware_digits(describe_machine())}"


def _words(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", _NOISE.sub(" ", name).lower()).strip("-") or "unknown"


def describe_machine() -> dict[str, Any]:
    """Return facts about the hardware and the operating system, for records and the machine's own description."""
    return {
        "cpu": cpu_model(),
        "cpu_flags": cpu_flags(),
        "architecture": platform.machine(),
        "physical_cores": psutil.cpu_count(logical=False),
        "usable_cores": len(usable_cores()),
        "core_cpus": core_cpus(),
        "logical_cpus": os.cpu_count(),
        "cpu_quota": cpu_quota(),
        "frequency_governor": frequency_governor(),
        "memory_bytes": psutil.virtual_memory().total,
        "accelerators": list(accelerator_names()),
        "accelerator_driver": accelerator_driver(),
        "blas": scipy_library(),
        "host": host_mark(),
        "system": f"{platform.system()} {platform.release()}",
    }


def host_mark() -> str | None:
    """Return sixteen hexadecimal digits made of the number that the system gave itself; None where it has none."""
    number = read_word(MACHINE_ID)
    if platform.system() == "Darwin":
        found = re.search(r'"IOPlatformUUID" = "(.+)"', output_of("ioreg", "-rd1", "-c", "IOPlatformExpertDevice"))
        number = found[1] if found else ""
    return hashlib.sha256(_PURPOSE + number.encode()).hexdigest()[:16] if number else None


def hardware_digits(facts: Mapping[str, Any]) -> str:
    """Return four hexadecimal digits of a hash of the hardware, without the memory, which differs from boot to boot."""
    values = [facts.get(field) for field in FIELDS if field != "memory_bytes"]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:4]


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str | None:
    """Return the first field in which two machines differ, with both values; None if they may be one machine.

    Such as "memory, 15.6 GiB, not 23.4 GiB", which `there` has and `here` has not. What only one of them tells is not
    compared.
    """
    for field, name in FIELDS.items():
        one, other = there.get(field), here.get(field)
        if one is None or other is None:
            continue
        is_alike = math.isclose(one, other, rel_tol=MEMORY_TOLERANCE) if field == "memory_bytes" else one == other
        if not is_alike:
            return f"{name}, {show_field(field, one)}, not {show_field(field, other)}"
    return None


def show_field(field: str, value: Any) -> str:
    """Return the value of a field as text for people."""
    if field == "memory_bytes":
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return str(value)
