"""Commands for files that people write and exchange: respeed check, new, export and import.

Records are exchanged as a zip file or a folder, laid out like results/records. As they may come from a stranger, all
records are checked before anything is written, no existing file is overwritten, and the unpacked size of a zip file is
bounded. They lie apart, under ``results/imported``: they join records that are here only if the user says so by name.
"""

import contextlib
import hashlib
import io
import os
import platform
import shlex
import shutil
import stat
import sys
import zipfile
import zlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from respeed.errors import UserError, nearest
from respeed.inputs.config import load_config
from respeed.inputs.consent import say_denied
from respeed.inputs.machines import MACHINE_FILES, PROFILE_FILES, load_datasheets
from respeed.inputs.papers import PAPER_FILES
from respeed.inputs.reader import lines_of, mistakes_of, read_bounded
from respeed.inputs.registry import broken_files
from respeed.machine import describe_machine, difference
from respeed.machine.process import Facts
from respeed.paths import (
    BACKENDS,
    HARDWARE,
    MACHINES,
    PAPERS,
    ROOT,
    STARTERS,
    WORKLOADS,
    check_name,
    class_name,
    hold_folder,
    imported_folder,
    records_folder,
    replacing,
    results_folder,
    write_text,
)
from respeed.records import (
    DESCRIPTION,
    IMPORTS,
    MOST_BYTES,
    SET_ASIDE,
    Import,
    Record,
    is_file_of_machine,
    is_imported,
    known_hardware,
    parse_file,
    read_imports,
    recorded_machines,
)
from respeed.text import clip, counted, printable, visible

# A paper's rounds on all profiles of a machine are some hundred files and a few megabytes.
MAX_FILES, MAX_BYTES, MAX_ZIP_BYTES, MAX_MACHINES = 50_000, 512 * 2**20, 128 * 2**20, 50
# Records are packed to a quarter of their size. What unpacks to so many times its size is made to fill the memory.
MAX_UNPACKED, LEAST_UNPACKED = 50, 2**20
# Clocks of two machines differ; by no more than this, a record may seem to come from the future.
CLOCKS_APART = timedelta(days=1)
# The errors that reading a damaged or hostile zip file may raise.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)
# The bytes of each file, by its path within a folder of records.
Files = dict[PurePosixPath, bytes]
# A file beside a machine's records in a zip file: the last lines that its runs printed. An import skips the file.
LOG, MOST_LINES = "log.txt", 300
NO_RECORDS = "has no records; measure first, or give a file that export wrote"


def export_records(file: Path, smoke: bool, machine: str | None = None) -> None:
    """Write the records of `machine`, or of all that are measured here, to a zip file, and print how many it has.

    The zip file is written completely or not at all. The same files make the same bytes. A file that import would
    refuse is left out, with a message.

    Raises
    ------
    UserError
        There are no records, or the zip file cannot be written, or `file` exists and is no zip file.
    """
    there = recorded_machines(smoke)
    if machine and machine not in there:
        raise UserError(f"--machine: no records of {machine!r}{nearest(machine, there)}")
    files = Files()
    for home in (records_folder(smoke), imported_folder(smoke)):
        carried = read_carried(home, smoke) if home.is_dir() else Carried({}, {}, [])
        for line in carried.mistakes:
            print(f"respeed: left out: {line}", file=sys.stderr)
        for path, data in carried.files.items():
            name = path.parts[0]
            if name == machine or (machine is None and not is_imported(name, smoke)):
                files.setdefault(path, data)
    if not files:
        raise UserError(f"{results_folder(smoke)}: {NO_RECORDS}")
    if not file.parent.is_dir() or (file.exists() and file.stat().st_size and not zipfile.is_zipfile(file)):
        raise UserError(f"{file}: is no zip file, or its folder is missing; name another file, such as records.zip")
    records = Counter(path.parts[0] for path in files if path.name != DESCRIPTION)
    for name in sorted({path.parts[0] for path in files}):
        if log := _last_lines(name, smoke):
            files[PurePosixPath(name, LOG)] = log
    with replacing(file) as out, zipfile.ZipFile(out, "w") as archive:
        for path, data in files.items():
            info = zipfile.ZipInfo(str(path))  # with a fixed date, so that the same files make the same bytes
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    for name, number in records.items():
        print(f"{name}: {counted(number, 'record')}")
    print(f"wrote {file}, {file.stat().st_size:,} bytes")
    print(f"next, where it is to go: ./run respeed import {'--smoke ' if smoke else ''}{shlex.quote(file.name)}")


