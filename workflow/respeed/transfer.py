"""Carries the records of machines elsewhere: export, import and check.

What is carried are files as they lie under a folder of records, in a zip file or a folder. Whoever made them is not
trusted: all is checked before anything is written, nothing that is here is written over, and what a zip file unpacks to
is bounded.
"""

import io
import os
import stat
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from respeed.errors import UserError, nearest
from respeed.inputs.reader import read_bounded
from respeed.machine.description import difference
from respeed.paths import check_name, records_folder, replacing
from respeed.records import (
    DESCRIPTION,
    MOST_BYTES,
    Record,
    is_file_of_machine,
    known_hardware,
    parse_file,
    recorded_machines,
)
from respeed.text import clip, visible

# A paper's rounds on all profiles of a machine are some hundred files and few megabytes.
MAX_FILES, MAX_BYTES, MAX_ZIP_BYTES = 50_000, 512 * 2**20, 128 * 2**20
# What reading a damaged or hostile zip file may raise.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError)
# The bytes of each file, by its path within a folder of records.
Files = dict[PurePosixPath, bytes]


def export_records(file: Path, smoke: bool, machine: str | None = None) -> dict[str, int]:
    """Write the files of a machine, or of all, to a zip file, whole or not at all: the same make the same bytes.

    What import would refuse is left out; reading it has told why. Returns the number of records of each machine.
    Raises UserError if there are none, or if it cannot be written.
    """
    there = recorded_machines(smoke)
    if machine and machine not in there:
        raise UserError(f"--machine: no records of {machine!r}{nearest(machine, there)}")
    home = records_folder(smoke)
    asked = [machine] if machine else there
    files = [one for one in _paths_below(home) if one.parts[0] in asked and _is_right(home, one, smoke)]
    if not files:
        raise UserError(f"{home}: nothing to export; measure first: ./run snakemake --cores all")
    if not file.parent.is_dir() or (file.exists() and file.stat().st_size and not zipfile.is_zipfile(file)):
        raise UserError(f"{file}: is no zip file, or in no folder; name one that can be written, such as records.zip")
    with replacing(file) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            info = zipfile.ZipInfo(str(path))  # of a fixed date: when it was packed is no fact of a record
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, read_bounded(home / path, MOST_BYTES), zipfile.ZIP_DEFLATED)
    return dict(Counter(path.parts[0] for path in files if path.name != DESCRIPTION))


def _paths_below(folder: Path) -> list[PurePosixPath]:
    """Return the files of machines in a folder of records, by their path within it, in order."""
    found = [PurePosixPath(path.relative_to(folder)) for path in (*folder.glob("*/*"), *folder.glob("*/*/*"))]
    return sorted(path for path in found if is_file_of_machine(path))


def _is_right(home: Path, place: PurePosixPath, smoke: bool) -> bool:
    """Return whether import would take the file."""
    try:
        return not _mistakes_in(place, read_bounded(home / place, MOST_BYTES), smoke, str(place))
    except UserError:
        return False


def read_carried(path: Path) -> Files:
    """Return the files of machines in a zip file, a folder of records, or the folder of one machine.

    Raises UserError if it cannot be read, has more than fits, or a zip file has anything that is none of these.
    """
    if path.is_dir():
        home = path if _paths_below(path) else path.resolve().parent
        paths = [one for one in _paths_below(home) if home == path or one.parts[0] == path.resolve().name]
        sizes = [(home / one).stat().st_size for one in paths]
        _check_amount(path, len(sizes), sum(sizes))
        files = {one: read_bounded(home / one, MOST_BYTES) for one in paths}
    else:
        files = _read_zip(path)
    if not files:
        raise UserError(f"{path}: has no records; give a file that export wrote, or a folder as under results/records")
    return files


def _check_amount(path: Path, files: int, size: int) -> None:
    if files > MAX_FILES or size > MAX_BYTES:
        raise UserError(f"{path}: has more than {MAX_FILES} files, or {MAX_BYTES} bytes; give those of one machine")


