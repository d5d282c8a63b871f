"""Papers: workflow/papers/<name>/paper.yaml, and published.csv, which has every printed number.

`PaperFile` is the form of the first, `PrintedLine` that of a line of the second. What no form can say, such as that the
row of a claim is there, the functions `_*_mistakes` say. What comes of both files is a `Paper`.
"""

import csv
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass

from respeed.errors import nearest
from respeed.inputs.reader import Files, Name, WrongFile, adapter, fit, read_text, read_yaml, unknown
from respeed.inputs.registry import Kinds, WorkloadName, workloads
from respeed.model import (
    ARCHITECTURES,
    FORM,
    INFERRED,
    LARGEST,
    NEEDS,
    PLACEHOLDER,
    SECONDS,
    SMOKE_TOTAL,
    SOME,
    SPEEDUP,
    TOTAL,
    UNITS,
    Algorithm,
    Architecture,
    Case,
    Claim,
    Count,
    Experiment,
    Fact,
    Label,
    Named,
    Paper,
    Parameters,
    Place,
    Positive,
    Precision,
    Printed,
    PublishedRow,
    Text,
    Year,
    known,
)
from respeed.paths import PAPERS
from respeed.text import name_unprintable

# The workload whose work the table says itself, and what a row says in its command.
PROGRAM = "program"
ROW_SAYS = ("threads", "device", "precision", "seed", "paper")
# A guess for a table whose file makes none, until the machine has records of its own.
ROUND_SECONDS = 10

# The forms.


class CaseEntry(BaseModel):
    """A case as it is written: what else stands there are its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: Parameters
    case: Name
    workload: WorkloadName | None = None
    column: str | None = None
    examples: Count | None = None


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


@dataclass(frozen=True, config=FORM)
class ProgramEntry:
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
    def _check_result(self) -> "ProgramEntry":
        if len({one is None for one in (self.file, self.like, self.tolerance)}) > 1:
            raise ValueError("give file, like and tolerance together, or none of them")
        return self

    @property
    def placeholders(self) -> set[str]:
        """Return what its command and `like` leave to the case."""
        commands = self.command.values() if isinstance(self.command, dict) else [self.command]
        words = (word for words in (*commands, [self.like or ""]) for word in words)
        return {name for word in words for name in PLACEHOLDER.findall(word)} - {*ROW_SAYS}


@dataclass(frozen=True, config=FORM)
class Table:
    """An experiment as it is written."""

    title: Text
    workload: WorkloadName
    cases: Annotated[tuple[CaseEntry, ...], SOME]
    smoke_cases: Annotated[tuple[CaseEntry, ...], SOME]
    protocol: Parameters = field(default_factory=dict)
    round_seconds: Positive = ROUND_SECONDS
    facts: tuple[Fact, ...] = ()
    caveats: tuple[Text, ...] = ()
    unit: Annotated[str, known("unit", lambda: UNITS)] = SECONDS.name
    examples: Count | None = None
    algorithms: Annotated[dict[WorkloadName, Algorithm], Named] = field(default_factory=dict)
    total: Label | None = None
    repeats: Count | None = None
    architectures: Annotated[tuple[Architecture, ...], SOME] = ARCHITECTURES
    precision: Precision = ""
    axis: Label = ""
    program: ProgramEntry | None = None
    threads: Literal["ladder"] | None = None

    @property
    def ladder(self) -> bool:
        """Return whether it is measured on rows of its own, one for each number of threads."""
        return self.threads == "ladder"

    @property
    def entries(self) -> tuple[CaseEntry, ...]:
        """Return the cases, and those that the smoke preset tries."""
        return (*self.cases, *self.smoke_cases)

    @property
    def counts_examples(self) -> bool:
        """Return whether the table's seconds are for examples, and not for steps."""
        return UNITS[self.unit].counted == "examples" or bool(self.examples)

    def kinds(self, workload: str) -> tuple[Kinds, Kinds]:
        """Return what a case must give the workload, and all that it may give.

        That of a program is what its command leaves open. A case may also give it what the workloads beside it take.
        """
        facts = workloads()[workload]
        if workload != PROGRAM or self.program is None:
            return facts.parameters, facts.takes
        needs: Kinds = dict.fromkeys(sorted(self.program.placeholders), "any")
        others = (workloads()[name].takes for name in self.algorithms if name != PROGRAM)
        return needs, {key: kind for one in (*others, facts.options, needs) for key, kind in one.items()}


