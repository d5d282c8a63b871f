"""Texts that come from files, such as labels and the names of CPUs: what of them can be printed."""

import unicodedata


def printable(text: str) -> str:
    """The text on one line: every kind of space as a space, without what has no picture (control characters)."""
    spaced = "".join(" " if char.isspace() else char for char in text)
    return "".join(char for char in spaced if not unicodedata.category(char).startswith("C"))


def join_words(words: list[str]) -> str:
    """A list for people: a, b and c. One whose words have commas themselves: a; b and c."""
    comma = "; " if any("," in word for word in words) else ", "
    return " and ".join(filter(None, [comma.join(words[:-1]), *words[-1:]]))