def _last_lines(machine: str, smoke: bool) -> bytes:
    """Return the last lines that a machine's runs printed, so that others can see why a run failed.

    The home folder and the names of user and host are replaced.
    """
    logs = (results_folder(smoke) / "logs" / machine).glob("*.log")
    lines = list[str]()
    for path in sorted(logs, key=os.path.getmtime):
        lines += path.read_text(encoding="utf-8", errors="replace").splitlines()
    text = "\n".join(map(printable, lines[-MOST_LINES:]))
    public = {os.environ.get("HOME", ""): "~", platform.node(): "HOST", os.environ.get("USER", ""): "USER"}
    for private, word in public.items():
        if len(private) > 1:
            text = text.replace(private, word)
    return text.encode()


class Carried(NamedTuple):
    """The contents of a zip file or a folder: files that can be used, and a line for each mistake in the others.

    `hardware` has the facts of each machine, from its first file; `sha256` is the checksum of the zip file, or of the
    files in a folder.
    """

    files: Files
    hardware: dict[str, Facts]
    mistakes: list[str]
    sha256: str = ""


def read_carried(path: Path, smoke: bool | None) -> Carried:
    """Read and check the files of machines in a zip file, a folder of records, or the folder of one machine.

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
    mistakes_of_folder = list[str]()
    files, sha256 = _read_folder(path, mistakes_of_folder) if path.is_dir() else _read_zip(path)
    carried = Carried({}, {}, mistakes_of_folder, sha256)
    latest = (datetime.now(UTC) + CLOCKS_APART).isoformat()
    for name, data in files.items():
        machine, where = name.parts[0], f"{path}: {name}"
        try:
            contents, mistakes = parse_file(machine, name, data, smoke, where)
            facts = contents.hardware.model_dump()
            if reason := difference(facts, carried.hardware.setdefault(machine, facts)):
                mistakes.append(f"{where}: is of another machine than other files of {machine} ({reason})")
            if isinstance(contents, Record) and contents.start.started > latest:
                mistakes.append(f"{where}: began at {contents.start.started}, which is still to come")
        except UserError as error:
            mistakes = [str(error)]
        if not mistakes:
            carried.files[name] = data
        carried.mistakes.extend(mistakes)
    return carried


def _all_mistakes(carried: Carried, path: Path) -> list[str]:
    """Return a line for each mistake in what was read from `path`; to have no records at all is one too."""
    return carried.mistakes if carried.mistakes or carried.files else [f"{path}: {NO_RECORDS}"]


def _read_folder(path: Path, mistakes: list[str]) -> tuple[Files, str]:
    """Return the files of machines in a folder, and their checksum; add a line to `mistakes` for each unreadable file.

    A link counts as unreadable: many may lead to one large file.
    """
    home, names = path, _names_below(path)
    if not names:  # perhaps the folder of one machine
        machine = path.resolve()
        home = machine.parent
        names = [name for name in _names_below(home) if name.parts[0] == machine.name]
    _check_amount(path, len(names), sum((home / name).lstat().st_size for name in names))
    files = Files()
    for name in names:
        if any((home / part).is_symlink() for part in (name, *name.parents[:-1])):
            mistakes.append(f"{home / name}: is a link, or lies behind one; put the file itself there")
            continue
        try:
            files[name] = read_bounded(home / name, MOST_BYTES)
        except UserError as error:
            mistakes.append(str(error))
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(f"{name} {hashlib.sha256(data).hexdigest()}\n".encode())
    return files, digest.hexdigest()


def _names_below(folder: Path) -> list[PurePosixPath]:
    """Return the sorted paths of the files of machines in a folder of records, relative to that folder."""
    paths = chain(folder.glob("*/*"), folder.glob("*/*/*"))
    names = (PurePosixPath(path.relative_to(folder)) for path in paths)
    return sorted(filter(is_file_of_machine, names))


def _check_amount(path: Path, files: int, size: int) -> None:
    if files > MAX_FILES or size > MAX_BYTES:
        raise UserError(f"{path}: has more than {MAX_FILES} files, or {MAX_BYTES} bytes; give those of one machine")


def _read_zip(path: Path) -> tuple[Files, str]:
    """Return the files of machines in a zip file, and its checksum."""
    packed = read_bounded(path, MAX_ZIP_BYTES)
    room = max(LEAST_UNPACKED, MAX_UNPACKED * len(packed))
    files = Files()
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            _check_amount(path, len(members), sum(info.file_size for info in members))
            for info in members:
                name = PurePosixPath(info.filename)
                if name.name == LOG:
                    continue
                if reason := _why_refused(info, name, files):
                    raise UserError(f"{path}: {visible(clip(info.filename, 120))}: {reason}")
                with archive.open(info) as file:  # bounded here again: the size that it states may be a lie
                    files[name] = file.read(min(room, MOST_BYTES) + 1)
                room -= len(files[name])
                if room < 0 or len(files[name]) > MOST_BYTES:
                    raise UserError(f"{path}: {name}: is larger than a record, or packed far smaller than by export")
    except _ZIP_ERRORS as error:
        raise UserError(f"{path}: is no whole zip file ({clip(str(error), 120)})") from None
    return files, hashlib.sha256(packed).hexdigest()


def _why_refused(info: zipfile.ZipInfo, name: PurePosixPath, known: Files) -> str | None:
    """Return why export cannot have written this member of a zip file; None if export may have written it."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if str(name) != info.filename or not is_file_of_machine(name):
        return "is not one of a machine's records"
    if kind not in (0, stat.S_IFREG):
        return "is no regular file"
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is encrypted, or packed in another way than by export"
    return "is there twice" if name in known else None


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
    with contextlib.ExitStack() as held:
        held.callback(os.close, hold_folder(smoke))
        carried = read_carried(path, smoke)
        if mistakes := _all_mistakes(carried, path):
            raise UserError(mistakes[0])
        if len(carried.hardware) > MAX_MACHINES:
            raise UserError(f"{path}: has more than {MAX_MACHINES} machines; export fewer at a time")
        if (name or into) and len(carried.hardware) > 1:
            machines = ", ".join(carried.hardware)
            raise UserError(f"{path}: has {len(carried.hardware)} machines ({machines}), for one name; export one")
        names = {machine: _name_here(machine, carried, path, smoke, name, into) for machine in carried.hardware}
        new = [_write_import(machine, here, carried, path, smoke) for machine, here in names.items()]
    if any(new):
        print(f"next: ./run snakemake --cores all report --config {'preset=smoke ' if smoke else ''}show=all")


