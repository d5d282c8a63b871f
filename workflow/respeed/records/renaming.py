"""Gives records another machine's name. Killed at any moment, it loses none, and the same call ends what was begun."""

import contextlib
import hashlib
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.model.identity import HOST, difference, fingerprint_of
from respeed.paths import (
    MACHINES,
    check_name,
    description_path,
    hardware_path,
    record_folders,
    record_paths,
    records_folder,
    renaming_folder,
    renaming_mark,
)
from respeed.records.checksum import KEY, canonical, resealed
from respeed.records.files import json_text, read_json, set_aside, write_json, write_record, write_text
from respeed.records.one_machine import read_machine, rename_command
from respeed.records.standard_json import parse_json


@dataclass(frozen=True)
class Renaming:
    """What goes from one machine's folder to another's: `files`, by their path there, with the SHA-256 of the bytes
    that they had. Written into the new folder, until nothing of them is left in the old one."""

    old: str
    new: str
    only_left_out: bool
    files: Mapping[str, str]


def rename_machine(old: str, new: str, smoke: bool, told: Path = MACHINES) -> int:
    """Rename a machine: its folder, what its files say, and what is told of it. Returns how many files there are."""
    return _rename(old, new, False, smoke, told)


def rename_left_out(old: str, new: str, smoke: bool) -> int:
    """Give a name of their own to the records that are left out, as they were made on other hardware than the rest of
    the folder. Returns how many there are."""
    return _rename(old, new, True, smoke, MACHINES)


def adopt_strangers(machine: str, smoke: bool) -> int:
    """Let all files in the machine's folder say its name, where it was copied or renamed by hand; one by one, in place.
    What was measured once does not count twice: a record that lies there under the right name already is set aside.
    Returns how many files said another."""
    check_name("machine", machine, "rename")
    if machine not in record_folders(smoke):
        raise UserError(f"rename: no records of {machine!r}{nearest(machine, record_folders(smoke))}")
    folder, changed = records_folder(smoke) / machine, 0
    for path in _repeated(machine, smoke):
        set_aside(path)
        print(f"respeed: {path}: set aside: the same measurement lies in this folder already", file=sys.stderr)
    for path in _files_in(folder):
        text = path.read_bytes()
        renamed = _said_of(machine, text)
        if _names(renamed) != _names(text):
            write_text(path, renamed.decode())
            changed += 1
    if not changed:
        raise UserError(f"rename: all that lies in {folder} is of {machine} already")
    return changed


def _rename(old: str, new: str, only_left_out: bool, smoke: bool, told: Path) -> int:
    check_name("machine", new, "rename")
    begun = _begun(new, smoke)
    if begun is None:
        begun = _begin(old, new, only_left_out, smoke, told)
    elif (begun.old, begun.only_left_out) != (old, only_left_out):
        first = rename_command(begun.old, begun.new, begun.only_left_out, smoke)
        raise UserError(f"rename: {new} is not done yet; end that first: {first}")
    _end(begun, smoke, told)
    return len(begun.files)


def _begun(new: str, smoke: bool) -> Renaming | None:
    mark = renaming_mark(new, smoke)
    return Renaming(**read_json(mark)) if mark.exists() else None


def _begin(old: str, new: str, only_left_out: bool, smoke: bool, told: Path) -> Renaming:
    """Build the new folder beside, and put it into place at one stroke."""
    if only_left_out and old == new:
        raise UserError(f"rename: --left-out: the second name must be a new one: what is left out is not {old}'s")
    machines, home = record_folders(smoke), records_folder(smoke)
    if old not in machines:
        raise UserError(f"rename: no records of {old!r}{nearest(old, machines)}")
    if (home / new).exists() and any((home / new).iterdir()):
        raise UserError(f"rename: {home / new} is there already; choose a name without records")
    if not only_left_out and _told_of(old, told).exists() and _told_of(new, told).exists():
        raise UserError(f"rename: {_told_of(new, told)} is there already; remove it, or {_told_of(old, told)}")
    left_out = read_machine(smoke, old).left_out if only_left_out else {}
    paths = list(left_out) if only_left_out else _files_in(home / old)
    if not paths:
        raise UserError(f"rename: no record of {old} is left out: all were made on one machine")
    if left_out and _is_sheet_of(hardware_path(old, smoke), [one.made_on for one in left_out.values()]):
        paths.append(hardware_path(old, smoke))
    build = renaming_folder(new, smoke)
    shutil.rmtree(build, ignore_errors=True)
    files = {}
    for path in paths:
        data, place = path.read_bytes(), str(path.relative_to(home / old))
        files[place] = _sha256(data)
        _write(build / place, _said_of(new, data))
    if left_out:
        write_record(
            build / description_path(new, smoke).name, _description(new, [one.record for one in left_out.values()])
        )
    begun = Renaming(old, new, only_left_out, files)
    write_json(build / renaming_mark(new, smoke).name, asdict(begun))
    for folder in [build, *(path for path in build.rglob("*") if path.is_dir())]:
        _sync(folder)
    build.rename(home / new)
    _sync(home)
    return begun