def _read_zip(path: Path) -> Files:
    packed, files = io.BytesIO(read_bounded(path, MAX_ZIP_BYTES)), Files()
    try:
        with zipfile.ZipFile(packed) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            _check_amount(path, len(members), sum(info.file_size for info in members))
            for info in members:
                name = PurePosixPath(info.filename)
                if reason := _why_refused(info, name, files):
                    raise UserError(f"{path}: {visible(clip(info.filename, 120))}: {reason}")
                with archive.open(info) as file:  # no more than it says: what it says may be a lie
                    files[name] = file.read(MOST_BYTES + 1)
                if len(files[name]) > MOST_BYTES:
                    raise UserError(f"{path}: {name}: larger than {MOST_BYTES} bytes, which no record needs")
    except _ZIP_ERRORS as error:
        raise UserError(f"{path}: is no whole zip file ({clip(str(error), 120)})") from None
    return files


def _why_refused(info: zipfile.ZipInfo, name: PurePosixPath, known: Files) -> str | None:
    """Return why a member of a zip file is none that export writes; None if it may be one."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if str(name) != info.filename or not is_file_of_machine(name):
        return "is no file of a machine's records"
    if kind not in (0, stat.S_IFREG):
        return "is no regular file"
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is encrypted, or packed in another way than export packs"
    return "stands there twice" if name in known else None


def check_carried(path: Path, smoke: bool | None = None) -> tuple[list[str], int]:
    """Return a line for each mistake in the records of a folder or a zip file, and how many files were looked at.

    Where `smoke` is None, each may be of either kind.
    """
    files, mistakes = read_carried(path), []
    for place, data in files.items():
        kinds = (False, True) if smoke is None else (smoke,)
        found = [_mistakes_in(place, data, kind, f"{path}: {place}") for kind in kinds]
        fewest = min(found, key=len)
        mistakes += fewest
    return mistakes, len(files)


def _mistakes_in(place: PurePosixPath, data: bytes, smoke: bool, where: str) -> list[str]:
    try:
        return parse_file(place, data, smoke, where)[1]
    except UserError as error:
        return [str(error)]


@dataclass
class Imported:
    """What became of one machine's files: how many were new, how many were here, and what else to know."""

    new: int = 0
    known: int = 0
    lines: list[str] = field(default_factory=list)


def import_records(path: Path, smoke: bool, name: str | None = None) -> dict[str, Imported]:
    """Copy what a zip file or a folder has and is not here, under the machine's `name` if one is given.

    Raises UserError, and nothing is written, if anything in it is not right, or is of another machine than what is here
    under that name.
    """
    files, machines = read_carried(path), dict[str, Files]()
    for place, data in files.items():
        machines.setdefault(place.parts[0], {})[place] = data
    if name and len(machines) > 1:
        raise UserError(f"{path}: --as {name}: has {len(machines)} machines ({', '.join(machines)}); export one")
    targets = {machine: check_name("machine", name or machine, str(path)) for machine in machines}
    for machine, target in targets.items():
        hardware = [known_hardware(target, smoke)]
        for place, data in machines[machine].items():
            found, skipped = parse_file(place, data, smoke, f"{path}: {place}")
            if skipped:
                raise UserError(skipped[0])
            facts = found.start.machine if isinstance(found, Record) else found.hardware
            hardware.append(facts.model_dump())
        for one in hardware[1:]:
            if reason := difference(one, hardware[1]):
                raise UserError(f"{path}: {machine}: has files of several machines ({reason})")
        if reason := difference(hardware[1], hardware[0]):
            raise UserError(f"{path}: {target} is another machine than the one of that name here ({reason}); --as NAME")
    return {target: _copy(machines[machine], records_folder(smoke) / target) for machine, target in targets.items()}


def _copy(files: Files, home: Path) -> Imported:
    done = Imported()
    for place, data in files.items():
        target = home.joinpath(*place.parts[1:])
        if os.path.lexists(target):
            done.known += 1
            if target.read_bytes() != data:
                done.lines.append(f"{target} is another one, and stays; to take theirs, delete it and import again")
            continue
        with replacing(target) as file:
            file.write(data)
        done.new += 1
    return done
