"""Exchange records between machines: respeed export and import.

Records are exchanged as a zip file or a folder, laid out like results/records. As they may come from a stranger, all
records are checked before anything is written, no existing file is overwritten, and the unpacked size of a zip file is
bounded. They lie apart, under ``results/imported``: they join records that are here only if the user says so by name.
"""

import glob
import hashlib
import io
import os
import shlex
import stat
import zipfile
import zlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from respeed.errors import UserError, tell
from respeed.inputs.config import load_config
from respeed.inputs.reader import read_bounded
from respeed.machine import describe_machine, difference
from respeed.machine.process import Facts
from respeed.paths import (
    RUN,
    check_name,
    hold_folder,
    imported_folder,
    records_folder,
    replacing,
    results_folder,
)
from respeed.records import (
    DESCRIPTION,
    IMPORTS,
    MOST_BYTES,
    SET_ASIDE,
    Import,
    Record,
    append_line,
    check_recorded,
    is_file_of_machine,
    is_imported,
    known_hardware,
    parse_file,
    read_imports,
    recorded_machines,
)
from respeed.text import clip, counted

# A paper's rounds on all profiles of a machine are some hundred files and a few megabytes.
MAX_FILES = 50_000
MAX_BYTES = 512 * 2**20
MAX_ZIP_BYTES = 128 * 2**20
MAX_MACHINES = 50
# Records are packed to a quarter of their size. What unpacks to so many times its size is made to fill the memory.
MAX_UNPACKED = 50
LEAST_UNPACKED = 2**20
# Clocks of two machines differ; by no more than this, a record may seem to come from the future.
CLOCKS_APART = timedelta(days=1)
# The errors that reading a damaged or hostile zip file may raise.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)
# The bytes of each file, by its path within a folder of records.
Files = dict[PurePosixPath, bytes]
NO_RECORDS = "has no records; measure first, or give a file that export wrote"


# --- reading


class Bundle(NamedTuple):
    """The contents of a zip file or a folder: files that can be used, and a line for each mistake in the others.

    `hardware` has the facts of each machine, from its first file; `sha256` is the checksum of the zip file, or of the
    files in a folder.
    """

    path: Path
    sha256: str
    mistakes: list[str]
    files: Files
    hardware: dict[str, Facts]


def read_bundle(path: Path, smoke: bool | None) -> Bundle:
    """Read and check the files of machines in a zip file, a folder of records, or the folder of one machine.

    To have no records at all is a mistake.

    Parameters
    ----------
    path : Path
        The zip file or folder.
    smoke : bool or None
        Whether all records must be of tiny cases (True) or of real ones (False); None if both are allowed.

    Raises
    ------
    UserError
        There are too many files or bytes; or the zip file is damaged, or has a file that export does not write.
    """
    mistakes = list[str]()
    if path.is_dir():
        files, sha256 = _read_folder(path, mistakes)
    else:
        files, sha256 = _read_zip(path)
    bundle = Bundle(path, sha256, mistakes, {}, {})
    latest = (datetime.now(UTC) + CLOCKS_APART).isoformat()
    for name, data in files.items():
        machine = name.parts[0]
        where = f"{path}: {name}"
        try:
            contents, wrong = parse_file(machine, name, data, smoke, where)
        except UserError as error:
            mistakes.append(str(error))
            continue
        facts = contents.hardware.model_dump()
        if reason := difference(facts, bundle.hardware.setdefault(machine, facts)):
            wrong.append(f"{where}: is of another machine than other files of {machine} ({reason})")
        if isinstance(contents, Record) and contents.start.started > latest:
            wrong.append(f"{where}: began at {contents.start.started}, which is still to come")
        if not wrong:
            bundle.files[name] = data
        mistakes.extend(wrong)
    if not (files or mistakes):
        mistakes.append(f"{path}: {NO_RECORDS}")
    return bundle


