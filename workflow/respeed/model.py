"""A paper, as its paper.yaml describes it: its tables, the programs behind them, claims, and how well facts are known.

Pydantic checks paper.yaml against the types and bounds here. Checks that need the workloads or the printed numbers are
made where a paper is read (inputs/papers.py).
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
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

from respeed.errors import unknown
from respeed.paths import NAME

# --- types of values

# In all files, a key that the model does not have is a mistake. No file may set a field of SkipJsonSchema.
FORM = ConfigDict(extra="forbid")
# No size, rate or count of anything is larger than this.
LARGEST = 1e30

SOME = Field(min_length=1)
Names = tuple[str, ...]
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


# The name of a row, case, table or machine in a file; some of these become folders.
Name = Annotated[str, AfterValidator(_check_name)]


# What is set as a file is read, and stands in none.
RESERVED = {"name", "original", "published", "speedups"}


def _name_entries(entries: Any) -> Any:
    """Add to each mapping in `entries` its key as `name`; a file must not set a key of RESERVED itself."""
    if not isinstance(entries, dict):
        return entries
    named = dict(entries)
    for key, entry in entries.items():
        if isinstance(entry, dict):
            for reserved in sorted(RESERVED & entry.keys()):
                raise ValueError(f"{key} has a key {reserved!r}, which no file says; leave the key out")
            named[key] = entry | {"name": key}
    return named


# For a mapping of names to models that have a `name`.
Named = BeforeValidator(_name_entries)


def known(kind: str, names: Callable[[], Iterable[str]]) -> AfterValidator:
    """Return a validator that accepts only names in `names()`; its error suggests the nearest of these names."""
    return AfterValidator(lambda name: check_known(kind, name, names()))


def check_known(kind: str, name: str, names: Iterable[str]) -> str:
    """Return `name`; raise ValueError, as pydantic expects of validators, if it is none of the `names` of a `kind`."""
    for line in unknown(f"no {kind}", name, names):
        raise ValueError(line)
    return name


# --- papers

# The kinds of rows: every hardware profile has one, and published rows are compared with rows of some of them.
Architecture = Literal["single-cpu", "multi-cpu", "gpu", "tpu"]
Architectures = Annotated[tuple[Architecture, ...], SOME]
ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)
CPU_ARCHITECTURES = ARCHITECTURES[:2]
DEVICE_ARCHITECTURES = ARCHITECTURES[2:]
# How well a fact is known.
Confidence = Literal["stated", "code", "recalled", "inferred", "chosen"]
PRECISIONS = ("fp64", "fp32", "tf32x3", "bf16x9", "tf32", "bf16", "fp16")


def _check_precision(name: str) -> str:
    return check_known("precision", name, PRECISIONS) if name else name


# Empty if the paper's file gives none.
Precision = Annotated[str, AfterValidator(_check_precision)]
# The keys that a claim needs for each test; the claim may have no other key that is listed here.
NEEDS: Mapping[str, Names] = {
    **dict.fromkeys(("each", "growth", "faster", "crossover"), ("experiment", "row", "over")),
    "limited": ("experiment", "row", "over_case", "by"),
    "memory": ("experiment", "row"),
    "mean": ("of",),
}
# What a rate counts, and so the work that a table's seconds are for.
Counted = Literal["examples", "flops", "bytes"]
# A {name} in a word of a program's command, which is replaced before it runs.
PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
# The case that is the sum of all others of a table, if they add up; the sum of tiny cases has no printed column.
TOTAL = "total"
SMOKE_TOTAL = "smoke-total"
# Before a number of published.csv that the paper does not print: it was inferred from others.
INFERRED = "~"
# The place of a printed number in its table: printed column, published row.
Place = tuple[str, str]
Parameters = dict[str, Any]


def number_bytes(precision: str) -> int:
    """Return the bytes of an array element, as memory and traffic are counted: 8 in fp64, otherwise 4.

    Precisions below fp32 count 4 bytes too, since only some of their arrays have narrower elements.
    """
    return 8 if precision == "fp64" else 4


@dataclass(frozen=True)
class Unit:
    """A unit of printed numbers.

    A unit of time is `size` seconds long. For a rate, `counted` says what is counted, and the unit is `size` of these
    per second. `examples` is the word for the examples of a step, such as "paths".
    """

    name: str
    size: float = 1.0
    counted: Counted | None = None
    examples: str = "examples"

    def seconds(self, value: float, amount: float | None) -> float | None:
        """Convert a number in this unit to seconds.

        For a rate, `amount` is the work done in these seconds, in what the unit counts (`counted`). Return None if the
        amount of a rate is missing.
        """
        if self.counted is None:
            return value * self.size
        return amount / (value * self.size) if amount else None

    def value(self, seconds: float, amount: float | None) -> float | None:
        """Convert seconds to a number in this unit: the inverse of `seconds()`."""
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
    """Return the unit of this name (a Unit is returned as it is); raise ValueError if there is none."""
    return unit if isinstance(unit, Unit) else UNITS[check_known("unit", unit, UNITS)]


@model(frozen=True, config=FORM)
class Hardware:
    """The hardware that a published row ran on.

    `flops_per_second` is the peak of arithmetic in the row's precision, `bytes_per_second` the peak of the memory.
    `source` shows how these two rates were derived, and `confidence` how well they are known (see Fact).
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

    The row is compared with our rows of the architectures `beside`. `year` is 0 if it is the paper's year.
    `precision`, `device` and `algorithm` are empty, and `hardware` is None, if the paper's file does not give them.
    """

    name: SkipJsonSchema[str]
    label: Label
    package: Label
    beside: Annotated[Architectures, AfterValidator(_check_one_kind)]
    year: Year | Literal[0] = 0
    device: LabelOrNone = ""
    precision: Precision = ""
    algorithm: LabelOrNone = ""
    hardware: Hardware | None = None

    @property
    def is_cpu(self) -> bool:
        """Return whether the row is compared with CPU rows."""
        return self.beside[0] in CPU_ARCHITECTURES


@dataclass(frozen=True)
class Printed:
    """A printed number: its `value` in the table's unit, and its `text` as printed.

    The text begins with INFERRED if the paper does not print the number, and it was inferred from others. If the paper
    prints words in place of a number, such as "Out of memory", these are the text, and the value is NaN. `width` is the
    bytes of an array element in the precision of the number's row, divided by those in fp32.
    """

    value: float
    text: str
    width: float = 1.0

    @property
    def is_number(self) -> bool:
        """Return whether the paper prints a number, not words in its place."""
        return not math.isnan(self.value)

    @property
    def rounding(self) -> float:
        """Return half a unit of the last printed digit, divided by the number: 1/12 for 6x, which may be 5.5 to 6.5."""
        decimals = self.text.partition(".")[2]
        unit = 10.0 ** -len(decimals)
        return unit / 2 / self.value


@model(frozen=True, config=FORM)
class Claim:
    """A statement of a paper about its tables, in a form that can be tested on a machine.

    Most tests are about a speedup: the seconds of our fastest row for the published rows `over`, divided by the seconds
    of our fastest row for the published row `row`. `test` is

    - each: the speedup in every case is the printed speedup;
    - growth: the speedup grows from case to case, in the table's order;
    - faster: the speedup is above 1 in every case;
    - crossover: the speedup is below 1 in the first case and above 1 in the last;
    - limited, for `row` alone: each case is faster than the case `over_case`, but in at least one case the speedup is
      less than the ratio of the two cases' parameter `by`, such as threads;
    - memory, for `row` alone: the last case moves its bytes nearly as fast as a plain copy does;
    - mean: the geometric mean of the speedups in all cases of the claims `of`, each with the test `each`, is that of
      their printed speedups.

    With `threads`, our row for `row` has that many threads, and our row for `over` has one. With `cases`, the claim is
    about these cases alone. The published numbers are in published.csv.
    """

    name: SkipJsonSchema[str]
    says: Text
    test: Annotated[str, known("test", lambda: NEEDS)]
    experiment: str = ""
    row: str = ""
    over: Names = ()
    threads: Annotated[StrictInt, Field(ge=2)] | None = None
    cases: Names = ()
    over_case: str = ""
    by: str = ""
    of: Names = ()


@dataclass(frozen=True)
class Case:
    """One column of a table: a problem size.

    `parameters` are values for the fields of the workload. `column` is the name of the case's printed column, if the
    case has another name. `examples` is how many examples the case's seconds are for, if not the table's `examples`.
    """

    name: Name
    workload: str
    parameters: Mapping[str, Any]
    column: str | None = None
    examples: Count | None = None

    @property
    def key(self) -> str:
        """Return the key of the case."""
        return case_key(self.workload, self.parameters)

    @property
    def program(self) -> Mapping[str, Any]:
        """Return the outside program that the case runs (see `outside_program`)."""
        return outside_program(self.parameters)


def outside_program(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keys of `Program` that the parameters of a case have, and the name of its `paper`; empty if none."""
    program: Mapping[str, Any] = parameters.get("program", {})
    return program


