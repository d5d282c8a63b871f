"""What somebody tells of a machine, which no measurement shows: workflow/machines/<machine>.yaml."""

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, StrictInt
from pydantic.dataclasses import dataclass

from respeed.inputs.files import read_yaml
from respeed.inputs.forms import fit
from respeed.inputs.profiles import profile_names
from respeed.inputs.reader import Files
from respeed.model.fields import FORM, SOME, Positive, known
from respeed.paths import MACHINES

# What stands in the starter, and in no bill.
PLACEHOLDER = "where it stands, an address or a bill"


def _check_day(text: str) -> str:
    try:
        datetime.datetime.strptime(text, "%Y-%m-%d")
    except ValueError:
        raise ValueError(f"{text!r} is no day of the calendar; write it as 2026-11-22") from None
    return text


def _check_source(text: str) -> str:
    if text == PLACEHOLDER:
        raise ValueError("is the starter's own text; write who says so: an address, or a bill")
    return text


@dataclass(frozen=True, config=FORM)
class Price:
    """What an hour of the whole machine costs, in a currency (ISO 4217), who says so, and on which day."""

    per_hour: Positive
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$", description="three capital letters, such as USD")]
    source: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_check_source)]
    date: Annotated[str, AfterValidator(_check_day)]


Word = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:,=&|*()\[\]-]{0,199}$",
        description="text as Slurm takes it: letters, digits and . _ : , = & | * [ ] ( ) - without blanks",
    ),
]


@dataclass(frozen=True, config=FORM)
class SlurmNode:
    """What to ask Slurm for to get the machine, in its own words; None for what need not be said.

    Where nodes are `alike`, any of them counts as the machine; otherwise `nodelist` may name one.
    """

    partition: Word | None = None
    account: Word | None = None
    constraint: Word | None = None
    nodelist: Word | None = None
    gres: Word | None = None
    cpus: Annotated[StrictInt, Field(ge=1, le=4096)] | None = None
    memory_gb: Positive | None = None
    minutes: Annotated[StrictInt, Field(ge=5)] = 60
    alike: bool = False


@dataclass(frozen=True, config=FORM)
class Told:
    """One file. `profiles` are those to measure on the machine; None for all that apply there."""

    name: str
    price: Price | None = None
    profiles: Annotated[tuple[Annotated[str, known("hardware profile", profile_names)], ...], SOME] | None = None
    slurm: SlurmNode | None = None


def _read(name: str, path: Path) -> Told:
    data = read_yaml(path)
    found: Told = fit(Told, {} if data is None else data, path, name=name)
    return found


MACHINE_FILES = Files("machine", MACHINES, "*.yaml", _read)


def told_of(machine: str, folder: Path = MACHINES) -> Told | None:
    """Return what is told of one machine; None if nothing is, UserError if its file has mistakes."""
    files = replace(MACHINE_FILES, folder=folder)
    return files.load(machine) if files.path(machine).exists() else None
