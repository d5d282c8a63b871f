"""Checks data against workflow/schemas, with one line for the first thing that is wrong."""

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from respeed.load.folders import SCHEMAS
from respeed.model.errors import UserError, nearest

if TYPE_CHECKING:
    from jsonschema import ValidationError


@functools.cache
def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return schema


def check_schema(data: Any, name: str, path: Path) -> None:
    """Raise UserError unless `data`, read from `path`, fits the schema `name`.

    Where jsonschema is not installed (a bare measuring machine) the check is left out: the files were checked
    where the run was planned.
    """
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        return
    errors = sorted(Draft202012Validator(_schema(name)).iter_errors(data), key=lambda error: len(error.absolute_path))
    if errors:
        raise UserError(f"{path}: {_one_line(errors[0])}")


def _one_line(error: "ValidationError") -> str:
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
            unknown = next(key for key in instance if key not in known)
            return f"{where}unknown key {unknown!r}{nearest(unknown, known)}"
        case "required":
            missing = next(key for key in expected if key not in instance)
            return f"{where}the key {missing!r} is missing"
        case "enum":
            return f"{where}{value} is not allowed{nearest(str(error.instance), map(str, expected))}"
        case "type" if described is None:
            return f"{where}{value} must be of type {expected}"
        case _:
            return f"{where}{value} must be {described or error.message}"
