"""Only one measurement at a time on a machine: two would measure each other."""

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path

# Not the temporary folder of the environment, which can be one of each job or each user.
LOCK = Path("/tmp/respeed.lock")


@contextlib.contextmanager
def machine_lock(path: Path = LOCK) -> Iterator[int]:
    """Hold the machine-wide lock; waits, and says so, while another measurement holds it.

    Gives the lock's file descriptor, for the child to inherit: a child whose parent was killed keeps the lock for
    as long as it still uses the cores.
    """
    descriptor = _open(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"respeed: another measurement runs on this machine; waiting for it ({path})", file=sys.stderr)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def is_locked(path: Path = LOCK) -> bool:
    """Whether a measurement holds the lock now."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _open(path: Path) -> int:
    # The lock belongs to all users of the machine; where another user made it, reading is enough to lock it.
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        return os.open(path, os.O_RDONLY)
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, 0o666)
    return descriptor
