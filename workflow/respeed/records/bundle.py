"""A bundle as it lies on disk: a zip file as `respeed export` writes it, and nothing else that a zip file can be.

It may come from anybody. Its first member, manifest.json, tells of which machines it is and what every other member is.
A larger one is refused before it is read; what is unpacked lies in a temporary folder, under names that are places.
"""

import hashlib
import math
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

from pydantic import FailFast, Field

from respeed.errors import UserError
from respeed.records.models import (
    MAX_DEPTH,
    Facts,
    Kind,
    Machine,
    Name,
    Schema1,
    Whole,
    misfit,
    parse_json,
    place_of,
    shown,
)
from respeed.records.store import json_text, replacing

MANIFEST, SCHEMA = "manifest.json", 1
MIB = 2**20
# A paper's rounds on all profiles of a machine are some hundred records; this has room for a hundred machines.
MAX_MEMBERS, MAX_BYTES = 50_000, 512 * MIB
# Each has to be told from all that are here, and written; a report of more would take minutes.
MAX_MACHINES = 500
# The largest seen have 0.02 MB (a round), 0.6 MB (what a program learns) and 0.3 MB (a hardware sheet of two cores;
# more cores are more rounds). A whole run adds 8 MB a day, and a manifest has about 200 bytes a member.
_LARGEST = {Kind.RECORD: 2 * MIB, Kind.LEARNING: 8 * MIB, Kind.SHEET: 8 * MIB}
_LARGEST_WHOLE = _LARGEST_MANIFEST = 16 * MIB
# Real files shrink to a quarter, and at most to an eighth. A file of nothing but one letter shrinks to a thousandth.
MAX_RATIO = 40
# Numbers, texts, lists and objects of one file: a whole run of a day and a half. What holds more takes long to look at.
MAX_VALUES = 500_000
MAX_TEXT = 4000
# Numbers beyond are no facts of a measurement, and some programs cannot hold them exactly.
MAX_WHOLE = 2**63

_AGAIN = "carry it again, or have it exported again"
# A bundle that any other program packed.
_REPACKED = "if it was packed again, unpack it and import the folder"
# What every member's header says: a regular file, readable by all, made on a Unix, deflated; of the first moment that a
# zip file can tell, since when a bundle was written is no fact about what is in it.
_REGULAR, _UNIX, _VERSION, _LEVEL = (stat.S_IFREG | 0o644) << 16, 3, 20, 6
_ANY_TIME = (1980, 1, 1, 0, 0, 0)
_END = struct.Struct("<4s4H2LH")
_LOCAL_SIZE, _CENTRAL_SIZE, _LONGEST_NAME = 30, 46, 350
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError,
)  # fmt: skip


class Member(Facts):
    """A file of a bundle; `size` in bytes."""

    path: str
    size: Whole
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Manifest(Facts):
    """`machines` has the fingerprint of each, as far as its records tell it."""

    schema_: Schema1 = Field(alias="schema")
    respeed: str
    smoke: bool
    machines: Annotated[dict[Name, Machine], Field(min_length=1)]
    members: Annotated[list[Member], Field(min_length=1), FailFast()]


def most_bytes(path: str) -> int:
    """The most that a member of that name may have."""
    place = place_of(path)
    if place is None:
        return _LARGEST_MANIFEST if path == MANIFEST else MIB
    return _LARGEST_WHOLE if place.is_whole else _LARGEST.get(place.kind, MIB)


def too_large(path: str, size: int, packed_size: int) -> str | None:
    """Why a member of that name may not have so many bytes, and so many when it is packed; None if it may."""
    if size > (limit := most_bytes(path)):
        return f"has more than {limit // MIB} MiB, which no such file needs"
    if size > MAX_RATIO * packed_size:
        return f"unpacks to more than {MAX_RATIO} times its size, which no record does"
    return None


def check_machines(count: int, where: str, advice: str) -> None:
    """UserError if a bundle or folder has more machines than one import takes."""
    if count > MAX_MACHINES:
        raise UserError(f"{where}: has {count} machines, more than the {MAX_MACHINES} that fit into one; {advice}")


# --- JSON from others


def parse_plain(data: bytes, where: str) -> Any:
    """The value that `data` says; UserError, one line that begins with `where`, if it is not plain JSON: nothing twice,
    nothing too deep, no NaN or infinity, no control characters."""
    # Counted before it is built: ten million empty lists fit into three packed megabytes.
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise UserError(f"{where}: has more than {MAX_VALUES} values, which no file of a bundle needs")
    try:
        value = parse_json(data.decode("utf-8"), _once)
        _check(value, 0)
    except RecursionError:
        raise UserError(f"{where}: is damaged (nested too deeply)") from None
    except ValueError as error:
        raise UserError(f"{where}: is damaged ({error})") from None
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, int | float):
        if abs(value) > MAX_WHOLE if isinstance(value, int) else not math.isfinite(value):
            raise ValueError("a number is too large")
    elif isinstance(value, list | dict):
        for one in [*value, *value.values()] if isinstance(value, dict) else value:
            _check(one, depth + isinstance(one, list | dict))


