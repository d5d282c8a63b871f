"""A paper: published tables, what each of them ran, and how well each fact is known."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from respeed.model.claim import Claim
from respeed.model.precision import number_bytes
from respeed.model.published import Place, Printed, PublishedRow
from respeed.model.unit import Unit


@dataclass(frozen=True)
class Case:
    """One column of a table: a problem size. `parameters` are the workload's, numbers or texts (PARAMETERS of its
    module)."""

    name: str
    workload: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Fact:
    """One fact of the protocol and how well it is known: stated, code, recalled, inferred or chosen."""

    fact: str
    value: str
    confidence: str


@dataclass(frozen=True)
class Algorithm:
    """One of several programs for the same cases. `published_for`: the published rows whose numbers are its;
    `architectures`: those that run it here."""

    workload: str
    label: str
    published_for: tuple[str, ...]
    architectures: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    """One table: its cases, and what its seconds are for.

    `unit` is what the paper prints it in. `examples` is how many examples the seconds of a case process, of all cases
    or by `case_examples` of one; None where the seconds are those of one step.
    `algorithms` are there where a table tells several apart: every case then stands once for each, next to each other.
    `learning` is the case that is learned to be looked at, once for each algorithm.
    `columns` maps a case to the printed column that it answers, where that has another name, `sources` to the
    experiment that measures it, where that is another. `total` names what the
    cases are the parts of, where their seconds add up to something. `round_seconds` is a first guess at what a round
    takes, until this machine has records of its own.
    """

    name: str
    title: str
    unit: Unit
    examples: int | None
    case_examples: Mapping[str, int]
    cases: tuple[Case, ...]
    smoke_cases: tuple[Case, ...]
    learning: tuple[Case, ...]
    algorithms: Mapping[str, Algorithm]
    columns: Mapping[str, str]
    sources: Mapping[str, str]
    whole_parameters: Mapping[str, Any]
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

    @property
    def is_extrapolated(self) -> bool:
        """Whether the table's seconds are for more than one step."""
        return self.examples is not None or bool(self.case_examples)

    def steps(self, case: Case) -> float:
        """How many steps the table's seconds stand for: examples / batch, which need not be whole."""
        examples = self.case_examples.get(case.name, self.examples)
        return examples / case.parameters["batch"] if examples else 1.0

    def examples_of(self, case: Case) -> float | None:
        """How many examples the seconds of the case stand for; None where a step has none."""
        return self.steps(case) * case.parameters["batch"] if "batch" in case.parameters else None

    def case(self, name: str) -> Case:
        """The table's case of that name; of several algorithms the first one's."""
        return next(case for case in (*self.cases, *self.smoke_cases) if case.name == name)

    def amount(self, case: Case, flops: float | None = None, traffic_bytes: float | None = None) -> float | None:
        """How much of what the table's unit counts the seconds of a case stand for; None where it counts nothing, or
        where nobody knows. `flops` and `traffic_bytes` are those of these seconds."""
        if self.unit.counted == "examples":
            return self.examples_of(case)
        return {"flops": flops, "bytes": traffic_bytes}.get(self.unit.counted or "")


@dataclass(frozen=True)
class Paper:
    """A paper as its folder in workflow/papers describes it. `doi` and `url` are empty where it has none.

    `published` has the printed times or rates, each in its table's unit; `speedups` those of the printed speedups.
    """

    name: str
    title: str
    authors: tuple[str, ...]
    venue: str
    year: int
    doi: str
    url: str
    claim: str
    rows: tuple[PublishedRow, ...]
    facts: tuple[Fact, ...]
    experiments: Mapping[str, Experiment]
    published: Mapping[Place, Printed]
    speedups: Mapping[Place, Printed] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    def row(self, name: str) -> PublishedRow:
        """The published row of that name."""
        return next(row for row in self.rows if row.name == name)

    def rows_beside(self, architecture: str) -> tuple[PublishedRow, ...]:
        """The published rows that rows of ours of that architecture stand beside."""
        return tuple(row for row in self.rows if architecture in row.beside)

    def prints(self, experiment: str) -> bool:
        """Whether the paper prints any time or rate of the experiment."""
        return any(place[0] == experiment for place in self.published)

    def printed(self, experiment: str, case: str, row: str) -> Printed | None:
        """The time or rate in the column that the case answers; None where the paper prints none."""
        return self.published.get(self._place(experiment, case, row))

    def printed_speedup(self, experiment: str, case: str, row: str) -> Printed | None:
        """The speedup in the column that the case answers; None where the paper prints none."""
        return self.speedups.get(self._place(experiment, case, row))

    def seconds(
        self, experiment: str, case: str, row: str, flops: float | None = None, traffic_bytes: float | None = None
    ) -> float | None:
        """What is printed there in seconds; of a rate of operations or of bytes, how many these are must be known,
        `traffic_bytes` at 4 bytes a number."""
        printed, table = self.printed(experiment, case, row), self.experiments[experiment]
        if printed is None:
            return None
        moved = traffic_bytes * self._width(row) if traffic_bytes else None
        return table.unit.seconds(printed.value, table.amount(table.case(case), flops, moved))

    def speedup(self, experiment: str, case: str, row: str, over: Collection[str]) -> float | None:
        """The fastest of the rows `over` against `row`, from what is printed of both; if their work is
        the same, it need not be known. None if it is not, or if one of the two is missing."""
        table = self.experiments[experiment]
        if table.unit.counted == "flops" and table.algorithms:
            return None
        fast = self._speed(experiment, case, row)
        slow = [speed for name in over if (speed := self._speed(experiment, case, name))]
        return fast / max(slow) if fast and slow else None

    def fastest(self, experiment: str, case: str, rows: Collection[str]) -> PublishedRow | None:
        """Of these rows the one with the best number in the case; None where nothing is printed of any."""
        found = {name: speed for name in rows if (speed := self._speed(experiment, case, name))}
        return self.row(max(found, key=lambda name: found[name])) if found else None

    @property
    def links(self) -> dict[str, str]:
        """Where to read it: the text of each link, and its address."""
        doi = {f"doi:{self.doi}": f"https://doi.org/{self.doi}"} if self.doi else {}
        return doi | ({self.url.partition("://")[2]: self.url} if self.url else {})

    @property
    def cpu_rows(self) -> tuple[str, ...]:
        return tuple(row.name for row in self.rows if row.is_cpu)

    @property
    def device_rows(self) -> tuple[str, ...]:
        return tuple(row.name for row in self.rows if not row.is_cpu)

    def _speed(self, experiment: str, case: str, row: str) -> float | None:
        """What is printed there as a speed, in a measure of the table's own."""
        printed, unit = self.printed(experiment, case, row), self.experiments[experiment].unit
        if printed is None:
            return None
        if unit.counted == "bytes":  # of wider numbers the same work moves more
            return printed.value / self._width(row)
        return printed.value if unit.counted else 1 / printed.value

    def _width(self, row: str) -> float:
        """Bytes of the row's numbers over those of fp32."""
        return number_bytes(self.row(row).precision) / number_bytes("fp32")

    def _place(self, experiment: str, case: str, row: str) -> Place:
        return experiment, self.experiments[experiment].columns.get(case, case), row
