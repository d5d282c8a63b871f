"""Reads and writes the files of machines: each whole or not at all, and each skipped with a line that cannot be used.

A folder of records is of the machine that it is called after.
"""

import contextlib
import functools
import json
import os
import secrets
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from respeed.errors import GOES_ON, UserError, cannot_write
from respeed.inputs.files import read_bounded
from respeed.machine.lock import lock_file
from respeed.paths import (
    description_path,
    hardware_path,
    record_folders,
    record_paths,
    records_folder,
    results_folder,
)
from respeed.records.models import MOST_BYTES, PAPER, SCHEMA, Kind, kind_of, number_of, parse, plain_texts

# --- writing


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` so that the file is either whole or not there."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that the file is either whole or not there."""
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which becomes `path` when all is written: temporary file, fsync, rename. UserError if the
    system refuses to write it, as where the disk is full."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError):
            raise cannot_write(path, error) from None
        raise


def write_record(path: Path, data: Mapping[str, Any]) -> None:
    """Write a file of a machine's at its place, whole or not at all.

    What the path tells (`id`, and the machine of a hardware sheet) is not written. Raises UserError if nothing could
    read the file again: a fact is missing, say, without which its numbers mean nothing.
    """
    said = {"schema": SCHEMA, **_without_place(data)}
    if "rounds" in said:
        said["rounds"] = [{"index": one["id"]["index"], **_without_place(one)} for one in said["rounds"]]
    text = json_text(plain_texts(said))
    parse(_kind_at(path), text.encode(), str(path))
    write_text(path, text)


def _without_place(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in ("id", "machine")}


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON, whole or not at all; ValueError for numbers that JSON has not (NaN, infinity)."""
    write_text(path, json_text(data))


def json_text(data: Any) -> str:
    """Return `data` as JSON, as records are written."""
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


# --- reading one file


def _kind_at(path: Path) -> Kind:
    """Return the kind of a file by the folders that it lies in. Raises UserError if no machine has such a file."""
    for folders in (1, 4):
        if len(path.parts) > folders and (kind := kind_of(Path(*path.parts[-folders - 1 :]))):
            return kind
    raise UserError(f"{path}: no machine has a file of such a name")


def read_file(path: Path, smoke: bool) -> dict[str, Any]:
    """Return what a machine's file says, and of what it is by its place.

    A record has an `id`: machine, paper, experiment, profile, index and smoke; a hardware sheet a `machine`, and its
    rounds such an id. Raises UserError if it cannot be used, or does not belong there.
    """
    kind = _kind_at(path)
    return placed(kind, parse(kind, read_bounded(path, MOST_BYTES[kind]), str(path)), path, smoke)


def placed(kind: Kind, data: dict[str, Any], path: Path, smoke: bool) -> dict[str, Any]:
    """Return the data of a file with what its place tells. Raises UserError if it does not belong there."""
    if data.get("smoke", smoke) != smoke:
        there, where = ("real", "smoke") if smoke else ("smoke", "real")
        raise UserError(f"{path}: is of the {there} kind, and lies among the {where} ones")
    if kind is Kind.RECORD:
        machine, paper, experiment, profile, name = path.parts[-5:]
        if data["profile"]["name"] != profile:
            raise UserError(f"{path}: is of the profile {data['profile']['name']}, and lies among those of {profile}")
        place = {"machine": machine, "paper": paper, "experiment": experiment, "profile": profile}
        return data | {"id": place | {"index": number_of(name), "smoke": smoke}}
    if kind is Kind.SHEET:
        beside = {"machine": path.parts[-2], "paper": PAPER, "experiment": PAPER, "smoke": smoke}
        rounds = [
            one | {"id": beside | {"profile": one["profile"]["name"], "index": one["index"]}} for one in data["rounds"]
        ]
        return data | {"machine": path.parts[-2], "rounds": rounds}
    return data


@functools.cache
def _skip(line: str) -> None:
    """Say that a file is skipped, once, however often the file is asked for."""
    print(f"respeed: skipped: {line}", file=sys.stderr)


def read_or_skip(path: Path, smoke: bool) -> dict[str, Any] | None:
    """Return what `read_file` does; None if there is no such file, or, with a line, if it cannot be used."""
    if not os.path.lexists(path):
        return None
    try:
        return read_file(path, smoke)
    except UserError as error:
        _skip(str(error))
        return None


def read_description(machine: str, smoke: bool) -> dict[str, Any] | None:
    """Return what is known of a machine and of what it can run; None if nothing is that can be used."""
    return read_or_skip(description_path(machine, smoke), smoke)


def read_hardware_sheet(machine: str, smoke: bool) -> dict[str, Any] | None:
    """Return the hardware sheet of a machine; None if there is none that can be used."""
    return read_or_skip(hardware_path(machine, smoke), smoke)


# --- reading machines


def recorded_papers(smoke: bool) -> list[str]:
    """Return the papers that there are records of, on any machine, in the order of their names."""
    folder = records_folder(smoke)
    return sorted({path.relative_to(folder).parts[1] for path in record_paths(smoke)})


def recorded_machines(smoke: bool) -> dict[str, int]:
    """Return the machines that tables can show something of, by name, each with its number of record files."""
    return {
        machine: len(paths)
        for machine, paths in record_folders(smoke).items()
        if read_description(machine, smoke) or any(read_or_skip(path, smoke) for path in paths)
    }


def read_records(smoke: bool, machine: str) -> list[dict[str, Any]]:
    """Return the records of one machine, in the order of their paths, but for those that cannot be used."""
    found = (read_or_skip(path, smoke) for path in record_paths(smoke, machine))
    return [record for record in found if record]


def known_hardware(machine: str, smoke: bool) -> Mapping[str, Any]:
    """Return what is known of a machine's hardware: by its description, or else by a record; nothing without both."""
    if description := read_description(machine, smoke):
        return dict(description["hardware"])
    found = (read_or_skip(path, smoke) for path in record_paths(smoke, machine))
    return next((dict(record["provenance"]["machine"]) for record in found if record), {})


def read_machines(smoke: bool, only: Collection[str] | None = None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Give the records of each machine, or of `only` those, one machine at a time.

    Raises UserError at the end if there are record files, but none of them can be used.
    """
    names = sorted(only) if only else list(record_folders(smoke))
    used = 0
    for machine in names:
        records = read_records(smoke, machine)
        used += len(records)
        yield machine, records
    files = 0 if used else sum(len(record_paths(smoke, machine)) for machine in names)
    if files:
        what = f"none of the {files} record files can be used" if files > 1 else "the one record file cannot be used"
        raise UserError(f"{records_folder(smoke)}: {what}; the lines above say why")


REPORT, SNAKEMAKE = Path("report"), Path(".snakemake")
# Several times what a run of all papers wrote, with its report and the compiled kernels: 20 MB.
NEEDED_BYTES = 100_000_000


def hold_folder(smoke: bool) -> int:
    """Take the folder of results, until the descriptor is closed or the process ends; UserError if another has it."""
    folder = results_folder(smoke)
    try:
        descriptor = lock_file(folder / ".lock")
    except OSError as error:
        raise cannot_write(folder, error) from None
    if descriptor is None:
        raise UserError(f"{folder}: another run is at work in this folder; wait for it or stop it")
    return descriptor


def check_room(folder: Path) -> None:
    """Raise UserError if the disk that `folder` lies on, or will lie on, is nearly full."""
    place = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if (free := shutil.disk_usage(place).free) < NEEDED_BYTES:
        raise UserError(
            f"{folder}: {free / 1e6:.0f} MB are free there, and a run may need {NEEDED_BYTES / 1e6:.0f} MB; make room, "
            f"and {GOES_ON}"
        )
