"""A paper, as paper.yaml says it: published tables, what each ran and claims, and how well each fact is known.

The types here are the forms of that file, too: pydantic holds their bounds. What needs the workloads, or the printed
numbers, is checked where a paper is read.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    WithJsonSchema,
    model_validator,
)
from pydantic.dataclasses import dataclass as model
from pydantic.json_schema import SkipJsonSchema

from respeed.errors import nearest
from respeed.paths import NAME

# --- types of values

# Of every model of a file: a key that it does not have is a mistake. A field of SkipJsonSchema is one that no file has.
FORM = ConfigDict(extra="forbid")
# No size, rate or count of anything is larger than this.
LARGEST = 1e30

SOME = Field(min_length=1)
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Label = Annotated[str, Field(min_length=1, max_length=100)]
LabelOrNone = Annotated[str, Field(max_length=100)]
Year = Annotated[StrictInt, Field(ge=1940, le=2100)]
Count = Annotated[StrictInt, Field(ge=1, le=10**15)]
Positive = Annotated[float, Field(strict=True, gt=0, le=LARGEST)]


def _check_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError("must be small letters, digits, - and _ (at most 64, starting with a letter or digit)")
    return name


# What stands in a file as the name of a row, a case, a table, a machine: some of these become folders.
Name = Annotated[str, AfterValidator(_check_name)]


def _name_entries(entries: Any) -> Any:
    """Give each mapping among the entries its key as `name`, which no file says a second time."""
    if not isinstance(entries, dict):
        return entries
    for key, entry in entries.items():
        for own in ("name", "original"):
            if isinstance(entry, dict) and own in entry:
                raise ValueError(f"{key} has a key {own!r}, which no file says; leave the key out")
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

# The kinds of rows that hardware profiles are of, and that published rows are compared with.
Architecture = Literal["single-cpu", "multi-cpu", "gpu", "tpu"]
ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)
CPU_ARCHITECTURES, DEVICE_ARCHITECTURES = ARCHITECTURES[:2], ARCHITECTURES[2:]
# How well a fact is known.
Confidence = Literal["stated", "code", "recalled", "inferred", "chosen"]
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16")


def _check_precision(name: str) -> str:
    if name:
        check_known("precision", name, PRECISIONS)
    return name


# Empty where the paper's file says none.
Precision = Annotated[str, AfterValidator(_check_precision)]
# What each test of a claim needs, and no other may have.
NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("each", "growth", "faster", "crossover"), ("experiment", "row", "over")),
    "limited": ("experiment", "row", "over_case", "by"),
    "memory": ("experiment", "row"),
    "mean": ("of", "mean"),
}
# What a rate counts, and so what a table's seconds stand for.
Counted = Literal["examples", "flops", "bytes"]
# What a word of a program's command leaves open.
PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
# The case that is the sum of all others of a table, where they add up; that of tiny cases answers no printed column.
TOTAL, SMOKE_TOTAL = "total", "smoke-total"
# Before a number of published.csv that the paper does not print: it was inferred from others.
INFERRED = "~"
# Where a number stands: experiment, printed column, published row.
Place = tuple[str, str, str]
Parameters = dict[str, Any]


def number_bytes(precision: str) -> int:
    """Return the bytes of a number, as memory and traffic are counted.

    These are 8 in fp64, or else 4, as in fp32, however low the precision of some arrays is.
    """
    return 8 if precision == "fp64" else 4


@dataclass(frozen=True)
class Unit:
    """A unit of printed numbers.

    It is `size` seconds where nothing is `counted`; otherwise `size` of what is counted, a second. `examples` is what
    people call the examples of a step.
    """

    name: str
    size: float = 1.0
    counted: Counted | None = None
    examples: str = "examples"

    def seconds(self, value: float, amount: float | None) -> float | None:
        """Return the seconds that a number in this unit says.

        `amount` is how much of what is counted they stand for. None if that is needed, and not known.
        """
        if self.counted is None:
            return value * self.size
        return amount / (value * self.size) if amount else None

    def value(self, seconds: float, amount: float | None) -> float | None:
        """Return the number that says so many seconds: the inverse of `seconds`."""
        return self.seconds(seconds, amount) if self.counted else seconds / self.size


SECONDS = Unit("seconds")
UNITS = {
    unit.name: unit
    for unit in (
        SECONDS,
        Unit("milliseconds", 1e-3),
        Unit("examples a second", counted="examples"),
        Unit("images a second", counted="examples"),
        Unit("billion paths a second", 1e9, "examples", "paths"),
        Unit("million pixels a second", 1e6, "examples", "pixels"),
        Unit("million elements a second", 1e6, "examples", "elements"),
        Unit("GFLOP/s", 1e9, "flops"),
        Unit("GB/s", 1e9, "bytes"),
    )
}
# In published.csv, the unit of a printed speedup: over the fastest CPU row of the same case.
SPEEDUP = "x"


def _find_unit(unit: Any) -> Unit:
    """Return the unit of a name; ValueError if there is none of that name."""
    if isinstance(unit, Unit):
        return unit
    check_known("unit", unit, UNITS)
    return UNITS[unit]


@model(frozen=True, config=FORM)
class Hardware:
    """What a published row ran on.

    `flops_per_second` is the peak in the row's precision, `bytes_per_second` that of the memory; `source` says how both
    follow from what, `confidence` how well it is known (as of a fact).
    """

    label: Label
    flops_per_second: Positive
    bytes_per_second: Positive
    source: Text
    confidence: Confidence


def _check_one_kind(beside: tuple[Architecture, ...]) -> tuple[Architecture, ...]:
    if len({architecture in CPU_ARCHITECTURES for architecture in beside}) > 1:
        raise ValueError("names CPU rows and others; a row is compared with one kind")
    return beside


@model(frozen=True, config=FORM)
class PublishedRow:
    """One row of the published tables.

    `beside` are the architectures of our rows that it is compared with. `year` is 0 where it is the paper's.
    `precision`, `device` and `algorithm` are empty, and `hardware` None, where the paper's file says nothing of them.
    """

    name: SkipJsonSchema[str]
    label: Label
    package: Label
    beside: Annotated[tuple[Architecture, ...], SOME, AfterValidator(_check_one_kind)]
    year: Year | Literal[0] = 0
    device: LabelOrNone = ""
    precision: Precision = ""
    algorithm: LabelOrNone = ""
    hardware: Hardware | None = None

    @property
    def is_cpu(self) -> bool:
        """Return whether it is compared with rows of CPUs."""
        return self.beside[0] in CPU_ARCHITECTURES


@dataclass(frozen=True)
class Printed:
    """A number as it was printed: its `value` in the table's unit, and its `text`.

    The text begins with INFERRED where the paper does not print the number.
    """

    value: float
    text: str

    @property
    def rounding(self) -> float:
        """Return half a unit of the last digit that was printed, relative to the number: 6x may be 5.5 to 6.5."""
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
    - memory: `row` alone: the last case moves its bytes as fast as a plain copy does;
    - mean: the mean over all cases of the claims `of`, each of the test `each`, is that of their printed speedups;
      `mean` says which one, geometric or arithmetic.

    With `threads`, only rows of one thread and of so many count. What is published follows from published.csv.
    """

    name: SkipJsonSchema[str]
    says: Text
    test: Annotated[str, known("test", lambda: NEEDS)]
    experiment: str = ""
    row: str = ""
    over: tuple[str, ...] = ()
    threads: Annotated[StrictInt, Field(ge=2)] | None = None
    over_case: str = ""
    by: str = ""
    of: tuple[str, ...] = ()
    mean: Literal["geometric", "arithmetic"] | None = None


