"""What somebody tells of a machine, which no measurement shows: workflow/machines/<machine>.yaml."""

import datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, StrictInt, StrictStr

from respeed.errors import UserError
from respeed.inputs.files import from_here, parse_yaml, read_text
from respeed.inputs.forms import Mistakes, faultless, fit, require
from respeed.inputs.profiles import profile_names
from respeed.model.validation import SOME, Flag, Positive, Says, form
from respeed.paths import MACHINES, check_name

# What stands in the starter, and in no bill.
PLACEHOLDER = "where it stands, an address or a bill"


def _day(text: str) -> str:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        raise UserError(f"{text!r} is no day of the calendar; write it as 2026-11-22") from None
    return text


def _profiles(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        require("no hardware profile", name, profile_names())
    return names


Currency = Annotated[StrictStr, Field(pattern="^[A-Z]{3}$"), Says("three capital letters, such as USD or EUR")]
Source = Annotated[StrictStr, Field(min_length=1, max_length=200), Says("text of 1 to 200 characters")]
Digits = Annotated[StrictStr, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


@form("a mapping with per_hour, currency, source and date")
class Price:
    """What an hour of the whole machine costs, in a currency (ISO 4217), who says so, and on which day."""

    per_hour: Positive
    currency: Currency
    source: Source
    date: Annotated[Digits, AfterValidator(_day), Says("a day such as 2026-11-22")]


Word = Annotated[
    StrictStr,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:,=&|*()\[\]-]{0,199}$"),
    Says("text as Slurm takes it: letters, digits and . _ : , = & | * [ ] ( ) - without blanks"),
]
Node = Annotated[
    StrictStr,
    Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"),
    Says("the name of one node; for any of several, leave it out and write alike: true"),
]
Resource = Annotated[
    StrictStr,
    Field(pattern="^[a-zA-Z0-9_]+(:[a-zA-Z0-9_.]+)?(:[0-9]+[TGM]?)?$"),
    Says("one resource, such as gpu:1 or gpu:h100:2"),
]
Cpus = Annotated[StrictInt, Field(ge=1, le=4096), Says("a whole number of at least 1")]
Minutes = Annotated[StrictInt, Field(ge=5), Says("a whole number of minutes, at least 5")]
Profiles = Annotated[
    tuple[StrictStr, ...],
    SOME,
    AfterValidator(_profiles),
    Says("a list of hardware profiles such as [gpu, torch-all]"),
]


@form("a mapping such as {partition: gpu, gres: gpu:1, cpus: 16}")
class SlurmNode:
    """What to ask Slurm for to get the machine, in its own words; None for what need not be said. Where nodes are
    `alike`, any of them counts as the machine."""

    partition: Word | None = None
    account: Word | None = None
    constraint: Word | None = None
    nodelist: Node | None = None
    gres: Resource | None = None
    cpus: Cpus | None = None
    memory_gb: Positive | None = None
    minutes: Minutes = 60
    alike: Flag = False


@form("a mapping with price, profiles and slurm, each of which may be left out")
class Told:
    """One file. `profiles` are those to measure on it; None for all that apply there."""

    name: str
    price: Price | None = None
    profiles: Profiles | None = None
    slurm: SlurmNode | None = None


def told_machines(folder: Path = MACHINES) -> tuple[str, ...]:
    """The names of the machines that something is told of, or is meant to be: a name may be none."""
    return tuple(path.stem for path in sorted(folder.glob("*.yaml")))


def load_told(folder: Path = MACHINES) -> dict[str, Told]:
    """What is told, by machine; UserError if a file is not valid."""
    return {machine: faultless(read_told(machine, folder)) for machine in told_machines(folder)}


def told_of(machine: str, folder: Path = MACHINES) -> Told | None:
    """What is told of one machine; None if nothing is, UserError if its file is not valid."""
    return faultless(read_told(machine, folder)) if (folder / f"{machine}.yaml").exists() else None


def read_told(machine: str, folder: Path = MACHINES) -> tuple[Told | None, Mistakes]:
    """What is told of the machine, or None, and all mistakes in its file."""
    path = from_here(folder / f"{machine}.yaml")
    told, mistakes = None, Mistakes()
    with mistakes.collecting():
        told, found = check_told(machine, read_text(path), path)
        mistakes += found
    if told and told.price and told.price.source == PLACEHOLDER:
        mistakes.append(f"{path}: price.source: is the starter's own text; write who says so: an address, or a bill")
    return (None if mistakes else told), mistakes


def check_told(machine: str, text: str, path: Path) -> tuple[Told | None, Mistakes]:
    """The same of a text, which messages call `path`."""
    mistakes, told = Mistakes(), None
    with mistakes.collecting():
        check_name("machine", machine, str(path))
    with mistakes.collecting():
        data = parse_yaml(text, str(path))
        told, misfits = fit(Told, {} if data is None else data, path, machine)
        mistakes += [line for _, line in misfits]
    return (None if mistakes else told), mistakes
