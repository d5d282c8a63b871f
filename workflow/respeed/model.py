"""A paper: published tables, what each of them ran and claims, and how well each fact is known; and the types of what
people write, whose bounds pydantic holds.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StrictFloat, StrictInt
from pydantic.dataclasses import dataclass as model

from respeed.errors import nearest

# --- types of values

# Of every model of a file: a key that it does not have is a mistake.
FORM = ConfigDict(extra="forbid")
# No size, rate or count of anything is larger than this.
LARGEST = 1e30

SOME = Field(min_length=1)
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Label = Annotated[str, Field(min_length=1, max_length=100)]
Year = Annotated[StrictInt, Field(ge=1940, le=2100)]
Count = Annotated[StrictInt, Field(ge=1, le=10**15)]
# 2 stays a whole number.
Positive = Annotated[StrictInt | StrictFloat, Field(gt=0, le=LARGEST)]


def _name_entries(entries: Any) -> Any:
    """Give each mapping among the entries its key as `name`, which no file says a second time."""
    if not isinstance(entries, dict):
        return entries
    for key, entry in entries.items():
        if isinstance(entry, dict) and "name" in entry:
            raise ValueError(f"{key} has a key 'name': its name is {key}; leave the key out")
    return {key: {**entry, "name": key} if isinstance(entry, dict) else entry for key, entry in entries.items()}


# Of a mapping of names to models that have a `name`.
Named = BeforeValidator(_name_entries)


def known(kind: str, names: Callable[[], Iterable[str]]) -> AfterValidator:
    """Return a validator that accepts the names of this kind alone, and otherwise offers the nearest one."""

    def check(name: str) -> str:
        check_known(kind, name, names())
        return name

    return AfterValidator(check)


def check_known(kind: str, name: str, names: Iterable[str]) -> None:
    """Raise the ValueError that pydantic expects of validators unless the name is one of those of this kind."""
    names = tuple(names)
    if name not in names:
        raise ValueError(f"no {kind} {name!r}{nearest(name, names)}")


# --- papers

# The kinds of rows that hardware profiles are of, and that published rows stand beside.
Architecture = Literal["single-cpu", "multi-cpu", "gpu", "tpu"]
ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)
CPU_ARCHITECTURES, DEVICE_ARCHITECTURES = ARCHITECTURES[:2], ARCHITECTURES[2:]
# How well a fact is known.
Confidence = Literal["stated", "code", "recalled", "inferred", "chosen"]
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16")
Precision = Annotated[str, known("precision", lambda: PRECISIONS)]
# What each test of a claim needs beside a row, and no other may have.
NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("each", "growth", "faster", "crossover"), ("over",)),
    "limited": ("over_case", "by"),
    "memory": (),
}
# What a rate counts, and so what a table's seconds stand for.
Counted = Literal["examples", "flops", "bytes"]
# What a word of a program's command leaves open.
PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
# The case that is the sum of all others of a table, where they add up; that of tiny cases answers no printed column.
TOTAL, SMOKE_TOTAL = "total", "smoke-total"
# The end of the names of rows that a ladder of threads makes.
LADDER_ROW = re.compile(r"-t[0-9]+$")
# Before a number of published.csv that the paper does not print: it was inferred from others.
INFERRED = "~"
# Where a number stands: experiment, printed column, published row.
Place = tuple[str, str, str]
Parameter = Annotated[StrictInt | StrictFloat, Field(ge=0, le=LARGEST)] | Annotated[str, Field(min_length=1)]
Parameters = dict[str, Parameter]


def number_bytes(precision: str) -> int:
    """Bytes of a number, as memory and traffic are counted: 8 in fp64, or else 4, as in fp32, however low the precision
    of some arrays is.
    """
    return 8 if precision == "fp64" else 4


@dataclass(frozen=True)
class Unit:
    """`size` seconds where nothing is counted; otherwise `size` of what is counted, a second."""

    name: str
    size: float = 1.0
    counted: Counted | None = None

    @property
    def better(self) -> str:
        """Which of two numbers is the better one: larger or smaller."""
        return "larger" if self.counted else "smaller"

    def seconds(self, value: float, amount: float | None) -> float | None:
        """The seconds that a number in this unit says. `amount` is how much of what is counted they stand for; None
        where that is not known, and needed.
        """
        if self.counted is None:
            return value * self.size
        return amount / (value * self.size) if amount else None

    def value(self, seconds: float, amount: float | None) -> float | None:
        """The number that says so many seconds: the inverse of `seconds`."""
        if self.counted is None:
            return seconds / self.size
        return amount / (seconds * self.size) if amount else None


SECONDS = Unit("seconds")
UNITS = {
    unit.name: unit
    for unit in (
        SECONDS,
        Unit("milliseconds", 1e-3),
        Unit("examples a second", counted="examples"),
        Unit("images a second", counted="examples"),
        Unit("GFLOP/s", 1e9, "flops"),
        Unit("GB/s", 1e9, "bytes"),
    )
}
# In published.csv, the unit of a printed speedup: over the fastest CPU row of the same case.
SPEEDUP = "x"


@model(frozen=True, config=FORM)
class Hardware:
    """What a published row ran on. `flops_per_second` is the peak in the row's precision, `bytes_per_second` that of
    the memory; `source` says how both follow from what, `confidence` how well it is known (as of a fact).
    """

    label: Label
    flops_per_second: Positive
    bytes_per_second: Positive
    source: Text
    confidence: Confidence


def _check_one_kind(beside: tuple[Architecture, ...]) -> tuple[Architecture, ...]:
    if len({architecture in CPU_ARCHITECTURES for architecture in beside}) > 1:
        raise ValueError("names CPU rows and others; a row stands beside one kind")
    return beside


@model(frozen=True, config=FORM)
class PublishedRow:
    """One row of the published tables.

    `beside` are the architectures of ours whose rows stand beside it. `year` is the paper's where the row has none.
    `precision`, `device` and `algorithm` are empty, and `hardware` None, where the paper's file says nothing of them.
    """

    name: str
    label: Label
    package: Label
    beside: Annotated[tuple[Architecture, ...], SOME, AfterValidator(_check_one_kind)]
    year: Year = 0
    device: Label = ""
    precision: Precision = ""
    algorithm: Label = ""
    hardware: Hardware | None = None

    @property
    def is_cpu(self) -> bool:
        return self.beside[0] in CPU_ARCHITECTURES


@dataclass(frozen=True)
class Printed:
    """A number as it was printed: its `value` in the table's unit, and its `text`, which begins with INFERRED where the
    paper does not print it.
    """

    value: float
    text: str

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit that was printed, relative to the number: 6x may be 5.5 to 6.5."""
        digits = re.sub(r"[^0-9.]", "", re.split("[eE]", self.text)[0])
        whole, _, decimals = digits.partition(".")
        unit = 10.0 ** -len(decimals)
        return unit / 2 / float(digits) if whole + decimals and float(digits) else 0.0