@dataclass(frozen=True)
class Case:
    """One column of a table: a problem size.

    `parameters` are the workload's, numbers or texts (PARAMETERS of its module). `column` is the printed column that it
    answers, where that has another name. `examples` is how many examples its seconds process, where that is not what
    the table says.
    """

    name: Name
    workload: str
    parameters: Mapping[str, Any]
    column: str | None = None
    examples: Count | None = None


def _read_case(entry: Any) -> Any:
    """Gather the parameters of a case, which are written beside its other keys; its workload may be the table's."""
    if not isinstance(entry, dict):
        return entry
    if "case" not in entry:
        raise ValueError("the key 'case' is missing, which has its name")
    own = {key: entry[key] for key in ("workload", "column", "examples") if key in entry}
    rest = {key: value for key, value in entry.items() if key not in {"case", *own}}
    return {"name": entry["case"], "workload": "", "parameters": rest} | own


CASE_KEYS = {key: {"type": "string"} for key in ("case", "workload", "column")} | {"examples": {"type": "integer"}}
CASE_SCHEMA = {"type": "object", "properties": CASE_KEYS, "required": ["case"]}
Entry = Annotated[Case, BeforeValidator(_read_case), WithJsonSchema(CASE_SCHEMA)]
Word = Annotated[str, Field(min_length=1, max_length=500)]
Command = Annotated[tuple[Word, ...], Field(min_length=1, max_length=100)]
FileName = Annotated[str, Field(pattern=r"^[\w{][\w.{}-]{0,99}$", description="the name of a file, without folders")]


