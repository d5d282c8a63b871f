"""The texts of a record: whoever made it wrote them, and everything shows them."""

from typing import Any

from respeed.model.text import clip, printable

# No label, name of a device or reason is meant to be longer.
MOST_LETTERS = 500


def printable_texts(data: Any) -> Any:
    """The same with every text on one line, without what cannot be printed, and no longer than any is meant to be."""
    match data:
        case str():
            return clip(printable(data), MOST_LETTERS)
        case dict():
            return {printable_texts(key): printable_texts(value) for key, value in data.items()}
        case list():
            return [printable_texts(value) if isinstance(value, str | dict | list) else value for value in data]
    return data