def case_key(workload: str, parameters: Mapping[str, Any]) -> str:
    """Return the key of a case. Tables that ask for the same key share its measurements."""
    return json.dumps([workload, dict(parameters)], sort_keys=True)


CASE_KEYS = {key: {"type": "string"} for key in ("case", "workload", "column")} | {"examples": {"type": "integer"}}
CASE_SCHEMA = {"type": "object", "properties": CASE_KEYS, "required": ["case"]}


def _read_case(entry: Any) -> Any:
    """Gather the parameters of a case, which a file has among the other keys; a missing workload becomes empty."""
    if not isinstance(entry, dict):
        return entry
    if "case" not in entry:
        raise ValueError("the key 'case' is missing, which has its name")
    parameters = dict(entry)
    case = {"name": parameters.pop("case"), "workload": "", "parameters": parameters}
    for key in CASE_KEYS.keys() & parameters.keys():
        case[key] = parameters.pop(key)
    return case


Entry = Annotated[Case, BeforeValidator(_read_case), WithJsonSchema(CASE_SCHEMA)]
Entries = Annotated[tuple[Entry, ...], SOME]
Word = Annotated[str, Field(min_length=1, max_length=500)]
Command = Annotated[tuple[Word, ...], Field(min_length=1, max_length=100)]
FileName = Annotated[str, Field(pattern=r"^[\w{][\w.{}-]{0,99}$", description="the name of a file, without folders")]


