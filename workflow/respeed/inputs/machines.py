"""Files that people write about hardware.

A profile, workflow/hardware/<name>.yaml, describes a row of our tables and how it runs. Notes on a machine,
workflow/machines/<machine>.yaml, say what to measure on it and how to get it from Slurm. Data sheets of CPUs are in
workflow/datasheets.yaml.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

import psutil
from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, ValidationInfo, field_validator, with_config
from pydantic.dataclasses import dataclass
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from respeed.inputs.reader import Files, fit, read_yaml
from respeed.inputs.registry import BackendName, backends
from respeed.machine import name_words
from respeed.machine.cpu import INSTRUCTIONS, Bound, choice_as_text, cpu_model, peak_of_cores
from respeed.machine.software import LIBRARIES, library_label
from respeed.model import (
    FORM,
    SOME,
    Architecture,
    Count,
    Label,
    Positive,
    Text,
    check_known,
    known,
)
from respeed.paths import DATASHEETS

Instruction = Annotated[str, known("instruction", lambda: INSTRUCTIONS)]
# The name that a Python package is imported by.
Package = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]


@with_config(FORM)
class Requires(TypedDict, total=False):
    """What a machine must have for a profile; memory is in GB, and packages have the names that Python imports."""

    instructions: Annotated[list[Instruction], SOME]
    memory_gb: Positive
    library: Annotated[str, known("library", lambda: LIBRARIES)]
    packages: Annotated[list[Package], SOME]


@dataclass(frozen=True, config=FORM)
class Profile:
    """How one row of our tables runs.

    `device` is the backend's name for the device, with an index to choose one of several, such as cuda:1. If `threads`
    is "all", there is one thread for each usable physical core. `cpus` are the CPUs that a CPU row may use, of which it
    uses one for each physical core; if None, respeed chooses. If no profile is named, an `optional` profile is measured
    only in tables that ask for its precision, other than fp32.
    """

    name: SkipJsonSchema[str]
    label: Annotated[str, Field(min_length=1, max_length=60)]
    package: Annotated[str, Field(min_length=1, max_length=40)]
    architecture: Architecture
    backend: BackendName
    device: str
    threads: Annotated[StrictInt, Field(ge=1, le=4096)] | Literal["all"]
    precision: str
    cpus: Annotated[str, BeforeValidator(choice_as_text)] | None = None
    requires: Requires = field(default_factory=Requires)
    optional: bool = False
    # A row of a ladder of threads has no file: it is made from another row, for the tables that ask for a ladder.
    ladder: SkipJsonSchema[bool] = False

    @property
    def is_cpu(self) -> bool:
        """Return whether the row runs on CPUs."""
        return self.device == "cpu"

    @field_validator("device", "precision")
    @classmethod
    def _check_backend_has_it(cls, value: str, info: ValidationInfo) -> str:
        key = str(info.field_name)
        kind, colon, index = value.partition(":")
        if facts := backends().get(info.data.get("backend", "")):
            check_known(key, kind, getattr(facts, f"{key}s"))
        if colon and (kind == "cpu" or key == "precision"):
            raise ValueError(f"must be {kind}")
        if colon and not re.fullmatch("0|[1-9][0-9]{0,2}", index):
            raise ValueError(f"must be {kind} or {kind}:0")
        return value

    @field_validator("cpus")
    @classmethod
    def _check_is_cpu(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value and info.data.get("device", "cpu") != "cpu":
            raise ValueError("is for the device cpu; a row of an accelerator is bound to no CPUs: leave it out")
        return value


def _read_profile(name: str, path: Path) -> Profile:
    return fit(Profile, read_yaml(path), path, name=name, ladder=False)


PROFILE_FILES = Files("hardware profile", "hardware", "*.yaml", _read_profile)
profile_names = PROFILE_FILES.names
load_profile = PROFILE_FILES.load
load_profiles = PROFILE_FILES.load_all
# Hardware profiles by name.
Profiles = Mapping[str, Profile]


def other_library(profile: Profile, facts: Mapping[str, Any]) -> str | None:
    """Return why a machine's tables leave the profile out: it needs another BLAS than the machine's SciPy has.

    The row for SciPy's BLAS takes the profile's place. `facts` describe the machine. Return None if the profile needs
    no BLAS, or SciPy's.
    """
    # The default, for a machine without a description, is the BLAS of SciPy's own wheels.
    library = facts.get("blas", "openblas")
    needed = profile.requires.get("library")
    if needed and needed != library:
        return f"needs {library_label(needed)}; SciPy computes with {library_label(library)} here"
    return None


# The options of sbatch, by their full names, that choose a node and how to have it. Others name files, or end the list
# of options, so that what follows them is run.
OPTIONS = (
    "exclusive", "nodelist", "exclude", "reservation", "contiguous", "switches", "licenses", "nice", "hint", "mem-bind",
    "cpu-freq", "gpu-freq", "gpu-bind", "gres-flags", "sockets-per-node", "cores-per-socket", "threads-per-core",
    "core-spec", "thread-spec", "wckey", "begin", "deadline", "prefer", "network",
)  # fmt: skip
# Any other option would take the next word for its value.
ALONE = ("exclusive", "contiguous", "nice")
_VALUE = r"[A-Za-z0-9_\[(*@][A-Za-z0-9._:,=&|*@%+()\[\]-]{0,199}"
Word = Annotated[str, Field(pattern=f"^{_VALUE}$", description="a word for Slurm, without spaces")]
# What a job asks for by default, and the shortest time limit in minutes: a job takes minutes to begin measuring.
SLURM = {"runtime": 60, "slurm_extra": "--exclusive"}
LEAST_MINUTES = 5
Amount = Annotated[StrictInt, Field(ge=1, le=10**9)]


def _check_options(text: str) -> str:
    """Return options of sbatch, each as --name=value, or --name if `ALONE`; raise ValueError for anything else."""
    for word in text.split():
        name, equals, value = word.removeprefix("--").partition("=")
        is_whole = name in ALONE
        if equals:
            is_whole = bool(re.fullmatch(_VALUE, value)) and value != "help"
        if not word.startswith("--") or (name in OPTIONS and not is_whole):
            raise ValueError(f"{word!r} must be written as --name=value")
        check_known("option for a job", name, OPTIONS)
    return " ".join(text.split())


@with_config(FORM)
class Slurm(TypedDict, total=False):
    """What a job asks Slurm for; `runtime` is in minutes."""

    slurm_partition: Word
    slurm_account: Word
    constraint: Word
    gres: Word
    qos: Word
    nodes: Amount
    cpus_per_task: Amount
    mem_mb: Amount
    runtime: Annotated[StrictInt, Field(ge=LEAST_MINUTES, le=10**9)]
    slurm_extra: Annotated[str, Field(max_length=1000), AfterValidator(_check_options)]


@dataclass(frozen=True, config=FORM)
class Notes:
    """What to measure on a machine, and how to get it.

    If `profiles` is not None, no other profiles are measured on the machine. `slurm` has what its jobs ask Slurm for,
    by the names of snakemake-executor-plugin-slurm; for a name that the file lacks, the value is that of SLURM.
    """

    name: SkipJsonSchema[str]
    profiles: Annotated[tuple[Annotated[str, known("hardware profile", profile_names)], ...], SOME] | None = None
    slurm: Annotated[Slurm, AfterValidator(lambda slurm: SLURM | slurm)] | None = None


def _read_notes(name: str, path: Path) -> Notes:
    return fit(Notes, read_yaml(path) or {}, path, name=name)


MACHINE_FILES = Files("machine", "machines", "*.yaml", _read_notes)


def notes_of(machine: str) -> Notes | None:
    """Return the notes in the machine's file; None if it has no file; raise UserError if the file has mistakes."""
    return MACHINE_FILES.load(machine) if MACHINE_FILES.path(machine).exists() else None


