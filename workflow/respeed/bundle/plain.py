"""JSON from others: nothing twice, nothing too deep, no NaN or infinity, no control characters."""

import math
from typing import Any

from respeed.bundle.limits import MAX_TEXT, MAX_VALUES, MAX_WHOLE
from respeed.errors import UserError
from respeed.records.checksum import MAX_DEPTH
from respeed.records.standard_json import parse_json


def parse_plain(data: bytes, where: str) -> Any:
    """The value that `data` says; UserError, one line that begins with `where`, if it is not plain JSON."""
    # Counted before it is built: ten million empty lists fit into three packed megabytes.
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise UserError(f"{where}: has more than {MAX_VALUES} values, which no file of a bundle needs")
    try:
        value = parse_json(data.decode("utf-8"), _once)
        _check(value)
    except RecursionError:
        raise UserError(f"{where}: is damaged (nested too deeply)") from None
    except ValueError as error:
        raise UserError(f"{where}: is damaged ({error})") from None
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _check(value: Any) -> None:
    # A list of what is still to look at, not a function that calls itself: depth is what is in doubt.
    waiting = [([value], 0)]
    while waiting:
        values, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        for one in values:
            if isinstance(one, float):
                if not math.isfinite(one):
                    raise ValueError("a number is too large")
            elif isinstance(one, str):
                check_text(one)
            elif isinstance(one, list):
                waiting.append((one, depth + 1))
            elif isinstance(one, dict):
                waiting.append(([*one, *one.values()], depth + 1))
            elif isinstance(one, int) and abs(one) > MAX_WHOLE:
                raise ValueError("a whole number is too large")


def check_text(text: str) -> None:
    """ValueError if it is longer than any text of a record, or holds what no text needs."""
    if len(text) > MAX_TEXT:
        raise ValueError("a text is too long")
    if not text.isprintable() and any(_is_control(letter) for letter in text):
        raise ValueError("a text holds a control character")


def _is_control(letter: str) -> bool:
    """C0 and C1 but for tab and line feed, halves of a surrogate pair, and what turns the direction of writing."""
    code = ord(letter)
    return (
        (code < 0x20 and letter not in "\t\n")
        or 0x7F <= code < 0xA0
        or 0xD800 <= code < 0xE000
        or 0x202A <= code < 0x202F
        or 0x2066 <= code < 0x206A
    )
