"""Types of the values that people write in YAML. Pydantic holds their bounds."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StrictFloat, StrictInt

from respeed.errors import nearest

# Of every model of a file: a key that it does not have is a mistake.
FORM = ConfigDict(extra="forbid")
# No size, rate or count of anything is larger than this.
LARGEST = 1e30

SOME = Field(min_length=1)
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Label = Annotated[str, Field(min_length=1, max_length=100)]
Year = Annotated[StrictInt, Field(ge=1940, le=2100)]
Count = Annotated[StrictInt, Field(ge=1, le=10**15)]
# 2 stays a whole number.
Positive = Annotated[StrictInt | StrictFloat, Field(gt=0, le=LARGEST)]


def _name_entries(entries: Any) -> Any:
    """Give each mapping among the entries its key as `name`, which no file says a second time."""
    if not isinstance(entries, dict):
        return entries
    for key, entry in entries.items():
        if isinstance(entry, dict) and "name" in entry:
            raise ValueError(f"{key} has a key 'name': its name is {key}; leave the key out")
    return {key: {**entry, "name": key} if isinstance(entry, dict) else entry for key, entry in entries.items()}


# Of a mapping of names to models that have a `name`.
Named = BeforeValidator(_name_entries)


def known(kind: str, names: Callable[[], Iterable[str]]) -> AfterValidator:
    """Return a validator that accepts the names of this kind alone, and otherwise offers the nearest one."""

    def check(name: str) -> str:
        check_known(kind, name, names())
        return name

    return AfterValidator(check)


def check_known(kind: str, name: str, names: Iterable[str]) -> None:
    """Raise the ValueError that pydantic expects of validators unless the name is one of those of this kind."""
    names = tuple(names)
    if name not in names:
        raise ValueError(f"no {kind} {name!r}{nearest(name, names)}")
