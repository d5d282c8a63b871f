"""One name, one machine: rounds of two machines must not become one number."""

from collections.abc import Iterable, Mapping
from typing import Any

from respeed.model.errors import UserError

# What a kernel leaves of the memory after its own start differs a little from boot to boot.
MEMORY_TOLERANCE = 0.05
FIELDS = {"cpu": "CPU", "usable_cores": "usable cores", "memory_bytes": "memory", "accelerators": "accelerators"}


def check_same_machine(machine: str, made_on: Iterable[Mapping[str, Any]], here: Mapping[str, Any]) -> None:
    """UserError that names the first field in which this machine differs from one that its records were made on."""
    for there in made_on:
        for field, name in FIELDS.items():
            if field in there and _differ(field, there.get(field), here[field]):
                raise UserError(
                    f"{machine}: the {name} here, {_shown(field, here[field])}, is not that of its records, "
                    f"{_shown(field, there.get(field))}; give this machine a name of its own (machine: in config.yaml, "
                    "or --config machine=NAME)"
                )


def _differ(field: str, there: Any, here: Any) -> bool:
    if field == "memory_bytes" and there:
        return bool(abs(there - here) > MEMORY_TOLERANCE * here)
    return bool(there != here)


def _shown(field: str, value: Any) -> str:
    if field == "memory_bytes" and value:
        return f"{value / 2**30:.1f} GiB"
    if field == "accelerators":
        return ", ".join(value) or "none"
    return str(value)
