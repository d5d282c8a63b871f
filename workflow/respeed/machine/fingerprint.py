"""Tell one machine from another by its hardware: four digits of its default name, and one comparison."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

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


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str | None:
    """Return the first field in which two machines differ, with both values; None if they may be one machine.

    Such as "memory, 15.6 GiB, not 23.4 GiB", which `there` has and `here` has not. What only one of them tells is not
    compared.
    """
    for field, name in FIELDS.items():
        values = there.get(field), here.get(field)
        if None not in values and not _is_alike(field, *values):
            return f"{name}, {show_field(field, values[0])}, not {show_field(field, values[1])}"
    return None


def _is_alike(field: str, one: Any, other: Any) -> bool:
    if field == "memory_bytes":
        return bool(abs(one - other) <= MEMORY_TOLERANCE * max(one, other))
    return bool(one == other)


def show_field(field: str, value: Any) -> str:
    """Return the value of a field as text for people."""
    if field == "memory_bytes":
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return str(value)


def hardware_digits(facts: Mapping[str, Any]) -> str:
    """Return four hexadecimal digits of a hash of the hardware, without the memory, which differs from boot to boot."""
    told = [facts.get(field) for field in FIELDS if field != "memory_bytes"]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:4]
