"""Texts for people: what of one from a file, such as a label or the name of a CPU, can be printed; durations."""

import unicodedata

# A line of a message, and a text of a record, is no longer than this.
MOST_LETTERS = 1500
# Line and paragraph separators, and all that has no picture: control, format, private and no characters, surrogates.
_NEVER = ("C", "Zl", "Zp")


def is_unprintable(char: str) -> bool:
    """Whether a text of one line cannot hold the character: it has no picture, or it turns the line about."""
    return unicodedata.category(char).startswith(_NEVER)


def name_unprintable(text: str) -> str | None:
    """The first character of the text that cannot be printed, such as U+202E (RIGHT-TO-LEFT OVERRIDE); None if all
    can."""
    if text.isascii() and text.isprintable():
        return None
    found = next(filter(is_unprintable, text), None)
    if found is None:
        return None
    if found in "\r\n":
        return f"U+{ord(found):04X} (a line break)"
    name = unicodedata.name(found, "")
    return f"U+{ord(found):04X}" + f" ({name})" * bool(name)


def printable(text: str) -> str:
    """The text on one line: every kind of space as a space, without what has no picture (control characters)."""
    if text.isascii() and text.isprintable():
        return text
    spaced = "".join(" " if char.isspace() else char for char in text)
    return "".join(char for char in spaced if not is_unprintable(char))


def visible(text: str) -> str:
    """The text on one line, with what cannot be printed written as Python does: \\x1b, \\u202e."""
    if text.isascii() and text.isprintable():
        return clip(text)
    return clip("".join(repr(char)[1:-1] if is_unprintable(char) else char for char in text))


def clip(text: str, most: int = MOST_LETTERS) -> str:
    """The text, or its beginning if it is longer than any that is meant."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def join_words(words: list[str]) -> str:
    """A list for people: a, b and c. One whose words have commas themselves: a; b and c."""
    comma = "; " if any("," in word for word in words) else ", "
    return " and ".join(filter(None, [comma.join(words[:-1]), *words[-1:]]))


def in_words(seconds: float) -> str:
    """A duration for people, coarse as an estimate should be: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
