"""What people write of hardware.

A profile is a row of our tables and says how it runs: workflow/hardware/<name>.yaml. What is noted of a machine is what
no measurement shows: workflow/machines/<machine>.yaml. What data sheets say of others is in workflow/datasheets.yaml.
"""

import datetime
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, ValidationInfo, field_validator, with_config
from pydantic.dataclasses import dataclass
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from respeed.inputs.reader import Files, fit, read_yaml
from respeed.inputs.registry import BackendName, backends
from respeed.machine.cpu import CHOICES, INSTRUCTIONS, choice_as_text
from respeed.machine.software import LIBRARIES, library_label
from respeed.model import (
    FORM,
    PRECISIONS,
    SOME,
    Architecture,
    Count,
    Label,
    Positive,
    Text,
    Year,
    check_known,
    known,
)
from respeed.paths import DATASHEETS, HARDWARE, MACHINES

Instruction = Annotated[str, known("instruction", lambda: INSTRUCTIONS)]
# The name that a Python package is imported by.
Package = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]


@with_config(FORM)
class Requires(TypedDict, total=False):
    """What must be there. The machine's memory is in GB, packages have the names that they are imported by."""

    instructions: Annotated[list[Instruction], SOME]
    memory_gb: Positive
    library: Annotated[str, known("library", lambda: LIBRARIES)]
    packages: Annotated[list[Package], SOME]


def _read_cpus(value: Any) -> str:
    if text := choice_as_text(value):
        return text
    raise ValueError(f"must be {CHOICES}")


@dataclass(frozen=True, config=FORM)
class Profile:
    """How one row of our tables runs.

    `device` is the backend's name for it, with a number for one of several, such as cuda:1. `threads` may be "all": as
    many as there are physical cores that may be used. `cpus` are those among which the threads of a CPU row run, a
    thread on each physical core; None leaves that to the machine. A profile that is `optional` is
    measured where it is named.
    """

    name: SkipJsonSchema[str]
    label: Annotated[str, Field(min_length=1, max_length=60)]
    package: Annotated[str, Field(min_length=1, max_length=40)]
    architecture: Architecture
    backend: BackendName
    device: str
    threads: Annotated[StrictInt, Field(ge=1, le=4096)] | Literal["all"]
    precision: str
    cpus: Annotated[str, BeforeValidator(_read_cpus)] | None = None
    requires: Requires = field(default_factory=Requires, hash=False)
    optional: bool = False
    # A row of a ladder of threads has no file: it is made of another row, for the tables that ask for one.
    ladder: SkipJsonSchema[bool] = False

    @property
    def is_cpu(self) -> bool:
        """Return whether the row is one of CPUs."""
        return self.device == "cpu"

    @field_validator("device", "precision")
    @classmethod
    def _check_backend_has_it(cls, value: str, info: ValidationInfo) -> str:
        kind, colon, index = value.partition(":")
        if facts := backends().get(info.data.get("backend", "")):
            check_known(str(info.field_name), kind, getattr(facts, f"{info.field_name}s"))
        if colon and (kind == "cpu" or not re.fullmatch("0|[1-9][0-9]{0,2}", index)):
            raise ValueError(f"must be {kind}{'' if kind == 'cpu' else f' or {kind}:0'}")
        return value

    @field_validator("cpus")
    @classmethod
    def _check_is_cpu(cls, value: Any, info: ValidationInfo) -> Any:
        if value and info.data.get("device", "cpu") != "cpu":
            raise ValueError("is for the device cpu; a row of an accelerator is bound to no CPUs: leave it out")
        return value


def _read_profile(name: str, path: Path) -> Profile:
    found: Profile = fit(Profile, read_yaml(path), path, name=name, ladder=False)
    return found


PROFILE_FILES = Files("hardware profile", HARDWARE, "*.yaml", _read_profile)
profile_names = PROFILE_FILES.names
load_profile = PROFILE_FILES.load
load_profiles = PROFILE_FILES.load_all


