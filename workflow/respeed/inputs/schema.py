"""Checks data against workflow/schemas: a line for each thing that is wrong."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from respeed.errors import UserError, nearest
from respeed.inputs.files import from_here
from respeed.paths import SCHEMAS
from respeed.text import clip, name_unprintable, visible

if TYPE_CHECKING:
    from jsonschema import ValidationError


Place = tuple[str | int, ...]

# What a line shows of a value.
SHOWN = 80


class Misfit(NamedTuple):
    """Where in the data something is wrong, and a line that says what."""

    place: Place
    line: str


@functools.cache
def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return schema


def misfits(data: Any, name: str, path: Path) -> Iterator[Misfit]:
    """Everything in `data`, read from `path`, that does not fit the schema `name`, what is outermost first; and before
    all else the texts that cannot be printed.

    Where jsonschema is not installed (a bare measuring machine) the check is left out: the files were checked
    where the run was planned.
    """
    shown = from_here(path)
    # All before the first is told: who is told may take out of the data what is wrong.
    for place, char in list(_unprintable(data)):
        where = f"{_in_words(place)}: " if place else ""
        line = f"{shown}: {where}holds the character {char}; write the text without it, on one line"
        yield Misfit(place, visible(line))
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        return
    for error in sorted(Draft202012Validator(_schema(name)).iter_errors(data), key=lambda one: len(one.absolute_path)):
        for line in _lines(error):
            yield Misfit(tuple(error.absolute_path), visible(f"{shown}: {line}"))


def check_schema(data: Any, name: str, path: Path) -> None:
    """Raise UserError unless `data`, read from `path`, fits the schema `name`."""
    for misfit in misfits(data, name, path):
        raise UserError(misfit.line)


def _unprintable(data: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Where there are texts that cannot be printed, keys too, and the first such character of each."""
    if isinstance(data, str) and (char := name_unprintable(data)):
        yield place, char
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        if isinstance(key, str) and (char := name_unprintable(key)):
            yield (*place, key), char
        else:
            yield from _unprintable(value, (*place, key))


def _in_words(place: Place) -> str:
    return ".".join(clip(str(part), SHOWN) for part in place)


def _lines(error: "ValidationError") -> list[str]:
    # anyOf says only that nothing fitted; the alternatives' own complaints say what was expected.
    where = f"{_in_words(tuple(error.absolute_path))}: " if error.absolute_path else ""
    value = "nothing" if error.instance is None else clip(repr(error.instance), SHOWN)
    described = error.schema.get("description") if isinstance(error.schema, dict) else None
    schema: Any = error.schema
    instance: Any = error.instance
    expected: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            known = schema["properties"]
            unknown = [key for key in instance if key not in known]
            return [f"{where}unknown key {clip(repr(key), SHOWN)}{nearest(key, known)}" for key in unknown]
        case "required":
            # One error for each missing key, none of which says which it is.
            missing = error.message.split("'")[1]
            return [f"{where}the key {missing!r} is missing"]
        case "enum":
            return [f"{where}{value} is not allowed{nearest(str(error.instance), map(str, expected))}"]
        case "type" if described is None:
            return [f"{where}{value} must be of type {expected}"]
        case _:
            return [f"{where}{value} must be {described or clip(error.message, SHOWN)}"]