def _name_here(machine: str, carried: Carried, path: Path, smoke: bool, name: str | None, into: str | None) -> str:
    """Return the name that a machine gets here; raise UserError if it may not have that name."""
    here = check_name("machine", into or name or machine, str(path))
    there, this = recorded_machines(smoke), load_config().this_machine
    imports = read_imports(here, smoke)
    if here not in {*there, this}:
        if into:
            raise UserError(f"--into: no records of {into!r}{nearest(into, there)}")
        return here
    if reason := difference(carried.hardware[machine], known_hardware(here, smoke) or describe_machine()):
        raise UserError(f"{path}: is of another machine than {here} here ({reason}); import it with --as NAME")
    if here == this and into:  # now it is no machine of others alone
        (records_folder(smoke) / this).mkdir(parents=True, exist_ok=True)
    # The same file again completes an import that was stopped.
    if into or carried.sha256 in {entry.sha256 for entry in imports}:
        return here
    whose = imports[-1] if imports else "a machine that is measured here"
    raise UserError(
        f"{path}: {here} is the name of {whose}; import it with --as NAME, or, if you know that it is more of the same "
        f"machine, with --into {here}"
    )


def _write_import(machine: str, here: str, carried: Carried, path: Path, smoke: bool) -> int:
    """Write the files of a machine that are not here yet, and before them where they came from; return their number."""
    own, imported = records_folder(smoke) / here, imported_folder(smoke) / here
    homes = own, own / SET_ASIDE, imported / SET_ASIDE, imported
    new, known = dict[Path, bytes](), 0
    for source, data in carried.files.items():
        if source.parts[0] != machine:
            continue
        places = [home.joinpath(*source.parts[1:]) for home in homes]
        there = [place for place in places if os.path.lexists(place)]
        if not there:
            new[places[-1]] = data
        elif source.name != DESCRIPTION and there[0].read_bytes() != data:
            print(f"{there[0]} has other contents, and stays; to replace it, delete it and import again")
        known += bool(there)
    imports = read_imports(here, smoke)
    if new and carried.sha256 not in {entry.sha256 for entry in imports}:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        files = [str(target.relative_to(imported)) for target in new]
        origin = Import(file=path.resolve().name, sha256=carried.sha256, imported=now, files=files)
        write_text(imported / IMPORTS, "".join(f"{entry.model_dump_json()}\n" for entry in (*imports, origin)))
    for target, data in new.items():
        with replacing(target) as file:
            file.write(data)
    news = counted(len(new), "new file") if new else "nothing new"
    olds = f"; {counted(known, 'file')} here already" if known else ""
    print(f"{here}: {news}{olds}")
    return len(new)


