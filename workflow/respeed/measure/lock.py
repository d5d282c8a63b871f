"""Only one measurement at a time on a machine: two would measure each other.

The lock is held at two places, a name in the kernel and a file, because each is shared where the other may not be: the
name where every user or job has a /tmp of its own, the file where sandboxes have a network of their own, and with
earlier versions. Two measurements wait for each other if they share either. Both end with whoever holds them, also by
-9. Who holds them is asked of the kernel: nothing that somebody could write down is believed.

Neither can be a trap. A name is no file. A file is used only as it should be: never through a link, never one that is
not plain or has a second name, and nothing but a file just made here ever gets its mode changed.
"""

import contextlib
import errno
import fcntl
import os
import re
import socket
import stat
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil

from respeed.errors import UserError
from respeed.machine.process import user_name
from respeed.text import in_words
from respeed.timing.clock import seconds_now

# What holds it: for a child to inherit.
Held = tuple[int, ...]

# To look so often costs a measurement nothing that its own probes would see.
LOOK_SECONDS = 0.5
# Whoever waits for hours need not read of it every minute.
SAY_AGAIN_SECONDS = 600.0
# As much of a command as one line has room for.
COMMAND_WIDTH = 60
# Everybody must be able to read the file to lock it; nobody needs to write.
MODE = 0o644
# A link is not followed, and a FIFO that somebody put there is not waited for.
_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Holder:
    """Who holds the lock, as far as the kernel tells: the process, None where that cannot be seen from here, as across
    containers; and the user it runs as."""

    pid: int | None = None
    uid: int | None = None

    def __str__(self) -> str:
        """ "pid 4242 of anna, running since 2026-01-31 14:05 (python -m respeed measure)", or as much as is known."""
        if self.pid is None:
            return f"{self._unseen_user()}, that cannot be seen from here"
        try:
            process = psutil.Process(self.pid)
            since = datetime.fromtimestamp(process.create_time()).strftime("%Y-%m-%d %H:%M")
            if self.uid is None or self.uid in process.uids():
                user = user_name(process.uids().real)
                return f"pid {self.pid} of {user}, running since {since}{_command(process)}"
        except psutil.NoSuchProcess:
            pass
        # Ended by now; another process may have its number.
        return f"what pid {self.pid}{'' if self.uid is None else f' of {user_name(self.uid)}'} left behind"

    def _unseen_user(self) -> str:
        if self.uid is None:
            return "a process, another user's or in another container"
        return "a process of yours" if self.uid == os.geteuid() else f"another user's process, of {user_name(self.uid)}"


class HeldError(Exception):
    """Somebody else has it."""

    def __init__(self, holder: Holder) -> None:
        self.holder = holder


