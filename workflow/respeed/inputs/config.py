"""config.yaml, and what the command line overrides in it."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictInt, StrictStr, ValidationInfo

from respeed.errors import UserError
from respeed.inputs.files import from_here, parse_yaml, read_yaml
from respeed.inputs.forms import Mistakes, fit, require
from respeed.inputs.papers import load_papers, paper_names, read_paper
from respeed.inputs.profiles import load_profiles, profile_names, read_profiles
from respeed.model.paper import ARCHITECTURES, Case, command_of
from respeed.model.validation import SOME, Flag, Named, Number, OneOf, Says, form
from respeed.paths import HARDWARE, PAPERS, ROOT, check_name
from respeed.text import clip

Rounds = Annotated[StrictInt, Field(ge=1, le=99), Says("a whole number from 1 to 99")]
Minutes = Annotated[Number, Field(ge=0), Says("a number of minutes, 0 or more", {"type": "number", "minimum": 0})]


@form("a mapping with rounds, most, minutes, sizes and whole")
class Preset:
    """How much to measure: `rounds` of everything, and then, as long as not more than `minutes` a paper are used up,
    again what is not settled, up to `most` rounds of it. `sizes` is "paper" or "smoke"; `whole` adds runs in which
    nothing is extrapolated."""

    name: str
    rounds: Rounds
    most: Rounds
    minutes: Minutes
    sizes: Annotated[str, OneOf(("paper", "smoke"))]
    whole: Flag

    @property
    def is_smoke(self) -> bool:
        return self.sizes == "smoke"


def _preset(name: str, info: ValidationInfo) -> str:
    require("no preset", name, info.data.get("presets", [name]))
    return name


def _papers(chosen: Any) -> tuple[str, ...]:
    if not paper_names():
        raise UserError(f"{from_here(PAPERS)}: has no papers (NAME/paper.yaml); respeed new paper NAME writes one")
    return _choose("paper", chosen, paper_names())


def _profiles(chosen: Any) -> Any:
    if not profile_names():
        raise UserError(f"{from_here(HARDWARE)}: has no profiles (NAME.yaml); respeed new hardware NAME writes one")
    return chosen if chosen == "all" else _choose("hardware profile", chosen, profile_names())


def _machine(name: str) -> str:
    try:
        return check_name("machine", name, "")
    except UserError as error:
        raise UserError(str(error).removeprefix(": ")) from None


def _choose(kind: str, chosen: Any, names: Iterable[str]) -> tuple[str, ...]:
    names = list(names)
    # --config profiles=torch-1,gpu gives bare words, which are as clear as a list.
    words = [word.strip() for word in chosen.split(",")] if isinstance(chosen, str) else chosen
    listed = names if chosen == "all" else words
    for name in listed:
        require(f"no {kind}", name, names)
    return tuple(dict.fromkeys(listed))


Names = StrictStr | Annotated[tuple[StrictStr, ...], SOME]
NAMES = Says("all, or a list of names such as [one, two]")


@form("a mapping of settings (see the comments in config.yaml)")
class Settings:
    """config.yaml as it is written; but `papers`, and the `profiles` that are not all, are those that there are."""

    presets: Annotated[dict[str, Preset], SOME, Named, Says("a mapping of preset names to their settings")]
    preset: Annotated[StrictStr, AfterValidator(_preset), Says("the name of a preset")]
    papers: Annotated[Names, AfterValidator(_papers), NAMES]
    experiments: Annotated[Names, NAMES]
    profiles: Annotated[Names, AfterValidator(_profiles), NAMES]
    machine: Annotated[StrictStr, AfterValidator(_machine), Says("auto, or a name of small letters, digits, - and _")]
    seed: Annotated[StrictInt, Field(ge=0, le=2**32 - 1), Says("a whole number from 0 to 4294967295")]
    cluster: Flag = False
    allow: Annotated[tuple[StrictStr, ...], Says("a list of papers whose programs may be run")] = ()


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
    allow: tuple[str, ...] = ()


def load_config(
    path: Path = ROOT / "config.yaml", overrides: Mapping[str, Any] | None = None, *, strict: bool = True
) -> Config:
    """Read and check the configuration and the names it uses; UserError, one line, if it is wrong. Where it is not
    `strict`, papers and profiles that it chooses may have mistakes of their own."""
    path = from_here(path)
    data = read_yaml(path)
    settings, misfits = fit(Settings, data, path)
    if "allow" in (overrides or {}):
        raise UserError(f"--config: allow: stands in {path} alone: write there whose programs may be run")
    if overrides:
        # What is overridden need not be right.
        Mistakes(line for place, line in misfits if place[:1] not in {(key,) for key in overrides}).raise_any()
        path = Path("--config")
        settings, misfits = fit(Settings, data | {key: _as_meant(one) for key, one in overrides.items()}, path)
    Mistakes(line for _, line in misfits).raise_any()
    papers, profiles = settings.papers, settings.profiles
    if profiles == "all":
        # A slip of the pen must not silently leave out a row.
        there = load_profiles() if strict else read_profiles()[0]
        profiles = tuple(name for name, profile in there.items() if not profile.optional)
    if not strict:  # all papers without mistakes if no chosen one is, as their tables may be named all the same
        papers = tuple(filter(_is_right, papers)) or tuple(filter(_is_right, paper_names()))
    return Config(
        preset=settings.presets[settings.preset],
        papers=settings.papers,
        experiments=_experiments(settings.experiments, papers, path),
        profiles=profiles,
        machine=None if settings.machine == "auto" else settings.machine,
        seed=settings.seed,
        presets=settings.presets,
        all_profiles=settings.profiles == "all",
        cluster=settings.cluster,
        allow=settings.allow,
    )


def _as_meant(value: Any, *, within: bool = False) -> Any:
    """What Snakemake hands on as words: `cluster=true`, and each value `within` a mapping, such as `presets`."""
    if isinstance(value, Mapping):
        return {key: _as_meant(one, within=True) for key, one in value.items()}
    if not isinstance(value, str) or not (within or value in {"true", "false"}):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def why_denied(case: Case) -> str | None:
    """Why the case's program may not be run: who shares a paper runs no commands on others' machines by that. None if
    config.yaml allows it, or if there is none."""
    texts = {key: said for key, said in case.parameters.items() if not isinstance(said, int | float)}
    words = (command_of(dataclasses.replace(case, parameters=texts), row) for row in ARCHITECTURES)
    commands = dict.fromkeys(" ".join(repr(word) if " " in word else word for word in one) for one in words)
    if not (lines := [*filter(None, commands)]) or (paper := case.parameters["program"]["paper"]) in _allowed():
        return None
    where = from_here(PAPERS / paper / "paper.yaml")
    return (
        f"would run {clip(' or '.join(lines), 300)} ({where}); if you trust it, write allow: [{paper}] in config.yaml"
    )


def denied_papers(papers: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Those of the papers with a program that may not be run, and why, with each command of theirs once."""
    for name, paper in load_papers(papers).items():
        tables = paper.experiments.values()
        cases = (case for experiment in tables for case in (*experiment.cases, *experiment.smoke_cases))
        for why in dict.fromkeys(filter(None, map(why_denied, cases))):
            yield name, why


def _allowed() -> Any:
    """As it is written: what else is wrong in the file is told elsewhere."""
    data = read_yaml(from_here(ROOT / "config.yaml"))
    return (data.get("allow") or ()) if isinstance(data, dict) else ()


def check_config(path: Path = ROOT / "config.yaml") -> Mistakes:
    """All mistakes in the file itself; those in the papers and profiles that it names are theirs."""
    path, mistakes = from_here(path), Mistakes()
    with mistakes.collecting():
        settings, misfits = fit(Settings, read_yaml(path), path)
        mistakes += [line for _, line in misfits]
        if settings and all(map(_is_right, settings.papers)):
            _experiments(settings.experiments, settings.papers, path)
    return mistakes


def _is_right(paper: str) -> bool:
    return read_paper(paper)[0] is not None


def _experiments(chosen: Any, papers: Iterable[str], path: Path) -> tuple[str, ...] | None:
    tables = {name for paper in load_papers(papers).values() for name in paper.experiments}
    if chosen == "all":
        return None
    try:
        return _choose("experiment", chosen, tables)
    except UserError as error:
        raise UserError(f"{path}: experiments: {error}") from None


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