# Files that people write.

# The text in a starter that the name replaces.
PLACEHOLDER = "NAME"
# Where each kind of file lies, and the command that tries it.
KINDS = {
    "paper": (PAPERS, "./run snakemake --cores all --config preset=smoke papers=NAME"),
    "workload": (WORKLOADS, "./run pytest tests/conformance -k NAME"),
    "hardware": (HARDWARE, "./run respeed doctor"),
    "machine": (MACHINES, "./run respeed check"),
    "backend": (BACKENDS, "./run pytest tests/conformance -k NAME"),
}


def check(path: Path | None, show: str | None = None) -> int:
    """Print a line for each mistake in the files that people write and in records.

    Parameters
    ----------
    path : Path or None
        A folder or a zip file of records, if only these records are to be checked. None to check all files that people
        write, including workloads and backends, and the records under results.
    show : str or None
        The name of a paper, to print its claims and tables without any measurement, and check nothing.

    Returns
    -------
    int
        The exit code: 1 if there is any mistake, 0 otherwise.
    """
    if show is not None:
        from respeed.output.page import describe_paper  # imports pandas, which nothing else here needs

        print(describe_paper(PAPER_FILES.load(show)))
        return 0
    mistakes, looked = list[str](), list[str]()
    folders: dict[Path, bool | None] = {}
    if path:
        folders[path] = None
    else:
        mistakes += mistakes_of(load_config) + mistakes_of(load_datasheets)
        looked.append("config.yaml")
        for kind in (PROFILE_FILES, PAPER_FILES, MACHINE_FILES):
            mistakes += kind.check()
            looked.append(counted(len(kind.names()), kind.kind))
        mistakes += broken_files()
        for name in PAPER_FILES.names():
            try:
                print("".join(f"{line}\n" for line in say_denied(name)), end="")
            except UserError as error:  # of the paper, which is among the mistakes, or of a file that cannot be allowed
                mistakes += [line for line in lines_of(error) if line not in mistakes]
        every = [(folder(smoke), smoke) for folder in (records_folder, imported_folder) for smoke in (False, True)]
        folders = {folder: smoke for folder, smoke in every if _names_below(folder)}
    for folder, smoke in folders.items():
        carried = read_carried(folder, smoke)
        mistakes += _all_mistakes(carried, folder)
        looked.append(f"{counted(len(carried.files), 'good file')} in {folder}")
    for line in mistakes:
        print(line)
    print(f"{counted(len(mistakes), 'mistake') if mistakes else 'no mistake'}; looked at {', '.join(looked)}")
    return 1 if mistakes else 0


def write_starter(kind: str, name: str) -> None:
    """Copy the starter of a `kind` under a `name`, and print the path of the copy and the command that tries the copy.

    Raises UserError if there is no such kind, or if the name is taken or not allowed.
    """
    if kind not in KINDS:
        raise UserError(f"new: no kind of file {kind!r}{nearest(kind, KINDS)}")
    folder, tries = KINDS[kind]
    (source,) = STARTERS.glob(f"{kind}*")
    if source.suffix == ".py" and not name.isidentifier():
        raise UserError(f"new {kind}: {name!r} cannot be the name of a Python file; use small letters, digits and _")
    path = folder / f"{check_name(kind, name, f'new {kind}')}{source.suffix}"
    if path.exists():
        raise UserError(f"new {kind}: {path.relative_to(ROOT)} is there already")
    (shutil.copytree if source.is_dir() else shutil.copyfile)(source, path)
    for file in path.iterdir() if path.is_dir() else [path]:
        text = file.read_text(encoding="utf-8").replace(f"class {PLACEHOLDER}(", f"class {class_name(name)}(")
        write_text(file, text.replace(PLACEHOLDER, name))
    print(f"wrote {path.relative_to(ROOT)}; once it is filled in: {tries.replace(PLACEHOLDER, name)}")
