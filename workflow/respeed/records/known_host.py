"""Finds the name that a host has in this folder, by its mark."""

from collections.abc import Mapping
from typing import Any

from respeed.model.identity import HOST, difference
from respeed.paths import records_folder
from respeed.records.files import read_description


def described_machines(smoke: bool) -> dict[str, Mapping[str, Any]]:
    """The hardware of each machine here that has a description of its own, by name."""
    names = sorted(path.parent.name for path in records_folder(smoke).glob("*/machine.json"))
    found = {name: read_description(name, smoke) for name in names}
    return {name: one["hardware"] for name, one in found.items() if one}


def name_of(hardware: Mapping[str, Any], but: str, described: Mapping[str, Mapping[str, Any]]) -> str:
    """The name, other than `but`, under which the very host of these facts was described; empty if there is none."""
    if not hardware.get(HOST):
        return ""
    alike = (name for name, other in described.items() if name != but and other.get(HOST) == hardware[HOST])
    return next((name for name in alike if not difference(hardware, described[name])), "")