@dataclass(frozen=True, config=FORM)
class Datasheet:
    """The data sheet of a CPU: its cores, the highest GFLOP/s in fp32 of all of them, and the memory's GB/s."""

    cores: Count
    gflops: Positive
    gbytes: Positive
    source: Text


# Few cores cannot read as fast as the memory of all of them. No system tells the memory's rate to every user.
PART = Bound(None, "the memory's rate is that of more cores")
UNKNOWN = Bound(None, "the memory's rate is not known without a data sheet")


def load_datasheets() -> dict[str, Datasheet]:
    """Return all data sheets by name; raise UserError if their file has mistakes."""
    return fit(dict[Label, Datasheet], read_yaml(DATASHEETS), DATASHEETS)


def find_bounds(cpus: Sequence[int]) -> tuple[Bound, Bound]:
    """Return the highest GFLOP/s in fp32 of the cores of these CPUs, and the highest GB/s of the memory.

    They are by the data sheet of the CPU here, if there is one, else by what the system reports.
    """
    words = f"-{name_words(cpu_model())}"
    cores = len(cpus)
    is_whole = cores >= (psutil.cpu_count(logical=False) or cores)
    for name, sheet in load_datasheets().items():
        if words.endswith(f"-{name_words(name)}"):
            rate = sheet.gflops * cores / sheet.cores
            how = f"data sheet of {name}, {cores} of {sheet.cores} cores"
            memory = Bound(sheet.gbytes * cores / sheet.cores, f"data sheet of {name}")
            return Bound(rate, how, sheet.source), memory if cores % sheet.cores == 0 else PART
    return peak_of_cores(cpus), UNKNOWN if is_whole else PART
