"""What somebody tells of a machine, which no measurement shows: workflow/machines/<machine>.yaml."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Price:
    """What an hour of the whole machine costs, in a currency (ISO 4217), who says so, and on which day."""

    per_hour: float
    currency: str
    source: str
    date: str


@dataclass(frozen=True)
class SlurmNode:
    """What to ask Slurm for to get the machine, in its own words; None for what need not be said. Where nodes are
    `alike`, any of them counts as the machine."""

    partition: str | None = None
    account: str | None = None
    constraint: str | None = None
    nodelist: str | None = None
    gres: str | None = None
    cpus: int | None = None
    memory_gb: float | None = None
    minutes: int = 60
    alike: bool = False


@dataclass(frozen=True)
class Told:
    """One file. `profiles` are those to measure on it; None for all that apply there."""

    machine: str
    price: Price | None = None
    profiles: tuple[str, ...] | None = None
    slurm: SlurmNode | None = None
