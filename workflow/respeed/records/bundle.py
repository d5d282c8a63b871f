"""A bundle as it lies on disk: a zip file as `respeed export` writes it, and nothing else that a zip file can be.

It may come from anybody. Its first member, manifest.json, tells of which machines it is and what every other member is.
Every byte of it but the packed members follows from these: what is read is compared to what would be written. A member
that is too large is refused before it is unpacked.
"""

import hashlib
import math
import stat
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import FailFast, Field

from respeed.errors import UserError
from respeed.inputs.files import read_bounded
from respeed.machine.software import package_versions
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
# What the header of every member says first: the version that can read it, no flags, deflated; and midnight of the
# first day that a zip file can tell, since when a bundle was written is no fact about its records.
_SAME = (20, 0, 8, 0, 0x21)
# Then its checksum, how long it is packed and unpacked, how long its name is, and that there is no more.
_HEADER, _BEFORE = struct.Struct("<5H3L2H"), b"PK\3\4"
# The directory says this too, and that each is made on a Unix, a regular file, readable by all, and where it begins.
_MADE_BY, _REGULAR_AT, _REGULAR = bytes((20, 3)), struct.Struct("<6x2L"), (stat.S_IFREG | 0o644) << 16
_END, _LEVEL = struct.Struct("<4s4H2LH"), 6


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


# --- the zip file


@dataclass(frozen=True)
class _Packed:
    """A member as it is packed; `size` and `checksum` (CRC-32) are of what it unpacks to."""

    name: bytes
    body: bytes | memoryview
    size: int
    checksum: int

    @property
    def path(self) -> str:
        return self.name.decode("utf-8", "replace")

    def unpack(self) -> bytes:
        """ValueError unless that is of this size and checksum. No more than the size is ever unpacked."""
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            data = unpacker.decompress(self.body, self.size + 1)
        except zlib.error as error:
            raise ValueError(str(error)) from None
        if (len(data), zlib.crc32(data)) != (self.size, self.checksum) or not unpacker.eof or unpacker.unused_data:
            raise ValueError("it unpacks to something else than it says")
        return data


def _pack(path: str, data: bytes) -> _Packed:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return _Packed(path.encode(), packer.compress(data) + packer.flush(), len(data), zlib.crc32(data))


def _zip_of(members: list[_Packed]) -> bytearray:
    """The zip file: each member behind its header, then the directory, and last how long that is."""
    out, directory = bytearray(), bytearray()
    for one in members:
        header = _HEADER.pack(*_SAME, one.checksum, len(one.body), one.size, len(one.name), 0)
        directory += b"PK\1\2" + _MADE_BY + header + _REGULAR_AT.pack(_REGULAR, len(out)) + one.name
        out += _BEFORE + header + one.name
        out += one.body
    end = _END.pack(b"PK\5\6", 0, 0, len(members), len(members), len(directory), len(out), 0)
    out += directory
    out += end
    return out


def _read_zip(data: bytes, path: Path) -> list[_Packed]:
    """The members of a bundle; UserError unless it is, byte for byte, what export makes of these: in order, one after
    another without a gap, so that no two share bytes, nothing hides between them, and no link or folder is among them.
    """
    if data[-_END.size :][:4] != b"PK\5\6":
        raise UserError(f"{path}: is no bundle that respeed export wrote, or its end is missing; {_AGAIN}")
    members, offset, whole = list[_Packed](), 0, memoryview(data)
    while data.startswith(_BEFORE, offset) and (begin := offset + len(_BEFORE) + _HEADER.size) <= len(data):
        *_, checksum, packed, size, length, _ = _HEADER.unpack_from(data, offset + len(_BEFORE))
        begin += length
        offset = begin + packed
        members.append(_Packed(data[begin - length : begin], whole[begin:offset], size, checksum))
        if reason := _too_large(members[-1]):
            raise UserError(f"{path}: {shown(members[-1].path)}: {reason}")
        if len(members) > MAX_MEMBERS:
            raise UserError(f"{path}: has more than {MAX_MEMBERS} members")
    names = [member.path for member in members]
    if names != [MANIFEST, *sorted(set(names[1:]))] or data != _zip_of(members):
        raise UserError(f"{path}: is no bundle as respeed export writes it, or was changed; {_REPACKED}")
    if sum(member.size for member in members) > MAX_BYTES:
        raise UserError(f"{path}: unpacks to more than {MAX_BYTES // MIB} MiB, which no bundle needs")
    return members


