"""Hardware profiles: workflow/hardware/<name>.yaml."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.files import from_here
from respeed.inputs.mistakes import Mistakes
from respeed.inputs.modules import backend_devices, backend_precisions, check_module
from respeed.inputs.schema import misfits
from respeed.inputs.yaml_file import read_yaml
from respeed.machine.cpu import CHOICES, choice_as_text
from respeed.model.profile import Profile
from respeed.paths import HARDWARE, NAME, check_name

# Keys that lived in a profile once, and where what they said is said now.
MOVED = {
    "price_per_hour": "a price is a machine's, and stands in workflow/machines/<machine>.yaml: respeed new machine NAME"
}
# The number of a device.
_INDEX = re.compile(r"0|[1-9][0-9]{0,2}")


def profile_names(folder: Path = HARDWARE) -> tuple[str, ...]:
    """The names of all profiles there are. A file whose name is none is one that nobody can ask for."""
    return tuple(name for name in _stems(folder) if NAME.fullmatch(name))


def load_profile(name: str, folder: Path = HARDWARE) -> Profile:
    """Read one profile; UserError if there is none of that name or it is not valid."""
    if name not in profile_names(folder):
        raise UserError(f"{folder}: no hardware profile {name!r}{nearest(name, profile_names(folder))}")
    profile, mistakes = read_profile(name, folder)
    mistakes.raise_any()
    assert profile is not None  # without mistakes there is one
    return profile


def read_profile(name: str, folder: Path = HARDWARE) -> tuple[Profile | None, Mistakes]:
    """The profile, or None, and all mistakes in its file."""
    path, mistakes = from_here(folder / f"{name}.yaml"), Mistakes()
    data: Any = None
    with mistakes.collecting():
        check_name("hardware profile", name, str(path))
    with mistakes.collecting():
        data = read_yaml(path)
    mistakes += [f"{path}: {key}: {where}" for key, where in MOVED.items() if isinstance(data, dict) and key in data]
    mistakes += [] if mistakes else [misfit.line for misfit in misfits(data, "hardware", path)]
    if mistakes:
        return None, mistakes
    profile = Profile(name=name, **data | ({"cpus": choice_as_text(data["cpus"])} if "cpus" in data else {}))
    if "cpus" in data and profile.cpus is None:
        mistakes.append(f"{path}: cpus: {data['cpus']!r} must be {CHOICES}")
    with mistakes.collecting():
        check_module("backend", profile.backend, f"{path}: backend")
        _check_choice(path, "backend", profile.backend, tuple(backend_devices()))
        with mistakes.collecting():
            _check_device(path, profile, data)
        _check_choice(path, "precision", profile.precision, backend_precisions()[profile.backend])
    return (None if mistakes else profile), mistakes


def read_profiles(folder: Path = HARDWARE) -> tuple[dict[str, Profile], dict[str, Mistakes]]:
    """All profiles that are right, and the mistakes in every other file, by name."""
    read = {name: read_profile(name, folder) for name in _stems(folder)}
    right = {name: profile for name, (profile, _) in read.items() if profile}
    return right, {name: mistakes for name, (_, mistakes) in read.items() if mistakes}


def load_profiles(folder: Path = HARDWARE) -> dict[str, Profile]:
    """All profiles by name; UserError if a file is not valid."""
    profiles, wrong = read_profiles(folder)
    for mistakes in wrong.values():
        mistakes.raise_any()
    return profiles


def default_profiles(folder: Path = HARDWARE) -> tuple[str, ...]:
    """The names of those that "all" stands for: all but the optional ones. UserError if any file is not valid: a slip
    of the pen must not silently leave out a row."""
    return tuple(name for name, profile in load_profiles(folder).items() if not profile.optional)


def _stems(folder: Path) -> list[str]:
    return [path.stem for path in sorted(folder.glob("*.yaml"))]


def _check_device(path: Path, profile: Profile, data: Mapping[str, Any]) -> None:
    kind, colon, index = profile.device.partition(":")
    _check_choice(path, "device", kind, backend_devices()[profile.backend])
    if colon and (kind == "cpu" or not _INDEX.fullmatch(index)):
        raise UserError(f"{path}: device: {profile.device!r} must be {kind}" + f" or {kind}:0" * (kind != "cpu"))
    for key in ("cpus", "smt"):
        if not profile.is_cpu and data.get(key):
            raise UserError(f"{path}: {key}: is for the device cpu; a row of an accelerator is bound to no CPUs")


def _check_choice(path: Path, key: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UserError(f"{path}: {key}: {value!r} is not offered{nearest(value, allowed)}")
