"""Let only one measurement run at a time: two on one machine would measure each other.

The lock is one file of the user's, locked by flock(2): it is held as long as any process has the file open, so that a
measuring process whose parent was killed keeps it for as long as it uses the cores.
"""

import contextlib
import fcntl
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import platformdirs

from respeed.errors import UserError

# The descriptors that hold the lock, for a child to inherit; none where there is no lock to be had.
Held = tuple[int, ...]
# To look so often costs a measurement nothing that its own probes would see.
LOOK_SECONDS = 0.5


def lock_file(path: Path) -> int | None:
    """Lock a file, which is made if need be, until the descriptor is closed; return that, or None if it is locked.

    Raises OSError if the file cannot be made or opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def lock_path() -> Path:
    """Return the file of this user's measurements on this machine: a home may be that of several machines."""
    return platformdirs.user_cache_path("respeed") / f"measures-{platform.node()}.lock"


def say_on_screen(text: str) -> None:
    """Print a line on standard error at once."""
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def machine_lock(wait_seconds: float | None = None, say: Callable[[str], None] = say_on_screen) -> Iterator[Held]:
    """Hold the lock of measurements, and give its descriptors.

    While another measurement holds it: say so once, and wait, for ever or for `wait_seconds`. Raises UserError after
    these. Where no lock can be had, a line says so.
    """
    held: Held = ()
    try:
        held = (_wait_for_lock(lock_path(), math.inf if wait_seconds is None else wait_seconds, say),)
    except OSError as error:
        say(f"respeed: no lock can be had ({error}): take care that nothing else measures meanwhile")
    try:
        yield held
    finally:
        for descriptor in held:
            os.close(descriptor)


def who_measures() -> str | None:
    """Return who holds the lock, such as "pid 4242, since 2026-01-31 14:05"; None if nobody does, as far as is told."""
    path = lock_path()
    with contextlib.suppress(OSError):  # no lock can be had here
        if (descriptor := lock_file(path)) is None:
            return path.read_text()
        os.close(descriptor)
    return None


def _wait_for_lock(path: Path, wait_seconds: float, say: Callable[[str], None]) -> int:
    deadline, is_said = time.monotonic() + wait_seconds, False
    while (descriptor := lock_file(path)) is None:
        if time.monotonic() >= deadline:
            raise UserError(
                f"another measurement still runs on this machine: {path.read_text()}; try again when it is done, or "
                "give this one longer to wait for it, such as --wait 1h"
            )
        if not is_said:
            say(f"respeed: another measurement runs on this machine; waiting for it: {path.read_text()}")
            is_said = True
        time.sleep(LOOK_SECONDS)
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"pid {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M}".encode())
    return descriptor