def _check_pattern(pattern: str) -> str:
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {error}") from None
    if groups != 1:
        raise ValueError("must have one group, (...), around the number")
    return pattern


@model(frozen=True, config=FORM)
class Program:
    """A program of somebody else's, as a table says it.

    `command` is a list of words, or one for each architecture. Its time is that of the whole process, or the number in
    the one group of `time_pattern`. Its result is right if it ends with exit code 0 and writes the numbers of the file
    `like` to `file`, as far as `tolerance` of the largest.
    """

    command: Command | Annotated[dict[Architecture, Command], SOME]
    time_pattern: Annotated[str, Field(max_length=500), AfterValidator(_check_pattern)] | None = None
    time_unit: Literal["seconds", "milliseconds", "microseconds"] = "seconds"
    file: FileName | None = None
    like: FileName | None = None
    tolerance: Positive | None = None

    @model_validator(mode="after")
    def _check_result(self) -> "Program":
        if len({one is None for one in (self.file, self.like, self.tolerance)}) > 1:
            raise ValueError("give file, like and tolerance together, or none of them")
        return self

    @property
    def placeholders(self) -> set[str]:
        """Return the names in braces in its command and in `like`."""
        commands = self.command.values() if isinstance(self.command, dict) else [self.command]
        return {*PLACEHOLDER.findall(" ".join([*chain.from_iterable(commands), self.like or ""]))}


def command_of(case: Case, architecture: str) -> list[str]:
    """Return the words of the case's program on rows of that architecture, with its parameters in place of their names.

    They are empty where it has no program, or none for such rows.
    """
    command = case.parameters.get("program", {}).get("command", [])
    if isinstance(command, Mapping):
        command = command.get(architecture, [])
    return [filled(word, case.parameters) for word in command]


def filled(word: str, known: Mapping[str, Any]) -> str:
    """Return the word with what is known in place of {its name}."""
    return PLACEHOLDER.sub(lambda found: str(known.get(found[1], found[0])), word)


@model(frozen=True, config=FORM)
class Fact:
    """One fact of the protocol and how well it is known: stated, code, recalled, inferred or chosen."""

    fact: Text
    value: Text
    confidence: Confidence


@model(frozen=True, config=FORM)
class Algorithm:
    """One of several programs for the same cases; its `name` is its workload's.

    `published_for`: the published rows whose numbers are its; `architectures`: those that run it here; `parameters`:
    what it needs of its own; `cases`: those it has, where it has not all, each with what it needs there.
    """

    name: SkipJsonSchema[str]
    label: Label
    published_for: tuple[str, ...]
    architectures: Annotated[tuple[Architecture, ...], SOME] = ARCHITECTURES
    parameters: Parameters = field(default_factory=dict)
    cases: dict[str, Parameters] = field(default_factory=dict)


