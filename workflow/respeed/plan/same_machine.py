"""One name, one machine: rounds of two machines must not become one number."""

from collections.abc import Iterable, Mapping
from typing import Any

from respeed.model.errors import UserError
from respeed.model.identity import difference


def check_same_machine(machine: str, made_on: Iterable[Mapping[str, Any]], here: Mapping[str, Any]) -> None:
    """UserError that names the first field in which this machine differs from one that its records were made on."""
    for there in made_on:
        if found := difference(here, there):
            raise UserError(
                f"{machine}: its records were made on another machine; here: {found}; give this machine a name of its "
                "own (machine: in config.yaml, or --config machine=NAME)"
            )
