"""Reads files that people write and share: regular files of bounded size, whatever their name leads to."""

import os
import stat
from pathlib import Path

from respeed.errors import UserError
from respeed.paths import HARDWARE, MACHINES, PAPERS, ROOT

# How others end the names of YAML files.
ENDINGS = (".yml", ".YAML", ".YML")


def from_here(path: Path) -> Path:
    """The same file, as messages name it: one of the project's, or below the working directory, relative to that."""
    try:
        if path.is_relative_to(ROOT) or path.is_relative_to(Path.cwd()):
            return Path(os.path.relpath(path))
    except (OSError, ValueError):  # the directory is gone, or on another drive
        pass
    return path


def read_bounded(path: Path, most: int) -> bytes:
    """The file's bytes; UserError, one line, if it is missing, unreadable, of more than `most` bytes, or none that has
    an end: a pipe, a device, a folder."""
    shown = from_here(path)
    try:
        # Looked at before it is opened: to open some devices is to make them do something.
        _check_regular(os.stat(path), shown)
        # Not waiting: should it have become a pipe meanwhile, nobody may ever write to it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(descriptor, "rb") as file:
            _check_regular(os.fstat(descriptor), shown)
            content = file.read(most + 1)
    except ValueError:
        raise UserError(f"{shown}: cannot be the name of a file") from None
    except OSError as error:
        raise UserError(f"{shown}: cannot be read: {error.strerror}") from None
    if len(content) > most:
        raise UserError(f"{shown}: larger than {most} bytes, which no file of this kind needs")
    return content


def read_text(path: Path, most: int) -> str:
    """The text of such a file; UserError if it is not UTF-8."""
    try:
        return read_bounded(path, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{from_here(path)}: is not UTF-8 text; save it as UTF-8") from None


def _check_regular(found: os.stat_result, shown: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"{shown}: is no regular file, but a folder, a pipe or a device; put the file itself there")


def overlooked(hardware: Path = HARDWARE, machines: Path = MACHINES, papers: Path = PAPERS) -> list[str]:
    """A line for each file that looks like one of ours and is not read, because its name ends otherwise."""
    found = [path for folder in (hardware, machines) for path in folder.glob("*")]
    found += papers.glob("*/paper.*")
    return [
        f"{from_here(path)}: is not read, because of its name; rename it to {path.stem}.yaml"
        for path in sorted(found)
        if path.suffix in ENDINGS
    ]