def _end(begun: Renaming, smoke: bool, told: Path) -> None:
    """Remove from the old folder what is in the new one. What was measured there since stays."""
    old = records_folder(smoke) / begun.old
    for place, sha256 in begun.files.items():
        path = old / place
        if path.exists() and _sha256(path.read_bytes()) == sha256:
            path.unlink()
    for folder in sorted((path for path in old.rglob("*") if path.is_dir()), reverse=True):
        _remove_empty(folder)
    _remove_empty(old)
    _remove_empty(renaming_folder(begun.new, smoke).parent)
    if not begun.only_left_out and not smoke and _told_of(begun.old, told).exists():
        _told_of(begun.old, told).replace(_told_of(begun.new, told))
    renaming_mark(begun.new, smoke).unlink()


def _is_sheet_of(sheet: Path, made_on: list[dict[str, Any]]) -> bool:
    """Whether the hardware sheet was measured on the very machine that these records were made on, by its host."""
    try:
        facts = read_json(sheet)["provenance"]["machine"] if sheet.exists() else {}
        return bool(facts.get(HOST)) and any(
            one.get(HOST) == facts[HOST] and difference(facts, one) is None for one in made_on
        )
    except (UserError, KeyError, TypeError, AttributeError):
        return False


def _description(machine: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """What the latest record of the machine that has most of them says of it."""
    dated = sorted(((one["provenance"]["machine"], one["started"]) for one in records), key=lambda one: one[1])
    meant = fingerprint_of({}, dated)
    fitting = [hardware for hardware, _ in dated if difference(hardware, meant) is None]
    return {"machine": machine, "hardware": fitting[-1], "not_measurable": {}}


def _said_of(machine: str, text: bytes) -> bytes:
    """A file's contents with that machine's name for whatever name it says; unchanged if it is damaged or no JSON."""
    data, before = _parsed(text), _parsed(text)
    if not _names(text):
        return text
    # A hardware sheet has rounds in it, each with an id of its own.
    rounds = data.get("rounds") if isinstance(data.get("rounds"), list) else ()
    for said in (data, data.get("id"), *(one.get("id") for one in rounds if isinstance(one, dict))):
        if isinstance(said, dict) and "machine" in said:
            said["machine"] = machine
    try:
        return json_text(resealed(before, data)).encode()
    except (ValueError, RecursionError):  # nested as no file of ours is, or infinity
        return text


def _names(text: bytes) -> list[Any]:
    """The machines that a file says it is of."""
    data = _parsed(text)
    if not isinstance(data, dict):
        return []
    inside = data.get("id") if isinstance(data.get("id"), dict) else {}
    return [one["machine"] for one in (data, inside) if isinstance(one, dict) and isinstance(one.get("machine"), str)]


def _parsed(text: bytes) -> Any:
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return None


def _repeated(machine: str, smoke: bool) -> list[Path]:
    """The records under another name in the machine's folder that also lie there under its own."""
    own, others = set[str](), dict[Path, str]()
    for path in record_paths(smoke, machine):
        text = path.read_bytes()
        if names := _names(text):
            said = {key: value for key, value in _parsed(text).items() if key not in ("id", KEY)}
            with contextlib.suppress(ValueError):  # what no record can say is no measurement
                content = canonical(said)
                own |= {content} if names == [machine] else set()
                others |= {path: content} if names != [machine] else {}
    return [path for path, content in others.items() if content in own]


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _told_of(machine: str, told: Path) -> Path:
    return told / f"{machine}.yaml"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(path: Path, data: bytes) -> None:
    """Onto the disk, before anything is removed that it replaces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
