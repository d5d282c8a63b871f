"""Errors whose message is one line: a user's mistakes, what the system refuses, and why a case has no time."""

import difflib
import errno
import heapq
import itertools
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from respeed.text import clip, visible

# Neither success nor a mistake: something is left to measure (EX_TEMPFAIL of sysexits.h).
UNFINISHED = 75
RESUMES = "the same command resumes the run"
# An error of the disk is no fault of the case that was being measured.
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
# Names that are compared in full, of those whose letters differ least from a word's: to compare all takes minutes,
# where a stranger's file has hundreds of long names and as many mistakes.
COMPARED = 5


class UserError(Exception):
    """Mistakes in the user's input: `lines` that each name the fault, the file and key, and what to write instead.

    The message is the first line, with the number of the others. Characters of the input that cannot be printed are
    written as escapes.
    """

    def __init__(self, *lines: str) -> None:
        self.lines = [visible(line) for line in lines]
        text = self.lines[0]
        if len(lines) > 1:
            text += f" (and {len(lines) - 1} more: respeed check lists them)"
        super().__init__(text)


class NotMeasurable(Exception):
    """A profile or a case that this machine cannot run; the text is the reason that the tables show."""


class WrongResult(Exception):
    """A result that is wrong, or was computed by more or fewer threads than asked for; its time is not shown."""


class ProgramFailed(Exception):
    """An outside program that did not end as it should, or did not print its time; the text is the reason."""


def tell(line: object) -> None:
    """Print a line on the screen, with the name of this program before it."""
    print(f"respeed: {line}", file=sys.stderr, flush=True)


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Return the end of an error line about an unknown name: the nearest allowed name, and all allowed names."""
    names = sorted(map(str, allowed))
    pairs = _pairs(str(word))
    alike = heapq.nsmallest(COMPARED, names, key=lambda name: len(pairs ^ _pairs(name)))
    close = difflib.get_close_matches(clip(str(word), 80), alike, n=1)
    guess = f" (did you mean {close[0]}?)" if close else ""
    return f"{guess}; there are: {', '.join(names) or 'none'}"


def unknown(start: str, name: str, names: Iterable[str]) -> list[str]:
    """Return a line that begins with `start` if `name` is not among `names`, and otherwise no line."""
    names = tuple(names)
    return [] if name in names else [f"{start} {name!r}{nearest(name, names)}"]


def _pairs(word: str) -> set[Any]:
    """Return the letters of a word, and its pairs of letters side by side."""
    return {*word, *itertools.pairwise(word)}


def cannot_write(path: str | Path, error: OSError) -> UserError:
    """Return the error for a file that the system refused to write, such as on a full disk."""
    return UserError(f"{path}: cannot be written: {error.strerror}")


def is_of_the_disk(error: BaseException) -> bool:
    """Return whether the disk, for instance a full disk, is the cause of an error."""
    return isinstance(error, OSError) and error.errno in DISK
