"""One at a time changes a results folder: a run, or a command that moves records."""

import fcntl
import os
from pathlib import Path

from respeed.model.errors import UserError
from respeed.record.paths import results_folder

# The descriptors of the locks that are held: until the process ends.
_HELD: dict[Path, int] = {}


def hold_results(smoke: bool) -> None:
    """Take the folder for this process, for as long as it lives; UserError if another has it."""
    folder = results_folder(smoke)
    if folder.resolve() in _HELD:
        return
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UserError(f"{folder}: another run is at work in this folder; wait for it or stop it") from None
    _HELD[folder.resolve()] = descriptor
