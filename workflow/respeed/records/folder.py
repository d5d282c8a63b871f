"""The folder of results: one run at a time writes there, and whether all can be written is known before anything is
measured, not found out after an hour."""

import fcntl
import os
import pwd
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from respeed.errors import GOES_ON, UserError, refusal
from respeed.paths import results_folder

REPORT, SNAKEMAKE = Path("report"), Path(".snakemake")
# Several times what a run of all papers wrote, with its report and the compiled kernels: 20 MB.
NEEDED_BYTES = 100_000_000


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


def check_room(smoke: bool, others: Iterable[Path] = (), *, measures: bool = True) -> None:
    """UserError if the folder of results, or one of the `others`, is not this user's to write in; or, for what
    `measures`, if its disk is nearly full."""
    for folder in (results_folder(smoke), *others):
        place = _nearest(folder)
        _check_writable(place)
        for path in _what_is_written(folder):
            check_own(path)
        if measures and (free := shutil.disk_usage(place).free) < NEEDED_BYTES:
            raise UserError(
                f"{folder}: {free / 1e6:.0f} MB are free there, and a run may need {NEEDED_BYTES / 1e6:.0f} MB; make "
                f"room, and {GOES_ON}"
            )


def check_snakemake(folder: Path = SNAKEMAKE) -> None:
    """UserError if Snakemake cannot write in its own folder: not even a dry run does without."""
    _check_writable(_nearest(folder))
    for path in (*folder.glob("*/"), *folder.glob("iocache/*")):
        check_own(path)


def _nearest(folder: Path) -> Path:
    """The folder itself, or the one that it would be made in."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder


def _check_writable(folder: Path) -> None:
    """By a file that has no name: permissions do not tell of all that keeps one from writing."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"whether there is room")
            file.flush()
    except OSError as error:
        raise refusal(error, folder.resolve()) or UserError(f"{folder}: cannot be written: {error.strerror}") from None


def _what_is_written(folder: Path) -> Iterator[Path]:
    """The folders below it, and the logs, which are written in place. All other files are replaced whole."""
    for where, folders, files in os.walk(folder):
        yield from (Path(where, name) for name in folders)
        yield from (Path(where, name) for name in files if name.endswith(".log"))


def check_own(path: Path) -> None:
    """UserError if the file or folder is not this user's to write."""
    if path.is_symlink() and not os.path.exists(path):
        raise UserError(f"{path}: is a link to nothing that can be reached; delete it")
    if not os.access(path, os.W_OK | os.X_OK if path.is_dir() else os.W_OK):
        raise UserError(
            f"{path}: cannot be written, and belongs to {_owner(path)}; run in a clone of your own, or have the right "
            "given to you"
        )


def _owner(path: Path) -> str:
    number = path.lstat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
