"""Every field of a file, and what may stand there instead."""

import copy
import json
from collections.abc import Iterator
from typing import Any

Way = tuple[str | int, ...]
MISSING = object()
# Texts that stand for what Python's json cannot write.
ENDLESS, DEEP = "@1e999@", "@deep@"
_OF_OTHERS = {"id", "machine", "paper", "smoke", "hardware", "provenance", "profile", "rounds", "cases"}
INSTEAD = (
    None, True, -1, 0, 1, 1e300, 1e308, -1e308, 1e-300, 2**63, 10**400, float("nan"), ENDLESS, DEEP, "", "x", "../../x",
    "nan", "x" * 2**20, "2026-13-01T00:00:00+00:00", [], [1], ["x"], [[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]], {},
    {"x": "y"}, MISSING,
)  # fmt: skip


def ways(value: Any, way: Way = ()) -> Iterator[Way]:
    """To every field, but of a list's elements that are alike in kind only to those of the first."""
    keys: list[Any] = list(value) if isinstance(value, dict) else []
    if isinstance(value, list):
        keys = list({_kind_of(one): place for place, one in reversed(list(enumerate(value)))}.values())
    for key in keys:
        yield (*way, key)
        yield from ways(value[key], (*way, key))


def _kind_of(one: Any) -> str:
    return str(one.get("workload")) if isinstance(one, dict) else ""


def change(data: Any, way: Way, value: Any) -> Any:
    """The same with this instead, there."""
    changed = copy.deepcopy(data)
    inner = changed
    for key in way[:-1]:
        inner = inner[key]
    if value is MISSING:
        del inner[way[-1]]
    else:
        inner[way[-1]] = value
    return changed


def text_of(data: Any) -> str:
    """As a file has it."""
    return json.dumps(data).replace(f'"{ENDLESS}"', "1e999").replace(f'"{DEEP}"', "[" * 5000 + "]" * 5000)


def added(data: dict[str, Any]) -> Iterator[tuple[Way, Any]]:
    """Keys that files of other kinds have, each with something that stands there in none."""
    for key in sorted(_OF_OTHERS - data.keys()):
        for value in (None, 5, "x", [1], {}, {"machine": 5}):
            yield (key,), value
