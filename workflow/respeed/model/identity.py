"""Which machine it is: a fingerprint of its hardware, beside its readable name."""

from collections.abc import Mapping
from typing import Any

# What a kernel leaves of the memory after its own start differs a little from boot to boot.
MEMORY_TOLERANCE = 0.05
# The facts that a machine does not change without becoming another one, and what they are called.
FIELDS = {
    "cpu": "CPU",
    "sockets": "sockets",
    "physical_cores": "physical cores",
    "usable_cores": "usable cores",
    "cpu_flags": "vector extensions",
    "memory_bytes": "memory",
    "accelerators": "accelerators",
    "host": "host",
}


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str | None:
    """The first field in which two machines' facts differ, with both values: "memory, 15.6 GiB, not 23.4 GiB" is what
    `there` has and `here` has not. None if they may be one machine: what only one of them tells is not compared."""
    for field, name in FIELDS.items():
        one, other = there.get(field), here.get(field)
        if one is not None and other is not None and _differ(field, one, other):
            return f"{name}, {_shown(field, one)}, not {_shown(field, other)}"
    return None


def _differ(field: str, one: Any, other: Any) -> bool:
    if field == "memory_bytes":
        return bool(abs(one - other) > MEMORY_TOLERANCE * max(one, other))
    return bool(one != other)


def _shown(field: str, value: Any) -> str:
    if field == "memory_bytes":
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return str(value)
