"""Gives records another machine's name. What is renamed is copied whole first, so that nothing is lost whenever it is
stopped, and the same call ends what was begun."""

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.paths import (
    MACHINES,
    check_name,
    description_path,
    hardware_path,
    record_folders,
    record_paths,
    records_folder,
    renaming_folder,
)
from respeed.records.fingerprint import HOST, difference, fingerprint_of
from respeed.records.models import Kind, canonical, made_on, parse_json, resealed, sealed, under_name, without_checksum
from respeed.records.store import (
    MachineRecords,
    json_text,
    read_hardware,
    read_machine,
    read_placed,
    replacing,
    set_aside,
    write_text,
)


def rename_machine(old: str, new: str, smoke: bool, told: Path = MACHINES) -> int:
    """Rename a machine: its folder, what its files say, and what is told of it. Returns how many files there are."""
    home, old_told, new_told = records_folder(smoke), told / f"{old}.yaml", told / f"{new}.yaml"
    _check_names(old, new, smoke)
    if old_told.exists() and new_told.exists():
        raise UserError(f"rename: {new_told} is there already; remove it, or {old_told}")
    contents = {path.relative_to(home / old): _said_of(new, path.read_bytes()) for path in _files_in(home / old)}
    contents = _copy(contents, home / new, smoke)
    if old_told.exists() and not smoke:
        old_told.replace(new_told)
    return _remove(contents, home / old)


def rename_left_out(old: str, new: str, smoke: bool) -> int:
    """Give a name of their own to the records that are left out, as they were made on other hardware than the rest of
    the folder. Returns how many there are."""
    home = records_folder(smoke)
    if old == new:
        raise UserError(f"rename: --left-out: the second name must be a new one: what is left out is not {old}'s")
    _check_names(old, new, smoke)
    found = read_machine(smoke, old)
    if not found.left_out:
        raise UserError(f"rename: no record of {old} is left out: all were made on one machine")
    paths = list(found.left_out)
    if _is_sheet_of(hardware_path(old, smoke), found):
        paths.append(hardware_path(old, smoke))
    contents = {path.relative_to(home / old): _said_of(new, path.read_bytes()) for path in paths}
    description = {Path(description_path(new, smoke).name): json_text(sealed(_description(new, found))).encode()}
    contents = _copy(contents, home / new, smoke, description)
    return _remove(contents, home / old)


def adopt_strangers(machine: str, smoke: bool) -> int:
    """Let all files in the machine's folder say its name, where it was copied or renamed by hand; one by one, in place.
    What was measured once does not count twice: a record that lies there under the right name already is set aside.
    Returns how many files said another."""
    _check_names(machine, machine, smoke)
    folder, changed = records_folder(smoke) / machine, 0
    for path in _repeated(machine, smoke):
        set_aside(path)
        print(f"respeed: {path}: set aside: the same measurement lies in this folder already", file=sys.stderr)
    for path in _files_in(folder):
        data = path.read_bytes()
        if set(_names(_parsed(data))) - {machine} and (renamed := _said_of(machine, data)) != data:
            write_text(path, renamed.decode())
            changed += 1
    if not changed:
        raise UserError(f"rename: all that lies in {folder} is of {machine} already")
    return changed


def _check_names(old: str, new: str, smoke: bool) -> None:
    check_name("machine", new, "rename")
    if old not in (machines := record_folders(smoke)) and not _files_in(records_folder(smoke) / old):
        raise UserError(f"rename: no records of {old!r}{nearest(old, machines)}")


def _copy(
    contents: dict[Path, bytes], target: Path, smoke: bool, more: dict[Path, bytes] | None = None
) -> dict[Path, bytes]:
    """Build the new folder beside, on the disk to its last byte, and put it into place at one stroke. Where it is there
    already, this was stopped after that: the same contents that it has are returned. UserError if it has none."""
    if target.exists() and any(target.iterdir()):
        there = {path.relative_to(target): path.read_bytes() for path in _files_in(target)}
        same = {place: data for place, data in contents.items() if there.get(place) == data}
        if not any(map(_names, map(_parsed, same.values()))):
            raise UserError(f"rename: {target} is there already; choose a name without records")
        return same
    build = renaming_folder(target.name, smoke)
    shutil.rmtree(build, ignore_errors=True)
    for place, data in (contents | (more or {})).items():
        with replacing(build / place) as file:
            file.write(data)
    for folder in [build, *(path for path in build.rglob("*") if path.is_dir())]:
        _sync(folder)
    build.rename(target)
    _sync(target.parent)
    return contents


def _remove(contents: dict[Path, bytes], folder: Path) -> int:
    """Remove from the old folder what is in the new one; what was measured there since stays."""
    with contextlib.suppress(OSError):
        (folder.parent / ".renaming").rmdir()
    for place in contents:
        (folder / place).unlink()
    for empty in [*sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True), folder]:
        with contextlib.suppress(OSError):
            empty.rmdir()
    return len(contents)


def _is_sheet_of(sheet: Path, found: MachineRecords) -> bool:
    """Whether the hardware sheet was measured on the very machine of the records that are left out, by its host."""
    try:
        facts = read_hardware(sheet)["provenance"]["machine"]
    except UserError:  # there is none that can be used
        return False
    alike = [one for one in found.others if difference(facts, one) is None]
    return facts.get(HOST) is not None and any(one.get(HOST) == facts[HOST] for one in alike)


def _description(machine: str, found: MachineRecords) -> dict[str, Any]:
    """What the latest record of the machine that has most of those left out says of it."""
    dated = sorted(((made_on(one), one["started"]) for one in found.left_out.values()), key=lambda one: one[1])
    meant = fingerprint_of({}, dated)
    fitting = [hardware for hardware, _ in dated if difference(hardware, meant) is None]
    return {"machine": machine, "hardware": fitting[-1], "not_measurable": {}}


def _said_of(machine: str, text: bytes) -> bytes:
    """A file's contents with that machine's name for whatever name it says; unchanged if it is damaged or no JSON."""
    data = _parsed(text)
    if not _names(data):
        return text
    try:
        return json_text(resealed(data, under_name(data, machine))).encode()
    except (ValueError, RecursionError):  # nested as no file of ours is, or infinity
        return text


def _names(data: Any) -> list[str]:
    """The machines that a file says it is of."""
    said = [data, data.get("id")] if isinstance(data, dict) else []
    return [one["machine"] for one in said if isinstance(one, dict) and isinstance(one.get("machine"), str)]


def _parsed(text: bytes) -> Any:
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return None


def _repeated(machine: str, smoke: bool) -> list[Path]:
    """The records under another name in the machine's folder that also lie there under its own."""
    own, others = set[str](), dict[Path, str]()
    for path in record_paths(smoke, machine):
        with contextlib.suppress(UserError):  # what cannot be used counts not even once
            record = read_placed(Kind.RECORD, path, smoke)
            content = canonical({key: value for key, value in without_checksum(record).items() if key != "id"})
            if record["id"]["machine"] == machine:
                own.add(content)
            else:
                others[path] = content
    return [path for path, content in others.items() if content in own]


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
