"""One name, one machine: rounds of two machines must not become one number."""

from collections.abc import Iterable, Mapping
from typing import Any

from respeed.load.folders import MACHINES, ROOT
from respeed.load.machines import told_of
from respeed.model.errors import UserError
from respeed.model.identity import difference
from respeed.provenance.machine import describe_machine


def describe_as(machine: str) -> dict[str, Any]:
    """The facts of this machine under that name: without its mark, where any of several nodes alike has the name."""
    facts, told = describe_machine(), told_of(machine)
    if told and told.slurm and told.slurm.alike:
        del facts["host"]
    return facts


def check_same_machine(machine: str, made_on: Iterable[Mapping[str, Any]], here: Mapping[str, Any]) -> None:
    """UserError that names the first field in which this machine differs from one that its records were made on."""
    for there in made_on:
        if found := difference(here, there):
            raise UserError(f"{machine}: its records were made on another machine; here: {found}; {_way_out(machine)}")


def _way_out(machine: str) -> str:
    told = told_of(machine)
    if told and told.slurm:
        return (
            f"under slurm: in {(MACHINES / machine).relative_to(ROOT)}.yaml write nodelist: NODE to get the same node "
            "each time, or alike: true if any of several may measure; another kind of node needs a file of its own"
        )
    return "give this machine a name of its own (machine: in config.yaml, or --config machine=NAME)"
