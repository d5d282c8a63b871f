"""Hardware profiles: workflow/hardware/<name>.yaml."""

from pathlib import Path

from respeed.load.folders import HARDWARE
from respeed.load.modules import backend_devices, backend_precisions
from respeed.load.schema import check_schema
from respeed.load.yaml_file import read_yaml
from respeed.model.errors import UserError, nearest
from respeed.model.names import check_name
from respeed.model.profile import Profile


def profile_names(folder: Path = HARDWARE) -> tuple[str, ...]:
    """The names of all profiles there are, checked as names."""
    return tuple(check_name("hardware profile", path.stem, str(path)) for path in sorted(folder.glob("*.yaml")))


def load_profile(name: str, folder: Path = HARDWARE) -> Profile:
    """Read one profile; UserError if there is none of that name or it is not valid."""
    path = folder / f"{name}.yaml"
    if name not in profile_names(folder):
        raise UserError(f"{folder}: no hardware profile {name!r}{nearest(name, profile_names(folder))}")
    data = read_yaml(path)
    check_schema(data, "hardware", path)
    profile = Profile(name=name, **data)
    _check_choice(path, "backend", profile.backend, tuple(backend_devices()))
    _check_choice(path, "device", profile.device, backend_devices()[profile.backend])
    _check_choice(path, "precision", profile.precision, backend_precisions()[profile.backend])
    return profile


def default_profiles(folder: Path = HARDWARE) -> tuple[str, ...]:
    """The names of those that "all" stands for: all but the optional ones."""
    return tuple(name for name, profile in load_profiles(folder).items() if not profile.optional)


def load_profiles(folder: Path = HARDWARE) -> dict[str, Profile]:
    """All profiles by name."""
    return {name: load_profile(name, folder) for name in profile_names(folder)}


def _check_choice(path: Path, key: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UserError(f"{path}: {key}: {value!r} is not offered{nearest(value, allowed)}")