# --- bundles


def unpack(path: Path, refuse: Callable[[str, str], None]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What the manifest of a bundle says, and its other members by their path. UserError, one line, if it is none;
    `refuse` is told of each member, by where it is and why, that is not what the manifest tells of."""
    first, *packed = _read_zip(read_bounded(path, MAX_BYTES), path)
    manifest = _check_manifest(first, path)
    told, there = [one["path"] for one in manifest["members"]], [member.path for member in packed]
    if told != there:
        odd = next(iter(sorted(set(told) ^ set(there))), MANIFEST)
        raise UserError(f"{path}: its manifest and its members do not agree ({shown(odd)}); {_AGAIN}")
    members = {}
    for member, said in zip(packed, manifest["members"], strict=True):
        try:
            data = member.unpack()
        except ValueError as error:
            refuse(f"{path}: {member.path}", f"is damaged ({error}); {_AGAIN}")
            continue
        if (len(data), hashlib.sha256(data).hexdigest()) == (said["size"], said["sha256"]):
            members[member.path] = data
        else:
            refuse(f"{path}: {member.path}", f"is not what the manifest says (sha256); {_AGAIN}")
    return manifest, members


def _check_manifest(packed: _Packed, path: Path) -> dict[str, Any]:
    """What the manifest says; UserError if it is none, or tells of a member that a bundle may not have."""
    try:
        facts = parse_plain(packed.unpack(), f"{path}: {MANIFEST}")
    except ValueError as error:
        raise UserError(f"{path}: {MANIFEST}: is damaged ({error}); {_AGAIN}") from None
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


def why_too_large(path: str, data: bytes) -> str | None:
    """Why a bundle cannot have such a member; None if it can."""
    return _too_large(_pack(path, data))


def _too_large(member: _Packed) -> str | None:
    if member.size > (limit := most_bytes(member.path)):
        return f"has more than {limit // MIB} MiB, which no such file needs"
    if member.size > MAX_RATIO * len(member.body):
        return f"unpacks to more than {MAX_RATIO} times its size, which no record does"
    return None


def pack(file: Path, members: Mapping[str, bytes], smoke: bool, machines: Mapping[str, Any]) -> None:
    """Write the bundle of these members, by their path, whole or not at all: the same make the same bytes. UserError if
    there are too many, or it cannot be written."""
    told = [
        {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in sorted(members.items())
    ]
    if len(told) > MAX_MEMBERS or sum(map(len, members.values())) > MAX_BYTES:
        room = f"{MAX_MEMBERS} files and {MAX_BYTES // MIB} MiB"
        raise UserError(f"a bundle has room for {room}; export a machine at a time")
    respeed = package_versions().get("respeed", "unknown")
    manifest = {"schema": SCHEMA, "respeed": respeed, "smoke": smoke, "machines": machines, "members": told}
    packed = [_pack(MANIFEST, json_text(manifest).encode()), *(_pack(*member) for member in sorted(members.items()))]
    try:
        if file.exists() and not file.is_file():
            raise UserError(f"{file}: is no plain file; name one that can be written, such as records.zip")
        if not file.parent.is_dir():
            raise UserError(f"{file}: there is no folder {file.parent}")
        if file.exists() and file.stat().st_size:
            with file.open("rb") as there:
                if there.read(len(_BEFORE)) != _BEFORE:
                    raise UserError(f"{file}: is there, and is no bundle; give another name")
        with replacing(file) as out:
            out.write(_zip_of(packed))
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror}") from None
