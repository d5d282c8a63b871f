"""Read config.yaml and the --config settings that replace its values."""

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator
from pydantic.dataclasses import dataclass
from pydantic.json_schema import SkipJsonSchema

from respeed.errors import UserError
from respeed.inputs.machines import MACHINE_FILES, PROFILE_FILES, load_profile, profile_names
from respeed.inputs.papers import PAPER_FILES, load_papers, name_paper, paper_names
from respeed.inputs.reader import fit, from_here, parse_yaml, read_yaml
from respeed.inputs.registry import workloads
from respeed.machine import machine_slug
from respeed.model import FORM, LARGEST, SOME, Name, Named, Names, check_known, known
from respeed.paths import NAME, RESERVED, STUDY, find_file, folders_of

MOST_ROUNDS = 99
Rounds = Annotated[int, Field(ge=1, le=MOST_ROUNDS)]
Minutes = Annotated[float, Field(ge=0, le=LARGEST)]


def _split(value: Any) -> Any:
    """Return the words of a text with commas, as in --config; return any other value as it is."""
    if isinstance(value, str):
        return [word.strip() for word in value.split(",")]
    return value


NameOf = TypeVar("NameOf")
LISTED = {"type": "array", "items": {"type": "string"}}
Chosen = Annotated[
    tuple[NameOf, ...],
    SOME,
    AfterValidator(lambda names: tuple(dict.fromkeys(names))),
    WithJsonSchema({"anyOf": [{"const": "all"}, LISTED]}),
]
PaperName = Annotated[str, AfterValidator(name_paper), known("paper", paper_names)]
ProfileName = Annotated[str, known("hardware profile", lambda: profile_names())]
# Words for machines in `show`: this one, and every one that has records.
THIS = "this"
ALL = "all"
Machines = Annotated[
    Names,
    BeforeValidator(_split),
    SOME,
    WithJsonSchema({"anyOf": [{"enum": [THIS, ALL]}, LISTED]}),
]
# Digits of a checksum. Who makes both versions of a paper finds two with the same eight digits in a second.
DIGITS = 32
# Consent to what a paper's programs run (inputs/consent.py).
Consent = Annotated[
    str,
    Field(pattern=f"^{NAME.pattern}@[0-9a-f]{{{DIGITS}}}$", description="NAME@CHECKSUM, as `respeed check` prints it"),
]
# The keys of config.yaml that a preset may replace.
CHOICES = {"papers", "experiments", "profiles"}
INSTEAD = Field(default=None, description="replaces the value of the chosen preset")


def _check_machine(name: Any) -> Any:
    """Return the name of a machine, or None for "auto"; raise ValueError for a word that stands for others."""
    if name in RESERVED:
        raise ValueError(f"{name!r} stands for machines, or for the paper; choose another name")
    return None if name == "auto" else name


@dataclass(frozen=True, config=FORM)
class Preset:
    """How much to measure.

    First, each cell is measured in `rounds` rounds. Then, until `minutes` for each paper that prints numbers are used
    up, cells that are not settled are measured again, up to `most` rounds each. `papers`, `experiments` and `profiles`
    replace those of config.yaml.
    """

    name: SkipJsonSchema[str]
    rounds: Rounds
    most: Rounds
    minutes: Minutes
    sizes: Literal["paper", "smoke"]
    papers: Names | None = None
    experiments: Names | None = None
    profiles: Names | None = None

    @property
    def is_smoke(self) -> bool:
        """Return whether the cases are tiny, so that their times are not measurements."""
        return self.sizes == "smoke"


