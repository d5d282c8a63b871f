"""Reads and writes the files of machines: each whole or not at all, and each left out with a line that cannot be used.

A folder of records is of one machine: those of another one under its name are named, and never pool with the others.
"""

import contextlib
import fcntl
import functools
import json
import os
import secrets
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from respeed.errors import GOES_ON, UserError, refusal
from respeed.inputs.files import read_text
from respeed.machine.process import user_name
from respeed.paths import (
    SET_ASIDE,
    description_path,
    hardware_path,
    record_folders,
    record_paths,
    records_folder,
    results_folder,
)
from respeed.records.fingerprint import HOST, difference, fingerprint_of, free_name
from respeed.records.models import Kind, check_kind, made_on, parse_json, place_in_folders, sealed, why_misplaced
from respeed.text import visible

# A hundred times as large as the largest so far.
MAX_BYTES = 50_000_000

# --- writing

# Temporary files that are being written.
_UNFINISHED: set[Path] = set()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` so that the file is either whole or not there."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which becomes `path` when all is written: temporary file, fsync, rename. UserError if the
    system refuses to write it, as where the disk is full."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _UNFINISHED.add(part)
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError):
            raise refusal(error, path) or error from None
        raise
    finally:
        _UNFINISHED.discard(part)


def remove_unfinished() -> None:
    """Take away what is being written: for a process that ends in the middle of it."""
    for part in list(_UNFINISHED):
        part.unlink(missing_ok=True)


def write_record(path: Path, data: dict[str, Any]) -> None:
    """Write a file of a machine's with its checksum, whole or not at all."""
    write_json(path, sealed(data))


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON, whole or not at all; ValueError for numbers that JSON has not (NaN, infinity)."""
    write_text(path, json_text(data))


def json_text(data: Any) -> str:
    """JSON as records are written."""
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def set_aside(path: Path) -> None:
    """Rename a file that cannot be used, so that it is made anew. Nothing is deleted."""
    number = 1
    while (aside := path.with_name(f"{path.name}{SET_ASIDE}-{number}")).exists():
        number += 1
    path.rename(aside)


# --- reading one file


def read_json(path: Path) -> Any:
    """Read one JSON file; UserError if it is damaged."""
    text = read_text(path, MAX_BYTES)
    try:
        return parse_json(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is damaged ({error})") from None


def read_record(path: Path) -> dict[str, Any]:
    """Read one record, wherever it lies; UserError if it cannot be used."""
    return check_kind(Kind.RECORD, read_json(path), str(path))


def read_hardware(path: Path) -> dict[str, Any]:
    """Read a hardware sheet, wherever it lies; UserError if it cannot be used."""
    return check_kind(Kind.SHEET, read_json(path), str(path))


def read_placed(kind: Kind, path: Path, smoke: bool) -> dict[str, Any]:
    """Read one file of a machine's folder, whatever that machine is called; UserError if it cannot be used, or says
    that it belongs elsewhere."""
    data = check_kind(kind, read_json(path), str(path))
    place = place_in_folders(path)
    if place is None or place.kind is not kind:
        raise UserError(f"{path}: no {kind} has such a name")
    if reason := why_misplaced(place, data, smoke):
        raise UserError(f"{path}: {reason}")
    return data


def made_anew(machine: str, count: int = 1) -> str:
    """What can be done about a machine's file that cannot be used: nobody but that machine can measure it again."""
    what = "it" if count == 1 else "them"
    return visible(f"a run on {machine} makes {what} anew; or delete {what}")


@functools.cache
def _leave_out(line: str) -> None:
    """Said once, however often the file is asked for."""
    print(visible(f"respeed: left out: {line}"), file=sys.stderr)


def _description(path: Path) -> dict[str, Any]:
    return check_kind(Kind.DESCRIPTION, read_json(path), str(path))


def read_description(machine: str, smoke: bool) -> dict[str, Any] | None:
    """A machine's description, its texts made printable; None if there is none, if it is of another machine (which
    `read_machine` tells), or, with a line, if it cannot be used."""
    found = _any_description(machine, smoke)
    return found if found and found.get("machine", machine) == machine else None


def _any_description(machine: str, smoke: bool) -> dict[str, Any] | None:
    """The one in the machine's folder, whatever machine it says it is of."""
    path = description_path(machine, smoke)
    if not os.path.lexists(path):
        return None
    try:
        return _description(path)
    except UserError as error:
        _leave_out(f"{error}; {made_anew(machine)}")
        return None


def described_machines(smoke: bool) -> dict[str, Mapping[str, Any]]:
    """The hardware of each machine here that has a description of its own, by name."""
    names = sorted(path.parent.name for path in records_folder(smoke).glob("*/machine.json"))
    return {name: found["hardware"] for name in names if (found := read_description(name, smoke))}


def why_no_description(path: Path) -> str | None:
    """The line of a description that nothing can be read from; None if it can be used."""
    return _why_not(_description, path)


def read_learning(smoke: bool, machine: str = "*") -> list[dict[str, Any]]:
    """What was learned, on one machine or on any; a file that cannot be used is left out with a line."""
    found = []
    for path in sorted(records_folder(smoke).glob(f"{machine}/*/*/learning.json")):
        try:
            found.append(_learning(path, smoke))
        except UserError as error:
            _leave_out(f"{error}; {made_anew(path.parts[-4])}")
    return found


def why_no_learning(path: Path, smoke: bool) -> str | None:
    """The line of a file that no figures can be drawn of; None if they can."""
    return _why_not(_learning, path, smoke)


def _learning(path: Path, smoke: bool) -> dict[str, Any]:
    data = read_placed(Kind.LEARNING, path, smoke)
    if data["machine"] != path.parts[-4]:
        raise UserError(f"{path}: is of the machine {data['machine']}")
    return data


def _why_not(read: Callable[..., Any], *arguments: Any) -> str | None:
    try:
        read(*arguments)
    except UserError as error:
        return str(error)
    return None


def read_machines_hardware(machine: str, smoke: bool, hardware: Mapping[str, Any]) -> dict[str, Any] | None:
    """The hardware sheet of a machine whose records say what its `hardware` is. None where there is none; one that is
    damaged, or was measured on other hardware, is left out with a line."""
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


# --- reading machines


def recorded_papers(smoke: bool) -> list[str]:
    """The papers that there are records of, on any machine, in the order of their names."""
    folder = records_folder(smoke)
    return sorted({path.relative_to(folder).parts[1] for path in record_paths(smoke)})


def recorded_machines(smoke: bool) -> dict[str, int]:
    """The machines that tables can show something of, by name, each with its number of record files: it has a
    description, or a record that can be used. A folder that was copied under another name has neither."""
    return {
        machine: len(paths)
        for machine, paths in record_folders(smoke).items()
        if read_description(machine, smoke) is not None or any(_is_of(path, machine, smoke) for path in paths)
    }


def _is_of(path: Path, machine: str, smoke: bool) -> bool:
    try:
        return bool(read_placed(Kind.RECORD, path, smoke)["id"]["machine"] == machine)
    except UserError:
        return False


@dataclass(frozen=True)
class MachineRecords:
    """What lies in one machine's folder, by path.

    `records` are of the machine that `fingerprint` tells, `left_out` those of another under its name; `strangers` say
    another name than their folder's, and its description the name `described_as`; `damaged` cannot be used, or belong
    elsewhere, each with its line.
    """

    machine: str = ""
    smoke: bool = False
    records: dict[Path, dict[str, Any]] = field(default_factory=dict)
    fingerprint: dict[str, Any] = field(default_factory=dict)
    left_out: dict[Path, dict[str, Any]] = field(default_factory=dict)
    strangers: dict[Path, str] = field(default_factory=dict)
    damaged: dict[Path, str] = field(default_factory=dict)
    described_as: str = ""

    @property
    def lines(self) -> list[str]:
        """What a reader must know of the records that are not used: a line for each reason."""
        return [*self._damaged_lines(), *self.identity_lines]

    @property
    def identity_lines(self) -> list[str]:
        """Those about records of other machines."""
        folder = records_folder(self.smoke) / self.machine
        adopt = rename_command(self.machine, self.machine, False, self.smoke)
        lines = [
            f"{folder}: {_counted(count)} left out: of the machine {name} by what is written in them; if all in this "
            f"folder is {self.machine}'s: {adopt}"
            for name, count in Counter(self.strangers.values()).items()
        ]
        if self.described_as not in ("", self.machine, *self.strangers.values()):
            lines.append(
                f"{folder}: its description is left out: of the machine {self.described_as} by what is written in it; "
                f"if it is {self.machine}'s: {adopt}"
            )
        return lines + [
            f"{folder}: {_counted(count)} left out: made on other hardware than {self.machine}'s: {differs}; to give "
            f"that machine a name of its own: {self.rename_left_out}"
            for differs, count in Counter(difference(facts, self.fingerprint) for facts in self.others).items()
        ]

    @property
    def others(self) -> list[dict[str, Any]]:
        """The facts of the machine that each record was made on that is left out."""
        return [made_on(record) for record in self.left_out.values()]

    @cached_property
    def second_name(self) -> str:
        """A name that is free for the machine whose records are left out."""
        hosts = Counter(facts[HOST] for facts in self.others if facts.get(HOST))
        return free_name(self.machine, max(hosts, key=lambda host: hosts[host], default=None))

    @property
    def rename_left_out(self) -> str:
        return rename_command(self.machine, self.second_name, True, self.smoke)

    def _damaged_lines(self) -> list[str]:
        by_reason: dict[str, list[Path]] = {}
        for path, line in self.damaged.items():
            by_reason.setdefault(line.removeprefix(visible(str(path))), []).append(path)
        folder = records_folder(self.smoke) / self.machine
        lines = []
        for reason, paths in by_reason.items():
            many = f"{folder}: {_counted(len(paths))} left out, such as {paths[0]}{reason}"
            what = f"left out: {paths[0]}{reason}" if len(paths) == 1 else many
            lines.append(visible(f"{what}; {made_anew(self.machine, len(paths))}"))
        return lines


def rename_command(old: str, new: str, only_left_out: bool, smoke: bool) -> str:
    """What to type."""
    return f"./run respeed rename {old} {new}{' --left-out' * only_left_out}{' --smoke' * smoke}"


def _counted(count: int) -> str:
    return f"{count} record{'s' if count > 1 else ''} {'are' if count > 1 else 'is'}"


def read_machine(smoke: bool, machine: str) -> MachineRecords:
    """Read a machine's folder."""
    damaged, strangers, found = dict[Path, str](), dict[Path, str](), dict[Path, dict[str, Any]]()
    for path in record_paths(smoke, machine):
        try:
            record = read_placed(Kind.RECORD, path, smoke)
        except UserError as error:
            damaged[path] = str(error)
            continue
        if record["id"]["machine"] == machine:
            found[path] = record
        else:
            strangers[path] = record["id"]["machine"]
    described = _any_description(machine, smoke) or {"hardware": {}}
    said = described.get("machine", machine)
    hardware = described["hardware"] if said == machine else {}
    meant = fingerprint_of(hardware, [(made_on(one), one["started"]) for one in found.values()])
    left_out = {path: record for path, record in found.items() if difference(made_on(record), meant)}
    mine = {path: record for path, record in found.items() if path not in left_out}
    return MachineRecords(machine, smoke, mine, meant, left_out, strangers, damaged, said)


def read_records(smoke: bool, machine: str) -> list[dict[str, Any]]:
    """The records of one machine, in the order of their paths. Those of other machines under its name, and those that
    cannot be used, are left out, with a line for each reason."""
    found = read_machine(smoke, machine)
    for line in found.lines:
        print(f"respeed: {line}", file=sys.stderr)
    return list(found.records.values())


def read_machines(smoke: bool, only: Collection[str] | None = None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The records of each machine, or of `only` those, one machine at a time. UserError at the end if there are record
    files, but none of them can be used."""
    names = sorted(only) if only else list(record_folders(smoke))
    used = 0
    for machine in names:
        records: list[dict[str, Any]] = []
        with left_out_if_odd(machine, smoke):
            records = read_records(smoke, machine)
        used += len(records)
        yield machine, records
    files = 0 if used else sum(len(record_paths(smoke, machine)) for machine in names)
    if files:
        what = f"none of the {files} record files can be used" if files > 1 else "the one record file cannot be used"
        raise UserError(f"{records_folder(smoke)}: {what}; the lines above say why")


@contextlib.contextmanager
def left_out_if_odd(machine: str, smoke: bool) -> Iterator[None]:
    """What is done over one machine's data: where they are so odd that nobody thought of it, a line names the machine,
    which is left out, and the others are shown."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # whatever it is, it is of this machine alone
        last = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error}, in {Path(last.filename).name}:{last.lineno}"
        line = f"{records_folder(smoke) / machine}: no table can be made of its files ({what})"
        print(visible(f"respeed: left out: {line}; please report it: respeed should have said why"), file=sys.stderr)


REPORT, SNAKEMAKE = Path("report"), Path(".snakemake")
# Several times what a run of all papers wrote, with its report and the compiled kernels: 20 MB.
NEEDED_BYTES = 100_000_000


def hold_folder(smoke: bool) -> int:
    """Take the folder of results, until the descriptor is closed or the process ends; UserError if another has it."""
    folder = results_folder(smoke)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UserError(f"{folder}: another run is at work in this folder; wait for it or stop it") from None
    return descriptor


def check_room(smoke: bool, others: Iterable[Path] = (), *, measures: bool = True) -> None:
    """UserError if the folder of results, or one of the `others`, is not this user's to write in; or, for what
    `measures`, if its disk is nearly full."""
    for folder in (results_folder(smoke), *others):
        place = _nearest(folder)
        _check_writable(place)
        for path in _what_is_written(folder):
            check_own(path)
        if measures and (free := shutil.disk_usage(place).free) < NEEDED_BYTES:
            raise UserError(
                f"{folder}: {free / 1e6:.0f} MB are free there, and a run may need {NEEDED_BYTES / 1e6:.0f} MB; make "
                f"room, and {GOES_ON}"
            )


def check_snakemake(folder: Path = SNAKEMAKE) -> None:
    """UserError if Snakemake cannot write in its own folder: not even a dry run does without."""
    _check_writable(_nearest(folder))
    for path in (*folder.glob("*/"), *folder.glob("iocache/*")):
        check_own(path)


def _nearest(folder: Path) -> Path:
    """The folder itself, or the one that it would be made in."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder


def _check_writable(folder: Path) -> None:
    """By a file that has no name: permissions do not tell of all that keeps one from writing."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"whether there is room")
            file.flush()
    except OSError as error:
        raise refusal(error, folder.resolve()) or UserError(f"{folder}: cannot be written: {error.strerror}") from None


def _what_is_written(folder: Path) -> Iterator[Path]:
    """The folders below it, and the logs, which are written in place. All other files are replaced whole."""
    for where, folders, files in os.walk(folder):
        yield from (Path(where, name) for name in folders)
        yield from (Path(where, name) for name in files if name.endswith(".log"))


def check_own(path: Path) -> None:
    """UserError if the file or folder is not this user's to write."""
    if path.is_symlink() and not os.path.exists(path):
        raise UserError(f"{path}: is a link to nothing that can be reached; delete it")
    if not os.access(path, os.W_OK | os.X_OK if path.is_dir() else os.W_OK):
        raise UserError(
            f"{path}: cannot be written, and belongs to {user_name(path.lstat().st_uid)}; run in a clone of your own, "
            "or have the right given to you"
        )
