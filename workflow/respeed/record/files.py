"""Writes and reads records: whole or not at all."""

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from respeed.model.errors import UserError
from respeed.record.check import check_record
from respeed.record.paths import record_paths, records_folder

LEARNING_SCHEMA = 1

# Temporary files that are being written.
_UNFINISHED: set[str] = set()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` so that the file is either whole or not there: temporary file, fsync, rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}.", suffix=".part", delete=False, encoding="utf-8"
    ) as file:
        _UNFINISHED.add(file.name)
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            # A temporary file is for its owner alone; what it becomes is for everybody that the folder is for.
            os.chmod(file.name, 0o666 & ~_umask())
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
        finally:
            _UNFINISHED.discard(file.name)


def remove_unfinished() -> None:
    """Take away what is being written: for a process that ends in the middle of it."""
    for name in list(_UNFINISHED):
        Path(name).unlink(missing_ok=True)


def recorded_machines(smoke: bool) -> dict[str, int]:
    """The machines that there are records or a sheet of, by name, each with its number of records."""
    folder = records_folder(smoke)
    found = {path.parent.name: 0 for path in folder.glob("*/machine.json")}
    for path in record_paths(smoke):
        machine = path.relative_to(folder).parts[0]
        found[machine] = found.get(machine, 0) + 1
    return dict(sorted(found.items()))


def recorded_papers(smoke: bool) -> list[str]:
    """The papers that there are records of, on any machine, in the order of their names."""
    folder = records_folder(smoke)
    return sorted({path.relative_to(folder).parts[1] for path in record_paths(smoke)})


def read_learning(smoke: bool, machine: str = "*") -> list[dict[str, Any]]:
    """What was learned, on one machine or on any; a file that cannot be used is left out with a line."""
    found = []
    for path in sorted(records_folder(smoke).glob(f"{machine}/*/*/learning.json")):
        record = _learning(path, smoke)
        if record is None:
            print(f"respeed: {path}: left out: damaged, or of another kind of run", file=sys.stderr)
        else:
            found.append(record)
    return found


def usable_learning(path: Path, smoke: bool) -> bool:
    """Whether figures can be drawn of the file."""
    return _learning(path, smoke) is not None


def _learning(path: Path, smoke: bool) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        where = (record["machine"], record["paper"], record["experiment"])
        programs = record["programs"]
        drawn = all(program["curve"] and program["pictures"] and program["workload"] for program in programs)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    right = record.get("schema") == LEARNING_SCHEMA and record.get("smoke") == smoke and where == path.parts[-4:-1]
    return record if right and programs and drawn else None


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON, whole or not at all; ValueError for numbers that JSON has not (NaN, infinity)."""
    write_text(path, json.dumps(data, indent=1, allow_nan=False) + "\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_json(path: Path) -> Any:
    """Read one JSON file; UserError, with what to do, if it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is damaged ({error}); run again to measure it anew, or delete it") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of JSON")


def read_record(path: Path) -> dict[str, Any]:
    """Read one record and check what statistics rest on; UserError, with what to do, if it cannot be used."""
    return check_record(read_json(path), str(path))


def readable(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """The records at `paths`; one that is damaged or of another version is left out, with a line that says so."""
    for path in paths:
        try:
            yield read_record(path)
        except UserError as error:
            print(f"respeed: left out: {error}", file=sys.stderr)


def read_records(smoke: bool, machine: str = "*") -> Iterator[dict[str, Any]]:
    """All records there are, of one machine or of any, in the order of their paths."""
    for path in record_paths(smoke, machine):
        for record in readable([path]):
            if record["id"]["smoke"] != smoke:
                kind = "real" if smoke else "smoke"
                raise UserError(f"{path}: is a record of the {kind} kind in the wrong folder; move it away")
            if record["id"]["machine"] != path.parts[-5]:
                print(f"respeed: left out: {path}: is of the machine {record['id']['machine']}", file=sys.stderr)
                continue
            yield record
