"""Hardware profiles, each a row of our tables, how to run: workflow/hardware/<name>.yaml."""

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictInt, StrictStr, with_config
from typing_extensions import TypedDict

from respeed.errors import UserError
from respeed.inputs.files import from_here, read_yaml
from respeed.inputs.forms import Mistakes, faultless, fit, require
from respeed.inputs.registry import backends, find_backend
from respeed.machine.cpu import CHOICES, INSTRUCTIONS, MOST, choice_as_text
from respeed.machine.software import LIBRARIES, OF_BEFORE, library_label
from respeed.model.paper import ARCHITECTURES, MEANT_ARCHITECTURES, MEANT_PRECISIONS
from respeed.model.validation import FORM, SOME, Flag, OneOf, Positive, Says, form, shown
from respeed.paths import HARDWARE, NAME, check_name

Instructions = Annotated[
    list[Annotated[str, OneOf(INSTRUCTIONS)]], SOME, Says("a list of instructions of the CPU, such as [avx512f]")
]
Package = Annotated[StrictStr, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]
Packages = Annotated[
    list[Package], SOME, Says("a list of Python packages by the names that they are imported by, such as [jax]")
]


@with_config(FORM)
class Requires(TypedDict, total=False):
    """What must be there. The machine's memory is in GB, packages have the names that they are imported by."""

    instructions: Instructions
    memory_gb: Positive
    library: Annotated[str, OneOf(tuple(LIBRARIES))]
    packages: Packages


def _cpus(value: Any) -> str | None:
    text = choice_as_text(value)
    if text is None and value is not None:
        raise UserError(f"{shown(value)} must be {CHOICES}")
    return text


Architecture = Annotated[str, OneOf(ARCHITECTURES, MEANT_ARCHITECTURES)]
Backend = Annotated[StrictStr, Says("the name of a backend in workflow/respeed/backends")]
Device = Annotated[
    StrictStr, Says("a device of the backend, such as cpu or cuda; of several, one by its number: cuda:1")
]
Threads = Annotated[
    Annotated[StrictInt, Field(ge=1, le=4096)] | Literal["all"], Says("a whole number of at least 1, or all")
]
Precision = Annotated[StrictStr, Says("a precision of the backend, such as fp32")]
_CPU = {"type": "integer", "minimum": 0, "maximum": MOST - 1}
_CPUS = {"anyOf": [{"type": "string"}, _CPU, {"type": "array", "minItems": 1, "uniqueItems": True, "items": _CPU}]}
Cpus = Annotated[str | None, BeforeValidator(_cpus), Says(CHOICES, _CPUS)]
Needs = Annotated[Requires, Says("a mapping of what must be there: instructions, memory_gb, library, packages")]


@form("a mapping such as workflow/hardware/torch-all.yaml")
class Profile:
    """One file of workflow/hardware. `architecture` is the paper's row it answers; `device` may name one of several,
    "cuda:1"; `threads` may be "all". `cpus` are those that threads may run on, as text (`machine.cpu`), and with `smt`
    there is one on every logical CPU of a core. `requires` is what must be there. An `optional` one is measured only
    where it is named."""

    name: str
    label: Annotated[StrictStr, Field(min_length=1, max_length=60), Says("text of 1 to 60 characters")]
    package: Annotated[StrictStr, Field(min_length=1, max_length=40), Says("text of 1 to 40 characters")]
    architecture: Architecture
    backend: Backend
    device: Device
    threads: Threads
    precision: Precision
    cpus: Cpus = None
    smt: Flag = False
    requires: Needs = field(default_factory=Requires, hash=False)
    optional: Flag = False

    @property
    def is_cpu(self) -> bool:
        return self.device == "cpu"


# Keys that lived in a profile once, and where what they said is said now.
MOVED = {
    "price_per_hour": "a price is a machine's, and stands in workflow/machines/<machine>.yaml: respeed new machine NAME"
}
# What people call devices elsewhere.
MEANT_DEVICES = {
    **dict.fromkeys(("gpu", "nvidia", "amd", "rocm", "hip"), ("cuda",)),
    **dict.fromkeys(("metal", "apple"), ("mps",)),
    "intel": ("xpu",),
}
# The number of a device.
_INDEX = re.compile(r"0|[1-9][0-9]{0,2}")


