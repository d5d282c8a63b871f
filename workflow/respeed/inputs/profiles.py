"""Hardware profiles, each a row of our tables, how to run: workflow/hardware/<name>.yaml."""

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictInt, ValidationInfo, field_validator, with_config
from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict

from respeed.inputs.files import read_yaml
from respeed.inputs.forms import fit
from respeed.inputs.reader import Files
from respeed.inputs.registry import BackendName, backends
from respeed.machine.cpu import CHOICES, INSTRUCTIONS, choice_as_text
from respeed.machine.software import LIBRARIES, OF_BEFORE, library_label
from respeed.model.fields import FORM, SOME, Positive, check_known, known
from respeed.model.paper import Architecture
from respeed.paths import HARDWARE

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


def _read_cpus(value: Any) -> str | None:
    text = None if value is None else choice_as_text(value)
    if text is None and value is not None:
        raise ValueError(f"{value!r} must be {CHOICES}")
    return text


@dataclass(frozen=True, config=FORM)
class Profile:
    """How one row of our tables runs.

    `device` is the backend's name for it, with a number for one of several, such as cuda:1. `threads` may be "all": as
    many as there are physical cores that may be used. `cpus` are those among which the threads of a CPU row run, a
    thread on each physical core; None leaves that to the machine. A profile that is `optional` is
    measured where it is named.
    """

    name: str
    label: Annotated[str, Field(min_length=1, max_length=60)]
    package: Annotated[str, Field(min_length=1, max_length=40)]
    architecture: Architecture
    backend: BackendName
    device: str
    threads: Annotated[StrictInt, Field(ge=1, le=4096)] | Literal["all"]
    precision: str
    cpus: Annotated[str | None, BeforeValidator(_read_cpus)] = None
    requires: Requires = field(default_factory=Requires, hash=False)
    optional: bool = False

    @property
    def is_cpu(self) -> bool:
        """Return whether the row is one of CPUs."""
        return self.device == "cpu"

    @field_validator("device")
    @classmethod
    def _check_device(cls, device: str, info: ValidationInfo) -> str:
        kind, colon, index = device.partition(":")
        if "backend" in info.data:
            check_known("device", kind, backends()[info.data["backend"]].devices)
        if colon and (kind == "cpu" or not re.fullmatch("0|[1-9][0-9]{0,2}", index)):
            raise ValueError(f"{device!r} must be {kind}{'' if kind == 'cpu' else f' or {kind}:0'}")
        return device

    @field_validator("precision")
    @classmethod
    def _check_precision(cls, precision: str, info: ValidationInfo) -> str:
        if "backend" in info.data:
            check_known("precision", precision, backends()[info.data["backend"]].precisions)
        return precision

    @field_validator("cpus")
    @classmethod
    def _check_is_cpu(cls, value: Any, info: ValidationInfo) -> Any:
        if value and info.data.get("device", "cpu") != "cpu":
            raise ValueError("is for the device cpu; a row of an accelerator is bound to no CPUs: leave it out")
        return value


def _read(name: str, path: Path) -> Profile:
    found: Profile = fit(Profile, read_yaml(path), path, name=name)
    return found


PROFILE_FILES = Files("hardware profile", HARDWARE, "*.yaml", _read)
profile_names = PROFILE_FILES.names
load_profile = PROFILE_FILES.load
load_profiles = PROFILE_FILES.load_all


def other_library(profile: Profile, facts: Mapping[str, Any]) -> str | None:
    """The reason if the profile needs a BLAS that is not the one of the machine's SciPy: it is then no row of its
    tables, where the row of its own library stands. None if it needs none, or that one."""
    there, needed = facts.get("blas") or OF_BEFORE, profile.requires.get("library")
    if needed and needed != there:
        return f"needs {library_label(needed)}; SciPy computes with {library_label(there)} here"
    return None