def check_text(text: str) -> None:
    """ValueError if it is longer than any text of a record, or holds what no text needs: C0 and C1 but for tab and line
    feed, halves of a surrogate pair, and what turns the direction of writing."""
    if len(text) > MAX_TEXT:
        raise ValueError("a text is too long")
    if not text.isprintable() and any(
        (code < 0x20 and code not in (9, 10)) or any(code in none for none in _NO_TEXT) for code in map(ord, text)
    ):
        raise ValueError("a text holds a control character")


_NO_TEXT = (range(0x7F, 0xA0), range(0xD800, 0xE000), range(0x202A, 0x202F), range(0x2066, 0x206A))


# --- unpacking


def unpack(path: Path, folder: Path, refuse: Callable[[UserError], None]) -> dict[str, Any]:
    """Unpack the bundle into an empty folder of ours; what its manifest says. UserError, one line, if it is none;
    `refuse` is told of each member that is not what the manifest tells of, and is not unpacked."""
    with _open_zip(path) as members:
        _check_members(members, path)
        manifest = _check_manifest(_read(members, MANIFEST, path), path)
        told, there = [one["path"] for one in manifest["members"]], members.namelist()[1:]
        if told != there:
            odd = next(iter(sorted(set(told) ^ set(there))), MANIFEST)
            raise UserError(f"{path}: its manifest and its members do not agree ({shown(odd)}); {_AGAIN}")
        for member in manifest["members"]:
            try:
                data = _read(members, member["path"], path)
            except UserError as error:
                refuse(error)
                continue
            if (len(data), hashlib.sha256(data).hexdigest()) == (member["size"], member["sha256"]):
                write_within(folder, member["path"], data)
            else:
                refuse(UserError(f"{path}: {member['path']}: is not what the manifest says (sha256); {_AGAIN}"))
    return manifest


