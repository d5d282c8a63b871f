"""The constants of Python files that people drop in, read without running them, and what is wrong with them."""

import ast
import functools
import keyword
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from respeed.errors import UserError
from respeed.inputs.files import from_here, read_text
from respeed.text import is_unprintable

MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Form:
    """What a constant must be, in words and as a test."""

    words: str
    fits: Callable[[Any], bool]
    needed: bool = False


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and not any(map(is_unprintable, value))


def _are_names(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(map(_is_name, value))


def _are_parameters(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(_is_name(key) and (kind in ("whole", "real") or _are_names(kind)) for key, kind in value.items())
    )


_NAMES = 'names such as ("one", "two")'
WORKLOAD = {
    "PARAMETERS": Form('a mapping such as {"visible": "whole", "learning_rate": "real"}', _are_parameters, needed=True),
    "TESTS": Form(
        'a mapping of "smoke", "odd" and "large" to parameters', lambda value: isinstance(value, dict), needed=True
    ),
    "ASKS": Form(_NAMES, _are_names),
    "BACKENDS": Form(_NAMES, _are_names),
    "PRECISIONS": Form(_NAMES, _are_names),
    "ALLOCATES": Form("True, or names of precisions", lambda value: isinstance(value, bool) or _are_names(value)),
    "PRODUCTS": Form("True or False", lambda value: isinstance(value, bool)),
}
BACKEND = {
    "DEVICES": Form(_NAMES, lambda value: _are_names(value) and bool(value), needed=True),
    "PRECISIONS": Form(_NAMES, lambda value: _are_names(value) and bool(value), needed=True),
    "OFFERS": Form(_NAMES, _are_names),
}


def read_constant(path: Path, name: str) -> Any:
    """The value of the constant in the file; None if it has none, UserError if the file or the value cannot be read."""
    node = _assigned(path).get(name)
    if node is None:
        return None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):  # that of a module beside it
        return read_constant(path.with_name(f"{node.value.id}.py"), node.attr)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise UserError(
            f"{from_here(path)}:{node.lineno}: {name} must be written out: it is read without running the file"
        ) from None


def what_is_wrong(path: Path, forms: Mapping[str, Form]) -> str | None:
    """A line about the first constant of the file that is not as it must be; None if all are."""
    try:
        if not path.stem.isidentifier() or keyword.iskeyword(path.stem):
            return f"{from_here(path)}: no Python file that can be imported; name it with small letters, digits and _"
        for name, form in forms.items():
            value = read_constant(path, name)
            if value is None and form.needed:
                return f"{from_here(path)}: has no {name}; write {form.words}"
            if value is not None and not form.fits(value):
                return f"{from_here(path)}:{_assigned(path)[name].lineno}: {name} must be {form.words}"
    except UserError as error:
        return str(error)
    return None


@functools.cache
def _assigned(path: Path) -> dict[str, ast.expr]:
    """What the file assigns to names at its top level."""
    found = {}
    for statement in _parse(path).body:
        match statement:
            case ast.Assign(targets=[ast.Name(name)], value=value) | ast.AnnAssign(target=ast.Name(name), value=value):
                if value is not None:
                    found[name] = value
    return found


def _parse(path: Path) -> ast.Module:
    text = read_text(path, MAX_BYTES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those are for whoever runs the file
            return ast.parse(text)
    except SyntaxError as error:
        raise UserError(f"{from_here(path)}:{error.lineno or 1}: is not Python: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise UserError(f"{from_here(path)}: is not Python: {error or 'is nested too deeply'}") from None