def _read_author(value: Any) -> Any:
    """Put braces around the name of an organisation, as in BibTeX: `reference` keeps it whole."""
    match value:
        case {"organisation": str(name)} if name and len(value) == 1:
            return f"{{{name}}}"
        case str():
            return value
    raise ValueError("must be a name, or {organisation: NAME}")


Author = Annotated[Text, BeforeValidator(_read_author), WithJsonSchema({"type": ["string", "object"]})]
Doi = Annotated[str, Field(pattern=r"^10\.[0-9.]{4,}/[^ ]+$", description="a DOI alone, such as 10.1145/1553374")]
Address = Annotated[str, Field(pattern="^https?://[^ ]+$", description="an address that begins with https://")]


@dataclass(frozen=True, config=FORM)
class PaperFile:
    """paper.yaml as it is written. An author may be {organisation: NAME}. A row without a year has the paper's."""

    title: Text
    authors: Annotated[tuple[Author, ...], SOME]
    venue: Text
    year: Year
    claim: Text
    rows: Annotated[dict[Name, PublishedRow], Named]
    experiments: Annotated[dict[Name, Table], SOME]
    facts: tuple[Fact, ...] = ()
    doi: Doi = ""
    url: Address = ""
    claims: Annotated[dict[Name, Claim], Named] = field(default_factory=dict)
    history: dict[str, Positive | None] = field(default_factory=dict)

    @field_validator("rows", mode="before")
    @classmethod
    def _give_years(cls, rows: Any, info: ValidationInfo) -> Any:
        if "year" not in info.data or not isinstance(rows, dict):
            return rows
        year = {"year": info.data["year"]}
        return {name: year | row if isinstance(row, dict) else row for name, row in rows.items()}


# Reading.


def _read(name: str, path: Path) -> Paper:
    written: PaperFile = fit(PaperFile, read_yaml(path), path)
    experiments, mistakes = {}, []
    for title, table in written.experiments.items():
        found = [*_table_mistakes(title, written)]
        if not found:
            experiments[title] = _experiment(title, written, name)
            found = [*dict.fromkeys(_case_mistakes(table, experiments[title]))]
        mistakes += found
    for claim in written.claims.values():
        mistakes += _claim_mistakes(claim, written, experiments)
    for title, work in written.history.items():
        mistakes += unknown("history: no experiment", title, written.experiments)
        if title in experiments and (work is None) != bool(experiments[title].unit.counted):
            mistakes.append(f"history.{title}: must be a number of operations, or null for a table of rates")
    mistakes = [f"{path}: {line}" for line in mistakes]
    printed = path.with_name("published.csv")
    text = read_text(printed) if os.path.lexists(printed) else ""  # a paper that prints no number needs none
    values, speedups, more = _read_published(text, printed, written, experiments)
    if mistakes or more:
        raise WrongFile([*mistakes, *more])
    same = {key.name: getattr(written, key.name) for key in fields(Paper) if hasattr(written, key.name)}
    own = {"rows": tuple(written.rows.values()), "experiments": experiments, "claims": tuple(written.claims.values())}
    paper = Paper(**same | own, name=name, published=values, speedups=speedups)
    if mistakes := [f"{printed}: {line}" for line in _printed_mistakes(paper)]:
        raise WrongFile(mistakes)
    return paper


PAPER_FILES = Files("paper", PAPERS, "*/paper.yaml", _read)
paper_names = PAPER_FILES.names
load_paper = PAPER_FILES.load
load_papers = PAPER_FILES.load_all