@model(frozen=True, config=FORM)
class Claim:
    """What a paper says of its tables, in a form that a machine can be held against.

    Most tests are about a speedup: the seconds of the fastest of our rows beside the published rows `over`, divided by
    those of the fastest beside the published row `row`. `test` is

    - each: the speedup in every case is the printed one;
    - growth: the speedup grows from case to case, in the table's order;
    - faster: in every case it is above 1;
    - crossover: it is below 1 in the first cases and above 1 in the last ones;
    - limited: `row` alone, each case over its case `over_case`: faster, but by less than the ratio of the parameter
      `by`, such as threads, of the two;
    - memory: `row` alone: the last case moves its bytes as fast as a plain copy does.

    With `threads`, only rows of one thread and of so many count. What is published follows from published.csv.
    """

    name: str
    says: Text
    test: Annotated[str, known("test", lambda: NEEDS)]
    experiment: str
    row: str
    over: tuple[str, ...] = ()
    threads: Annotated[StrictInt, Field(ge=2)] | None = None
    over_case: str = ""
    by: str = ""


@dataclass(frozen=True)
class Case:
    """One column of a table: a problem size. `parameters` are the workload's, numbers or texts (PARAMETERS of its
    module).
    """

    name: str
    workload: str
    parameters: Mapping[str, Any]


def command_of(case: Case, architecture: str) -> list[str]:
    """The words of the case's program on rows of that architecture, with what the case says in place of {its
    parameters}; nothing where it has no program, or none for such rows.
    """
    command = case.parameters.get("program", {}).get("command", [])
    if isinstance(command, Mapping):
        command = command.get(architecture, [])
    return [filled(word, case.parameters) for word in command]


def filled(word: str, known: Mapping[str, Any]) -> str:
    """The word with what is known in place of {its name}."""
    return PLACEHOLDER.sub(lambda found: str(known.get(found[1], found[0])), word)


