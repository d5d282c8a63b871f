"""What people wrote as a model, or a line for each mistake: file, key, what is allowed, the nearest name."""

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from respeed.errors import UserError, nearest
from respeed.inputs.files import SHOWN, from_here
from respeed.text import clip, visible

# Fields of models that no file has: a name is that of the file or of the key before it.
NOT_WRITTEN = {"name", "all_profiles"}
# What pydantic says, in words of YAML.
_WORDS = {
    r"(Input|String|Tuple|List|Dictionary|Data) should": "must",
    " after validation": "", r", (not \d|got|unable).*": "",
    "a valid tuple|a valid list": "a list", "a valid dictionary|a dictionary or an instance of .*": "a mapping",
    "a valid integer": "a whole number", "a valid number": "a number", "a valid string": "text",
    "a valid boolean": "true or false",
}  # fmt: skip
Keys = tuple[str | int, ...]


class WrongFile(UserError):
    """A file with mistakes: its message is the first, and how many more there are; `lines` has them all."""

    def __init__(self, lines: Sequence[str]) -> None:
        more = f" (and {len(lines) - 1} more: respeed check lists them)" if len(lines) > 1 else ""
        super().__init__(f"{visible(lines[0])}{more}")
        self.lines = [visible(line) for line in lines]


class Mistakes(list[str]):
    """One line each: a mistake that is found does not hide the others."""

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep the lines of a UserError that is raised within, and let what comes after go on."""
        try:
            yield
        except UserError as error:
            self += error.lines if isinstance(error, WrongFile) else [str(error)]

    def raise_any(self) -> None:
        """Raise WrongFile if there is any."""
        if self:
            raise WrongFile(self)


def fit(form: Any, data: Any, path: Path, *, overridden: Collection[str] = (), **given: Any) -> Any:
    """Return the data that was read from `path` as the model `form`; WrongFile if it does not fit.

    Keys that are `overridden` are those of --config. `given` are fields of NOT_WRITTEN, which the file does not say.
    """
    found: dict[Keys, list[str]] = {}
    given_twice = [key for key in given if isinstance(data, dict) and key in data]
    try:
        model = adapter(form).validate_python({**data, **given} if isinstance(data, dict) else data)
    except ValidationError as error:
        for one in error.errors(include_url=False):
            place, message = _explain(one, data, form)
            found.setdefault(place, []).append(message)
    found |= {(key,): [f"unknown key{nearest(key, _keys_at(form, ()))}"] for key in given_twice}
    if not found:
        return model
    # Where one of several forms was meant, what is wrong within a value says more than what is of the whole.
    outer = {place[:length] for place in found for length in range(len(place))}
    mistakes = Mistakes()
    for place, messages in sorted(found.items(), key=lambda one: len(one[0])):
        if place not in outer and any(messages):
            where = "--config" if place and place[0] in overridden else from_here(path)
            keys = ".".join(clip(str(part), SHOWN) for part in place) + ": " * bool(place)
            mistakes.append(f"{where}: {keys}{_join(messages)}")
    raise WrongFile(mistakes)


def _join(messages: Sequence[str]) -> str:
    """Return one message of those about the several forms that a value may have: must be A or B, not C."""
    end = max((message.partition(", not ")[2] for message in messages), key=len)
    if not all(message.startswith("must be ") for message in messages):
        return messages[0]
    allowed = dict.fromkeys(message.partition(", not ")[0].removeprefix("must be ") for message in messages)
    return f"must be {' or '.join(allowed)}" + (f", not {end}" if end else "")


def _explain(error: Any, data: Any, form: Any) -> tuple[Keys, str]:
    """Return where in the data an error of pydantic is, and what it says in words of YAML, with the nearest name.

    A message that is empty says that another one tells the mistake.
    """
    place: Keys = ()
    value, last = data, str(error["loc"][-1]) if error["loc"] else ""
    for part in error["loc"]:
        # Pydantic also names the form that it tried, of several that a value may have.
        if (isinstance(value, dict) and part in value) or (isinstance(value, list | tuple) and isinstance(part, int)):
            place, value = (*place, part), value[part]
    written = "nothing" if error["input"] is None else clip(repr(error["input"]), SHOWN)
    match error["type"]:
        case "missing":
            return (*place, last), "is missing"
        case "unexpected_keyword_argument" | "extra_forbidden":
            above = place[:-1] if place and place[-1] == last else place
            return (*above, last), f"unknown key{nearest(last, _keys_at(form, above))}"
        case "value_error":
            return place, str(error["ctx"]["error"])
        case "literal_error":
            guess = nearest(str(error["input"]), re.findall("'([^']*)'", error["ctx"]["expected"])).partition(";")[0]
            return place, f"must be {error['ctx']['expected']}, not {written}{guess}"
        case "string_pattern_mismatch":
            described = [node["description"] for node in _nodes_at(form, place) if "description" in node]
            return place, f"must be {' or '.join(described) or error['ctx']['pattern']}, not {written}"
    said = error["msg"]
    for pydantic_says, ours in _WORDS.items():
        said = re.sub(pydantic_says, ours, said)
    return place, f"{said}, not {written}"


def _keys_at(form: Any, place: Keys) -> set[str]:
    """Return the keys that a mapping at this place may have."""
    return {key for node in _nodes_at(form, place) for key in node.get("properties", ())}


def _nodes_at(form: Any, place: Keys) -> list[dict[str, Any]]:
    """Return what the JSON Schema of the form says of this place, for each form that the value may have."""
    schema = json_schema(form)

    def forms_of(node: dict[str, Any]) -> list[dict[str, Any]]:
        if "$ref" in node:
            return forms_of(schema["$defs"][node["$ref"].rpartition("/")[2]])
        return [one for option in node["anyOf"] for one in forms_of(option)] if "anyOf" in node else [node]

    nodes = forms_of(schema)
    for part in place:
        inner = [
            node.get("items") if isinstance(part, int)
            else node.get("properties", {}).get(part, node.get("additionalProperties"))
            for node in nodes
        ]  # fmt: skip
        nodes = [one for node in inner if isinstance(node, dict) for one in forms_of(node)]
    return nodes


class _Schema(GenerateJsonSchema):
    """A JSON Schema without what no file has: fields of NOT_WRITTEN, a title for each key."""

    def dataclass_schema(self, schema: Any) -> Any:
        found = super().dataclass_schema(schema)
        for key in NOT_WRITTEN:
            found.get("properties", {}).pop(key, None)
        if "required" in found:
            found["required"] = [key for key in found["required"] if key not in NOT_WRITTEN]
        return found

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@functools.cache
def json_schema(form: Any) -> dict[str, Any]:
    """Return the JSON Schema of a model, for editors and for the nearest key."""
    return adapter(form).json_schema(schema_generator=_Schema)


@functools.cache
def adapter(form: Any) -> TypeAdapter[Any]:
    """Return what pydantic makes of a model."""
    return TypeAdapter(form)


def require(what: str, name: str, names: Iterable[str]) -> None:
    """Raise a UserError, a line that begins with `what`, unless the name is one of those that there are."""
    names = tuple(names)
    if name not in names:
        raise UserError(f"{what} {name!r}{nearest(name, names)}")
