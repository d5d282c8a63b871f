"""The facts about this machine that a record contains, a name made of them, and a comparison of two machines."""

import hashlib
import json
import math
import os
import platform
import re
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

from respeed.machine.cpu import core_cpus, cpu_flags, cpu_model, frequency_governor, small_cores, usable_cores
from respeed.machine.devices import accelerator_driver, accelerator_names
from respeed.machine.process import Facts, cpu_quota, output_of, read_word
from respeed.machine.software import scipy_library

# The memory that a kernel reports differs a little from boot to boot.
MEMORY_TOLERANCE = 0.05
# A mark made of the system's own number, which two machines of one kind do not share.
HOST = "host"
# The facts in which no machine changes without becoming another one, and their names.
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
# Hashed with the number, which systemd asks to keep secret: nobody can work the number out, or find the mark again in
# another program's hash of it.
_PURPOSE = b"respeed: which machine a record was made on"
MACHINE_ID = Path("/etc/machine-id")


def machine_slug() -> str:
    """Return a readable name of this machine, such as intel-xeon-gold-6354-16c-h200-3fa9.

    It names the CPU, the number of usable cores and the accelerators, and ends with four digits of a hash of the
    hardware, so that two machines hardly ever share a name.
    """
    parts = [name_words(cpu_model()), f"{len(usable_cores())}c"]
    for name, count in Counter(accelerator_names()).items():
        parts.append(f"{count}x-{name_words(name)}" if count > 1 else name_words(name))
    words = "-".join(parts)[:59].rstrip("-")
    return f"{words}-{hardware_digits(describe_machine())}"


def name_words(name: str) -> str:
    """Return the words of a device's name that tell it apart, such as intel-xeon-gold-6354."""
    return re.sub(r"[^a-z0-9]+", "-", _NOISE.sub(" ", name).lower()).strip("-") or "unknown"


def describe_machine() -> Facts:
    """Return facts about the hardware and the operating system, for records and the machine's description."""
    return {
        "cpu": cpu_model(),
        "cpu_flags": cpu_flags(),
        "architecture": platform.machine(),
        "physical_cores": psutil.cpu_count(logical=False),
        "usable_cores": len(usable_cores()),
        "core_cpus": core_cpus(),
        "small_cores": small_cores(),
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
    """Return sixteen hexadecimal digits of a hash of the system's machine ID; None if the system has no such ID."""
    number = read_word(MACHINE_ID)
    if platform.system() == "Darwin":
        match = re.search(r'"IOPlatformUUID" = "(.+)"', output_of("ioreg", "-rd1", "-c", "IOPlatformExpertDevice"))
        number = match[1] if match else ""
    return hashlib.sha256(_PURPOSE + number.encode()).hexdigest()[:16] if number else None


def hardware_digits(facts: Facts) -> str:
    """Return four hexadecimal digits of a hash of the facts in `FIELDS`, except the memory, which varies by boot."""
    values = [facts.get(field) for field in FIELDS if field != "memory_bytes"]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:4]


def difference(facts: Facts, base: Facts) -> str | None:
    """Return the first field in which two machines differ, with both values; None if they may be the same machine.

    An example is "memory, 15.6 GiB, not 23.4 GiB", in which the second value is that of `base`. A field that only one
    of the machines has is not compared, but for the host: one that is not known is another than one that is.
    """
    for field, name in FIELDS.items():
        value: Any = facts.get(field)
        expected: Any = base.get(field)
        if value == expected or (field != HOST and None in (value, expected)):
            continue
        if field != "memory_bytes" or not math.isclose(value, expected, rel_tol=MEMORY_TOLERANCE):
            return f"{name}, {show_field(field, value)}, not {show_field(field, expected)}"
    return None


def show_field(field: str, value: Any) -> str:
    """Return the value of a field as text for people."""
    if field == "memory_bytes":
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "unknown" if value is None else str(value)
