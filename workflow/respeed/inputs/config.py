"""config.yaml, what the command line overrides in it, and whose programs it allows."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator
from pydantic.dataclasses import dataclass

from respeed.errors import UserError
from respeed.inputs.files import from_here, parse_yaml, read_yaml
from respeed.inputs.forms import Mistakes, fit
from respeed.inputs.papers import load_papers, paper_names
from respeed.inputs.profiles import load_profile, profile_names
from respeed.model.fields import FORM, LARGEST, SOME, Named, check_known
from respeed.model.paper import ARCHITECTURES, Case, command_of
from respeed.paths import PAPERS, ROOT, check_name
from respeed.text import clip

Rounds = Annotated[int, Field(ge=1, le=99)]


@dataclass(frozen=True, config=FORM)
class Preset:
    """How much to measure: `rounds` of everything, and then, as long as not more than `minutes` a paper are used up,
    again what is not settled, up to `most` rounds of it."""

    name: str
    rounds: Rounds
    most: Rounds
    minutes: Annotated[int | float, Field(ge=0, le=LARGEST)]
    sizes: Literal["paper", "smoke"]

    @property
    def is_smoke(self) -> bool:
        """Return whether the sizes are tiny and the times no measurements."""
        return self.sizes == "smoke"


def _read_preset(value: Any, info: ValidationInfo) -> Any:
    """Return the preset of that name."""
    if not isinstance(value, str):
        return value
    if "presets" not in info.data:
        raise ValueError("")  # their mistakes are told
    check_known("preset", value, info.data["presets"])
    return info.data["presets"][value]


def _read_names(value: Any) -> Any:
    """Split what --config profiles=torch-1,gpu gives, bare words, which are as clear as a list."""
    if value == []:
        raise ValueError("must be all, or a list of names such as [one, two], not an empty one")
    return [word.strip() for word in value.split(",")] if isinstance(value, str) else value


def _all_papers(value: Any) -> Any:
    return paper_names() if value == "all" else value


def _all_profiles(value: Any) -> Any:
    """Return, of all, those that are not optional. One with mistakes is one of them: it must not go without a word."""
    return tuple(name for name in profile_names() if not _is_optional(name)) if value == "all" else value


def _is_optional(profile: str) -> bool:
    try:
        return load_profile(profile).optional
    except UserError:
        return False


def _read_machine(name: Any) -> Any:
    return None if name == "auto" else name


def _check_machine(name: str | None) -> str | None:
    try:
        return name and check_name("machine", name, "")
    except UserError as error:
        raise ValueError(str(error).removeprefix(": ")) from None


NAMES_OR_ALL = WithJsonSchema({"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}}]})
Names = Annotated[tuple[str, ...], BeforeValidator(_read_names), NAMES_OR_ALL]


@dataclass(frozen=True, config=FORM)
class Config:
    """config.yaml with its names resolved.

    `experiments` is None for all, `machine` None for "work it out". `all_profiles` says that none was named; `cluster`,
    that the machines are measured through Slurm, each on its own nodes; `allow` has the papers whose programs may run.
    """

    presets: Annotated[dict[str, Preset], SOME, Named]
    preset: Annotated[Preset, BeforeValidator(_read_preset), WithJsonSchema({"type": "string"})]
    papers: Annotated[Names, BeforeValidator(_all_papers)]
    experiments: Annotated[Names | None, BeforeValidator(lambda value: None if value == "all" else value), NAMES_OR_ALL]
    profiles: Annotated[Names, BeforeValidator(_all_profiles)]
    machine: Annotated[str | None, BeforeValidator(_read_machine), AfterValidator(_check_machine)]
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)]
    cluster: bool = False
    allow: tuple[str, ...] = ()
    all_profiles: bool = False

    @field_validator("papers", "profiles")
    @classmethod
    def _check_names(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        kind, there = ("paper", paper_names()) if info.field_name == "papers" else ("hardware profile", profile_names())
        if not there:
            raise ValueError(f"there is no {kind}; respeed new {kind.split()[0]} NAME writes one")
        for name in names:
            check_known(kind, name, there)
        return tuple(dict.fromkeys(names))

    @field_validator("experiments")
    @classmethod
    def _check_experiments(cls, names: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        try:
            papers = load_papers(info.data.get("papers", ()))
        except UserError:  # told where the paper is read
            return names
        for name in names or ():
            check_known("experiment", name, [table for paper in papers.values() for table in paper.experiments])
        return names


def load_config(path: Path = ROOT / "config.yaml", overrides: Mapping[str, Any] | None = None) -> Config:
    """Read the configuration, and check that what it names is there; UserError if it has mistakes.

    `overrides` are what --config says. What they replace need not be right. The papers and profiles that are named may
    have mistakes of their own.
    """
    data, overrides = read_yaml(path), overrides or {}
    if "allow" in overrides:
        raise UserError(f"--config: allow: stands in {from_here(path)} alone: write there whose programs may be run")
    data = {**data, **overrides} if isinstance(data, dict) else data
    all_profiles = isinstance(data, dict) and data.get("profiles") == "all"
    config: Config = fit(Config, data, path, overridden=overrides, all_profiles=all_profiles)
    return config


def why_denied(case: Case) -> str | None:
    """Return why the case's program may not be run: who shares a paper runs no commands on others' machines by that.
    None if config.yaml allows it, or if there is none."""
    paper = case.parameters.get("program", {}).get("paper")
    if paper is None or paper in _allowed():
        return None
    # The numbers of the case are left open, so that a table's cases are told once.
    texts = {key: said for key, said in case.parameters.items() if not isinstance(said, int | float)}
    words = (command_of(dataclasses.replace(case, parameters=texts), row) for row in ARCHITECTURES)
    shown = (" ".join(repr(word) if " " in word else word for word in one) for one in words if one)
    commands = " or ".join(dict.fromkeys(shown))
    where = from_here(PAPERS / paper / "paper.yaml")
    return f"would run {clip(commands, 300)} ({where}); if you trust it, write allow: [{paper}] in config.yaml"


def denied_papers(papers: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Return those of the papers with a program that may not be run, and why, with each command of theirs once."""
    for name, paper in load_papers(papers).items():
        tables = paper.experiments.values()
        cases = (case for experiment in tables for case in (*experiment.cases, *experiment.smoke_cases))
        for why in dict.fromkeys(filter(None, map(why_denied, cases))):
            yield name, why


def _allowed() -> Any:
    """Return `allow` as it is written: what else is wrong in the file is told elsewhere."""
    data = read_yaml(ROOT / "config.yaml")
    return (data.get("allow") or ()) if isinstance(data, dict) else ()


def check_config(path: Path = ROOT / "config.yaml") -> Mistakes:
    """Return all mistakes in the file itself; those in the papers and profiles that it names are theirs."""
    mistakes = Mistakes()
    with mistakes.collecting():
        load_config(path)
    return mistakes


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a command line, KEY=VALUE each, where a value is written as in config.yaml."""
    parsed: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not (key and equals):
            raise UserError(f"--config: {setting!r} must be of the form KEY=VALUE, such as preset=smoke")
        parsed[key] = parse_yaml(value, f"--config {key}")
    return parsed
