"""Hardware profiles: workflow/hardware/<name>.yaml."""

from pathlib import Path
from typing import Any

from respeed.load.files import from_here
from respeed.load.folders import HARDWARE
from respeed.load.mistakes import Mistakes
from respeed.load.modules import backend_devices, backend_precisions, check_module
from respeed.load.schema import misfits
from respeed.load.yaml_file import read_yaml
from respeed.model.errors import UserError, nearest
from respeed.model.names import check_name
from respeed.model.profile import Profile


def profile_names(folder: Path = HARDWARE) -> tuple[str, ...]:
    """The names of all profiles there are, checked as names."""
    return tuple(check_name("hardware profile", path.stem, str(path)) for path in sorted(folder.glob("*.yaml")))


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
        data = read_yaml(path)
    mistakes += [] if mistakes else [misfit.line for misfit in misfits(data, "hardware", path)]
    if mistakes:
        return None, mistakes
    profile = Profile(name=name, **data)
    with mistakes.collecting():
        check_module("backend", profile.backend, f"{path}: backend")
        _check_choice(path, "backend", profile.backend, tuple(backend_devices()))
        with mistakes.collecting():
            _check_choice(path, "device", profile.device, backend_devices()[profile.backend])
        _check_choice(path, "precision", profile.precision, backend_precisions()[profile.backend])
    return (None if mistakes else profile), mistakes


def default_profiles(folder: Path = HARDWARE) -> tuple[str, ...]:
    """The names of those that "all" stands for: all but the optional ones."""
    return tuple(name for name, profile in load_profiles(folder).items() if not profile.optional)


def load_profiles(folder: Path = HARDWARE) -> dict[str, Profile]:
    """All profiles by name."""
    return {name: load_profile(name, folder) for name in profile_names(folder)}


def _check_choice(path: Path, key: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UserError(f"{path}: {key}: {value!r} is not offered{nearest(value, allowed)}")
