"""The experiments of a paper: tables, their cases, and the workloads that these are of."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass as model

from respeed.errors import UserError
from respeed.inputs.forms import Mistakes, adapter, require
from respeed.inputs.registry import Kinds, WorkloadName, workloads
from respeed.model.fields import FORM, SOME, Count, Label, Named, Positive, Text, known
from respeed.model.paper import (
    ARCHITECTURES,
    PLACEHOLDER,
    SECONDS,
    SMOKE_TOTAL,
    TOTAL,
    UNITS,
    Algorithm,
    Architecture,
    Case,
    Experiment,
    Fact,
    Parameters,
    Precision,
)
from respeed.paths import check_name

# The workload whose work the table says itself, and what a row says in its command.
PROGRAM = "program"
ROW_SAYS = ("threads", "device", "precision", "seed", "paper")
# A guess for a table whose file makes none, until the machine has records of its own.
ROUND_SECONDS = 10


class CaseEntry(BaseModel):
    """A case as it is written: what else stands there are its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: Parameters
    case: str
    workload: WorkloadName | None = None
    source: str | None = Field(default=None, alias="from")
    column: str | None = None
    examples: Count | None = None

    @property
    def parameters(self) -> Parameters:
        """Return what the case gives its workload."""
        return dict(self.model_extra or {})


Cases = Annotated[tuple[CaseEntry, ...], SOME]
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

    def as_parameter(self, paper: str) -> dict[str, Any]:
        """Return what the measuring process needs of it, as JSON has it."""
        written: dict[str, Any] = adapter(ProgramEntry).dump_python(self, mode="json", exclude_defaults=True)
        return {"paper": paper} | written


@model(frozen=True, config=FORM)
class Table:
    """An experiment as it is written."""

    title: Text
    workload: WorkloadName
    cases: Cases
    smoke_cases: Cases
    protocol: Parameters = dataclass_field(default_factory=dict)
    round_seconds: Positive = ROUND_SECONDS
    facts: tuple[Fact, ...] = ()
    caveats: tuple[Text, ...] = ()
    unit: Annotated[str, known("unit", lambda: UNITS)] = SECONDS.name
    examples: Count | None = None
    algorithms: Annotated[dict[WorkloadName, Algorithm], Named] = dataclass_field(default_factory=dict)
    total: Label | None = None
    repeats: Count | None = None
    architectures: Annotated[tuple[Architecture, ...], SOME] = ARCHITECTURES
    precision: Precision = ""
    axis: Label = ""
    program: ProgramEntry | None = None

    @model_validator(mode="after")
    def _check_table(self) -> "Table":
        if self.repeats and self.counts_examples:
            raise ValueError("leave repeats out: the table counts examples, which say how many steps it is for")
        for name, times in Counter(case.case for case in self.all_cases).items():
            if times > 1:
                raise ValueError(f"the case {name!r} stands twice; give one of them another name")
            if name in (TOTAL, SMOKE_TOTAL):
                raise ValueError(f"the case {name!r} has the name of the sum of all cases; give it another one")
        if self.total and UNITS[self.unit].counted:
            raise ValueError(f"leave total out: {self.unit} of several cases do not add up")
        return self

    @property
    def all_cases(self) -> tuple[CaseEntry, ...]:
        """Return the cases, and those that the smoke preset tries."""
        return (*self.cases, *self.smoke_cases)

    @property
    def counts_examples(self) -> bool:
        """Return whether the table's seconds are for examples, and not for steps."""
        return UNITS[self.unit].counted == "examples" or bool(self.examples)


# What an experiment has from its table unchanged.
AS_WRITTEN = (
    "title", "examples", "algorithms", "total", "round_seconds", "facts", "caveats", "repeats",
    "architectures", "precision", "axis",
)  # fmt: skip


