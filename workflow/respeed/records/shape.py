"""Says where data does not have the shape that it should have; a shape is a dictionary, a list or a test."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from respeed.errors import UserError
from respeed.paths import check_name

Test = Callable[[Any], bool]

_MOMENT = re.compile(r"2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00")


@dataclass(frozen=True)
class Maybe:
    """Of a key: it may be missing."""

    shape: Any


@dataclass(frozen=True)
class OrNone:
    """Of a value: it may be null."""

    shape: Any


@dataclass(frozen=True)
class Every:
    """A list, or a dictionary's values, of one shape each; at least so many, and at most so many."""

    shape: Any
    least: int = 0
    keyed: bool = False
    most: int = sys.maxsize


def misfit(data: Any, shape: Any) -> str | None:
    """The first place in `data` that does not fit, such as `cases.0.flops`, or None. Keys that the shape does not name
    may be there: later versions write more facts."""
    place = _misfit(data, shape)
    return None if place is None else ".".join(map(str, place)) or "all of it"


def _misfit(data: Any, shape: Any) -> tuple[Any, ...] | None:
    if isinstance(shape, dict):
        return _misfit_in(data, shape) if isinstance(data, dict) else ()
    if isinstance(shape, OrNone):
        return None if data is None else _misfit(data, shape.shape)
    if isinstance(shape, Every):
        if not isinstance(data, dict if shape.keyed else list) or not shape.least <= len(data) <= shape.most:
            return ()
        for key, one in data.items() if isinstance(data, dict) else enumerate(data):
            if (found := _misfit(one, shape.shape)) is not None:
                return key, *found
        return None
    return None if shape(data) else ()


def _misfit_in(data: dict[str, Any], shape: dict[str, Any]) -> tuple[Any, ...] | None:
    for key, wanted in shape.items():
        optional = isinstance(wanted, Maybe)
        if key not in data:
            if optional:
                continue
            return (key,)
        if (found := _misfit(data[key], wanted.shape if optional else wanted)) is not None:
            return key, *found
    return None


def text(value: Any) -> bool:
    return isinstance(value, str)


def reason(value: Any) -> bool:
    """A text that says something."""
    return text(value) and bool(value.strip())


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


def anything(value: Any) -> bool:
    return True


def name(value: Any) -> bool:
    """What may be a name of ours."""
    try:
        return isinstance(value, str) and check_name("", value, "") == value
    except UserError:
        return False


def number(least: float = -sys.float_info.max, most: float = sys.float_info.max) -> Test:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def whole(least: int, most: int = 2**63) -> Test:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def numbers(
    least_value: float, most_value: float, *, least: int = 0, most: int = sys.maxsize, whole: bool = False
) -> Test:
    """A list of at least so many and at most so many numbers, looked at in one go: files have thousands of these."""
    kinds = {int} if whole else {int, float}

    def fits(value: Any) -> bool:
        if not isinstance(value, list) or not least <= len(value) <= most or not set(map(type, value)) <= kinds:
            return False
        return all(least_value <= one <= most_value for one in value)

    return fits


def like(pattern: str) -> Test:
    fits = re.compile(pattern)
    return lambda value: isinstance(value, str) and fits.fullmatch(value) is not None


def moment(value: Any) -> bool:
    """As records write it: of this millennium and in UTC, to the second, because moments are compared as text."""
    if not (isinstance(value, str) and _MOMENT.fullmatch(value)):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def one_of(*values: Any) -> Test:
    # True is 1 to `in`.
    return lambda value: not isinstance(value, bool | list | dict) and value in values


def pair_of(inner: Any) -> Test:
    return lambda value: misfit(value, Every(inner, least=2)) is None and len(value) == 2


def either(*shapes: Any) -> Test:
    return lambda value: any(misfit(value, shape) is None for shape in shapes)