def _check_manifest(data: bytes, path: Path) -> dict[str, Any]:
    """What the manifest says; UserError if it is none, or tells of a member that a bundle may not have."""
    facts = parse_plain(data, f"{path}: {MANIFEST}")
    schema = facts.get("schema") if isinstance(facts, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise UserError(f"{path}: is a bundle of schema {schema}, this version reads {SCHEMA}; update respeed")
    if line := misfit(Manifest, facts, "manifest"):
        raise UserError(f"{path}: {MANIFEST}: {line}")
    machines = set(facts["machines"])
    check_machines(len(machines), str(path), "have them exported in several bundles")
    for member in facts["members"]:
        place = place_of(member["path"])
        if place is None:
            raise UserError(f"{path}: {shown(member['path'])} is nothing that a bundle may have")
        if place.machine not in machines:
            raise UserError(f"{path}: {place.path}: the manifest tells of no machine {place.machine!r}")
    if idle := machines - {member["path"].split("/")[1] for member in facts["members"]}:
        raise UserError(f"{path}: {MANIFEST}: there is nothing of the machine {min(idle)!r}")
    manifest: dict[str, Any] = facts
    return manifest


def _read(members: zipfile.ZipFile, name: str, path: Path) -> bytes:
    try:
        # The size is checked already, and no more than it says is ever unpacked.
        return members.read(name)
    except _DAMAGE as error:
        raise UserError(f"{path}: {name}: is damaged ({_one_line(error)}); {_AGAIN}") from None


@contextmanager
def _open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    with _open_regular(path) as file:
        count, start = _check_end(file, path)
        try:
            members = zipfile.ZipFile(file)
        except _DAMAGE as error:
            raise UserError(f"{path}: is no bundle, or a damaged one ({_one_line(error)}); {_AGAIN}") from None
        with members:
            # Where zipfile read another directory than the one that was counted, somebody wants that.
            if (len(members.infolist()), members.start_dir) != (count, start):
                raise UserError(f"{path}: is no bundle as respeed export writes it (another number of members)")
            yield members


def _open_regular(path: Path) -> IO[bytes]:
    try:
        # A FIFO without a writer would wait for one for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UserError(f"{path}: is no regular file; give a bundle that respeed export wrote, or a folder")
    return os.fdopen(descriptor, "rb")


def _check_end(file: IO[bytes], path: Path) -> tuple[int, int]:
    """How many members the directory has, and where it begins: looked at before zipfile reads anything."""
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BYTES:
        raise UserError(f"{path}: has more than {MAX_BYTES // MIB} MiB, which no bundle needs")
    file.seek(max(0, size - _END.size))
    end = file.read(_END.size) if size >= _END.size else b""
    if end[:4] != b"PK\5\6":
        raise UserError(f"{path}: is no bundle that respeed export wrote, or its end is missing; {_AGAIN}")
    _, disk, first_disk, here, count, length, start, comment = _END.unpack(end)
    if disk or first_disk or here != count or comment or start + length != size - _END.size:
        raise UserError(
            f"{path}: is no bundle as respeed export writes it (its directory is not where it says); {_REPACKED}"
        )
    if count > MAX_MEMBERS or length > count * (_CENTRAL_SIZE + _LONGEST_NAME):
        raise UserError(f"{path}: has more than {MAX_MEMBERS} members, or longer names than any")
    return count, start


def _check_members(members: zipfile.ZipFile, path: Path) -> None:
    """UserError unless the directory, and the header before each member, are what export makes of these members: in
    order, one after another without a gap, so that no two share bytes, and nothing hides between them."""
    infos = members.infolist()
    names = [info.orig_filename for info in infos]
    if not names or names[0] != MANIFEST or names[1:] != sorted(set(names[1:])):
        raise UserError(
            f"{path}: is no bundle as respeed export writes it (its members are not in order, or one twice); "
            f"{_REPACKED}"
        )
    offset = 0
    for info in infos:
        where = f"{path}: {shown(info.orig_filename)}"
        if large := too_large(info.filename, info.file_size, info.compress_size):
            raise UserError(f"{where}: {large}")
        if not _is_as_written(info, members, offset):
            raise UserError(f"{where}: its header is unlike that of any member of a bundle; {_REPACKED}")
        offset += _LOCAL_SIZE + len(info.filename) + info.compress_size
    if offset != members.start_dir or sum(info.file_size for info in infos) > MAX_BYTES:
        raise UserError(f"{path}: is no bundle as respeed export writes it (its members are larger, or fewer)")


def _is_as_written(info: zipfile.ZipInfo, members: zipfile.ZipFile, offset: int) -> bool:
    """No link, no folder, nothing encrypted, and no header that says something else than the directory."""
    if info.filename != info.orig_filename or not info.filename.isascii():
        return False
    says = (info.compress_type, info.create_system, info.external_attr, info.date_time, info.header_offset)
    versions = (info.create_version, info.extract_version)
    more = (info.flag_bits, info.reserved, info.internal_attr, info.volume, info.extra, info.comment)
    wanted = (zipfile.ZIP_DEFLATED, _UNIX, _REGULAR, _ANY_TIME, offset), (_VERSION, _VERSION)
    if (says, versions) != wanted or any(more):
        return False
    header = info.FileHeader(zip64=False)
    assert members.fp is not None  # it is open
    members.fp.seek(offset)
    return members.fp.read(len(header)) == header


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


# --- packing


def write_within(folder: Path, path: str, data: bytes) -> None:
    """Write a member into a temporary folder that is laid out as a bundle."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def packed_size(data: bytes) -> int:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return len(packer.compress(data)) + len(packer.flush())


def pack(file: Path, folder: Path, respeed: str, smoke: bool, machines: Mapping[str, Any]) -> None:
    """Write the bundle of all files in a folder that is laid out as one, whole or not at all: the same files make the
    same bytes. UserError if there are too many, or it cannot be written."""
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    members: list[dict[str, Any]] = []
    for path in paths:
        data = (folder / path).read_bytes()
        members.append({"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    if len(members) > MAX_MEMBERS or sum(member["size"] for member in members) > MAX_BYTES:
        room = f"{MAX_MEMBERS} files and {MAX_BYTES // MIB} MiB"
        raise UserError(f"a bundle has room for {room}; export a machine at a time")
    manifest = {"schema": SCHEMA, "respeed": respeed, "smoke": smoke, "machines": machines, "members": members}
    try:
        if file.exists() and not file.is_file():
            raise UserError(f"{file}: is no plain file; name one that can be written, such as records.zip")
        if not file.parent.is_dir():
            raise UserError(f"{file}: there is no folder {file.parent}")
        with replacing(file) as out, zipfile.ZipFile(out, "w") as archive:
            _add(archive, MANIFEST, json_text(manifest).encode())
            for path in paths:
                _add(archive, path, (folder / path).read_bytes())
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror}") from None


def _add(archive: zipfile.ZipFile, path: str, data: bytes) -> None:
    info = zipfile.ZipInfo(path, _ANY_TIME)
    info.create_system, info.external_attr = _UNIX, _REGULAR
    archive.writestr(info, data, zipfile.ZIP_DEFLATED, _LEVEL)
