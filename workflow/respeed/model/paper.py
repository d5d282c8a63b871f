"""A paper: published tables, what each of them ran, and how well each fact is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from respeed.model.claim import Claim


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
class Algorithm:
    """One of several programs for the same cases. `published_for`: the architectures whose printed seconds are its;
    `architectures`: those that run it here."""

    workload: str
    label: str
    published_for: tuple[str, ...]
    architectures: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    """One table: its cases, and what its seconds are for.

    `examples` is how many examples the printed seconds process; None where the seconds are those of one step.
    `algorithms` are there where a table tells several apart: every case then stands once for each, next to each other.
    `learning` is the case that is learned to be looked at, once for each algorithm.
    `columns` maps a case to the printed column that it answers, where that has another name, `sources` to the
    experiment that measures it, where that is another. `total` names what the
    cases are the parts of, where their seconds add up to something. `round_seconds` is a first guess at what a round
    takes, until this machine has records of its own.
    """

    name: str
    title: str
    examples: int | None
    cases: tuple[Case, ...]
    smoke_cases: tuple[Case, ...]
    learning: tuple[Case, ...]
    algorithms: Mapping[str, Algorithm]
    columns: Mapping[str, str]
    sources: Mapping[str, str]
    whole_parameters: Mapping[str, float]
    total: str | None
    round_seconds: float
    facts: tuple[Fact, ...]
    caveats: tuple[str, ...]

    def case_names(self, smoke: bool = False) -> tuple[str, ...]:
        """The table's columns, each once."""
        return tuple(dict.fromkeys(case.name for case in (self.smoke_cases if smoke else self.cases)))

    def source(self, case: str) -> str:
        """The experiment whose rounds measure the case: this one, or the one that it is taken from."""
        return self.sources.get(case, self.name)

    def runs_on(self, workload: str, architecture: str) -> bool:
        """Whether rows of that architecture run the workload at all."""
        algorithm = self.algorithms.get(workload)
        return algorithm is None or architecture in algorithm.architectures

    def steps(self, case: Case) -> float:
        """How many steps the table's seconds stand for: examples / batch, which need not be whole."""
        return self.examples / case.parameters["batch"] if self.examples else 1.0


@dataclass(frozen=True)
class Hardware:
    """What a published row ran on. `flops_per_second` is the peak in single precision, `bytes_per_second` that of the
    memory; `source` says how both follow from what, `confidence` how well it is known (as of a fact)."""

    label: str
    flops_per_second: float
    bytes_per_second: float
    source: str
    confidence: str


@dataclass(frozen=True)
class Architecture:
    """One row of the published tables; `hardware` is None where the paper's file says nothing of it."""

    name: str
    label: str
    package: str
    hardware: Hardware | None = None


@dataclass(frozen=True)
class Paper:
    """A paper as its folder in workflow/papers describes it.

    `published` maps (experiment, case, architecture) to the seconds that were printed, `printed_seconds` to their text
    as it was printed, and `printed_speedups` to the text of the speedup, where one was.
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
    printed_speedups: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    printed_seconds: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    def printed(self, experiment: str, case: str, architecture: str) -> float | None:
        """The seconds printed in the column that the case answers; None where the paper prints none."""
        column = self.experiments[experiment].columns.get(case, case)
        return self.published.get((experiment, column, architecture))

    def printed_speedup(self, experiment: str, case: str, architecture: str) -> str:
        """The text of the speedup in the column that the case answers; empty where the paper prints none."""
        column = self.experiments[experiment].columns.get(case, case)
        return self.printed_speedups.get((experiment, column, architecture), "")

    def printed_time(self, experiment: str, case: str, architecture: str) -> str:
        """The text of the seconds in the column that the case answers; empty where the paper prints none."""
        column = self.experiments[experiment].columns.get(case, case)
        return self.printed_seconds.get((experiment, column, architecture), "")

    def architecture(self, name: str) -> Architecture | None:
        """The published row of that name."""
        return next((row for row in self.architectures if row.name == name), None)