@model(frozen=True, config=FORM)
class Fact:
    """One fact of the protocol and how well it is known: stated, code, recalled, inferred or chosen."""

    fact: Text
    value: Text
    confidence: Confidence


@model(frozen=True, config=FORM)
class Algorithm:
    """One of several programs for the same cases; its `name` is its workload's. `published_for`: the published rows
    whose numbers are its; `architectures`: those that run it here; `parameters`: what it needs of its own; `cases`:
    those it has, where it has not all, each with what it needs there.
    """

    name: str
    label: Label
    published_for: tuple[str, ...]
    architectures: Annotated[tuple[Architecture, ...], SOME] = ARCHITECTURES
    parameters: Parameters = field(default_factory=dict)
    cases: dict[str, Parameters] = field(default_factory=dict)

    @property
    def workload(self) -> str:
        return self.name


@dataclass(frozen=True)
class Experiment:
    """One table: its cases, and what its seconds are for.

    `unit` is what the paper prints it in. `examples` is how many examples the seconds of a case process, of all cases
    or by `case_examples` of one; None where the seconds are those of one step.
    `algorithms` are there where a table tells several apart: every case then stands once for each, next to each other.
    `columns` maps a case to the printed column that it answers, where that has another name. `total` says what the
    seconds of all cases together are for, where they add up to something: the table has a case TOTAL more then.
    `round_seconds` is a first guess at what a round takes, until this machine has records of its own. `repeats` is how
    many steps the seconds are for, where these have no examples. Rows of other `architectures` do not run the table,
    nor, where it names one, of another `precision`. Of a table at tiny sizes `original` is the paper's. One with a
    `ladder` is measured on rows of its own, one for each number of threads.
    `axis` says what its cases differ in, as a figure has it below them; empty where the paper's file does not say.
    """

    name: str
    title: str
    unit: Unit
    examples: int | None
    case_examples: Mapping[str, int]
    cases: tuple[Case, ...]
    smoke_cases: tuple[Case, ...]
    algorithms: Mapping[str, Algorithm]
    columns: Mapping[str, str]
    total: str | None
    round_seconds: float
    facts: tuple[Fact, ...]
    caveats: tuple[str, ...]
    repeats: int | None = None
    architectures: tuple[str, ...] = ARCHITECTURES
    precision: str = ""
    axis: str = ""
    ladder: bool = False
    total_case: str = TOTAL
    original: "Experiment | None" = None

    def at_tiny_sizes(self) -> "Experiment":
        """Return the table with the cases of the smoke preset, which answer no printed column."""
        return replace(self, cases=self.smoke_cases, total_case=SMOKE_TOTAL, original=self)

    def case_names(self) -> tuple[str, ...]:
        """Return the table's columns, each once; last the total, where there is one."""
        names = dict.fromkeys(case.name for case in self.cases)
        return (*names, self.total_case) if self.total else tuple(names)

    def column_words(self) -> dict[str, str]:
        """Return what people read above the column of each case.

        That is the printed column, or where several cases answer one, the case's name. A hyphen in a name is a space,
        but between two numbers it is a part of the size, as in 784-500-10. A share is written as 3 %.

        Returns
        -------
        dict[str, str]
            The words of each case, in the order of `case_names`.
        """
        printed = {case: self.columns.get(case, case) for case in self.case_names()}
        answers = Counter(printed.values())
        words = {}
        for case, column in printed.items():
            is_named = case in self.columns and answers[column] == 1
            text = column if is_named else re.sub(r"(?<!\d)-|-(?!\d)", " ", case)
            words[case] = re.sub(r"(?<=\d) ?(?:%|percent\b)", " %", text)
        return words

    def runs_on(self, case: Case, architecture: str) -> bool:
        """Whether rows of that architecture run the case at all."""
        algorithm, is_program = self.algorithms.get(case.workload), "program" in case.parameters
        return (
            architecture in self.architectures
            and (algorithm is None or architecture in algorithm.architectures)
            and bool(not is_program or command_of(case, architecture))
        )

    def has_row(self, profile: str) -> bool:
        """Return whether the row of that name is one of the table's: of a ladder, or of none."""
        return self.ladder == bool(LADDER_ROW.search(profile))

    def ran_in(self, workload: str, row: str) -> bool:
        """Whether the published row ran the workload: where the table tells algorithms apart, only its own."""
        algorithm = self.algorithms.get(workload)
        return algorithm is None or row in algorithm.published_for

    def algorithms_in(self, rows: Collection[str]) -> set[str]:
        """The algorithms whose numbers the paper prints in any of these rows."""
        return {name for name, one in self.algorithms.items() if set(one.published_for) & set(rows)}

    @property
    def is_extrapolated(self) -> bool:
        """Whether the table's seconds are for more than one step."""
        return any((self.examples, self.case_examples, self.repeats))

    def steps(self, case: Case) -> float:
        """How many steps the table's seconds stand for: examples / batch, which need not be whole, or the repeats."""
        examples = self.case_examples.get(case.name, self.examples)
        return examples / case.parameters["batch"] if examples else float(self.repeats or 1)

    def examples_of(self, case: Case) -> float | None:
        """How many examples the seconds of the case stand for; None where a step has none."""
        return self.steps(case) * case.parameters["batch"] if "batch" in case.parameters else None

    def case(self, name: str) -> Case:
        """The table's case of that name; of several algorithms the first one's."""
        every = (*self.cases, *(self.original.cases if self.original else ()))
        return next(case for case in every if case.name == name)

    def amount(self, case: Case, flops: float | None = None, traffic_bytes: float | None = None) -> float | None:
        """How much of what the table's unit counts the seconds of a case stand for; None where it counts nothing, or
        where nobody knows. `flops` and `traffic_bytes` are those of these seconds.
        """
        if self.unit.counted == "examples":
            return self.examples_of(case)
        return {"flops": flops, "bytes": traffic_bytes}.get(self.unit.counted or "")


