"""JSON as its standard has it: Python would read and write NaN and Infinity as well."""

import json
from collections.abc import Callable
from typing import Any


def parse_json(text: str | bytes, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value; ValueError if it is none. `pairs` makes an object of its keys and values, where `dict` should not."""
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=pairs)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of JSON")