def _experiment(name: str, written: PaperFile, paper: str) -> Experiment:
    """Return what is measured for a table without mistakes."""
    table = written.experiments[name]
    same = {key.name: getattr(table, key.name) for key in fields(Experiment) if hasattr(table, key.name)}
    return Experiment(
        **same
        | {
            "name": name,
            "unit": UNITS[table.unit],
            "case_examples": {entry.case: entry.examples for entry in table.entries if entry.examples is not None},
            "cases": tuple(case for one in table.cases for case in _cases(one, table, paper)),
            "smoke_cases": tuple(case for one in table.smoke_cases for case in _cases(one, table, paper)),
            "columns": {entry.case: entry.column for entry in table.cases if entry.column is not None},
        }
    )


def _cases(entry: CaseEntry, table: Table, paper: str) -> Iterator[Case]:
    """Yield a case as it is measured, once for each algorithm that has it."""
    is_tried = entry in table.smoke_cases
    for workload in table.algorithms or (entry.workload or table.workload,):
        own: Parameters = {}
        if algorithm := table.algorithms.get(workload):
            if algorithm.cases and entry.case not in algorithm.cases:
                continue
            # What an algorithm needs of its own is for the table's cases, not for those that are tried.
            own = ({} if is_tried else algorithm.parameters) | algorithm.cases.get(entry.case, {})
        takes = table.kinds(workload)[1]
        shared = {key: value for key, value in table.protocol.items() if key in takes}
        parameters: dict[str, Any] = shared | (entry.model_extra or {}) | own
        if workload == PROGRAM and table.program and PROGRAM not in parameters:
            program = adapter(ProgramEntry).dump_python(table.program, mode="json", exclude_defaults=True)
            parameters[PROGRAM] = {"paper": paper} | program
        yield Case(entry.case, workload, parameters)


# What is wrong with paper.yaml, although it has the form: each a line without the file's name.


def _table_mistakes(name: str, written: PaperFile) -> Iterator[str]:
    table, where = written.experiments[name], f"experiments.{name}"
    names = [entry.case for entry in table.entries]
    for case, times in Counter(names).items():
        if times > 1:
            yield f"{where}: the case {case!r} stands twice; give one of them another name"
        if case in (TOTAL, SMOKE_TOTAL):
            yield f"{where}: the case {case!r} has the name of the sum of all cases; give it another one"
    if table.repeats and table.counts_examples:
        yield f"{where}: leave repeats out: the table counts examples, which say how many steps it is for"
    if table.total and UNITS[table.unit].counted:
        yield f"{where}: leave total out: {table.unit} of several cases do not add up"
    for algorithm in table.algorithms.values():
        its = f"{where}.algorithms.{algorithm.name}"
        for row in algorithm.published_for:
            yield from unknown(f"{its}.published_for: no row", row, written.rows)
        for case in algorithm.cases:
            yield from unknown(f"{its}.cases: no case", case, names)
    for entry in table.entries:
        if table.algorithms and entry.workload:
            at = f"{where}: case {entry.case}"
            yield f"{at}: a table of several algorithms has its programs in `algorithms` alone: leave workload out"
    programs = {*table.algorithms, table.workload, *(entry.workload or table.workload for entry in table.entries)}
    if PROGRAM in programs and table.program is None:
        yield f"{where}: the table says nothing of its program; write program: {{command: [...]}} there"
    used = {key for program in programs for key in table.kinds(program)[1]}
    for key in table.protocol:
        yield from unknown(f"{where}.protocol: unknown key", key, used)