def other_library(profile: Profile, facts: Mapping[str, Any]) -> str | None:
    """Return why the profile is no row of a machine's tables: it needs another BLAS than SciPy's there.

    The row of that one stands in its place. `facts` are those of the machine's description. None if the profile needs
    no BLAS, or that one.
    """
    # Of a machine without a description: SciPy's own wheels come with this one.
    there, needed = facts.get("blas", "openblas"), profile.requires.get("library")
    if needed and needed != there:
        return f"needs {library_label(needed)}; SciPy computes with {library_label(there)} here"
    return None


# As 2026-11-22.
Day = Annotated[str, AfterValidator(lambda day: str(datetime.date.fromisoformat(day)))]


@dataclass(frozen=True, config=FORM)
class Price:
    """What an hour of the whole machine costs, in a currency (ISO 4217), who says so, and on which day."""

    per_hour: Positive
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$", description="three capital letters, such as USD")]
    source: Annotated[str, Field(min_length=1, max_length=200)]
    date: Day


# What a job may ask of Slurm, as snakemake-executor-plugin-slurm calls it.
Resource = Literal[
    "slurm_partition", "slurm_account", "constraint", "gres", "nodes", "cpus_per_task", "mem_mb", "runtime",
    "slurm_extra",
]  # fmt: skip
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:,=&|*/@%+()\[\] -]{1,200}$", description="a text for Slurm")]
# What a job may take, if its machine's file does not say it, and the least it must have: some go before it measures.
MINUTES, LEAST_MINUTES = 60, 5
Amount = Annotated[StrictInt, Field(ge=1, le=10**9)]


Slurm = dict[Resource, Amount | Word]


def _check_runtime(asked: Slurm) -> Slurm:
    minutes = asked.setdefault("runtime", MINUTES)
    if isinstance(minutes, str) or minutes < LEAST_MINUTES:
        raise ValueError(f"runtime: must be a number of minutes, at least {LEAST_MINUTES}; it is {minutes!r}")
    return asked


@dataclass(frozen=True, config=FORM)
class Notes:
    """What people note of a machine.

    `profiles` are those to measure on it; None for all that apply there. `slurm` is what to ask Slurm for to get it:
    resources of Snakemake's executor for Slurm, handed on as they are. `runtime` is in minutes, 60 if it is not said.
    """

    name: SkipJsonSchema[str]
    price: Price | None = None
    profiles: Annotated[tuple[Annotated[str, known("hardware profile", profile_names)], ...], SOME] | None = None
    slurm: Annotated[Slurm, AfterValidator(_check_runtime)] | None = field(default=None, hash=False)


def _read_notes(name: str, path: Path) -> Notes:
    found: Notes = fit(Notes, read_yaml(path) or {}, path, name=name)
    return found


MACHINE_FILES = Files("machine", MACHINES, "*.yaml", _read_notes)


def notes_of(machine: str) -> Notes | None:
    """Return the notes on one machine; None if there are none, UserError if its file has mistakes."""
    return MACHINE_FILES.load(machine) if MACHINE_FILES.path(machine).exists() else None


@dataclass(frozen=True, config=FORM)
class Datasheet:
    """What a data sheet says of a CPU or GPU: the highest GFLOP/s of a product by precision, and GB/s of the memory."""

    kind: Literal["cpu", "gpu"]
    year: Year
    gflops: Annotated[dict[Annotated[str, known("precision", lambda: PRECISIONS)], Positive], SOME]
    gbytes: Positive
    source: Text
    cores: Count = 1


def load_datasheets(kind: str = "") -> dict[str, Datasheet]:
    """Return all data sheets by name, or those of a kind; UserError if their file has mistakes."""
    every: dict[str, Datasheet] = fit(dict[Label, Datasheet], read_yaml(DATASHEETS), DATASHEETS)
    return {name: sheet for name, sheet in every.items() if kind in ("", sheet.kind)}