@model(frozen=True, config=FORM)
class Experiment:
    """One table: its cases, and what its seconds are for.

    Attributes
    ----------
    workload, protocol, program
        What each case is measured by, unless it says another one; the parameters that cases share, each that which its
        workload takes; a program of somebody else's. Where the table was read, its cases have all of these.
    cases, smoke_cases
        Its columns, and those that the smoke preset tries in their place. Of several algorithms a case stands once for
        each, next to each other.
    algorithms
        There where a table tells several apart.
    unit
        What the paper prints it in.
    examples, repeats
        How many examples, or where these are not counted, how many steps, its seconds are for.
    total
        What the seconds of all cases together are for, where they add up to something.
    architectures, precision
        Rows of others do not run the table; an empty precision is any.
    axis
        What its cases differ in, as a figure has it below them.
    ladder
        Whether it is measured on rows of its own, one for each number of threads.
    round_seconds
        A first guess at what a round takes, until this machine has records of its own.
    original
        Of a table at tiny sizes, the paper's.
    """

    name: SkipJsonSchema[str]
    title: Text
    workload: str
    cases: Annotated[tuple[Entry, ...], SOME]
    smoke_cases: Annotated[tuple[Entry, ...], SOME]
    protocol: Parameters = field(default_factory=dict)
    round_seconds: Positive = 10
    facts: tuple[Fact, ...] = ()
    caveats: tuple[Text, ...] = ()
    unit: Annotated[Unit, BeforeValidator(_find_unit), WithJsonSchema({"type": "string"})] = field(
        default_factory=lambda: SECONDS
    )
    examples: Count | None = None
    algorithms: Annotated[dict[str, Algorithm], Named] = field(default_factory=dict)
    total: Label | None = None
    repeats: Count | None = None
    architectures: Annotated[tuple[Architecture, ...], SOME] = ARCHITECTURES
    precision: Precision = ""
    axis: LabelOrNone = ""
    program: Program | None = None
    ladder: bool = False
    original: SkipJsonSchema["Experiment | None"] = None

    @property
    def columns(self) -> dict[str, str]:
        """Return the printed column that a case answers, of the cases where that has another name."""
        return {case.name: case.column for case in self.cases if case.column}

    @property
    def total_case(self) -> str:
        """Return the name of the case that is the sum of all others."""
        return SMOKE_TOTAL if self.original else TOTAL

    def at_tiny_sizes(self) -> "Experiment":
        """Return the table with the cases of the smoke preset, which answer no printed column."""
        return replace(self, cases=self.smoke_cases, original=self)

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
        """Return whether rows of that architecture run the case at all."""
        algorithm = self.algorithms.get(case.workload)
        is_theirs = architecture in self.architectures and (not algorithm or architecture in algorithm.architectures)
        return is_theirs and ("program" not in case.parameters or bool(command_of(case, architecture)))

    def ran_in(self, workload: str, row: str) -> bool:
        """Return whether the published row ran the workload: where the table tells algorithms apart, only its own."""
        algorithm = self.algorithms.get(workload)
        return algorithm is None or row in algorithm.published_for

    def algorithms_in(self, rows: Collection[str]) -> set[str]:
        """Return the algorithms whose numbers the paper prints in any of these rows."""
        return {name for name, one in self.algorithms.items() if set(one.published_for) & set(rows)}

    @property
    def is_extrapolated(self) -> bool:
        """Return whether the table's seconds are for more than one step."""
        return any((self.examples, self.repeats, *(case.examples for case in self.cases)))

    def steps(self, case: Case) -> float:
        """Return how many steps the seconds of the case stand for: examples / batch, which need not be whole."""
        examples = case.examples or self.examples
        return examples / case.parameters["batch"] if examples else float(self.repeats or 1)

    def examples_of(self, case: Case) -> float | None:
        """Return how many examples the seconds of the case stand for; None where a step has none."""
        return self.steps(case) * case.parameters["batch"] if "batch" in case.parameters else None

    def case(self, name: str) -> Case:
        """Return the table's case of that name, or the paper's; of several algorithms the first one's."""
        every = (*self.cases, *(self.original.cases if self.original else ()))
        return next(case for case in every if case.name == name)

    def amount(self, case: Case, flops: float | None = None, traffic_bytes: float | None = None) -> float | None:
        """Return how much of what the table's unit counts the seconds of a case stand for.

        `flops` and `traffic_bytes` are those of these seconds. None where the unit counts nothing, or nobody knows.
        """
        if self.unit.counted == "examples":
            return self.examples_of(case)
        return {"flops": flops, "bytes": traffic_bytes}.get(self.unit.counted or "")


Doi = Annotated[str, Field(pattern=r"^(10\.[0-9.]{4,}/[^ ]+)?$", description="a DOI alone, such as 10.1145/1553374")]
Address = Annotated[str, Field(pattern="^(https?://[^ ]+)?$", description="an address that begins with https://")]


