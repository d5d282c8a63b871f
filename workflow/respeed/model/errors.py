"""The one exception that is the user's to mend."""

import difflib
from collections.abc import Iterable

from respeed.model.text import clip, visible


class UserError(Exception):
    """A mistake in what the user gave: one line that says what, which file and key, and what to write instead.

    What was given may be anything: what of it cannot be printed is written as an escape."""

    def __init__(self, text: str) -> None:
        super().__init__(visible(text))


class NotMeasurable(Exception):
    """A profile or a case that this machine cannot run; the text is the reason that the tables show."""


def nearest(word: str, allowed: Iterable[str]) -> str:
    """The end of an error line about a name that does not exist: the nearest one that does, and all of them."""
    names = [str(name) for name in allowed]
    close = difflib.get_close_matches(clip(str(word), 80), names, n=1, cutoff=0.6)
    guess = f" (did you mean {close[0]}?)" if close else ""
    return f"{guess}; there are: {', '.join(sorted(names)) or 'none'}"