@dataclass(frozen=True)
class Experiments:
    """Makes the experiments of a file's `tables`. `rows` are the names of the published rows; what is wrong goes to
    `mistakes`."""

    tables: Mapping[str, Table]
    rows: Collection[str]
    path: Path
    mistakes: Mistakes

    def make(self) -> dict[str, Experiment]:
        """Return them all; with mistakes, some."""
        found = {}
        for name, table in self.tables.items():
            with self.mistakes.collecting():
                found[name] = self._make(name, table, f"{self.path}: experiments.{name}")
        return found

    def _make(self, name: str, table: Table, where: str) -> Experiment:
        check_name("experiment", name, str(self.path))
        for algorithm in table.algorithms.values():
            for row in algorithm.published_for:
                require(f"{where}.algorithms.{algorithm.name}.published_for: no row", row, self.rows)
            for case in algorithm.cases:
                there = [one.case for one in table.all_cases]
                require(f"{where}.algorithms.{algorithm.name}.cases: no case", case, there)
        programs = {*table.algorithms, table.workload, *(case.workload or table.workload for case in table.cases)}
        used = {key for program in programs for key in _kinds(program, table)[1]}
        for key in table.protocol:
            with self.mistakes.collecting():
                require(f"{where}.protocol: unknown key", key, used)
        return Experiment(
            name=name,
            unit=UNITS[table.unit],
            case_examples={
                case.case: examples
                for case in table.all_cases
                if (examples := (self._case_there(case) or case).examples) is not None
            },
            cases=self._cases(name, "cases"),
            smoke_cases=self._cases(name, "smoke_cases"),
            columns={case.case: case.column for case in table.cases if case.column is not None},
            sources={case.case: case.source for case in table.all_cases if case.source is not None},
            **{key: getattr(table, key) for key in AS_WRITTEN},
        )

    def _case_there(self, case: CaseEntry) -> CaseEntry | None:
        """Return, of a case that another experiment measures, the case there."""
        there = self.tables[case.source].all_cases if case.source and case.source in self.tables else ()
        return next((one for one in there if one.case == case.case and one.source is None), None)

    def _cases(self, name: str, key: str) -> tuple[Case, ...]:
        """Return the cases listed under `key`, each once for each algorithm."""
        found: list[Case] = []
        for position, case in enumerate(getattr(self.tables[name], key)):
            with self.mistakes.collecting():
                found += self._programs(case, key, name, f"{self.path}: experiments.{name}.{key}.{position}")
        return tuple(found)

    def _programs(self, case: CaseEntry, key: str, name: str, where: str) -> list[Case]:
        """Return one case, once for each algorithm."""
        table = self.tables[name]
        for other, said in (("workload", case.workload), ("from", case.source)):
            if table.algorithms and said is not None:
                raise UserError(
                    f"{where}.{other}: a table of several algorithms has its programs in `algorithms` alone"
                )
        if case.source is not None:
            return [self._taken(case, key, name, where)]
        found = []
        for program in tuple(table.algorithms) or (case.workload or table.workload,):
            # What an algorithm needs of its own is for the table's cases, not for those that are tried.
            algorithm = table.algorithms.get(program)
            own = dict(algorithm.parameters) if algorithm and key == "cases" else {}
            if algorithm and algorithm.cases:
                if case.case not in algorithm.cases:
                    continue
                own |= algorithm.cases[case.case]
            found.append(self._case(case, program, own, table, where))
        return found

    def _taken(self, case: CaseEntry, key: str, name: str, where: str) -> Case:
        """Return a case that another experiment of the paper measures."""
        others = [other for other in self.tables if other != name]
        require(f"{where}.from: no other experiment", str(case.source), others)
        source = self.tables[str(case.source)]
        there = {one.case: one for one in getattr(source, key) if one.source is None}
        require(f"{where}: {case.source} measures no case", case.case, there)
        if more := next(iter(case.model_dump(exclude={"case", "source"}, exclude_unset=True)), None):
            raise UserError(f"{where}.{more}: must stand at the case in {case.source}, which measures it, and not here")
        if source.algorithms:
            raise UserError(f"{where}.from: {case.source} tells several algorithms apart; name a table that does not")
        measured = there[case.case]
        return self._case(measured, measured.workload or source.workload, {}, source, where)

    def _case(self, entry: CaseEntry, workload: str, more: Mapping[str, Any], table: Table, where: str) -> Case:
        if workload == PROGRAM and table.program is None:
            raise UserError(f"{where}: the table says nothing of its program; write program: {{command: [...]}} there")
        name = check_name("case", entry.case, where)
        needs, takes = _kinds(workload, table)
        shared = {key: value for key, value in table.protocol.items() if key in takes}
        parameters: dict[str, Any] = shared | entry.parameters | dict(more)
        asked = parameters | dict.fromkeys(needs)
        for key in asked:
            with self.mistakes.collecting():
                require(f"{where}: unknown key", key, takes)
                if key not in parameters:
                    raise UserError(f"{where}: the key {key!r} is missing, here or in protocol: {workload} needs it")
                _check_parameter(parameters[key], takes[key], f"{where}.{key}")
        if (table.counts_examples or entry.examples is not None) and "batch" not in asked:
            raise UserError(f"{where}: the table counts examples: write a batch, here or in protocol")
        if workload == PROGRAM and table.program:
            parameters[PROGRAM] = table.program.as_parameter(self.path.parent.name)
        return Case(name, workload, parameters)


def _kinds(workload: str, table: Table) -> tuple[Kinds, Kinds]:
    """Return what the workload needs, and all that it takes: a program what its command leaves open and, beside others,
    what these take."""
    facts = workloads()[workload]
    if workload != PROGRAM or table.program is None:
        return facts.parameters, facts.takes
    needs: Kinds = dict.fromkeys(sorted(table.program.placeholders), "any")
    others = [workloads()[name].takes for name in table.algorithms if name != PROGRAM]
    return needs, {key: kind for one in (*others, facts.options, needs) for key, kind in one.items()}


def _check_parameter(value: Any, kind: str | tuple[str, ...], where: str) -> None:
    if kind == "any":
        return
    if not isinstance(kind, str):
        require(f"{where}: there is no", value, kind)
    elif isinstance(value, str):
        raise UserError(f"{where}: must be a number, not {value!r}")
    elif kind == "whole" and not (isinstance(value, int) and value >= 1):
        raise UserError(f"{where}: must be a whole number of at least 1, not {value!r}")
