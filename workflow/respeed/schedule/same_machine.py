"""One name, one machine: rounds of two machines must not become one number."""

from collections.abc import Mapping
from typing import Any

from respeed.errors import UserError
from respeed.inputs.machines import told_of
from respeed.machine.description import describe_machine
from respeed.paths import MACHINES, ROOT
from respeed.records.fingerprint import HOST, difference, free_name, name_of
from respeed.records.store import MachineRecords, described_machines, read_machine


def describe_as(machine: str) -> dict[str, Any]:
    """The facts of this machine under that name: without its mark, where any of several nodes alike has the name."""
    facts, told = describe_machine(), told_of(machine)
    if told and told.slurm and told.slurm.alike:
        del facts[HOST]
    return facts


def check_same_machine(machine: str, made_on: MachineRecords, here: Mapping[str, Any]) -> None:
    """UserError if this machine is another one than its records were made on: the first field that differs, and a name
    to use, ready to paste."""
    if differs := difference(here, made_on.fingerprint):
        way_out = _way_out_on_cluster(machine) or _way_out(machine, made_on, here)
        raise UserError(f"{machine}: its records were made on another machine; here: {differs}; {way_out}")


def check_is_this_machine(machine: str, smoke: bool) -> None:
    """UserError if what lies under the machine's name was made on another one than this."""
    check_same_machine(machine, read_machine(smoke, machine), describe_as(machine))


def _way_out_on_cluster(machine: str) -> str:
    told = told_of(machine)
    if told is None or told.slurm is None:
        return ""
    return (
        f"under slurm: in {(MACHINES / machine).relative_to(ROOT)}.yaml write nodelist: NODE to get the same node "
        "each time, or alike: true if any of several may measure; another kind of node needs a file of its own"
    )


def _way_out(machine: str, made_on: MachineRecords, here: Mapping[str, Any]) -> str:
    if any(difference(here, one.made_on) is None for one in made_on.left_out.values()):
        name, advice = made_on.second_name, f"some are of this one: {made_on.rename_left_out}, and then"
    elif name := next(filter(None, (name_of(here, machine, described_machines(one)) for one in (False, True))), ""):
        advice = f"this machine has records as {name}:"
    else:
        name, advice = free_name(machine, here.get(HOST)), "give this machine a name of its own:"
    return f"{advice} --config machine={name} (or machine: {name} in config.yaml)"