def _check_pattern(pattern: str) -> str:
    try:
        number = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {error}") from None
    if number.groups != 1:
        raise ValueError("must have one group, (...), around the number")
    return pattern


@model(frozen=True, config=FORM)
class Program:
    """An outside program that a table runs, such as that of the paper's authors.

    `command` is a list of words, or such a list for each architecture. The time is that of the whole process, or the
    printed number, in `time_unit`, that the one group of `time_pattern` matches. The result is right if the exit code
    is 0 and the numbers that the program writes to `file` equal those in the paper's file `like`, to within `tolerance`
    times the largest of these.
    """

    command: Command | Annotated[dict[Architecture, Command], SOME]
    time_pattern: Annotated[str, Field(max_length=500), AfterValidator(_check_pattern)] | None = None
    time_unit: Literal["seconds", "milliseconds", "microseconds"] = "seconds"
    file: FileName | None = None
    like: FileName | None = None
    tolerance: Positive | None = None

    @model_validator(mode="after")
    def _check_result(self) -> "Program":
        result = (self.file, self.like, self.tolerance)
        if any(result) and not all(result):
            raise ValueError("give file, like and tolerance together, or none of them")
        return self

    @property
    def placeholders(self) -> set[str]:
        """Return the names that stand in braces in `command` and in `like`."""
        return set(PLACEHOLDER.findall(f"{self.command} {self.like}"))