@dataclass(frozen=True, config=FORM, kw_only=True)
class Config:
    """config.yaml with its names resolved.

    `preset` is the chosen preset; `rounds`, `most` and `minutes`, if given, have replaced its values. `experiments` is
    None if all are chosen; `machine` is None if its name is made from the hardware. `all_profiles` is true if no
    profile was named. `show` are the machines to show, or THIS, or ALL. `cluster` is true if each machine is measured
    by a Slurm job. `allow` has the consents to run programs of papers.
    """

    presets: Annotated[dict[str, Preset], SOME, Named]
    rounds: Rounds | None = INSTEAD
    most: Rounds | None = INSTEAD
    minutes: Minutes | None = INSTEAD
    preset: Annotated[Preset, WithJsonSchema({"type": "string"})]
    papers: Chosen[PaperName]
    experiments: Chosen[str] | None
    profiles: Chosen[ProfileName]
    machine: Annotated[Name | None, BeforeValidator(_check_machine)]
    show: Machines = (THIS,)
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)]
    cluster: bool = False
    allow: tuple[Consent, ...] = ()
    all_profiles: SkipJsonSchema[bool] = False

    @property
    def this_machine(self) -> str:
        """Return the name of this machine: `machine`, or a name made from the hardware."""
        return self.machine or machine_slug()

    @field_validator("preset", mode="before")
    @classmethod
    def _find_preset(cls, name: Any, info: ValidationInfo) -> Any:
        if not isinstance(name, str):
            return name
        if "presets" not in info.data:
            raise ValueError("")  # the mistakes of presets have lines of their own
        check_known("preset", name, info.data["presets"])
        preset = info.data["presets"][name]
        chosen = {}
        for key in ("rounds", "most", "minutes"):
            value = info.data.get(key)
            if value is not None:
                chosen[key] = value
        return dataclasses.replace(preset, **chosen)

    @field_validator("papers", "experiments", "profiles", mode="before")
    @classmethod
    def _find_names(cls, value: Any, info: ValidationInfo) -> Any:
        """Return the names that "all" means, or the listed names."""
        if value != "all":
            return _split(value)
        if info.field_name == "profiles":
            return tuple(name for name in profile_names() if not _is_optional(name))
        return paper_names() if info.field_name == "papers" else None

    @field_validator("experiments")
    @classmethod
    def _check_experiments(cls, names: Names | None, info: ValidationInfo) -> Names | None:
        if names and "papers" in info.data:
            with contextlib.suppress(UserError):  # named where the paper is read
                tables = set[str]()
                for paper in load_papers(info.data["papers"]).values():
                    tables.update(paper.experiments)
                for name in names:
                    check_known("experiment", name, tables)
        return names


def _is_optional(profile: str) -> bool:
    """Return whether `all` leaves the profile out. A profile with mistakes stays in, to be reported."""
    try:
        return load_profile(profile).optional
    except UserError:
        return False


def load_config(path: Path = STUDY / "config.yaml", overrides: Mapping[str, Any] | None = None) -> Config:
    """Read the configuration, and check that every paper, profile and experiment that it names exists.

    Parameters
    ----------
    path : Path, optional
        The file.
    overrides : mapping, optional
        The settings of --config. The values that they replace need not be valid.

    Raises
    ------
    UserError
        A line for each mistake. Mistakes inside the named papers and profiles are not among them.
    """
    data = read_yaml(path)
    overrides = dict(overrides or {})
    if "allow" in overrides:
        raise UserError(f"--config cannot set allow: list the papers whose programs may run in {from_here(path)}")
    if not isinstance(data, dict):
        return fit(Config, data, path)
    data = data | _choices_of_preset(data | overrides) | overrides
    return fit(Config, data, path, overridden=overrides, all_profiles=data.get("profiles") == "all")


def _choices_of_preset(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the papers, experiments and profiles that the chosen preset names; mistakes are found elsewhere."""
    match data:
        case {"presets": dict(presets), "preset": str(name)} if isinstance(presets.get(name), dict):
            return {key: value for key, value in presets[name].items() if key in CHOICES}
    return {}


def unread_files() -> list[str]:
    """Return a line for each file of a profile, paper or machine that is not read because of its name."""
    return [*PROFILE_FILES.unread(), *PAPER_FILES.unread(), *MACHINE_FILES.unread()]


def say_replaced() -> list[str]:
    """Return a line for each file or workload of respeed's that the user's own stands in place of."""
    lines = []
    for kind in ("papers", "hardware", "machines"):
        *studys, shipped = folders_of(kind)
        for folder in (*studys, shipped):
            for path in sorted(folder.glob("[!._]*")):
                chosen = find_file(kind, path.name)
                if chosen != path:
                    label = "respeed's own" if folder == shipped else from_here(path)
                    lines.append(f"{from_here(chosen)} stands in place of {label}")
    for name, path in workloads().replaced.items():
        lines.append(f"{from_here(path)}: {name} stands in place of respeed's own")
    return lines


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Return the values of KEY=VALUE settings by key; each value is written as in config.yaml."""
    parsed: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not (key and equals):
            raise UserError(f"--config: {setting!r} must be of the form KEY=VALUE, such as preset=smoke")
        parsed[key] = parse_yaml(value, f"--config {key}")
    return parsed