def _read_folder(path: Path, mistakes: list[str]) -> tuple[Files, str]:
    """Return the files of machines in a folder, and their checksum; add a line to `mistakes` for each unreadable file.

    A link counts as unreadable: many may lead to one large file.
    """
    machine = path.absolute()
    paths = paths_below(path) or paths_below(machine.parent, machine.name)
    _check_amount(path, [file.lstat().st_size for file in paths.values()])
    files = Files()
    digest = hashlib.sha256()
    for name, file in paths.items():
        if any(map(Path.is_symlink, (file, *file.parents)[: len(name.parts)])):
            mistakes.append(f"{file}: is a link, or lies behind one; put the file itself there")
            continue
        try:
            files[name] = read_bounded(file, MOST_BYTES)
        except UserError as error:
            mistakes.append(str(error))
            continue
        digest.update(f"{name} {hashlib.sha256(files[name]).hexdigest()}\n".encode())
    return files, digest.hexdigest()


def paths_below(folder: Path, machine: str = "") -> dict[PurePosixPath, Path]:
    """Return the files of machines, or of the `machine`, in a folder of records, by their paths below that folder."""
    pattern = glob.escape(machine) or "*"
    paths = [*folder.glob(f"{pattern}/*"), *folder.glob(f"{pattern}/*/*")]
    names = {PurePosixPath(path.relative_to(folder)): path for path in sorted(paths)}
    return {name: path for name, path in names.items() if is_file_of_machine(name)}


def _check_amount(path: Path, sizes: list[int]) -> None:
    if len(sizes) > MAX_FILES or sum(sizes) > MAX_BYTES:
        raise UserError(f"{path}: has more than {MAX_FILES} files, or {MAX_BYTES} bytes; give those of one machine")


def _read_zip(path: Path) -> tuple[Files, str]:
    """Return the files of machines in a zip file, and its checksum."""
    packed = read_bounded(path, MAX_ZIP_BYTES)
    room = max(LEAST_UNPACKED, MAX_UNPACKED * len(packed))
    files = Files()
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            _check_amount(path, [info.file_size for info in members])
            for info in members:
                name = PurePosixPath(info.filename)
                if name in files or not _is_of_export(info):
                    member = clip(info.filename, 120)
                    raise UserError(
                        f"{path}: {member}: is no machine's record, not packed as by export, or there twice"
                    )
                with archive.open(info) as file:  # bounded here again: the size that it states may be a lie
                    data = file.read(min(room, MOST_BYTES) + 1)
                room -= len(data)
                if room < 0 or len(data) > MOST_BYTES:
                    raise UserError(f"{path}: {name}: is larger than a record, or packed far smaller than by export")
                files[name] = data
    except _ZIP_ERRORS as error:
        raise UserError(f"{path}: is no whole zip file ({clip(str(error), 120)})") from None
    return files, hashlib.sha256(packed).hexdigest()


def _is_of_export(info: zipfile.ZipInfo) -> bool:
    """Return whether export may have written this member of a zip file: a machine's file, no link, and how it packs."""
    name = PurePosixPath(info.filename)
    kind = stat.S_IFMT(info.external_attr >> 16)
    is_regular = kind in (0, stat.S_IFREG) and info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    return is_regular and str(name) == info.filename and is_file_of_machine(name)


# --- export


def export_records(file: Path, smoke: bool, machine: str | None = None) -> None:
    """Write the records of `machine`, or of all that are measured here, to a zip file, and print how many it has.

    The zip file is written completely or not at all. The same files make the same bytes. A file that import would
    refuse is left out, with a message.

    Raises
    ------
    UserError
        There are no records, or the zip file cannot be written, or `file` exists and is no zip file.
    """
    names = [name for name in recorded_machines(smoke) if not is_imported(name, smoke)]
    if machine:
        names = [check_recorded(machine, smoke)]
    files = Files()
    for name in names:
        for home in (imported_folder(smoke), records_folder(smoke)):
            if paths_below(home, name):
                bundle = read_bundle(home / name, smoke)
                for line in bundle.mistakes:
                    tell(f"left out: {line}")
                files |= bundle.files
    if not files:
        raise UserError(f"{results_folder(smoke)}: {NO_RECORDS}")
    if file.exists() and file.stat().st_size and not zipfile.is_zipfile(file):
        raise UserError(f"{file}: is no zip file; name another file, such as records.zip")
    with replacing(file) as out, zipfile.ZipFile(out, "w") as archive:
        for path, data in files.items():
            info = zipfile.ZipInfo(str(path))  # with a fixed date, so that the same files make the same bytes
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    for name, number in Counter(path.parts[0] for path in files if path.name != DESCRIPTION).items():
        print(f"{name}: {counted(number, 'record')}")
    print(f"wrote {file}, {file.stat().st_size:,} bytes")
    print(f"next, where it is to go: {RUN}respeed import {'--smoke ' if smoke else ''}{shlex.quote(file.name)}")


