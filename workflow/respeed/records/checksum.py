"""The checksum that a record carries over what it says: whoever changes a number by hand, or by accident, is noticed.

It is of the values, not of the bytes: line breaks, the order of keys, and 1 in place of 1.0 change nothing. It is no
signature: who edits a record can compute it anew.
"""

import hashlib
import json
from typing import Any

from respeed.errors import UserError

KEY = "checksum"
# Real records are 7 deep.
MAX_DEPTH = 16


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """What is to be written, with its checksum at the end; ValueError for numbers that JSON has not."""
    # As it will be read: JSON has no tuples, and its keys are texts.
    read = json.loads(json.dumps(_without(data), allow_nan=False))
    return {**read, KEY: checksum_of(read)}


def checksum_of(data: dict[str, Any]) -> str:
    """The checksum of all that a file says but for its checksum; ValueError if it says what no record can."""
    return hashlib.sha256(canonical(_without(data)).encode()).hexdigest()


def canonical(data: dict[str, Any]) -> str:
    """The one text for all JSON that says the same; ValueError if it says what no record can."""
    plain = _plain(data, MAX_DEPTH)
    try:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise ValueError("holds NaN or infinity") from None


def is_checked(data: Any) -> bool:
    """Whether the file has a checksum at all. It has none if it was written before records had them, or if somebody
    took it away: nothing tells which."""
    return isinstance(data, dict) and KEY in data


def check_checksum(data: dict[str, Any], where: str) -> None:
    """UserError, which begins with `where`, if the checksum is not that of what the file says. One that has none is
    looked at for what would make it none of JSON's."""
    try:
        found = checksum_of(data)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    if is_checked(data) and data[KEY] != found:
        raise UserError(f"{where}: its checksum does not hold: it was changed after it was written")


def resealed(before: Any, after: Any) -> Any:
    """What a file says under another name or number, with a new checksum where that of `before` held. Where it did not,
    the wrong one stays: a new name makes no edited record right."""
    if not is_checked(before) or not isinstance(after, dict):
        return after
    try:
        holds = before[KEY] == checksum_of(before)
    except ValueError:
        holds = False
    return sealed(after) if holds else after


def _without(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != KEY}


def _plain_one(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is float:
        return int(value) if value.is_integer() else value
    return _plain(value, depth) if kind is dict or kind is list else value


def _plain(value: dict[str, Any] | list[Any], depth: int) -> Any:
    """The same with whole floats as whole numbers, which is how other programs write them."""
    if not depth:
        raise ValueError("is nested too deeply")
    if isinstance(value, dict):
        return {key: _plain_one(one, depth - 1) for key, one in value.items()}
    return [_plain_one(one, depth - 1) for one in value]