def command_of(case: Case, architecture: str) -> list[str]:
    """Return the command of the case's program on rows of that architecture, with the case's parameters filled in.

    The list of words is empty if the case has no program, or if the program has no command for that architecture.
    """
    command = case.program.get("command", [])
    if isinstance(command, Mapping):
        command = command.get(architecture, [])
    return [filled(word, case.parameters) for word in command]


def filled(word: str, values: Mapping[str, Any]) -> str:
    """Return the word with each {name} replaced by its value in `values`; a name without a value stays."""
    return PLACEHOLDER.sub(lambda match: str(values.get(match[1], match[0])), word)


@model(frozen=True, config=FORM)
class Fact:
    """One fact of how the paper measured, and how well it is known: stated, code, recalled, inferred or chosen."""

    fact: Text
    value: Text
    confidence: Confidence


@model(frozen=True, config=FORM)
class Algorithm:
    """One of several programs for the same cases; its `name` is the name of its workload.

    `published_for` are the published rows that ran it, `architectures` the kinds of our rows that run it. `parameters`
    are for this algorithm only. `cases` are the cases that it runs, if not all, each with parameters for that case.
    """

    name: SkipJsonSchema[str]
    label: Label
    published_for: Names
    architectures: Architectures = ARCHITECTURES
    parameters: Parameters = field(default_factory=dict)
    cases: dict[str, Parameters] = field(default_factory=dict)


