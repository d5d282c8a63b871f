"""The texts of a record: whoever made it wrote them, and everything shows them."""

import functools
from typing import Any

from respeed.text import clip, printable

# No label, name of a device or reason is meant to be longer.
MOST_LETTERS = 500
# Lists of thousands of these have no text.
NUMBERS = {int, float}


def printable_texts(data: Any) -> Any:
    """The same with every text on one line, without what cannot be printed, and no longer than any is meant to be.
    ValueError if two keys become one, or
    one becomes empty."""
    if isinstance(data, str):
        return _printable(data)
    if isinstance(data, dict):
        shown = {_printable(key): printable_texts(one) for key, one in data.items()}
        if len(shown) < len(data) or ("" in shown and "" not in data):
            raise ValueError("keys are empty, or the same, but for what cannot be printed")
        return shown
    if isinstance(data, list) and not set(map(type, data)) <= NUMBERS:
        return [printable_texts(one) for one in data]
    return data


# The same keys and names stand in every record.
@functools.lru_cache(maxsize=4096)
def _printable(text: str) -> str:
    return clip(printable(text), MOST_LETTERS)
