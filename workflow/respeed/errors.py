"""What is the user's to mend, a line each: mistakes in what was given, and what the system refuses."""

import difflib
import errno
import os
from collections.abc import Collection, Iterable, Mapping

from respeed.text import clip, visible

GOES_ON = "the same command goes on"
# What a disk refuses says nothing of what was being done, such as of a case that was measured.
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


class UserError(Exception):
    """A mistake in what the user gave: one line that says what, which file and key, and what to write instead.

    What was given may be anything: what of it cannot be printed is written as an escape.
    """

    def __init__(self, text: str) -> None:
        super().__init__(visible(text))


class NotMeasurable(Exception):
    """A profile or a case that this machine cannot run; the text is the reason that the tables show."""


class WrongResult(Exception):
    """What was computed is not what should have been, or not on as many threads: no time is shown."""


class ProgramFailed(Exception):
    """A program of somebody else's that did not end as it should, or did not tell its time; the text says how."""


def nearest(word: str, allowed: Iterable[str], meant: Mapping[str, Collection[str]] | None = None) -> str:
    """Return the end of an error line about a name that does not exist: the nearest one that does, and all of them.

    `meant` has what people mean by words that look like other names.
    """
    names = [str(name) for name in allowed]
    if meant and word in meant:
        close = [name for name in meant[word] if name in names]
    else:
        close = difflib.get_close_matches(clip(str(word), 80), names, n=1, cutoff=0.6)
    guess = f" (did you mean {' or '.join(close)}?)" if close else ""
    return f"{guess}; there are: {', '.join(sorted(names)) or 'none'}"


def cannot_write(path: str | os.PathLike[str], error: OSError) -> UserError:
    """Return the line about a file that the system did not let be written, such as for want of room."""
    return UserError(f"{os.fspath(path)}: cannot be written: {error.strerror}")


def is_of_the_disk(error: BaseException) -> bool:
    """Return whether the disk refused something, such as for want of room."""
    return isinstance(error, OSError) and error.errno in DISK
