"""Models of what people write: pydantic says whether a value fits, and every line about one that does not is ours.

A model is a class under `@form("a mapping with ...")`: a frozen pydantic dataclass. `Annotated[..., Says("a year")]`
gives a value its words, for the line about a wrong one and as the description in the JSON Schema for editors.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, cast, dataclass_transform

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StrictFloat, StrictInt, StrictStr
from pydantic import ValidationError as ValidationError
from pydantic import dataclasses as models
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from respeed.errors import UserError, nearest
from respeed.text import clip

Class = TypeVar("Class", bound=type[Any])

FORM = ConfigDict(extra="forbid")
# What a line shows of a value.
SHOWN = 80
_OURS = "ours"


def _wrong(line: str) -> PydanticCustomError:
    """The end of a line, after the file and the key: what a validator says by a UserError."""
    return PydanticCustomError(_OURS, "{line}", {"line": line})


def shown(value: Any) -> str:
    """A value as lines show it."""
    return "nothing" if value is None else clip(repr(value), SHOWN)


class Given(str):
    """A name that is no value of the file but the file's own, or the key that the value stands under."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True)
class Says:
    """What the value must be, in words. `schema` is for editors, in place of what pydantic would tell them."""

    words: str
    schema: Mapping[str, Any] | None = dataclasses.field(default=None, hash=False)

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        keys = getattr(source, "__dataclass_fields__", None) or getattr(source, "__annotations__", {})

        def check(value: Any, validate: Callable[[Any], Any]) -> Any:
            return self._check(value, validate, tuple(keys))

        return core_schema.no_info_wrap_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        if self.schema:
            return {"description": self.words, **self.schema}
        found: dict[str, Any] = handler(core)
        model = handler.resolve_ref_schema(found)
        model["description"] = self.words
        if "name" in model.get("properties", {}):  # as `Given`
            del model["properties"]["name"]
            model["required"] = [key for key in model.get("required", ()) if key != "name"]
        return found

    def _check(self, value: Any, validate: Callable[[Any], Any], keys: Sequence[str]) -> Any:
        unknown, others = [], []
        if isinstance(value, dict) and "name" in keys and not isinstance(value.get("name"), Given):
            unknown += ["name"] * ("name" in value)
            value = {**value, "name": Given()}
        try:
            found = validate(value)
        except UserError as error:  # a validator's
            raise _wrong(str(error)) from None
        except ValidationError as error:
            for one in error.errors(include_url=False):
                match one["type"], one["loc"]:
                    case (("unexpected_keyword_argument" | "extra_forbidden"), (key,)):
                        unknown.append(str(key))
                    case "missing", (key,):
                        others.append(_line(f"the key {key!r} is missing", value))
                    case type_, place if type_ == _OURS:
                        others.append(_line(one["msg"], one["input"], place))
            if not unknown and not others:  # it is about the value as a whole
                raise _wrong(f"{shown(value)} must be {self.words}") from None
        allowed = [key for key in keys if key != "name"]
        lines = [_line(f"unknown key {shown(key)}{nearest(key, allowed)}", value) for key in unknown]
        if lines or others:
            raise ValidationError.from_exception_data("", [*lines, *others])
        return found


def _line(text: str, value: Any, place: tuple[int | str, ...] = ()) -> InitErrorDetails:
    return InitErrorDetails(type=_wrong(text), loc=place, input=value)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, Field))
def form(words: str) -> Callable[[Class], Class]:
    """A class whose fields are the keys of a mapping that people write: `words` say what it is. A field `name` is not
    one of them, but `Given`."""
    says = Says(words)

    def make(model: Class) -> Class:
        model.__get_pydantic_core_schema__ = says.__get_pydantic_core_schema__
        model.__get_pydantic_json_schema__ = says.__get_pydantic_json_schema__
        made: Any = models.dataclass(frozen=True, config=FORM)(model)
        return cast(Class, made)

    return make


@dataclasses.dataclass(frozen=True)
class OneOf:
    """One of these texts. `meant` has words that people write for them."""

    names: tuple[str, ...]
    meant: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict, hash=False)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return {"enum": list(self.names)}

    def _check(self, value: Any) -> Any:
        if value not in self.names:
            raise _wrong(f"{shown(value)} is not allowed{nearest(str(value), self.names, self.meant)}")
        return value


def _named(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: {"name": Given(key), **one} if isinstance(one, dict) else one for key, one in value.items()}


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError
    return value


# Of a mapping of names to models that have a `name`.
Named = BeforeValidator(_named)
SOME = Field(min_length=1)
Text = Annotated[StrictStr, Field(min_length=1, max_length=1000), Says("text of 1 to 1000 characters")]
Label = Annotated[StrictStr, Field(min_length=1, max_length=100), Says("text of 1 to 100 characters")]
Year = Annotated[StrictInt, Field(ge=1940, le=2100), Says("a year")]
Count = Annotated[StrictInt, Field(ge=1), Says("a whole number of at least 1")]
Flag = Annotated[bool, Field(strict=True), Says("true or false")]
# As it was written: 2 stays a whole number.
Number = StrictInt | StrictFloat
Above0 = Annotated[Number, AfterValidator(_positive)]
ABOVE_0 = {"type": "number", "exclusiveMinimum": 0}
Positive = Annotated[Above0, Says("a number greater than 0", ABOVE_0)]
