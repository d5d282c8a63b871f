"""The protocol and the limits are the known ones: docs/method.md and SECURITY.md promise them, so none changes unseen.

limits.txt has each constant of the package and its classes that is a number, or has one, and each bound of a field in a
record; the bounds of files that people write are in workflow/schemas. `./run python -m tests.known tests/model` writes
it anew.
"""

import ast
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import timedelta
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import TypeAdapter

import respeed
from respeed.records import Description, Import, Result, Start
from tests.known import assert_known

PACKAGE = Path(respeed.__file__).parent
# What people add, or what only an accelerator needs.
SKIPPED = ("backends/", "workloads/", "kernels/fused.py")
# The numbers of the system's errors, the letters of a font, and what a backend sets.
OF_OTHERS = {"errors.py DISK", "figures/style.py KNOWN", "kernels/__init__.py FEW"}
BOUNDS = {
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
    "pattern", "const", "default",
}  # fmt: skip


def numbers_in(value: object) -> Iterator[object]:
    """Yield the numbers in a constant, however deep; raise TypeError for what is no plain value."""
    match value:
        case None | str() | bool():
            pass
        case int() | float() | timedelta():
            yield value
        case Mapping():
            yield from numbers_in([*value.keys(), *value.values()])
        case tuple() | list() | set() | frozenset():
            for part in value:
                yield from numbers_in(part)
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield from numbers_in([getattr(value, field.name) for field in fields(value)])
        case _:
            raise TypeError


def is_number(value: object) -> bool:
    try:
        return any(True for _ in numbers_in(value))
    except TypeError:
        return False


def constants_of(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Yield the names of constants, and of what a class gives to all that are of it."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from constants_of(node.body, f"{prefix}{node.name}.")
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = (target.id for target in targets if isinstance(target, ast.Name))
        yield from (prefix + name for name in names if prefix or name.isupper())


def list_constants() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        file = str(path.relative_to(PACKAGE))
        names = [] if file.startswith(SKIPPED) else [*constants_of(ast.parse(path.read_bytes()).body)]
        if names:
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
            values = {f"{file} {name}": _value(module, name) for name in names}
            shown = {name: value for name, value in values.items() if name not in OF_OTHERS and is_number(value)}
            yield from (f"{name} = {_write(value)}" for name, value in shown.items())


def _value(module: ModuleType, name: str) -> object:
    """Return a constant by its qualified name; None for a field without a default."""
    try:
        return attrgetter(name)(module)
    except AttributeError:
        return None


def _write(value: Any) -> str:
    """Write a constant; of a set, in one order."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_write(part)}" for key, part in value.items()) + "}"
    return f"{{{', '.join(sorted(map(repr, value)))}}}" if isinstance(value, set | frozenset) else repr(value)


def list_bounds(schema: Any, name: str) -> Iterator[str]:
    """Yield a line for each bound in a JSON schema."""
    items: Iterable[tuple[Any, Any]] = schema.items() if isinstance(schema, dict) else enumerate(schema)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from list_bounds(value, name if key in ("properties", "$defs") else f"{name}.{key}")
        elif key in BOUNDS and value is not None:
            yield f"{name} {key} {value!r}"


@pytest.mark.known
def test_protocol_and_limits_are_the_known_ones() -> None:
    lines = [*list_constants()]
    for model in (Start, Result, Description, Import):
        lines += list_bounds(TypeAdapter(model).json_schema(), model.__name__)
    assert_known(Path(__file__).with_name("limits.txt"), "\n".join([*dict.fromkeys(lines), ""]))
