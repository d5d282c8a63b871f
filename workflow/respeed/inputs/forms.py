"""Whether what people wrote fits its model: a line for every mistake, all at once."""

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter

from respeed.errors import UserError, nearest
from respeed.inputs.files import from_here
from respeed.model.validation import SHOWN, Given, ValidationError
from respeed.text import clip, name_unprintable, visible

Model = TypeVar("Model")
# Where something stands in the data.
Keys = tuple[str | int, ...]


class Misfit(NamedTuple):
    """Where in the data something is wrong, and a line that says what."""

    place: Keys
    line: str


class Mistakes(list[str]):
    """One line each: a mistake that is found does not hide the others."""

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """A UserError within is kept, and what comes after it goes on."""
        try:
            yield
        except UserError as error:
            self.append(str(error))

    def raise_any(self) -> None:
        """UserError with the first, and how many more there are."""
        if self:
            more = f" (and {len(self) - 1} more: respeed check lists them)" if len(self) > 1 else ""
            raise UserError(f"{self[0]}{more}")


def faultless(read: tuple[Model | None, Mistakes]) -> Model:
    """What was read; UserError if it has mistakes."""
    found, mistakes = read
    mistakes.raise_any()
    assert found is not None  # without mistakes there is one
    return found


def fit(form: Any, data: Any, path: Path, name: str | None = None) -> tuple[Any, list[Misfit]]:
    """What was read from `path` as the model `form`, or None, and all that does not fit: first the texts that cannot be
    printed, then what is outermost. `name` is what the model is called, which no file says."""
    found, wrong = None, []
    try:
        called = {"name": Given(name), **data} if name is not None and isinstance(data, dict) else data
        found = adapter(form).validate_python(called)
    except ValidationError as error:
        lines = [(_written(one["loc"]), one["msg"]) for one in error.errors(include_url=False)]
        wrong = sorted(lines, key=lambda one: len(one[0]))
    told, unprintable = {place for place, _ in wrong}, []
    for place, value in _walk(data):
        if value is None and place not in told and not any(place[:length] in told for length in range(1, len(place))):
            wrong.append((place, "has no value; write one, or leave the key out"))
        if isinstance(value, str) and (char := name_unprintable(value)):
            unprintable.append((place, f"holds the character {char}; write the text without it, on one line"))
    shown, misfits = from_here(path), []
    for place, line in (*unprintable, *wrong):
        keys = ".".join(clip(str(part), SHOWN) for part in place) + ": " * bool(place)
        misfits.append(Misfit(place, visible(f"{shown}: {keys}{line}")))
    return (None if misfits else found), misfits


def _written(place: Keys) -> Keys:
    """The place without what pydantic calls a key, and one of several forms that a value may have."""
    return tuple(part for part in place if part != "[key]" and not str(part).startswith("dict["))


def _walk(data: Any, place: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """All that stands in the data, keys too, with its place; within a key that cannot be printed nothing more."""
    if isinstance(data, dict):
        for key, value in data.items():
            if isinstance(key, str) and name_unprintable(key):
                yield (*place, key), key
            else:
                yield from _walk(value, (*place, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _walk(value, (*place, index))
    else:
        yield place, data


def require(what: str, name: str, names: Iterable[str], meant: Mapping[str, Collection[str]] | None = None) -> None:
    """UserError, a line that begins with `what`, unless the name is one of those that there are."""
    names = tuple(names)
    if name not in names:
        raise UserError(f"{what} {name!r}{nearest(name, names, meant)}")


@functools.cache
def adapter(form: Any) -> TypeAdapter[Any]:
    """What pydantic makes of a model."""
    return TypeAdapter(form)
