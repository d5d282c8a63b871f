"""What the user asked for: config.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """How much to measure: `rounds` of everything, and then, as long as not more than `minutes` a paper are used up,
    again what is not settled, up to `most` rounds of it. `sizes` is "paper" or "smoke"; `whole` adds runs in which
    nothing is extrapolated."""

    name: str
    rounds: int
    most: int
    minutes: float
    sizes: str
    whole: bool

    @property
    def is_smoke(self) -> bool:
        return self.sizes == "smoke"


@dataclass(frozen=True)
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