def _case_mistakes(table: Table, experiment: Experiment) -> Iterator[str]:
    """Yield what a workload cannot make of the parameters of its cases."""
    for case in (*experiment.cases, *experiment.smoke_cases):
        where = f"experiments.{experiment.name}: case {case.name}"
        needs, takes = table.kinds(case.workload)
        given = {key: value for key, value in case.parameters.items() if not isinstance(value, dict)}  # its program
        for key, value in given.items():
            yield from unknown(f"{where}: unknown key", key, takes)
            if key in takes and (misfit := _misfit(value, takes[key])):
                yield f"{where}: {key}: {misfit}"
        for key in needs:
            if key not in given:
                yield f"{where}: the key {key!r} is missing, here or in protocol: {case.workload} needs it"
        counts = table.counts_examples or case.name in experiment.case_examples
        if counts and "batch" not in {*given, *needs}:
            yield f"{where}: the table counts examples: write a batch, here or in protocol"


def _misfit(value: Any, kind: str | tuple[str, ...]) -> str | None:
    """Return why the value is not of the kind; None if it is."""
    if isinstance(kind, tuple):
        return None if value in kind else f"there is no {value!r}{nearest(value, kind)}"
    if kind != "any" and isinstance(value, str):
        return f"must be a number, not {value!r}"
    if kind == "whole" and not (isinstance(value, int) and value >= 1):
        return f"must be a whole number of at least 1, not {value!r}"
    return None


def _claim_mistakes(claim: Claim, written: PaperFile, experiments: Mapping[str, Experiment]) -> Iterator[str]:
    where, needed, rows = f"claims.{claim.name}", NEEDS[claim.test], written.rows
    for key in ("over", "over_case", "by"):
        if key in needed and not getattr(claim, key):
            yield f"{where}: the key {key!r} is missing: the test {claim.test} needs it"
        if key not in needed and getattr(claim, key):
            yield f"{where}.{key}: the test {claim.test} does not have it; leave it out"
    wrong = unknown(f"{where}.experiment: no experiment", claim.experiment, written.experiments)
    for key, name in (("row", claim.row), *(("over", name) for name in claim.over)):
        wrong += unknown(f"{where}.{key}: no row", name, rows)
    yield from wrong
    experiment = experiments.get(claim.experiment)
    if wrong or experiment is None:
        return
    for name in claim.over:
        if name == claim.row:
            yield f"{where}.over: {name} is the claim's own row; name what it is compared with"
        elif not experiment.algorithms and _are_alike(rows[name], rows[claim.row]):
            yield f"{where}.over: {name} stands beside the same rows of ours as {claim.row}: they cannot differ"
    if "by" in needed:
        yield from _scaling_mistakes(claim, experiment, where)


def _are_alike(one: PublishedRow, other: PublishedRow) -> bool:
    """Return whether the same rows of ours answer both."""
    return bool({*one.beside} & {*other.beside}) and (one.precision or "fp32") == (other.precision or "fp32")


def _scaling_mistakes(claim: Claim, experiment: Experiment, where: str) -> Iterator[str]:
    """Yield what keeps the cases from growing with the claim's parameter."""
    sizes = {case.name: case.parameters.get(claim.by) for case in experiment.cases}
    wrong = [
        *unknown(f"{where}.over_case: no case", claim.over_case, sizes),
        *unknown(f"{where}.by: no parameter", claim.by, {key for case in experiment.cases for key in case.parameters}),
    ]
    yield from wrong
    first = sizes.pop(claim.over_case, None)
    numbers = [size for size in (first, *sizes.values()) if isinstance(size, int | float)]
    if not wrong and not (len(numbers) == 1 + len(sizes) and 0 < numbers[0] < min(numbers[1:], default=math.inf)):
        yield f"{where}.by: {claim.by} must be a number that is larger in every case than in {claim.over_case}"


# published.csv.


class Line(NamedTuple):
    """A line of it.

    `value` is a number in the table's unit, or a speedup if `unit` is SPEEDUP. `printed` is its text as the paper has
    it; of a number that was inferred, INFERRED and the number.
    """

    experiment: str
    case: str
    row: str
    value: str
    unit: str
    printed: str


HEAD = ",".join(Line._fields)
Numbers = dict[Place, Printed]


