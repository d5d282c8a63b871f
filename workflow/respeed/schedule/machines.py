"""Which machines are shown with all their cells and figures, and which in a row each."""

from collections.abc import Mapping

from respeed.inputs.config import load_config
from respeed.machine.description import machine_slug
from respeed.records.store import recorded_machines

# Beyond so many machines, a reader wants one in full and to know where it stands among the others.
FEW = 4


def machines_in_full(smoke: bool, machine: str | None = None) -> list[str]:
    """The names of the machines to show in full, of those that have records.

    As long as there are few, these are all of them. Where there are many, it is one: `machine`, by default this one, or
    if that has no records, the one that has most.
    """
    there = recorded_machines(smoke)
    if len(there) <= FEW:
        return list(there)
    return choose_in_full(there, machine or load_config(strict=False).machine or machine_slug())


def choose_in_full(there: Mapping[str, int], machine: str) -> list[str]:
    """The same of machines with their numbers of records, in the order of their names."""
    if len(there) <= FEW:
        return sorted(there)
    return [machine if machine in there else max(sorted(there), key=lambda name: there[name])]
