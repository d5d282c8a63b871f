"""A bundle as it lies on disk: a zip file as `respeed export` writes it, and nothing else that a zip file can be."""

import hashlib
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from respeed.bundle.layout import MANIFEST, shown
from respeed.bundle.limits import MAX_BYTES, MAX_MANIFEST_BYTES, MAX_MEMBER_BYTES, MAX_MEMBERS, MAX_RATIO, MIB
from respeed.bundle.manifest import Manifest, read_manifest
from respeed.model.errors import UserError

# A regular file, readable by all, made on a Unix.
REGULAR = (stat.S_IFREG | 0o644) << 16
UNIX = 3
_END = struct.Struct("<4s4H2LH")
_LOCAL_HEADER = 30
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)


class Archive:
    """An open bundle, whose structure and manifest are right. Each member is checked against the manifest when it is
    read."""

    def __init__(self, path: Path, members: zipfile.ZipFile) -> None:
        self.path, self._zip = path, members
        _check_members(members, path)
        self.manifest: Manifest = read_manifest(self._bytes(MANIFEST), str(path))
        told, there = [one.path for one in self.manifest.members], members.namelist()[1:]
        if told != there:
            odd = next(iter(sorted(set(told) ^ set(there))), MANIFEST)
            raise UserError(f"{path}: its manifest and its members do not agree ({shown(odd)}); {_AGAIN}")

    @property
    def paths(self) -> list[str]:
        """Of the members, in order, but for the manifest."""
        return [one.path for one in self.manifest.members]

    def where(self, path: str) -> str:
        """What messages call a member."""
        return f"{self.path}: {path}"

    def read(self, path: str) -> bytes:
        """A member's bytes; UserError if they are not those that the manifest tells of."""
        member, data = self.manifest.member(path), self._bytes(path)
        if (len(data), hashlib.sha256(data).hexdigest()) != (member.size, member.sha256):
            raise UserError(f"{self.where(path)}: is not what the manifest says (sha256); {_AGAIN}")
        return data

    def _bytes(self, path: str) -> bytes:
        try:
            with self._zip.open(path) as stream:
                # The size is checked already, and no more than it says is ever unpacked.
                return stream.read()
        except _DAMAGE as error:
            raise UserError(f"{self.where(path)}: is damaged ({_one_line(error)}); {_AGAIN}") from None


_AGAIN = "carry it again, or have it exported again"


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The bundle at `path`; UserError, one line, if it is none."""
    with _open_regular(path) as file:
        start = _check_end(file, path)
        try:
            members = zipfile.ZipFile(file)
        except _DAMAGE as error:
            raise UserError(f"{path}: is no bundle, or a damaged one ({_one_line(error)}); {_AGAIN}") from None
        with members:
            # Where zipfile read another directory than the one that was counted, somebody wants that.
            if members.start_dir != start:
                raise UserError(f"{path}: is no bundle as respeed export writes it (two directories)")
            yield Archive(path, members)


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


def _check_end(file: IO[bytes], path: Path) -> int:
    """Where the directory begins. It is counted before it is read; nothing may stand before, between or after."""
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BYTES:
        raise UserError(f"{path}: has more than {MAX_BYTES // MIB} MiB, which no bundle needs")
    if size < _END.size:
        raise UserError(f"{path}: is no bundle: it has {size} bytes")
    file.seek(size - _END.size)
    mark, disk, first_disk, here, count, length, start, comment = _END.unpack(file.read(_END.size))
    if mark != b"PK\5\6":
        raise UserError(f"{path}: is no bundle that respeed export wrote, or its end is missing; {_AGAIN}")
    if disk or first_disk or here != count or comment or start + length != size - _END.size:
        raise UserError(f"{path}: is no bundle as respeed export writes it (its directory is not where it says)")
    if count > MAX_MEMBERS:
        raise UserError(f"{path}: has more than {MAX_MEMBERS} members, which no bundle needs")
    file.seek(0)
    return int(start)


def _check_members(members: zipfile.ZipFile, path: Path) -> None:
    infos, offset, total = members.infolist(), 0, 0
    names = [info.orig_filename for info in infos]
    if not names or names[0] != MANIFEST or names[1:] != sorted(set(names[1:])):
        raise UserError(
            f"{path}: is no bundle as respeed export writes it (its members are not in order, or one twice)"
        )
    for info in infos:
        where = f"{path}: {shown(info.orig_filename)}"
        if reason := _oddity(info):
            raise UserError(f"{where}: {reason}, which a bundle's member never is")
        limit = MAX_MANIFEST_BYTES if info.filename == MANIFEST else MAX_MEMBER_BYTES
        if info.file_size > limit:
            raise UserError(f"{where}: has more than {limit // MIB} MiB, which no member needs")
        if info.file_size > MAX_RATIO * info.compress_size:
            raise UserError(f"{where}: unpacks to more than {MAX_RATIO} times its size, which no record does")
        # One after another without a gap: no two share bytes, and nothing hides between them.
        if info.header_offset != offset:
            raise UserError(f"{where}: does not begin where the member before it ends")
        offset += _LOCAL_HEADER + len(info.orig_filename) + info.compress_size
        total += info.file_size
    if offset != members.start_dir:
        raise UserError(f"{path}: is no bundle as respeed export writes it (something stands before its directory)")
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
    return "has a header of another kind" if info.flag_bits or info.extra or info.comment or info.volume else ""


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
