"""Checks data against workflow/schemas: a line for each thing that is wrong."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from respeed.load.folders import SCHEMAS
from respeed.model.errors import UserError, nearest

if TYPE_CHECKING:
    from jsonschema import ValidationError


class Misfit(NamedTuple):
    """Where in the data something is wrong, and a line that says what."""

    place: tuple[str | int, ...]
    line: str


@functools.cache
def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return schema


def misfits(data: Any, name: str, path: Path) -> Iterator[Misfit]:
    """Everything in `data`, read from `path`, that does not fit the schema `name`, what is outermost first.

    Where jsonschema is not installed (a bare measuring machine) the check is left out: the files were checked
    where the run was planned.
    """
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        return
    for error in sorted(Draft202012Validator(_schema(name)).iter_errors(data), key=lambda one: len(one.absolute_path)):
        for line in _lines(error):
            yield Misfit(tuple(error.absolute_path), f"{path}: {line}")


def check_schema(data: Any, name: str, path: Path) -> None:
    """Raise UserError unless `data`, read from `path`, fits the schema `name`."""
    for misfit in misfits(data, name, path):
        raise UserError(misfit.line)


def _lines(error: "ValidationError") -> list[str]:
    # anyOf says only that nothing fitted; the alternatives' own complaints say what was expected.
    keys = ".".join(str(part) for part in error.absolute_path)
    where = f"{keys}: " if keys else ""
    value = "nothing" if error.instance is None else repr(error.instance)
    described = error.schema.get("description") if isinstance(error.schema, dict) else None
    schema: Any = error.schema
    instance: Any = error.instance
    expected: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            known = schema["properties"]
            return [f"{where}unknown key {key!r}{nearest(key, known)}" for key in instance if key not in known]
        case "required":
            # One error for each missing key, none of which says which it is.
            missing = error.message.split("'")[1]
            return [f"{where}the key {missing!r} is missing"]
        case "enum":
            return [f"{where}{value} is not allowed{nearest(str(error.instance), map(str, expected))}"]
        case "type" if described is None:
            return [f"{where}{value} must be of type {expected}"]
        case _:
            return [f"{where}{value} must be {described or error.message}"]