def _read_published(
    text: str, path: Path, written: PaperFile, experiments: Mapping[str, Experiment]
) -> tuple[Numbers, Numbers, list[str]]:
    """Return all printed numbers and all printed speedups by their places, and a line for each mistake."""
    values: Numbers = {}
    speedups: Numbers = {}
    head, *lines = text.splitlines() or [HEAD]
    if head != HEAD:
        return values, speedups, [f"{path}:1: the columns must be {HEAD}, in this order"]
    mistakes: list[str] = []
    for number, line in enumerate(lines, start=2):
        cells = next(csv.reader([line]), [])
        if char := name_unprintable(line):
            wrong = [f"holds the character {char}; write the line without it"]
        elif cells and len(cells) != len(Line._fields):
            wrong = [f"must have {len(Line._fields)} values, {HEAD}, not {len(cells)}; or a quote does not end"]
        elif cells:
            found = Line(*cells)
            place, numbers = (found.experiment, found.case, found.row), speedups if found.unit == SPEEDUP else values
            wrong = [*_line_mistakes(found, written, experiments)]
            if place in numbers:
                wrong.append(f"{', '.join(place)} stands twice; leave one of them out")
            numbers[place] = Printed(_number(found.value), found.printed.removesuffix(SPEEDUP).strip())
        else:
            continue
        mistakes += [f"{path}:{number}: {one}" for one in wrong]
    return values, speedups, mistakes


def _number(text: str) -> float:
    """Return the number of a printed text such as 6,573.73 or 12.9x; 0 if it is none."""
    digits = text.removeprefix(INFERRED).replace(",", "").removesuffix(SPEEDUP).strip()
    return float(digits) if digits.isascii() and digits.replace(".", "", 1).isdecimal() else 0.0


def _line_mistakes(line: Line, written: PaperFile, experiments: Mapping[str, Experiment]) -> Iterator[str]:
    yield from unknown("no experiment", line.experiment, written.experiments)
    yield from unknown("no row", line.row, written.rows)
    if table := experiments.get(line.experiment):
        yield from unknown("no case", line.case, [table.columns.get(case, case) for case in table.case_names()])
        yield from unknown("no unit", line.unit, [table.unit.name, SPEEDUP])
    value = _number(line.value)
    if not 0 < value <= LARGEST:
        yield f"value: must be a number greater than 0, in digits such as 1234.5, not {line.value!r}"
    elif _number(line.printed) != value:
        yield f"printed: must be the value, {line.value}, in digits such as 1,234.5, not {line.printed!r}"


def _printed_mistakes(paper: Paper) -> Iterator[str]:
    """Yield what the printed numbers contradict: a case's column, a printed speedup, a claim."""
    for table in paper.experiments.values():
        there = {place[1] for place in (*paper.published, *paper.speedups) if place[0] == table.name}
        for case, column in table.columns.items():
            yield from unknown(f"the case {case!r} answers a column of which nothing is printed:", column, there)
    for (name, column, row), number in paper.speedups.items():
        table = paper.experiments[name]
        case = next(one for one in table.case_names() if table.columns.get(one, one) == column)
        made = paper.speedup(name, case, row, paper.cpu_rows)
        # As far as it was rounded, and the numbers were.
        if made and abs(made - number.value) > 0.5 * 10.0 ** -len(number.text.partition(".")[2]) + 0.01 * made:
            place = f"{name}, {column}, {row}"
            yield f"the speedup {number.text} of {place} contradicts the printed numbers, which make {made:.3g}"
    for claim in paper.claims:
        name, row, over = claim.experiment, claim.row, claim.over
        cases = paper.experiments[name].case_names() if claim.test in {"each", "growth"} else ()
        if cases and not any(
            paper.speedup(name, one, row, over) or paper.printed_speedup(name, one, row) for one in cases
        ):
            yield f"claims.{claim.name}: nothing is printed of {row} over {' or '.join(over)} in {name}"
