"""What a record must be able to say about where it comes from."""

from collections.abc import Mapping
from typing import Any

from respeed.errors import UserError

# Hoefler and Belli, SC 2015, rule 9: a number without these cannot be interpreted. None may be null.
REQUIRED = (
    "commit",
    "machine.cpu",
    "machine.architecture",
    "machine.usable_cores",
    "machine.logical_cpus",
    "machine.memory_bytes",
    "machine.system",
    "backend.library",
    "backend.package",
    "backend.precision",
    "backend.threads_set",
    "versions.python",
    "versions.numpy",
    "environment.OMP_NUM_THREADS",
    "libraries",
)


def check_provenance(provenance: Mapping[str, Any]) -> None:
    """UserError that names the first required field that is missing or null: such a round is not worth keeping."""
    for name in REQUIRED:
        value: Any = provenance
        for key in name.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is None or value == "":
            raise UserError(f"provenance.{name} cannot be read on this machine; a record without it would mean nothing")