def profile_names(folder: Path = HARDWARE) -> tuple[str, ...]:
    """The names of all profiles there are. A file whose name is none is one that nobody can ask for."""
    return tuple(name for name in _stems(folder) if NAME.fullmatch(name))


def load_profile(name: str, folder: Path = HARDWARE) -> Profile:
    """Read one profile; UserError if there is none of that name or it is not valid."""
    require(f"{folder}: no hardware profile", name, profile_names(folder))
    return faultless(read_profile(name, folder))


def read_profile(name: str, folder: Path = HARDWARE) -> tuple[Profile | None, Mistakes]:
    """The profile, or None, and all mistakes in its file."""
    path, mistakes, profile = from_here(folder / f"{name}.yaml"), Mistakes(), None
    with mistakes.collecting():
        check_name("hardware profile", name, str(path))
    with mistakes.collecting():
        data = read_yaml(path)
        written = data if isinstance(data, dict) else {}
        profile, misfits = fit(Profile, data, path, name)
        moved = [key for key in MOVED if key in written]
        mistakes += [f"{path}: {key}: {MOVED[key]}" for key in moved]
        mistakes += [line for _, line in misfits if not any(f"unknown key {key!r}" in line for key in moved)]
        wrong = {place[0] for place, _ in misfits if place}
        _check_backend({key: value for key, value in written.items() if key not in wrong}, path, mistakes)
    return (None if mistakes else profile), mistakes


def read_profiles(folder: Path = HARDWARE) -> tuple[dict[str, Profile], dict[str, Mistakes]]:
    """All profiles that are right, and the mistakes in every other file, by name."""
    read = {name: read_profile(name, folder) for name in _stems(folder)}
    right = {name: profile for name, (profile, _) in read.items() if profile}
    return right, {name: mistakes for name, (_, mistakes) in read.items() if mistakes}


def load_profiles(folder: Path = HARDWARE) -> dict[str, Profile]:
    """All profiles by name; UserError if a file is not valid."""
    return {name: faultless(read_profile(name, folder)) for name in _stems(folder)}


def other_library(profile: Profile, facts: Mapping[str, Any]) -> str | None:
    """The reason if the profile needs a BLAS that is not the one of the machine's SciPy: it is then no row of its
    tables, where the row of its own library stands. None if it needs none, or that one."""
    there, backend = facts.get("blas") or OF_BEFORE, backends().get(profile.backend)
    for needed in (backend.library if backend else None, profile.requires.get("library")):
        if needed and needed != there:
            return f"needs {library_label(needed)}; SciPy computes with {library_label(there)} here"
    return None


def _stems(folder: Path) -> list[str]:
    return [path.stem for path in sorted(folder.glob("*.yaml"))]


def _check_backend(data: Mapping[str, Any], path: Path, mistakes: Mistakes) -> None:
    """Whether the backend is there, and has what the profile asks of it. What does not fit has been told."""
    if "backend" not in data:
        return
    with mistakes.collecting():
        backend = find_backend(data["backend"], f"{path}: backend")
        if "device" in data:
            with mistakes.collecting():
                kind, colon, index = data["device"].partition(":")
                require(f"{path}: device: no device", kind, backend.devices, MEANT_DEVICES)
                if colon and (kind == "cpu" or not _INDEX.fullmatch(index)):
                    also = f" or {kind}:0" * (kind != "cpu")
                    raise UserError(f"{path}: device: {data['device']!r} must be {kind}{also}")
                for key in ("cpus", "smt"):
                    if kind != "cpu" and data.get(key):
                        bound = "is for the device cpu; a row of an accelerator is bound to no CPUs"
                        raise UserError(f"{path}: {key}: {bound}")
        if "precision" in data:
            require(f"{path}: precision: no precision", data["precision"], backend.precisions, MEANT_PRECISIONS)
