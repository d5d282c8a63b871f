"""config.yaml, and what the command line overrides in it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from respeed.load.folders import ROOT
from respeed.load.hardware import default_profiles, profile_names
from respeed.load.papers import load_papers, paper_names
from respeed.load.schema import check_schema
from respeed.load.yaml_file import parse_yaml, read_yaml
from respeed.model.config import Config, Preset
from respeed.model.errors import UserError, nearest
from respeed.model.names import check_name


def load_config(path: Path = ROOT / "config.yaml", overrides: Mapping[str, Any] | None = None) -> Config:
    """Read and check the configuration and the names it uses; UserError, one line, if it is wrong."""
    data = read_yaml(path)
    check_schema(data, "config", path)
    if overrides:
        data = {**data, **overrides}
        path = Path("--config")
        check_schema(data, "config", path)
    presets = {name: Preset(name=name, **preset) for name, preset in data["presets"].items()}
    if data["preset"] not in presets:
        raise UserError(f"{path}: preset: no preset {data['preset']!r}{nearest(data['preset'], presets)}")
    chosen = _choose("papers", "paper", data["papers"], paper_names(), path)
    tables = {name for paper in load_papers(chosen).values() for name in paper.experiments}
    experiments = None
    if data["experiments"] != "all":
        experiments = _choose("experiments", "experiment", data["experiments"], tables, path)
    return Config(
        preset=presets[data["preset"]],
        papers=chosen,
        experiments=experiments,
        profiles=default_profiles()
        if data["profiles"] == "all"
        else _choose("profiles", "hardware profile", data["profiles"], profile_names(), path),
        machine=None if data["machine"] == "auto" else check_name("machine", data["machine"], f"{path}: machine"),
        seed=data["seed"],
        presets=presets,
    )


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """The settings of a command line, KEY=VALUE each, where a value is written as in config.yaml."""
    parsed = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not (key and equals):
            raise UserError(f"--config: {setting!r} must be of the form KEY=VALUE")
        parsed[key] = parse_yaml(value, f"--config {key}")
    return parsed


def _choose(key: str, kind: str, chosen: Any, names: Iterable[str], path: Path) -> tuple[str, ...]:
    names = list(names)
    if chosen == "all":
        return tuple(names)
    # --config profiles=torch-1 gives the bare word, which is as clear as a list of one.
    listed = [chosen] if isinstance(chosen, str) else chosen
    for name in listed:
        if name not in names:
            raise UserError(f"{path}: {key}: no {kind} {name!r}{nearest(name, names)}")
    return tuple(dict.fromkeys(listed))
