"""Carries the records of machines elsewhere: export, import and check.

What is carried are files as they lie under a folder of records, in a zip file or a folder. Whoever made them is not
trusted: everything is checked before anything is written, nothing that is here is written over, and what a zip file
unpacks to is bounded.
"""

import io
import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.files import read_bounded
from respeed.machine.fingerprint import difference
from respeed.paths import check_name, records_folder
from respeed.records.models import HIGHEST_NUMBER, MOST_BYTES, Kind, kind_of, number_of, parse
from respeed.records.store import known_hardware, placed, read_or_skip, recorded_machines, replacing, write_bytes
from respeed.text import clip, visible

# A paper's rounds on all profiles of a machine are some hundred files and few megabytes.
MAX_FILES, MAX_BYTES = 50_000, 512 * 2**20
# The list of a zip file's members is read whole, and has at least 46 bytes for each.
MAX_ZIP_BYTES = 64 * 2**20
# What reading a damaged or hostile zip file may raise.
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, OverflowError, RuntimeError,
    ValueError,
)  # fmt: skip

# The bytes of each file, by its path within a folder of records.
Files = dict[PurePosixPath, bytes]


# --- export


def export_records(file: Path, smoke: bool, machine: str | None = None) -> dict[str, int]:
    """Write the files of a machine, or of all, to a zip file, whole or not at all: the same make the same bytes.

    Returns the number of records of each machine. What cannot be used is skipped, with a line. Raises UserError if
    there are none, or the file cannot be written.
    """
    if machine and machine not in (there := recorded_machines(smoke)):
        raise UserError(f"--machine: no records of {machine!r}{nearest(machine, there)}")
    home = records_folder(smoke)
    files = [path for path in _paths_of_machines(home) if machine in (None, path.parts[0])]
    files = [path for path in files if read_or_skip(home / path, smoke)]
    if not files:
        raise UserError(f"{home}: nothing to export; measure first: ./run snakemake --cores all")
    if not file.parent.is_dir() or (file.exists() and file.stat().st_size and not zipfile.is_zipfile(file)):
        raise UserError(f"{file}: is no zip file, or in no folder; name one that can be written, such as records.zip")
    with replacing(file) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            info = zipfile.ZipInfo(str(path))  # of a fixed date: when it was packed is no fact of a record
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, (home / path).read_bytes(), zipfile.ZIP_DEFLATED)
    return dict(Counter(path.parts[0] for path in files if kind_of(path) is Kind.RECORD))


def _paths_of_machines(folder: Path, home: Path | None = None) -> list[PurePosixPath]:
    """Return the files of machines beneath `folder`, by their path within the folder of records `home`, in order."""
    found = []
    for where, folders, names in os.walk(folder):
        at = PurePosixPath(Path(where).relative_to(home or folder).as_posix())
        folders[:] = folders if len(at.parts) < 4 else []
        found += [at / name for name in names if kind_of(at / name)]
    return sorted(found)


# --- reading what was carried


def read_carried(path: Path) -> Files:
    """Return the files of machines in a zip file, a folder of records, or the folder of one machine.

    Raises UserError if it cannot be read, has more than fits, or a zip file has anything that is none of these.
    """
    files = _read_folder(path) if path.is_dir() else _read_zip(path)
    if not files:
        raise UserError(f"{path}: has no records; give a file that export wrote, or a folder as under results/records")
    return files


def _read_folder(path: Path) -> Files:
    home, paths = path, _paths_of_machines(path)
    if not paths:  # the folder of one machine
        home = path.resolve().parent
        paths = _paths_of_machines(path.resolve(), home)
    if len(paths) > MAX_FILES or sum((home / one).stat().st_size for one in paths) > MAX_BYTES:
        raise UserError(
            f"{path}: has more than {MAX_FILES} files, or {MAX_BYTES} bytes; give the folder of one machine"
        )
    return {one: read_bounded(home / one, _most_bytes(one)) for one in paths}


def _most_bytes(path: PurePosixPath) -> int:
    kind = kind_of(path)
    return MOST_BYTES[kind] if kind else 0


def _read_zip(path: Path) -> Files:
    files: Files = {}
    total = 0
    packed = io.BytesIO(read_bounded(path, MAX_ZIP_BYTES))
    try:
        with zipfile.ZipFile(packed) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            if len(members) > MAX_FILES:
                raise UserError(f"{path}: has more than {MAX_FILES} files")
            for info in members:
                name = PurePosixPath(info.filename)
                if reason := _why_refused(info, name, files):
                    raise UserError(f"{path}: {_shown(info.filename)}: {reason}")
                with archive.open(info) as member:
                    # No more is unpacked, whatever the zip file says.
                    files[name] = member.read(_most_bytes(name) + 1)
                total += len(files[name])
                if len(files[name]) > _most_bytes(name) or total > MAX_BYTES:
                    raise UserError(f"{path}: {_shown(info.filename)}: unpacks to more than any machine's files have")
            return files
    except _ZIP_ERRORS as error:
        raise UserError(f"{path}: cannot be read as a zip file: {clip(str(error), 200)}") from None


