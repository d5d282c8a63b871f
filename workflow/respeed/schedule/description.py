"""A machine's description: what it is, and which profiles it cannot run and why."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from respeed.inputs.profiles import Profile, other_library
from respeed.machine.accelerators import refuse_pretended
from respeed.paths import ROOT, parse_description_path
from respeed.records.store import write_record
from respeed.schedule.answers import answers_here
from respeed.schedule.availability import why_not
from respeed.schedule.same_machine import check_is_this_machine, describe_as


def make_description(machine: str, profiles: Mapping[str, Profile]) -> dict[str, Any]:
    """Facts for `machine.json`. `not_measurable` maps a profile to the reason that the tables show."""
    hardware = describe_as(machine)
    rows = {name: profile for name, profile in profiles.items() if not other_library(profile, hardware)}
    reasons = {name: why_not(profile) for name, profile in rows.items()}
    return {
        "machine": machine,
        "hardware": hardware,
        "not_measurable": {name: reason for name, reason in reasons.items() if reason},
        "profiles": answers_here(profiles),
    }


def write_description(path: Path, profiles: Mapping[str, Profile]) -> None:
    """Describe this machine in `path`; UserError if the name is another machine's by what lies under it: its records
    would all be left out from then on; or if its GPU is pretended."""
    machine, smoke = parse_description_path(path)
    refuse_pretended(ROOT, smoke=smoke)
    check_is_this_machine(machine, smoke)
    write_record(path, make_description(machine, profiles))
