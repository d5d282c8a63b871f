"""config.yaml, and what the command line overrides in it."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StrictInt, StrictStr
from pydantic.dataclasses import dataclass

from respeed.errors import UserError, nearest
from respeed.inputs.files import from_here
from respeed.inputs.forms import Mistakes, fit
from respeed.inputs.papers import load_papers, paper_names, read_paper
from respeed.inputs.profiles import default_profiles, profile_names, read_profile
from respeed.inputs.yaml_loader import parse_yaml, read_yaml
from respeed.model.validation import FORM, Flag, Named, Number, OneOf, Says
from respeed.paths import HARDWARE, PAPERS, ROOT, check_name

Rounds = Annotated[StrictInt, Field(ge=1, le=99), Says("a whole number from 1 to 99")]


@dataclass(frozen=True, config=FORM)
class Preset:
    """How much to measure: `rounds` of everything, and then, as long as not more than `minutes` a paper are used up,
    again what is not settled, up to `most` rounds of it. `sizes` is "paper" or "smoke"; `whole` adds runs in which
    nothing is extrapolated."""

    name: str
    rounds: Rounds
    most: Rounds
    minutes: Annotated[Number, Field(ge=0), Says("a number of minutes, 0 or more", {"type": "number", "minimum": 0})]
    sizes: Annotated[str, OneOf(("paper", "smoke"))]
    whole: Flag

    @property
    def is_smoke(self) -> bool:
        return self.sizes == "smoke"


Names = Annotated[
    StrictStr | Annotated[tuple[StrictStr, ...], Field(min_length=1)],
    Says("all, or a list of names such as [one, two]"),
]


@dataclass(frozen=True, config=FORM)
class Settings:
    """config.yaml as it is written."""

    preset: Annotated[StrictStr, Says("the name of a preset")]
    papers: Names
    experiments: Names
    profiles: Names
    machine: Annotated[StrictStr, Says("auto, or a name of small letters, digits, - and _")]
    seed: Annotated[StrictInt, Field(ge=0, le=2**32 - 1), Says("a whole number from 0 to 4294967295")]
    presets: Annotated[
        dict[str, Annotated[Preset, Says("a mapping with rounds, most, minutes, sizes and whole")]],
        Field(min_length=1),
        Named,
        Says("a mapping of preset names to their settings"),
    ]
    cluster: Flag = False


SettingsFile = Annotated[Settings, Says("a mapping of settings (see the comments in config.yaml)")]


@dataclasses.dataclass(frozen=True)
class Config:
    """config.yaml with its names resolved; `machine` is None for "work it out". `all_profiles` says that none was
    named; `cluster`, that the machines are measured through Slurm, each on its own nodes."""

    preset: Preset
    papers: tuple[str, ...]
    experiments: tuple[str, ...] | None
    profiles: tuple[str, ...]
    machine: str | None
    seed: int
    presets: Mapping[str, Preset]
    all_profiles: bool = False
    cluster: bool = False


def load_config(
    path: Path = ROOT / "config.yaml", overrides: Mapping[str, Any] | None = None, *, strict: bool = True
) -> Config:
    """Read and check the configuration and the names it uses; UserError, one line, if it is wrong. Where it is not
    `strict`, papers and profiles that it chooses may have mistakes of their own."""
    path = from_here(path)
    data = read_yaml(path)
    settings = _settings(data, path)
    if overrides:
        # Snakemake hands `cluster=true` on as the word.
        words = {"true": True, "false": False}
        path = Path("--config")
        settings = _settings({**data, **{key: words.get(str(value), value) for key, value in overrides.items()}}, path)
    papers = _papers(settings.papers, path)
    return Config(
        preset=_preset(settings.preset, settings.presets, path),
        papers=papers,
        experiments=_experiments(settings.experiments, papers if strict else _right(papers), path),
        profiles=_profiles(settings.profiles, path) if strict or settings.profiles != "all" else _right_profiles(),
        machine=_machine(settings.machine, path),
        seed=settings.seed,
        presets=settings.presets,
        all_profiles=settings.profiles == "all",
        cluster=settings.cluster,
    )


def check_config(path: Path = ROOT / "config.yaml") -> Mistakes:
    """All mistakes in the file itself; those in the papers and profiles that it names are theirs."""
    path, mistakes = from_here(path), Mistakes()
    with mistakes.collecting():
        data = read_yaml(path)
        _, misfits = fit(SettingsFile, data, path)
        mistakes += [line for _, line in misfits]
        wrong = {place[0] for place, _ in misfits if place}
        right = {key: value for key, value in data.items() if key not in wrong} if isinstance(data, dict) else {}
        if "preset" in right and "presets" in right:
            with mistakes.collecting():
                _preset(right["preset"], right["presets"], path)
        if "machine" in right:
            with mistakes.collecting():
                _machine(right["machine"], path)
        if "profiles" in right and (right["profiles"] != "all" or not profile_names()):
            with mistakes.collecting():
                _profiles(right["profiles"], path)
        if "papers" in right:
            with mistakes.collecting():
                papers = _papers(right["papers"], path)
                if "experiments" in right and not any(read_paper(name)[1] for name in papers):
                    _experiments(right["experiments"], papers, path)
    return mistakes


def _settings(data: Any, path: Path) -> Settings:
    settings, misfits = fit(SettingsFile, data, path)
    for misfit in misfits:
        raise UserError(misfit.line)
    found: Settings = settings
    return found


def _right(papers: Iterable[str]) -> list[str]:
    """Those without mistakes; all papers if none of those is, as their tables may be named all the same."""
    return [name for name in papers if read_paper(name)[0]] or [name for name in paper_names() if read_paper(name)[0]]


def _right_profiles() -> tuple[str, ...]:
    """Those of "all" that have no mistakes."""
    found = (read_profile(name)[0] for name in profile_names())
    return tuple(profile.name for profile in found if profile and not profile.optional)


def _preset(name: str, presets: Mapping[str, Any], path: Path) -> Any:
    if name not in presets:
        raise UserError(f"{path}: preset: no preset {name!r}{nearest(name, presets)}")
    return presets[name]


def _papers(chosen: Any, path: Path) -> tuple[str, ...]:
    if not paper_names():
        raise UserError(f"{from_here(PAPERS)}: has no papers (NAME/paper.yaml); respeed new paper NAME writes one")
    return _choose("papers", "paper", chosen, paper_names(), path)


def _experiments(chosen: Any, papers: Iterable[str], path: Path) -> tuple[str, ...] | None:
    tables = {name for paper in load_papers(papers).values() for name in paper.experiments}
    return None if chosen == "all" else _choose("experiments", "experiment", chosen, tables, path)


def _profiles(chosen: Any, path: Path) -> tuple[str, ...]:
    if not profile_names():
        raise UserError(f"{from_here(HARDWARE)}: has no profiles (NAME.yaml); respeed new hardware NAME writes one")
    return (
        default_profiles()
        if chosen == "all"
        else _choose("profiles", "hardware profile", chosen, profile_names(), path)
    )


def _machine(name: str, path: Path) -> str | None:
    return None if name == "auto" else check_name("machine", name, f"{path}: machine")


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
