"""Where the machine-wide lock is held: a name in the kernel, and a file. Both end with whoever holds them, also by -9.

Neither can be a trap. A name is no file. A file is used only as it should be: never through a link, never one that is
not plain or has a second name, and nothing but a file just made here ever gets its mode changed.
"""

import contextlib
import errno
import fcntl
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from respeed.measure.holder import Holder, read_holder, written_down

# Everybody must be able to read the file to lock it; nobody but its owner needs to write.
MODE = 0o644
MOST_TEXT = 64
# A link is not followed, and a FIFO that somebody put there is not waited for.
_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class HeldError(Exception):
    """Somebody else has it."""

    def __init__(self, holder: Holder) -> None:
        self.holder = holder


class Place(Protocol):
    """One place to hold the lock at."""

    def take(self) -> int | None:
        """The descriptor that holds it; None where there is no such place. HeldError if somebody else has it."""

    def holder(self) -> Holder | None:
        """Who has it now, without taking it."""


@dataclass(frozen=True)
class KernelName:
    """An abstract Unix socket (Linux). One for all users, where each has a /tmp of his own as well; not for those that
    share no network, such as most containers. The kernel itself tells who has it."""

    name: str

    def take(self) -> int | None:
        if sys.platform != "linux":
            return None
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as ours:
            try:
                ours.bind(f"\0{self.name}")
                ours.listen(socket.SOMAXCONN)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:  # such as in a sandbox
                    return None
                raise HeldError(self.holder() or Holder()) from None
            return ours.detach()

    def holder(self) -> Holder | None:
        if sys.platform != "linux":
            return None
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as asking:
            asking.setblocking(False)
            try:
                asking.connect(f"\0{self.name}")
            except BlockingIOError:  # so many have asked that no more may
                return Holder()
            except OSError:
                return None
            told = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid = int(struct.unpack("3i", told)[0])
        return Holder(pid or None)


@dataclass(frozen=True)
class LockFile:
    """A file that is locked while it is held. Reading is enough to lock it, so that it serves all users, whoever made
    it; its owner also writes down in it who holds it."""

    path: Path

    def take(self) -> int | None:
        while True:
            if (descriptor := self._made()) is None and (descriptor := self._opened()) is None:
                return None
            with _closed_unless_kept(descriptor) as keep:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise HeldError(_read(descriptor)) from None
                except OSError:  # a file system without locks
                    return None
                if self._is_still(descriptor):
                    _write_down(descriptor)
                    keep.append(descriptor)
                    return descriptor
            # It was removed while it was being locked: another one is there by now.

    def holder(self) -> Holder | None:
        descriptor = self._opened()
        if descriptor is None:
            return None
        with _closed_unless_kept(descriptor):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read(descriptor)
            except OSError:
                pass
        return None

    def _made(self) -> int | None:
        """A new file; None if something is there already, or nothing can be made."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CAREFUL, MODE)
        except OSError:
            return None
        os.fchmod(descriptor, MODE)  # whatever the umask says
        return descriptor

    def _opened(self) -> int | None:
        """What is there; None if it is not what it should be."""
        try:
            if not _is_plain(os.lstat(self.path)):  # a device does things when it is opened
                return None
            descriptor = _open_first(self.path, os.O_RDWR, os.O_RDONLY)
        except OSError:
            return None
        if _is_plain(os.fstat(descriptor)):
            return descriptor
        os.close(descriptor)
        return None

    def _is_still(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.lstat(self.path))
        except OSError:
            return False


def _is_plain(facts: os.stat_result) -> bool:
    """A file with this name alone: a second one may be that of somebody's own file."""
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink <= 1


def _open_first(path: Path, *modes: int) -> int:
    for mode in modes[:-1]:
        with contextlib.suppress(PermissionError):
            return os.open(path, mode | _CAREFUL)
    return os.open(path, modes[-1] | _CAREFUL)


@contextlib.contextmanager
def _closed_unless_kept(descriptor: int) -> Iterator[list[int]]:
    kept: list[int] = []
    try:
        yield kept
    finally:
        if not kept:
            os.close(descriptor)


def _write_down(descriptor: int) -> None:
    facts = os.fstat(descriptor)
    if facts.st_uid == os.geteuid() and facts.st_size <= MOST_TEXT:
        with contextlib.suppress(OSError):  # a full disk: it is held all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, written_down(os.getpid()).encode(), 0)


def _read(descriptor: int) -> Holder:
    return read_holder(os.pread(descriptor, MOST_TEXT, 0).decode(errors="replace"))
