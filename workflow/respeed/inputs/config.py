"""config.yaml, and what the command line overrides in it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.files import from_here
from respeed.inputs.hardware import default_profiles, profile_names, read_profile
from respeed.inputs.mistakes import Mistakes
from respeed.inputs.papers import load_papers, paper_names, read_paper
from respeed.inputs.schema import check_schema, misfits
from respeed.inputs.yaml_file import parse_yaml, read_yaml
from respeed.model.config import Config, Preset
from respeed.paths import HARDWARE, PAPERS, ROOT, check_name


def load_config(
    path: Path = ROOT / "config.yaml", overrides: Mapping[str, Any] | None = None, *, strict: bool = True
) -> Config:
    """Read and check the configuration and the names it uses; UserError, one line, if it is wrong. Where it is not
    `strict`, papers and profiles that it chooses may have mistakes of their own."""
    path = from_here(path)
    data = read_yaml(path)
    check_schema(data, "config", path)
    if overrides:
        # Snakemake hands `cluster=true` on as the word.
        words = {"true": True, "false": False}
        data = {**data, **{key: words.get(str(value), value) for key, value in overrides.items()}}
        path = Path("--config")
        check_schema(data, "config", path)
    papers = _papers(data, path)
    return Config(
        preset=_preset(data, path),
        papers=papers,
        experiments=_experiments(data, papers if strict else _right(papers), path),
        profiles=_profiles(data, path) if strict or data["profiles"] != "all" else _right_profiles(),
        machine=_machine(data, path),
        seed=data["seed"],
        presets=_presets(data),
        all_profiles=data["profiles"] == "all",
        cluster=data.get("cluster", False),
    )


def check_config(path: Path = ROOT / "config.yaml") -> Mistakes:
    """All mistakes in the file itself; those in the papers and profiles that it names are theirs."""
    path, mistakes = from_here(path), Mistakes()
    data: Any = None
    with mistakes.collecting():
        data = read_yaml(path)
    mistakes += [] if mistakes else [misfit.line for misfit in misfits(data, "config", path)]
    if not mistakes:
        for check in (_preset, _papers, _machine):
            with mistakes.collecting():
                check(data, path)
        with mistakes.collecting():
            if data["profiles"] != "all" or not profile_names():
                _profiles(data, path)
    if not mistakes and not any(read_paper(name)[1] for name in _papers(data, path)):
        with mistakes.collecting():
            _experiments(data, _papers(data, path), path)
    return mistakes


def _right(papers: Iterable[str]) -> list[str]:
    """Those without mistakes; all papers if none of those is, as their tables may be named all the same."""
    return [name for name in papers if read_paper(name)[0]] or [name for name in paper_names() if read_paper(name)[0]]


def _right_profiles() -> tuple[str, ...]:
    """Those of "all" that have no mistakes."""
    found = (read_profile(name)[0] for name in profile_names())
    return tuple(profile.name for profile in found if profile and not profile.optional)


def _presets(data: Mapping[str, Any]) -> dict[str, Preset]:
    return {name: Preset(name=name, **preset) for name, preset in data["presets"].items()}


def _preset(data: Mapping[str, Any], path: Path) -> Preset:
    presets = _presets(data)
    if data["preset"] not in presets:
        raise UserError(f"{path}: preset: no preset {data['preset']!r}{nearest(data['preset'], presets)}")
    return presets[data["preset"]]


def _papers(data: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    if not paper_names():
        raise UserError(f"{from_here(PAPERS)}: has no papers (NAME/paper.yaml); respeed new paper NAME writes one")
    return _choose("papers", "paper", data["papers"], paper_names(), path)


def _experiments(data: Mapping[str, Any], papers: Iterable[str], path: Path) -> tuple[str, ...] | None:
    tables = {name for paper in load_papers(papers).values() for name in paper.experiments}
    if data["experiments"] == "all":
        return None
    return _choose("experiments", "experiment", data["experiments"], tables, path)


def _profiles(data: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    if not profile_names():
        raise UserError(f"{from_here(HARDWARE)}: has no profiles (NAME.yaml); respeed new hardware NAME writes one")
    if data["profiles"] == "all":
        return default_profiles()
    return _choose("profiles", "hardware profile", data["profiles"], profile_names(), path)


def _machine(data: Mapping[str, Any], path: Path) -> str | None:
    return None if data["machine"] == "auto" else check_name("machine", data["machine"], f"{path}: machine")


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """The settings of a command line, KEY=VALUE each, where a value is written as in config.yaml."""
    parsed: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not (key and equals):
            raise UserError(f"--config: {setting!r} must be of the form KEY=VALUE, such as preset=smoke")
        if key in parsed:
            raise UserError(f"--config: {key} stands twice; say it once")
        parsed[key] = parse_yaml(value, f"--config {key}")
    return parsed


def check_command_line(words: Sequence[str]) -> None:
    """UserError if Snakemake's command line sets one key twice: Snakemake takes the last without a word."""
    seen: set[str] = set()
    inside = False
    for word in words:
        inside = word in {"--config", "-C"} or (inside and not word.startswith("-"))
        key, equals, _ = word.partition("=")
        if inside and equals:
            if key in seen:
                raise UserError(f"--config: {key} stands twice; say it once")
            seen.add(key)


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
