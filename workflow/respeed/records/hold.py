"""One run at a time in a folder: two would write one another's records."""

import fcntl
import os

from respeed.errors import UserError
from respeed.paths import results_folder


def hold_folder(smoke: bool) -> int:
    """Take the folder of results, until the descriptor is closed or the process ends; UserError if another has it."""
    folder = results_folder(smoke)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UserError(f"{folder}: another run is at work in this folder; wait for it or stop it") from None
    return descriptor
