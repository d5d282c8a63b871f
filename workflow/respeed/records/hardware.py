"""The hardware sheet: results/[smoke/]records/<machine>/hardware.json, what the machine reached when it was measured.

Its `rounds` are records as those of papers are, so that the same rules judge them; `absent` is what the machine cannot
run, with the reason. Facts only.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from respeed.errors import UserError
from respeed.model.identity import difference
from respeed.paths import hardware_path
from respeed.records.check import check_kind
from respeed.records.files import made_anew, read_json
from respeed.records.layout import Kind

# What stands in a round's place for paper and experiment.
PAPER = "hardware"


def read_hardware(path: Path) -> dict[str, Any]:
    """Read a sheet, and check what statistics rest on; UserError if it cannot be used."""
    return check_kind(Kind.SHEET, read_json(path), str(path))


def read_machines_hardware(machine: str, smoke: bool, hardware: Mapping[str, Any]) -> dict[str, Any] | None:
    """The sheet of a machine whose records say what its `hardware` is. None where there is none; one that is damaged,
    or was measured on other hardware, is left out with a line."""
    path = hardware_path(machine, smoke)
    if not path.exists():
        return None
    try:
        sheet = read_hardware(path)
    except UserError as error:
        print(f"respeed: left out: {error}; {made_anew(machine)}", file=sys.stderr)
        return None
    if reason := misplaced(sheet, machine, smoke, hardware):
        print(f"respeed: left out: {path}: {reason}", file=sys.stderr)
        return None
    return sheet


def misplaced(sheet: Mapping[str, Any], machine: str, smoke: bool, hardware: Mapping[str, Any]) -> str | None:
    """Why the sheet is not one of this machine, which is such `hardware`; None if it is."""
    if (sheet["machine"], sheet["smoke"]) != (machine, smoke):
        return "was made for another machine, or by another kind of run"
    found = difference(sheet["provenance"]["machine"], hardware)
    return f"was measured on other hardware: {found}" if found else None
