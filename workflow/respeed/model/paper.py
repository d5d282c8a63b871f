"""A paper: published tables, what each of them ran, and how well each fact is known."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One column of a table: a problem size. `parameters` are the workload's (PARAMETERS of its module)."""

    name: str
    workload: str
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class Fact:
    """One fact of the protocol and how well it is known: stated, code, recalled, inferred or chosen."""

    fact: str
    value: str
    confidence: str


@dataclass(frozen=True)
class Experiment:
    """One table: its cases, and what its seconds are for.

    `examples` is how many examples the printed seconds process; None where the seconds are those of one step.
    `round_seconds` is a first guess at what a round takes, until this machine has records of its own.
    """

    name: str
    title: str
    examples: int | None
    cases: tuple[Case, ...]
    smoke_cases: tuple[Case, ...]
    round_seconds: float
    facts: tuple[Fact, ...]
    caveats: tuple[str, ...]

    def steps(self, case: Case) -> float:
        """How many steps the table's seconds stand for: examples / batch, which need not be whole."""
        return self.examples / case.parameters["batch"] if self.examples else 1.0


@dataclass(frozen=True)
class Architecture:
    """One row of the published tables."""

    name: str
    label: str
    package: str


@dataclass(frozen=True)
class Paper:
    """A paper as its folder in workflow/papers describes it.

    `published` maps (experiment, case, architecture) to the seconds that were printed.
    """

    name: str
    title: str
    authors: tuple[str, ...]
    venue: str
    year: int
    doi: str
    claim: str
    architectures: tuple[Architecture, ...]
    facts: tuple[Fact, ...]
    experiments: Mapping[str, Experiment]
    published: Mapping[tuple[str, str, str], float]