def _why_refused(info: zipfile.ZipInfo, name: PurePosixPath, files: Files) -> str | None:
    if kind_of(name) is None or str(name) != info.orig_filename:
        return "no machine has a file of such a name"
    if name in files:
        return "stands there twice"
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
        return "is a link, or no plain file"
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is encrypted, or packed in an unusual way"
    return None


def _shown(name: str) -> str:
    return visible(clip(name, 150))


# --- checking what was carried


def check_carried(path: Path, smoke: bool | None = None) -> tuple[list[str], int]:
    """Check a zip file or a folder of records; return a line for each mistake, and the number of files."""
    try:
        files = read_carried(path)
    except UserError as error:
        return [str(error)], 0
    mistakes = []
    hardware: dict[str, list[Mapping[str, Any]]] = {}
    for name, data in files.items():
        try:
            facts = _hardware_in(name, data, path, smoke)
        except UserError as error:
            mistakes.append(str(error))
        else:
            hardware.setdefault(name.parts[0], []).append(facts)
    for machine, found in hardware.items():
        if reason := _why_several(found):
            mistakes.append(f"{path}: {machine}: has files of several machines ({reason})")
    return mistakes, len(files)


def _hardware_in(name: PurePosixPath, data: bytes, path: Path, smoke: bool | None) -> Mapping[str, Any]:
    """Return what a file says of its machine. Raises UserError if the file is not what its place says."""
    kind, where = kind_of(name), f"{path}: {name}"
    if path.is_dir():  # of all machines, or of one
        where = str((path if (path / name).exists() else path.parent) / name)
    assert kind, name
    said = parse(kind, data, where)
    placed(kind, said, Path(where), said.get("smoke", False) if smoke is None else smoke)
    facts: Mapping[str, Any] = said["hardware"] if kind is Kind.DESCRIPTION else said["provenance"]["machine"]
    return facts


def _why_several(hardware: list[Mapping[str, Any]]) -> str | None:
    """Return how the facts of one machine differ, as two machines' would; None if they do not."""
    return next(filter(None, (difference(other, hardware[0]) for other in hardware[1:])), None)


# --- import


@dataclass
class Imported:
    """What came of one machine's files: how many of each kind were new, how many were here, and what else to know."""

    new: Counter[Kind] = field(default_factory=Counter)
    known: int = 0
    lines: list[str] = field(default_factory=list)


def import_records(path: Path, smoke: bool, name: str | None = None) -> dict[str, Imported]:
    """Copy what a zip file or a folder has and is not here, under the machine's `name` if one is given.

    Raises UserError, and nothing is written, if anything in it is not right, or is of another machine than what is here
    under that name.
    """
    files = read_carried(path)
    machines: dict[str, Files] = {}
    hardware: dict[str, list[Mapping[str, Any]]] = {}
    for place, data in files.items():
        machines.setdefault(place.parts[0], {})[place] = data
        hardware.setdefault(place.parts[0], []).append(_hardware_in(place, data, path, smoke))
    if name and len(machines) > 1:
        raise UserError(f"{path}: --as {name}: has {len(machines)} machines ({', '.join(machines)}); export one")
    targets = {machine: check_name("machine", name or machine, str(path)) for machine in machines}
    for machine, target in targets.items():
        if reason := _why_several(hardware[machine]):
            raise UserError(f"{path}: {machine}: has files of several machines ({reason})")
        if reason := difference(hardware[machine][0], known_hardware(target, smoke)):
            raise UserError(f"{path}: {target} is another machine than the one of that name here ({reason}); --as NAME")
    return {
        target: _copy(machines[machine], records_folder(smoke) / target, path) for machine, target in targets.items()
    }


def _copy(files: Files, home: Path, path: Path) -> Imported:
    done = Imported()
    known: dict[Path, set[bytes]] = {}
    for place, data in files.items():
        kind, target = kind_of(place), home.joinpath(*place.parts[1:])
        assert kind, place
        if target.parent not in known:
            known[target.parent] = {one.read_bytes() for one in target.parent.glob("*.json") if one.is_file()}
        if data in known[target.parent]:
            done.known += 1
            continue
        if target.exists() and kind is not Kind.RECORD:
            done.lines.append(f"{target} is another one, and stays; to take theirs, delete it and import again")
            continue
        write_bytes(next(_free_paths(target, path)) if kind is Kind.RECORD else target, data)
        known[target.parent].add(data)
        done.new[kind] += 1
    return done


def _free_paths(target: Path, path: Path) -> Iterator[Path]:
    """Give the target, if nothing lies there, or else the first free number after it."""
    for number in range(number_of(target.name), HIGHEST_NUMBER + 1):
        if not os.path.lexists(found := target.with_name(f"round-{number:02d}.json")):
            yield found
    raise UserError(f"{path}: {target.parent} would have more than {HIGHEST_NUMBER} rounds")
