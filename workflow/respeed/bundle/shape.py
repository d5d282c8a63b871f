"""Says where data does not have the shape that it should have; a shape is a dictionary, a list or a test."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

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
    """A list, or a dictionary's values, of one shape each; at least so many."""

    shape: Any
    least: int = 0
    keyed: bool = False


def misfit(data: Any, shape: Any, where: str = "") -> str | None:
    """The first place in `data` that does not fit, such as `cases.0.flops`, or None. Keys that the shape does not name
    may be there: later versions write more facts."""
    if isinstance(shape, OrNone):
        return None if data is None else misfit(data, shape.shape, where)
    if isinstance(shape, Every):
        if not isinstance(data, dict if shape.keyed else list) or len(data) < shape.least:
            return where or "all of it"
        inner = data.items() if isinstance(data, dict) else enumerate(data)
        return _first(misfit(one, shape.shape, _within(where, key)) for key, one in inner)
    if isinstance(shape, dict):
        return _misfit_in(data, shape, where) if isinstance(data, dict) else where or "all of it"
    return None if shape(data) else where or "all of it"


def _misfit_in(data: dict[str, Any], shape: dict[str, Any], where: str) -> str | None:
    for key, inner in shape.items():
        place = _within(where, key)
        optional, wanted = isinstance(inner, Maybe), inner.shape if isinstance(inner, Maybe) else inner
        if key not in data and not optional:
            return place
        if key in data and (found := misfit(data[key], wanted, place)):
            return found
    return None


def _within(where: str, key: Any) -> str:
    return f"{where}.{key}" if where else str(key)


def _first(found: Iterable[str | None]) -> str | None:
    return next((one for one in found if one), None)


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


def number(least: float = -math.inf, most: float = math.inf) -> Test:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def whole(least: int, most: int = 2**63) -> Test:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


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
