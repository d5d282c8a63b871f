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

from respeed.bundle.manifest import Manifest, read_manifest
from respeed.bundle.zip_form import AGAIN, check_end, check_members
from respeed.errors import UserError
from respeed.records.layout import MANIFEST, shown

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
        check_members(members, path)
        self.manifest: Manifest = read_manifest(self._bytes(MANIFEST), str(path))
        told, there = [one.path for one in self.manifest.members], members.namelist()[1:]
        if told != there:
            odd = next(iter(sorted(set(told) ^ set(there))), MANIFEST)
            raise UserError(f"{path}: its manifest and its members do not agree ({shown(odd)}); {AGAIN}")

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
            raise UserError(f"{self.where(path)}: is not what the manifest says (sha256); {AGAIN}")
        return data

    def _bytes(self, path: str) -> bytes:
        try:
            with self._zip.open(path) as stream:
                # The size is checked already, and no more than it says is ever unpacked.
                return stream.read()
        except _DAMAGE as error:
            raise UserError(f"{self.where(path)}: is damaged ({_one_line(error)}); {AGAIN}") from None


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The bundle at `path`; UserError, one line, if it is none."""
    with _open_regular(path) as file:
        count, start = check_end(file, path)
        try:
            members = zipfile.ZipFile(file)
        except _DAMAGE as error:
            raise UserError(f"{path}: is no bundle, or a damaged one ({_one_line(error)}); {AGAIN}") from None
        with members:
            # Where zipfile read another directory than the one that was counted, somebody wants that.
            if (len(members.infolist()), members.start_dir) != (count, start):
                raise UserError(f"{path}: is no bundle as respeed export writes it (another number of members)")
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


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