# --- import


def import_records(path: Path, smoke: bool, name: str | None = None, into: str | None = None) -> None:
    """Copy from a zip file or folder the files that are not here yet, and print how many were copied.

    Parameters
    ----------
    path : Path
        A zip file, a folder of records, or the folder of one machine.
    smoke : bool
        Whether the records are of tiny cases.
    name : str or None
        The name that the machine gets here; None if each keeps its own.
    into : str or None
        The machine here whose records these join, since they are of the same machine; None if they join none.

    Raises
    ------
    UserError
        Nothing is written: a file has a mistake; there are several machines for one name; a name is taken here; the
        records are of another machine than those that they would join; or a run is at work in the folder of results.
    """
    if name and into:
        raise UserError("import: give --as, for a machine that is new here, or --into, for one that is here; not both")
    with os.fdopen(hold_folder(smoke)):  # locked until it is closed
        bundle = read_bundle(path, smoke)
        if bundle.mistakes:
            raise UserError(bundle.mistakes[0])
        machines = list(bundle.hardware)
        if len(machines) > MAX_MACHINES:
            raise UserError(f"{path}: has more than {MAX_MACHINES} machines; export fewer at a time")
        if (name or into) and len(machines) > 1:
            raise UserError(f"{path}: has {len(machines)} machines ({', '.join(machines)}), for one name; export one")
        names = {machine: _choose_name(machine, bundle, smoke, name, into) for machine in machines}
        for machine, chosen in names.items():
            _write_files(machine, bundle, smoke, chosen)
    print(f"next: {RUN}snakemake --cores all report --config {'preset=smoke ' if smoke else ''}show=all")


def _choose_name(machine: str, bundle: Bundle, smoke: bool, name: str | None, into: str | None) -> str:
    """Return the name that a machine gets here; raise UserError if it may not have that name."""
    chosen = check_name("machine", into or name or machine, str(bundle.path))
    local = load_config().this_machine
    if into and into != local:
        check_recorded(into, smoke, "--into")
    elif chosen not in {*recorded_machines(smoke), local}:
        return chosen
    if reason := difference(bundle.hardware[machine], known_hardware(chosen, smoke) or describe_machine()):
        raise UserError(f"{bundle.path}: is of another machine than {chosen} here ({reason}); import it with --as NAME")
    if chosen == local and into:  # now it is no machine of others alone
        (records_folder(smoke) / local).mkdir(parents=True, exist_ok=True)
    imports = read_imports(chosen, smoke)
    # The same file again completes an import that was stopped.
    if into or bundle.sha256 in {entry.sha256 for entry in imports}:
        return chosen
    owner = imports[-1] if imports else "a machine that is measured here"
    raise UserError(
        f"{bundle.path}: {chosen} is the name of {owner}; import it with --as NAME, or, if you know that it is more of "
        f"the same machine, with --into {chosen}"
    )


def _write_files(machine: str, bundle: Bundle, smoke: bool, name: str) -> None:
    """Write the files of a machine that are not here yet, and before them where they came from; print their number."""
    measured = records_folder(smoke) / name
    imported = imported_folder(smoke) / name
    homes = (measured, measured / SET_ASIDE, imported / SET_ASIDE, imported)
    files = {path.relative_to(machine): data for path, data in bundle.files.items() if path.parts[0] == machine}
    new = Files()
    for path, data in files.items():
        present = [home / path for home in homes if os.path.lexists(home / path)]
        if not present:
            new[path] = data
        elif path.name != DESCRIPTION and present[0].read_bytes() != data:
            print(f"{present[0]} has other contents, and stays; to replace it, delete it and import again")
    if new and bundle.sha256 not in {entry.sha256 for entry in read_imports(name, smoke)}:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        facts = {"file": bundle.path.resolve().name, "sha256": bundle.sha256, "imported": now}
        append_line(imported / IMPORTS, Import, facts | {"files": list(map(str, new))})
    for path, data in new.items():
        with replacing(imported / path) as file:
            file.write(data)
    line = counted(len(new), "new file") if new else "nothing new"
    if old := len(files) - len(new):
        line += f"; {counted(old, 'file')} here already"
    print(f"{name}: {line}")
