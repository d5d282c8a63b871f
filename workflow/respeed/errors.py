"""What is the user's to mend, a line each: mistakes in what was given, and what the system refuses."""

import difflib
import errno
import os
from collections.abc import Collection, Iterable, Mapping

from respeed.text import clip, visible

GOES_ON = "the same command goes on"
# What to do about it. Any other error is a mistake of the program, whose traceback helps to find it.
ADVICE = {
    errno.ENOSPC: f"make room there, and {GOES_ON}",
    errno.EDQUOT: f"make room there, or ask for a larger quota, and {GOES_ON}",
    errno.EFBIG: f"raise the limit of a file's size (ulimit -f), and {GOES_ON}",
    errno.EROFS: "copy the project to where you may write",
    errno.EIO: "the disk or the network folder fails; look at it before anything else",
    errno.EACCES: "copy the project to where you may write, or have the owner give you the right",
    errno.EPERM: "copy the project to where you may write, or have the owner give you the right",
}
# These come of writing alone; a disk that fails is met by reading, too.
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
DISK = (*_WRITING, errno.EIO)


class UserError(Exception):
    """A mistake in what the user gave: one line that says what, which file and key, and what to write instead.

    What was given may be anything: what of it cannot be printed is written as an escape."""

    def __init__(self, text: str) -> None:
        super().__init__(visible(text))


class NotMeasurable(Exception):
    """A profile or a case that this machine cannot run; the text is the reason that the tables show."""


class WrongResult(Exception):
    """What was computed is not what should have been, or not on as many threads: no time is shown."""


class ProgramFailed(Exception):
    """A program of somebody else's that did not end as it should, or did not tell its time; the text says how."""


def nearest(word: str, allowed: Iterable[str], meant: Mapping[str, Collection[str]] | None = None) -> str:
    """The end of an error line about a name that does not exist: the nearest one that does, and all of them. `meant`
    has what people mean by words that look like other names."""
    names = [str(name) for name in allowed]
    if meant and word in meant:
        close = [name for name in meant[word] if name in names]
    else:
        close = difflib.get_close_matches(clip(str(word), 80), names, n=1, cutoff=0.6)
    guess = f" (did you mean {' or '.join(close)}?)" if close else ""
    return f"{guess}; there are: {', '.join(sorted(names)) or 'none'}"


def refusal(error: OSError, path: str | os.PathLike[str]) -> UserError | None:
    """The line about what the system refused who was writing `path`; None if it refused nothing."""
    return _line(path, "written", error) if error.errno in ADVICE else None


def refusal_anywhere(error: OSError, written: str = "a file, or what is printed") -> UserError | None:
    """The same where nobody knows what was being done. Of errors that need not come from a file, such as a right that a
    call to the system has not, only those that name one. `written`: what it is if the error names none."""
    named = error.filename if isinstance(error.filename, str | bytes | os.PathLike) else None
    if error.errno in _WRITING:
        return _line(named or written, "written", error)
    if error.errno in ADVICE and (named or error.errno in DISK):
        return _line(named or "a file", "read or written", error)
    return None


def is_of_the_disk(error: BaseException) -> bool:
    """Whether it says nothing of what was being done, such as a case that was measured."""
    return isinstance(error, OSError) and error.errno in DISK


def _line(path: str | bytes | os.PathLike[str], done: str, error: OSError) -> UserError:
    return UserError(f"{os.fsdecode(path)}: cannot be {done}: {error.strerror}; {ADVICE[error.errno or 0]}")
