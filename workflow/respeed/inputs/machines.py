"""What is told of machines: workflow/machines/<machine>.yaml."""

import datetime
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.files import from_here
from respeed.inputs.hardware import profile_names
from respeed.inputs.mistakes import Mistakes
from respeed.inputs.schema import misfits
from respeed.inputs.yaml_file import parse_yaml, read_text
from respeed.model.told import Price, SlurmNode, Told
from respeed.paths import MACHINES, check_name


def told_machines(folder: Path = MACHINES) -> tuple[str, ...]:
    """The names of the machines that something is told of, or is meant to be: a name may be none."""
    return tuple(path.stem for path in sorted(folder.glob("*.yaml")))


def load_told(folder: Path = MACHINES) -> dict[str, Told]:
    """What is told, by machine; UserError if a file is not valid."""
    return {machine: _load(machine, folder) for machine in told_machines(folder)}


def told_of(machine: str, folder: Path = MACHINES) -> Told | None:
    """What is told of one machine; None if nothing is, UserError if its file is not valid."""
    return _load(machine, folder) if (folder / f"{machine}.yaml").exists() else None


def read_told(machine: str, folder: Path = MACHINES) -> tuple[Told | None, Mistakes]:
    """What is told of the machine, or None, and all mistakes in its file."""
    path = from_here(folder / f"{machine}.yaml")
    try:
        return check_told(machine, read_text(path), path)
    except UserError as error:
        return None, Mistakes([str(error)])


def check_told(machine: str, text: str, path: Path) -> tuple[Told | None, Mistakes]:
    """The same of a text, which messages call `path`."""
    mistakes = Mistakes()
    data: Any = None
    with mistakes.collecting():
        check_name("machine", machine, str(path))
    with mistakes.collecting():
        data = parse_yaml(text, str(path))
        data = {} if data is None else data
    mistakes += [] if mistakes else [misfit.line for misfit in misfits(data, "machine", path)]
    if mistakes:
        return None, mistakes
    for name in data.get("profiles", []):
        if name not in profile_names():
            mistakes.append(f"{path}: profiles: no hardware profile {name!r}{nearest(name, profile_names())}")
    price = data.get("price")
    if price:
        with mistakes.collecting():
            _check_day(price["date"], path)
    told = Told(
        machine,
        price=Price(**price) if price else None,
        profiles=tuple(data["profiles"]) if "profiles" in data else None,
        slurm=SlurmNode(**data["slurm"]) if "slurm" in data else None,
    )
    return (None if mistakes else told), mistakes


def _load(machine: str, folder: Path) -> Told:
    told, mistakes = read_told(machine, folder)
    mistakes.raise_any()
    assert told is not None  # without mistakes there is one
    return told


def _check_day(text: str, path: Path) -> None:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        raise UserError(f"{path}: price.date: {text!r} is no day of the calendar; write it as 2026-11-22") from None
