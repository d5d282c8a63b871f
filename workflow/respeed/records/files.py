"""Writes and reads records: whole or not at all."""

import contextlib
import functools
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from respeed.errors import UserError, refusal
from respeed.inputs.files import read_text
from respeed.paths import SET_ASIDE, description_path, record_folders, record_paths, records_folder
from respeed.records.check import check_kind, check_record, why_misplaced
from respeed.records.checksum import sealed
from respeed.records.layout import Kind, place_in_folders
from respeed.records.standard_json import parse_json
from respeed.text import visible

# A hundred times as large as the largest so far.
MAX_BYTES = 50_000_000

# Temporary files that are being written.
_UNFINISHED: set[str] = set()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` so that the file is either whole or not there."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which becomes `path` when all is written: temporary file, fsync, rename. UserError if the
    system refuses to write it, as where the disk is full."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.NamedTemporaryFile(
                "wb", dir=path.parent, prefix=f".{path.name}.", suffix=".part", delete=False
            ) as file,
            _removed_unless_whole(file.name),
        ):
            yield file
            file.flush()
            os.fsync(file.fileno())
            # A temporary file is for its owner alone; what it becomes is for everybody that the folder is for.
            os.chmod(file.name, 0o666 & ~_umask())
            os.replace(file.name, path)
    except OSError as error:
        raise refusal(error, path) or error from None


@contextlib.contextmanager
def _removed_unless_whole(name: str) -> Iterator[None]:
    _UNFINISHED.add(name)
    try:
        yield
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        _UNFINISHED.discard(name)


def remove_unfinished() -> None:
    """Take away what is being written: for a process that ends in the middle of it."""
    for name in list(_UNFINISHED):
        Path(name).unlink(missing_ok=True)


def set_aside(path: Path) -> None:
    """Rename a file that cannot be used, so that it is made anew. Nothing is deleted."""
    number = 1
    while (aside := path.with_name(f"{path.name}{SET_ASIDE}-{number}")).exists():
        number += 1
    path.rename(aside)


def recorded_machines(smoke: bool) -> dict[str, int]:
    """The machines that tables can show something of, by name, each with its number of record files: it has a
    description, or a record that can be used. A folder that was copied under another name has neither."""
    return {
        machine: len(paths)
        for machine, paths in record_folders(smoke).items()
        if read_description(machine, smoke) is not None or _has_record(paths, machine, smoke)
    }


def _has_record(paths: Iterable[Path], machine: str, smoke: bool) -> bool:
    for path in paths:
        with contextlib.suppress(UserError):
            if read_placed(Kind.RECORD, path, smoke)["id"]["machine"] == machine:
                return True
    return False


def read_description(machine: str, smoke: bool) -> dict[str, Any] | None:
    """A machine's description, its texts made printable; None if there is none, if it is of another machine (which
    `described_as` tells), or, with a line, if it cannot be used."""
    path = description_path(machine, smoke)
    if not os.path.lexists(path):
        return None
    try:
        data = _description(path)
    except UserError as error:
        _leave_out(f"{error}; {made_anew(machine)}")
        return None
    return data if data.get("machine", machine) == machine else None


def described_as(machine: str, smoke: bool) -> str:
    """The name by which a machine's description calls it: its own if it says none, or nothing can be read of it."""
    with contextlib.suppress(UserError):
        return str(_description(description_path(machine, smoke)).get("machine", machine))
    return machine


def why_no_description(path: Path) -> str | None:
    """The line of a description that nothing can be read from; None if it can be used."""
    try:
        _description(path)
    except UserError as error:
        return str(error)
    return None


def _description(path: Path) -> dict[str, Any]:
    return check_kind(Kind.DESCRIPTION, read_json(path), str(path))


def made_anew(machine: str, count: int = 1) -> str:
    """What can be done about a machine's file that cannot be used: nobody but that machine can measure it again."""
    what = "it" if count == 1 else "them"
    return visible(f"a run on {machine} makes {what} anew; or delete {what}")


@functools.cache
def _leave_out(line: str) -> None:
    """Said once, however often the file is asked for."""
    print(visible(f"respeed: left out: {line}"), file=sys.stderr)


def recorded_papers(smoke: bool) -> list[str]:
    """The papers that there are records of, on any machine, in the order of their names."""
    folder = records_folder(smoke)
    return sorted({path.relative_to(folder).parts[1] for path in record_paths(smoke)})


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
    try:
        _learning(path, smoke)
    except UserError as error:
        return str(error)
    return None


def _learning(path: Path, smoke: bool) -> dict[str, Any]:
    record = read_placed(Kind.LEARNING, path, smoke)
    if record["machine"] != path.parts[-4]:
        raise UserError(f"{path}: is of the machine {record['machine']}")
    return record


def write_record(path: Path, data: dict[str, Any]) -> None:
    """Write a file of a machine's with its checksum, whole or not at all."""
    write_json(path, sealed(data))


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON, whole or not at all; ValueError for numbers that JSON has not (NaN, infinity)."""
    write_text(path, json_text(data))


def json_text(data: Any) -> str:
    """JSON as records are written."""
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_json(path: Path) -> Any:
    """Read one JSON file; UserError if it is damaged."""
    text = read_text(path, MAX_BYTES)
    try:
        return parse_json(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is damaged ({error})") from None


def read_record(path: Path) -> dict[str, Any]:
    """Read one record and check what statistics rest on; UserError if it cannot be used."""
    return check_record(read_json(path), str(path))


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
