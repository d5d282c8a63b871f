"""One name, one machine: rounds of two machines must not become one number."""

from collections.abc import Mapping
from typing import Any

from respeed.model.errors import UserError
from respeed.model.identity import HOST, difference
from respeed.record.files import read_description, recorded_machines
from respeed.record.names import free_name
from respeed.record.one_machine import MachineRecords


def check_same_machine(machine: str, made_on: MachineRecords, here: Mapping[str, Any]) -> None:
    """UserError if this machine is another one than its records were made on: the first field that differs, and a name
    to use, ready to paste."""
    differs = difference(here, made_on.fingerprint)
    if differs is None:
        return
    if any(difference(here, one.made_on) is None for one in made_on.left_out.values()):
        name, advice = made_on.second_name, f"some are of this one: {made_on.rename_left_out}, and then"
    elif name := _name_of(here, but=machine):
        advice = f"this machine has records as {name}:"
    else:
        name, advice = free_name(machine, here.get(HOST)), "give this machine a name of its own:"
    raise UserError(
        f"{machine}: its records were made on another machine; here: {differs}; {advice} --config machine={name} "
        f"(or machine: {name} in config.yaml)"
    )


def _name_of(here: Mapping[str, Any], but: str) -> str:
    """The other name under which this very host was described; empty if there is none."""
    for smoke in (False, True):
        for machine in recorded_machines(smoke):
            hardware = (read_description(machine, smoke) or {}).get("hardware") or {}
            if (
                machine != but
                and here.get(HOST)
                and hardware.get(HOST) == here[HOST]
                and not difference(here, hardware)
            ):
                return machine
    return ""