@dataclass(frozen=True)
class KernelName:
    """An abstract Unix socket (Linux). One for all users, where each has a /tmp of his own as well; not for those that
    share no network, such as most containers."""

    name: str

    def take(self) -> int | None:
        """The descriptor that holds it; None where there is no such place. HeldError if somebody else has it."""
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
        """Who has it now; None if nobody does. Takes nothing that another measurement would wait for."""
        if sys.platform != "linux":
            return None
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as asking:
            asking.setblocking(False)
            try:
                asking.connect(f"\0{self.name}")
            except OSError:  # nobody has it, it does not listen, or so many have asked that no more may
                return self._unheard()
            pid, uid, _ = struct.unpack("3i", asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return Holder(pid or None, uid)

    def _unheard(self) -> Holder | None:
        """Whoever has bound the name, also without listening at it."""
        bound = re.compile(rf" 0001 01 +([1-9]\d*) @{re.escape(self.name)}$", re.MULTILINE)
        try:
            found = bound.search(Path("/proc/net/unix").read_text(errors="replace"))
        except OSError:
            return None
        return Holder(uid=_socket_owner(int(found[1]))) if found else None


@dataclass(frozen=True)
class LockFile:
    """A file that is locked while it is held. Reading is enough to lock it, so that it serves all users, whoever made
    it."""

    path: Path

    def take(self) -> int | None:
        while True:
            if (descriptor := self._made()) is None and (descriptor := self._opened()) is None:
                return None
            with contextlib.ExitStack() as unless_kept:
                unless_kept.callback(os.close, descriptor)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise HeldError(_locker(descriptor) or Holder()) from None
                except OSError:  # a file system without locks
                    return None
                if self._is_still(descriptor):
                    unless_kept.pop_all()
                    return descriptor
            # It was removed while it was being locked: another one is there by now.

    def holder(self) -> Holder | None:
        descriptor = self._opened()
        if descriptor is None:
            return None
        try:
            if found := _locker(descriptor):
                return found
            # As whoever measures would take it, and for no time: a lock for reading, too, would keep him from it.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return Holder()
        except OSError:
            pass
        finally:
            os.close(descriptor)
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
            try:
                descriptor = os.open(self.path, os.O_RDWR | _CAREFUL)  # as NFS wants it
            except PermissionError:
                descriptor = os.open(self.path, os.O_RDONLY | _CAREFUL)
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


# All but the last are held, in this order, or none; the last, this user's alone, where none of them can be used.
# Not the temporary folder of the environment, which can be one of each job or each user. Nor the system's folder for
# locks, /run/lock: many systems let only root write there.
PLACES: tuple[KernelName | LockFile, ...] = (
    KernelName("respeed-measures"),
    LockFile(Path("/tmp/respeed.lock")),
    LockFile(Path(tempfile.gettempdir(), f"respeed-{os.getuid()}.lock")),
)


def say_on_screen(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def machine_lock(wait_seconds: float | None = None, say: Callable[[str], None] = say_on_screen) -> Iterator[Held]:
    """Hold the machine-wide lock. While another measurement holds it: waits, and says for whom; for ever, or UserError
    after `wait_seconds`.

    Gives the lock's descriptors, for the child to inherit: a child whose parent was killed keeps the lock for
    as long as it still uses the cores.
    """
    held = _take_in_time(wait_seconds, say)
    try:
        if not held:
            say("respeed: no lock can be had here: take care that nothing else measures meanwhile")
        yield held
    finally:
        for descriptor in held:
            os.close(descriptor)


def who_measures() -> Holder | None:
    """Who holds the lock now, the one that can be named best; None if nobody does."""
    found = [holder for place in PLACES if (holder := place.holder())]
    return max(found, key=lambda holder: (holder.pid is not None, holder.uid is not None), default=None)


def _take_in_time(wait_seconds: float | None, say: Callable[[str], None]) -> Held:
    began, next_say = seconds_now(), 0.0
    while True:
        try:
            return _take()
        except HeldError as error:
            holder = error.holder
        waited = seconds_now() - began
        if wait_seconds is not None and waited >= wait_seconds:
            after = f" after {in_words(waited)} of waiting" if wait_seconds else ""
            raise UserError(
                f"another measurement still runs on this machine{after}: {holder}; try again when it is done, or give "
                "this one longer to wait for it, such as --wait 1h"
            )
        if waited >= next_say:
            limit = "" if wait_seconds is None else f", for at most {in_words(wait_seconds - waited)}"
            say(f"respeed: another measurement runs on this machine; waiting for it{limit}: {holder}")
            next_say = waited + SAY_AGAIN_SECONDS
        time.sleep(LOOK_SECONDS if wait_seconds is None else min(LOOK_SECONDS, wait_seconds - waited))


def _take() -> Held:
    *shared, own = PLACES
    with contextlib.ExitStack() as unless_kept:
        held: list[int] = []
        for place in (*shared, own):
            if (place is not own or not held) and (descriptor := place.take()) is not None:
                unless_kept.callback(os.close, descriptor)
                held.append(descriptor)
        unless_kept.pop_all()
    return tuple(held)


def _is_plain(facts: os.stat_result) -> bool:
    """A file with this name alone: a second one may be that of somebody's own file."""
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink <= 1


def _locker(descriptor: int) -> Holder | None:
    """Who locked the file, by the kernel's list (Linux); None if it names nobody that can be seen from here."""
    facts = os.fstat(descriptor)
    device = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}"
    locked = re.compile(rf"^\d+: FLOCK .* (\d+) {device}:{facts.st_ino} ", re.MULTILINE)
    try:
        found = locked.search(Path("/proc/locks").read_text())
    except OSError:
        return None
    if not found or not int(found[1]):
        return None
    try:
        return Holder(int(found[1]), psutil.Process(int(found[1])).uids().effective)
    except psutil.Error:
        return Holder(int(found[1]))


def _socket_owner(inode: int) -> int | None:
    """The user who made that Unix socket, by the kernel (sock_diag(7)); None where it does not tell (Linux 5.2)."""
    NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST = 4, 20, 1
    UDIAG_SHOW_UID, UNIX_DIAG_UID, ANY = 0x40, 7, 2**32 - 1
    asked = struct.pack("=BBHIII2I", socket.AF_UNIX, 0, 0, ANY, inode, UDIAG_SHOW_UID, ANY, ANY)
    header = struct.pack("=IHHII", 16 + len(asked), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(1)
            kernel.send(header + asked)
            told = kernel.recv(4096)
    except OSError:
        return None
    if struct.unpack_from("=H", told, 4)[0] != SOCK_DIAG_BY_FAMILY:  # an error
        return None
    place = 32  # after the header and what is told of every socket: facts, each with its length and kind
    while place + 8 <= len(told):
        length, kind = struct.unpack_from("=HH", told, place)
        if kind == UNIX_DIAG_UID:
            return int(struct.unpack_from("=I", told, place + 4)[0])
        place += max(4, (length + 3) & ~3)
    return None


def _command(process: psutil.Process) -> str:
    """Anybody can give his process any words, those that steer a terminal among them: shown as far as they print."""
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        return ""
    shown = "".join(letter if letter.isprintable() else "?" for letter in words)
    return f" ({shown if len(shown) <= COMMAND_WIDTH else shown[: COMMAND_WIDTH - 1] + '…'})" if shown else ""
