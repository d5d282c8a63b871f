"""Finds the name that a host has in this folder, by its mark."""

from collections.abc import Mapping
from typing import Any

from respeed.model.identity import HOST, difference
from respeed.records.files import read_description, recorded_machines


def name_of(hardware: Mapping[str, Any], but: str, smoke: bool) -> str:
    """The name, other than `but`, under which the very host of these facts was described; empty if there is none."""
    if not hardware.get(HOST):
        return ""
    for machine in recorded_machines(smoke):
        described = (read_description(machine, smoke) or {}).get("hardware") or {}
        if machine != but and described.get(HOST) == hardware[HOST] and not difference(hardware, described):
            return machine
    return ""