@dataclass(frozen=True)
class Paper:
    """A paper as its folder in workflow/papers describes it. `doi` and `url` are empty where it has none.

    `published` has the printed times or rates, each in its table's unit; `speedups` those of the printed speedups.
    `history` has the experiments whose rates stand in one figure, by the years of their rows, each with the operations
    that a printed time is for; None where the table's unit is a rate.
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
    history: Mapping[str, float | None] = field(default_factory=dict)

    def at_tiny_sizes(self) -> "Paper":
        """Return the paper with the cases of the smoke preset in place of its own."""
        return replace(self, experiments={name: one.at_tiny_sizes() for name, one in self.experiments.items()})

    def row(self, name: str) -> PublishedRow:
        """The published row of that name."""
        return next(row for row in self.rows if row.name == name)

    def rows_beside(self, architecture: str) -> tuple[PublishedRow, ...]:
        """The published rows that rows of ours of that architecture stand beside."""
        return tuple(row for row in self.rows if architecture in row.beside)

    def prints(self, experiment: str) -> bool:
        """Whether the paper prints any time or rate of the experiment."""
        return any(place[0] == experiment for place in self.published)

    def speaks_of(self, experiment: str) -> bool:
        """Whether it prints something of the experiment, or claims it."""
        return self.prints(experiment) or any(claim.experiment == experiment for claim in self.claims)

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
        `traffic_bytes` at 4 bytes a number.
        """
        printed, table = self.printed(experiment, case, row), self.experiments[experiment]
        if printed is None:
            return None
        if not table.unit.counted:
            return table.unit.seconds(printed.value, None)
        moved = traffic_bytes * self._width(row) if traffic_bytes else None
        return table.unit.seconds(printed.value, table.amount(table.case(case), flops, moved))

    def speedup(self, experiment: str, case: str, row: str, over: Collection[str]) -> float | None:
        """The fastest of the rows `over` against `row`, from what is printed of both; if their work is
        the same, it need not be known. None if it is not, or if one of the two is missing.
        """
        table = self.experiments[experiment]
        if table.unit.counted == "flops" and table.algorithms:
            return None
        fast = self._speed(experiment, case, row)
        slow = [speed for name in over if (speed := self._speed(experiment, case, name))]
        return fast / max(slow) if fast and slow else None

    def speedup_rounding(self, experiment: str, case: str, row: str, over: Collection[str]) -> float:
        """How far `speedup`, or the printed one where there is none, may be off because numbers are printed rounded,
        relative to it.
        """
        slow, fast = self.fastest(experiment, case, over), self.printed(experiment, case, row)
        base = self.printed(experiment, case, slow.name) if slow else None
        if fast and base and self.speedup(experiment, case, row, over):
            return (1 + fast.rounding) * (1 + base.rounding) - 1
        printed = self.printed_speedup(experiment, case, row)
        return printed.rounding if printed else 0.0

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
