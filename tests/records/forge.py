"""Zip files with any lie in them that one likes: a bundle, each part of which may be changed before it is written."""

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

MANIFEST = "manifest.json"
REGULAR = 0o100644 << 16


@dataclass
class Entry:
    """A member. What is None is as it ought to be; `local` has what the header in front of it says instead."""

    name: bytes
    data: bytes
    method: int = 8
    flags: int = 0
    attributes: int = REGULAR
    system: int = 3
    extra: bytes = b""
    comment: bytes = b""
    size: int | None = None
    packed_size: int | None = None
    crc: int | None = None
    offset: int | None = None
    packed: bytes | None = None
    local: dict[str, Any] = field(default_factory=dict)

    def body(self) -> bytes:
        if self.packed is not None:
            return self.packed
        if self.method == 0:
            return self.data
        packer = zlib.compressobj(1, zlib.DEFLATED, -15)
        return packer.compress(self.data) + packer.flush()


def zip_of(
    entries: list[Entry],
    *,
    before: bytes = b"",
    gap: bytes = b"",
    after: bytes = b"",
    end: dict[str, int] | None = None,
) -> bytes:
    """The zip file of these members; `end` has what its last record says instead."""
    out, directory = bytearray(before), bytearray()
    for entry in entries:
        body, at = entry.body(), len(out)
        says = {
            "flags": entry.flags, "method": entry.method, "crc": zlib.crc32(entry.data), "packed": len(body),
            "size": len(entry.data), "name": entry.name, "extra": entry.extra,
        }  # fmt: skip
        told = says | {
            key: value
            for key, value in (("crc", entry.crc), ("packed", entry.packed_size), ("size", entry.size))
            if value is not None
        }
        local = told | entry.local
        out += _header(b"PK\3\4", b"", local, b"") + body
        where = at if entry.offset is None else entry.offset
        tail = struct.pack("<3H2L", len(entry.comment), 0, 0, entry.attributes, where)
        directory += _header(b"PK\1\2", bytes([20, entry.system]), told, tail, entry.comment)
    out += gap
    last = {"disk": 0, "first": 0, "here": len(entries), "all": len(entries), "size": len(directory)}
    last |= {"start": len(out), "comment": 0} | (end or {})
    keys = ("disk", "first", "here", "all", "size", "start", "comment")
    return bytes(out + directory + struct.pack("<4s4H2LH", b"PK\5\6", *(last[key] for key in keys)) + after)


def _header(mark: bytes, made_by: bytes, says: dict[str, Any], tail: bytes, comment: bytes = b"") -> bytes:
    numbers = (20, says["flags"], says["method"], 0, 0x21, says["crc"], says["packed"], says["size"])
    lengths = (len(says["name"]), len(says["extra"]))
    return mark + made_by + struct.pack("<5H3L2H", *numbers, *lengths) + tail + says["name"] + says["extra"] + comment


def entry(path: str, value: Any) -> Entry:
    """A member of a bundle; `value` is its JSON, or its bytes."""
    return Entry(path.encode(), value if isinstance(value, bytes) else json.dumps(value).encode())


def manifest_of(entries: list[Entry], **changed: Any) -> dict[str, Any]:
    """The manifest that tells the truth of these members, but for what is changed."""
    names = [one.name.decode(errors="replace") for one in entries]
    members = [
        {"path": name, "size": len(one.data), "sha256": hashlib.sha256(one.data).hexdigest()}
        for name, one in zip(names, entries, strict=True)
    ]
    machines = {name.split("/")[1]: {} for name in names if name.count("/") > 1}
    return {"schema": 1, "respeed": "0.1.0", "smoke": False, "machines": machines, "members": members} | changed


def bundle_of(files: dict[str, Any], *, told: Any = None, **changed: Any) -> list[Entry]:
    """The members of a bundle of these files; `told` in place of its manifest."""
    entries = [entry(path, value) for path, value in sorted(files.items())]
    return [entry(MANIFEST, manifest_of(entries, **changed) if told is None else told), *entries]