@model(frozen=True, config=FORM)
class Experiment:
    """One table: its cases, and the work that its seconds are for.

    Attributes
    ----------
    workload, protocol, program
        The workload of each case that names no other; the parameters that cases share, as far as their workloads take
        them; an outside program. Once a table has been read, each case has its workload and all its parameters itself.
    cases, smoke_cases
        The table's columns, and the tiny cases that the smoke preset tries instead. With several algorithms, a case is
        listed once for each algorithm that runs it, one directly after another.
    algorithms
        The programs that a table compares; empty if it has only one.
    unit
        The unit of the printed numbers.
    examples, repeats
        How many examples the table's seconds are for; if examples are not counted, how many steps (`repeats`).
    total
        What the sum of all cases' seconds is the time of, if the cases add up to something.
    architectures, precision
        Only rows of these run the table; an empty precision means any.
    axis
        What the cases differ in: the words below the horizontal axis of a figure.
    ladder
        Whether the table is measured on rows of its own, one row for each number of threads.
    round_seconds
        A first guess at the time of one round of all cases, until this machine has records.
    original
        The table with the paper's sizes, if this table has tiny sizes.
    published, speedups
        The printed times or rates, in the table's unit, and the printed speedups.
    """

    name: SkipJsonSchema[str]
    title: Text
    workload: str
    cases: Entries
    smoke_cases: Entries
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
    architectures: Architectures = ARCHITECTURES
    precision: Precision = ""
    axis: LabelOrNone = ""
    program: Program | None = None
    ladder: bool = False
    original: SkipJsonSchema["Experiment | None"] = None
    published: SkipJsonSchema[Mapping[Place, Printed]] = field(default_factory=dict)
    speedups: SkipJsonSchema[Mapping[Place, Printed]] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, str]:
        """Return, by case, the name of its printed column, for each case that has another name than its column."""
        return {case.name: case.column for case in self.cases if case.column}

    @property
    def total_case(self) -> str:
        """Return the name of the case that is the sum of all others."""
        return SMOKE_TOTAL if self.original else TOTAL

    def at_tiny_sizes(self) -> "Experiment":
        """Return the table with the cases of the smoke preset, which have no printed column."""
        return replace(self, cases=self.smoke_cases, original=self)

    def case_names(self) -> Names:
        """Return the names of the table's cases, each once; the total, if there is one, comes last."""
        names = dict.fromkeys(case.name for case in self.cases)
        return (*names, self.total_case) if self.total else tuple(names)

    def column_words(self) -> dict[str, str]:
        """Return the heading of each case's column.

        The heading is the printed column, or if several cases share that column, the case's name. A hyphen in a case's
        name becomes a space, except between two digits, as in 784-500-10. A share is written as 3 %. If two headings
        would be the same, all are the cases' names.

        Returns
        -------
        dict[str, str]
            The heading of each case, in the order of `case_names`.
        """
        columns = {name: self.columns.get(name, name) for name in self.case_names()}
        numbers = Counter(columns.values())
        words = {}
        for name, column in columns.items():
            is_own = column == name or numbers[column] > 1
            text = re.sub(r"(?<!\d)-|-(?!\d)", " ", name) if is_own else column
            words[name] = re.sub(r"(?<=\d) ?(?:%|percent\b)", " %", text)
        if len({*words.values()}) < len(words):
            return {name: name for name in words}
        return words

    def runs_on(self, case: Case, architecture: str) -> bool:
        """Return whether rows of that architecture run the case."""
        algorithm = self.algorithms.get(case.workload)
        if architecture not in self.architectures or (algorithm and architecture not in algorithm.architectures):
            return False
        return not case.program or bool(command_of(case, architecture))

    def ran_in(self, workload: str, row: str) -> bool:
        """Return whether the published `row` ran the workload: false only for an algorithm not published for `row`."""
        algorithm = self.algorithms.get(workload)
        return algorithm is None or row in algorithm.published_for

    def algorithms_in(self, rows: Collection[str]) -> set[str]:
        """Return the names of the algorithms that any of these published rows ran."""
        return {name for name, algorithm in self.algorithms.items() if set(algorithm.published_for) & set(rows)}

    @property
    def is_extrapolated(self) -> bool:
        """Return whether the table's seconds are for more than one step."""
        return any((self.examples, self.repeats, *(case.examples for case in self.cases)))

    def steps(self, case: Case) -> float:
        """Return how many steps the case's seconds are for: examples / batch (may be a fraction), or else `repeats`."""
        examples = case.examples or self.examples
        if examples:
            return float(examples / case.parameters["batch"])
        return float(self.repeats or 1)

    def case(self, name: str) -> Case:
        """Return the first case of that name, in this table or else in `original`; algorithms may share the name."""
        return next(case for case in (*self.cases, *(self.original or self).cases) if case.name == name)

    def amount(self, case: Case, flops: float | None, traffic_bytes: float | None) -> float | None:
        """Return the work that a case's seconds are for, in what the table's unit counts.

        `flops` and `traffic_bytes` are the work of these seconds. Return None if the unit counts nothing, or the work
        is not known. If the unit counts examples, each case has a parameter `batch`.
        """
        if self.unit.counted == "examples":
            return float(self.steps(case) * case.parameters["batch"])
        return {"flops": flops, "bytes": traffic_bytes}.get(self.unit.counted or "")

    @property
    def has_figure(self) -> bool:
        """Return whether the table has a figure: if the paper prints numbers of several of its columns."""
        columns = {column for (column, _), printed in self.published.items() if printed.is_number}
        return len(columns) > 1

    def printed(self, case: str, row: str) -> Printed | None:
        """Return the time or rate of `row` in the case's printed column, or words; None if the paper prints none."""
        return self.published.get(self._place(case, row))

    def printed_speedup(self, case: str, row: str) -> Printed | None:
        """Return the speedup of `row` in the case's printed column; None if the paper prints none."""
        return self.speedups.get(self._place(case, row))

    def _place(self, case: str, row: str) -> Place:
        return (self.original or self).columns.get(case, case), row

    def seconds(
        self, case: str, row: str, flops: float | None = None, traffic_bytes: float | None = None
    ) -> float | None:
        """Return the printed number of a case and row, converted to seconds; None if there is none.

        To convert a rate in FLOP/s or bytes/s, pass `flops`, or `traffic_bytes` at 4 bytes an array element. Without
        them, return None for such a rate.
        """
        printed = self.printed(case, row)
        if printed is None or not printed.is_number:
            return None
        amount = None
        if self.unit.counted:
            moved = (traffic_bytes or 0.0) * printed.width
            amount = self.amount(self.case(case), flops, moved)
        return self.unit.seconds(printed.value, amount)

    def _speed(self, case: str, row: str) -> float:
        """Return the printed number as a speed, comparable only within its table; 0 if there is no number."""
        printed = self.printed(case, row)
        if printed is None or not printed.is_number:
            return 0.0
        if self.unit.counted is None:
            return 1 / printed.value
        # The same work on wider numbers moves more bytes.
        return printed.value / printed.width if self.unit.counted == "bytes" else printed.value

    def fastest(self, case: str, rows: Collection[str]) -> str:
        """Return the name of the row of `rows` with the best printed number in the case; "" if none has a number."""
        speeds = {row: self._speed(case, row) for row in rows}
        best = max(speeds, key=speeds.__getitem__, default="")
        return best if speeds.get(best) else ""

    def speedup(self, case: str, row: str, over: Collection[str]) -> float | None:
        """Return the speedup of `row` over the fastest of the rows `over`, from the printed numbers of the two rows.

        The work cancels out, so that it need not be known, if the two rows do the same work. Return None if they do
        not, as in a table in FLOP/s with several algorithms, or if a number is missing.
        """
        if self.unit.counted == "flops" and self.algorithms:
            return None
        fast = self._speed(case, row)
        slow = self._speed(case, self.fastest(case, over))
        return fast / slow if fast and slow else None

    def speedup_rounding(self, case: str, row: str, over: Collection[str]) -> float:
        """Return the relative error of the published speedup, caused by the rounding of printed numbers.

        This is the error of `speedup()`, or if that is None, of the printed speedup; 0 without any.
        """
        fast = self.printed(case, row)
        slow = self.printed(case, self.fastest(case, over))
        if fast and slow and self.speedup(case, row, over):
            return (1 + fast.rounding) * (1 + slow.rounding) - 1
        printed = self.printed_speedup(case, row)
        return printed.rounding if printed else 0.0


