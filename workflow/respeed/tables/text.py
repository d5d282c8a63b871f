"""Texts for people: what of them can be printed, and lists of words."""

from respeed.text import printable as printable


def join_words(words: list[str]) -> str:
    """A list for people: a, b and c. One whose words have commas themselves: a; b and c."""
    comma = "; " if any("," in word for word in words) else ", "
    return " and ".join(filter(None, [comma.join(words[:-1]), *words[-1:]]))
