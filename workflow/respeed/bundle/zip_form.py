"""What a zip file must be to be a bundle: to the byte as `respeed export` writes it, so that no trick has room."""

import os
import stat
import struct
import zipfile
from pathlib import Path
from typing import IO

from respeed.bundle.limits import MAX_BYTES, MAX_MEMBERS, MIB, too_large
from respeed.errors import UserError
from respeed.records.layout import MANIFEST, shown

AGAIN = "carry it again, or have it exported again"
# A bundle that any other program packed.
REPACKED = "if it was packed again, unpack it and import the folder"
# A regular file, readable by all, made on a Unix.
REGULAR = (stat.S_IFREG | 0o644) << 16
UNIX = 3
# The first moment that a zip file can tell: when a bundle was written is no fact about what is in it.
ANY_TIME = (1980, 1, 1, 0, 0, 0)
# The same as a header has it, time before date; and the version of the format.
_ANY_TIME_PACKED = (0, 0x21)
_VERSION = 20
_END = struct.Struct("<4s4H2LH")
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s4B4H3L5H2L")
# Of an entry of the directory: its header, and five names of 64 letters.
_LONGEST_ENTRY = _CENTRAL.size + 350


def check_end(file: IO[bytes], path: Path) -> tuple[int, int]:
    """How many members the directory has, and where it begins: looked at before anything is read by it."""
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BYTES:
        raise UserError(f"{path}: has more than {MAX_BYTES // MIB} MiB, which no bundle needs")
    if size < _END.size:
        raise UserError(f"{path}: is no bundle: it has {size} bytes")
    file.seek(size - _END.size)
    mark, disk, first_disk, here, count, length, start, comment = _END.unpack(file.read(_END.size))
    if mark != b"PK\5\6":
        raise UserError(f"{path}: is no bundle that respeed export wrote, or its end is missing; {AGAIN}")
    if disk or first_disk or here != count or comment or start + length != size - _END.size:
        raise UserError(
            f"{path}: is no bundle as respeed export writes it (its directory is not where it says); {REPACKED}"
        )
    if count > MAX_MEMBERS or length > count * _LONGEST_ENTRY:
        raise UserError(f"{path}: has more than {MAX_MEMBERS} members, or longer names than any")
    file.seek(0)
    return count, start


def check_members(members: zipfile.ZipFile, path: Path) -> None:
    infos, offset, total = members.infolist(), 0, 0
    names = [info.orig_filename for info in infos]
    if not names or names[0] != MANIFEST or names[1:] != sorted(set(names[1:])):
        raise UserError(
            f"{path}: is no bundle as respeed export writes it (its members are not in order, or one twice); {REPACKED}"
        )
    for info in infos:
        where = f"{path}: {shown(info.orig_filename)}"
        if reason := _oddity(info):
            raise UserError(f"{where}: {reason}, unlike any member of a bundle; {REPACKED}")
        if large := too_large(info.filename, info.file_size, info.compress_size):
            raise UserError(f"{where}: {large}")
        # One after another without a gap: no two share bytes, and nothing hides between them.
        if info.header_offset != offset:
            raise UserError(f"{where}: does not begin where the member before it ends")
        offset += _LOCAL.size + len(info.orig_filename) + info.compress_size
        total += info.file_size
    if offset != members.start_dir or not _is_as_written(members, infos):
        raise UserError(
            f"{path}: is no bundle as respeed export writes it (its headers and its directory differ); {REPACKED}"
        )
    if total > MAX_BYTES:
        raise UserError(f"{path}: unpacks to more than {MAX_BYTES // MIB} MiB, which no bundle needs")


def _oddity(info: zipfile.ZipInfo) -> str:
    """What is odd about a member's header, or nothing."""
    if info.flag_bits & 0x1:
        return "is encrypted"
    if info.filename != info.orig_filename or not info.orig_filename.isascii():
        return "has an odd name"
    if info.compress_type != zipfile.ZIP_DEFLATED:
        return "is packed in another way than deflate"
    if info.create_system != UNIX or info.external_attr != REGULAR:
        return "is a link, a folder or no plain file"
    return "has more in its header" if info.flag_bits or info.extra or info.comment else ""


def _is_as_written(members: zipfile.ZipFile, infos: list[zipfile.ZipInfo]) -> bool:
    """Whether the directory, and the header before each member, are to the byte what export makes of these members."""
    assert members.fp is not None  # it is open
    for info in infos:
        members.fp.seek(info.header_offset)
        if members.fp.read(_LOCAL.size + len(info.orig_filename)) != _local_header(info):
            return False
    members.fp.seek(members.start_dir)
    return all(members.fp.read(_CENTRAL.size + len(info.orig_filename)) == _central_header(info) for info in infos)


def _local_header(info: zipfile.ZipInfo) -> bytes:
    name = info.orig_filename.encode("ascii")
    return _LOCAL.pack(b"PK\3\4", _VERSION, *_told(info), len(name), 0) + name


def _central_header(info: zipfile.ZipInfo) -> bytes:
    name = info.orig_filename.encode("ascii")
    tail = (len(name), 0, 0, 0, 0, REGULAR, info.header_offset)
    return _CENTRAL.pack(b"PK\1\2", _VERSION, UNIX, _VERSION, 0, *_told(info), *tail) + name


def _told(info: zipfile.ZipInfo) -> tuple[int, ...]:
    """What both headers say: flags, method, time and date, checksum and sizes."""
    return (0, zipfile.ZIP_DEFLATED, *_ANY_TIME_PACKED, info.CRC, info.compress_size, info.file_size)