@model(frozen=True, config=FORM)
class Paper:
    """A paper as its folder in workflow/papers describes it.

    The name of an organisation stands in braces among the authors, as in BibTeX: it is kept whole. `doi` and `url` are
    empty where it has none. `published` has the printed times or rates, each in its table's unit; `speedups` those of
    the printed speedups.
    """

    name: SkipJsonSchema[str]
    title: Text
    authors: Annotated[tuple[Text, ...], SOME]
    venue: Text
    year: Year
    claim: Text
    rows: Annotated[dict[Name, PublishedRow], Named]
    experiments: Annotated[dict[Name, Experiment], SOME, Named]
    facts: tuple[Fact, ...] = ()
    doi: Doi = ""
    url: Address = ""
    claims: Annotated[dict[Name, Claim], Named] = field(default_factory=dict)
    published: SkipJsonSchema[Mapping[Place, Printed]] = field(default_factory=dict)
    speedups: SkipJsonSchema[Mapping[Place, Printed]] = field(default_factory=dict)

    def at_tiny_sizes(self) -> "Paper":
        """Return the paper with the cases of the smoke preset in place of its own."""
        return replace(self, experiments={name: one.at_tiny_sizes() for name, one in self.experiments.items()})

    def prints(self, experiment: str) -> bool:
        """Return whether the paper prints any time or rate of the experiment."""
        return any(place[0] == experiment for place in self.published)

    def speaks_of(self, experiment: str) -> bool:
        """Return whether the paper prints something of the experiment, or claims it."""
        return self.prints(experiment) or any(claim.experiment == experiment for claim in self.claims.values())

    def printed(self, experiment: str, case: str, row: str) -> Printed | None:
        """Return the time or rate in the column that the case answers; None where the paper prints none."""
        return self.published.get(self._place(experiment, case, row))

    def printed_speedup(self, experiment: str, case: str, row: str) -> Printed | None:
        """Return the speedup in the column that the case answers; None where the paper prints none."""
        return self.speedups.get(self._place(experiment, case, row))

    def seconds(
        self, experiment: str, case: str, row: str, flops: float | None = None, traffic_bytes: float | None = None
    ) -> float | None:
        """Return what is printed there in seconds; None where nothing is.

        Of a rate of operations or of bytes, how many these are must be known, `traffic_bytes` at 4 bytes a number.
        """
        printed, table = self.printed(experiment, case, row), self.experiments[experiment]
        if printed is None:
            return None
        if not table.unit.counted:
            return table.unit.seconds(printed.value, None)
        moved = traffic_bytes * self._width(row) if traffic_bytes else None
        return table.unit.seconds(printed.value, table.amount(table.case(case), flops, moved))

    def speedup(self, experiment: str, case: str, row: str, over: Collection[str]) -> float | None:
        """Return the speedup of `row` over the fastest of the rows `over`, from what is printed of both.

        If their work is the same, it need not be known. None if it is not, or if one of the two is missing.
        """
        table = self.experiments[experiment]
        if table.unit.counted == "flops" and table.algorithms:
            return None
        fast = self._speed(experiment, case, row)
        slow = [speed for name in over if (speed := self._speed(experiment, case, name))]
        return fast / max(slow) if fast and slow else None

    def speedup_rounding(self, experiment: str, case: str, row: str, over: Collection[str]) -> float:
        """Return how far `speedup`, or the printed one where there is none, may be off, relative to it.

        That is because numbers are printed rounded.
        """
        slow, fast = self.fastest(experiment, case, over), self.printed(experiment, case, row)
        base = self.printed(experiment, case, slow.name) if slow else None
        if fast and base and self.speedup(experiment, case, row, over):
            return (1 + fast.rounding) * (1 + base.rounding) - 1
        printed = self.printed_speedup(experiment, case, row)
        return printed.rounding if printed else 0.0

    def fastest(self, experiment: str, case: str, rows: Collection[str]) -> PublishedRow | None:
        """Return of these rows the one with the best number in the case; None where nothing is printed of any."""
        found = {name: speed for name in rows if (speed := self._speed(experiment, case, name))}
        return self.rows[max(found, key=lambda name: found[name])] if found else None

    @property
    def links(self) -> dict[str, str]:
        """Return where to read it: the text of each link, and its address."""
        doi = {f"doi:{self.doi}": f"https://doi.org/{self.doi}"} if self.doi else {}
        return doi | ({self.url.partition("://")[2]: self.url} if self.url else {})

    @property
    def cpu_rows(self) -> tuple[str, ...]:
        """Return the names of the published rows of CPUs."""
        return tuple(name for name, row in self.rows.items() if row.is_cpu)

    @property
    def device_rows(self) -> tuple[str, ...]:
        """Return the names of the other published rows."""
        return tuple(name for name, row in self.rows.items() if not row.is_cpu)

    def _speed(self, experiment: str, case: str, row: str) -> float | None:
        """Return what is printed there as a speed, in a measure of the table's own."""
        printed, unit = self.printed(experiment, case, row), self.experiments[experiment].unit
        if printed is None:
            return None
        if unit.counted == "bytes":  # of wider numbers the same work moves more
            return printed.value / self._width(row)
        return printed.value if unit.counted else 1 / printed.value

    def _width(self, row: str) -> float:
        """Return the bytes of the row's numbers over those of fp32."""
        return number_bytes(self.rows[row].precision) / number_bytes("fp32")

    def _place(self, experiment: str, case: str, row: str) -> Place:
        table = self.experiments[experiment]
        return experiment, (table.original or table).columns.get(case, case), row