Doi = Annotated[str, Field(pattern=r"^(10\.[0-9.]{4,}/[^ ]+)?$", description="a DOI alone, such as 10.1145/1553374")]
Address = Annotated[str, Field(pattern="^(https?://[^ ]+)?$", description="an address that begins with https://")]


@model(frozen=True, config=FORM)
class Paper:
    """A paper as its folder in workflow/papers describes it.

    In `authors`, the name of an organisation has braces around it, as in BibTeX, so that it is not split. `doi` and
    `url` are empty if the paper has none.
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

    def at_tiny_sizes(self) -> "Paper":
        """Return the paper with the cases of the smoke preset in place of its own."""
        return replace(self, experiments={name: table.at_tiny_sizes() for name, table in self.experiments.items()})

    def speaks_of(self, table: Experiment) -> bool:
        """Return whether the paper prints a number of the table, or makes a claim about it."""
        is_claimed = any(claim.experiment == table.name for claim in self.claims.values())
        return is_claimed or bool(table.published or table.speedups)

    @property
    def links(self) -> dict[str, str]:
        """Return the links to the paper: the text of each, and its address."""
        links = {}
        if self.doi:
            links[f"doi:{self.doi}"] = f"https://doi.org/{self.doi}"
        if self.url:
            links[self.url.partition("://")[2]] = self.url
        return links

    @property
    def cpu_rows(self) -> Names:
        """Return the names of the published CPU rows."""
        return tuple(name for name, row in self.rows.items() if row.is_cpu)

    @property
    def device_rows(self) -> Names:
        """Return the names of the published rows that are not CPU rows."""
        return tuple(name for name, row in self.rows.items() if not row.is_cpu)


# Papers by name.
Papers = Mapping[str, Paper]
