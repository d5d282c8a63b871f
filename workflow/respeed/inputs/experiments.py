"""The experiments of a paper: tables, their cases, and the workloads that these are of."""

import dataclasses
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from respeed.errors import UserError
from respeed.inputs.forms import Mistakes, require
from respeed.inputs.profiles import Requires
from respeed.inputs.registry import Kinds, find_workload, workloads
from respeed.model.paper import (
    ARCHITECTURES,
    PLACEHOLDER,
    SECONDS,
    UNITS,
    Algorithm,
    Architecture,
    Architectures,
    Case,
    Experiment,
    Facts,
    Parameters,
    Precision,
)
from respeed.model.validation import ABOVE_0, SOME, Above0, Count, Label, Named, OneOf, Positive, Says, Text, form
from respeed.paths import check_name

# The workload whose work the table says itself; what a row says in its command; and the units of a time that it prints.
PROGRAM = "program"
NO_PROGRAM = "the table says nothing of it; write program: {command: [...]} there"
ROW_SAYS = ("threads", "device", "precision", "seed", "paper")
TIME_UNITS = ("seconds", "milliseconds", "microseconds")
Workload = Annotated[StrictStr, Says("the name of a workload in workflow/respeed/workloads")]
CaseName = Annotated[StrictStr, Says("a name in small letters, digits, - and _ (quote it if it is all digits)")]
Source = Annotated[StrictStr, Says("the name of the experiment that measures the case")]
Column = Annotated[StrictStr, Says("the published column that the case answers, where it has another name")]


class CaseEntry(BaseModel):
    """A case as it is written: what else stands there are its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: Parameters
    case: CaseName
    workload: Workload | None = None
    source: Source | None = Field(default=None, alias="from")
    column: Column | None = None
    examples: Count | None = None

    @property
    def parameters(self) -> Parameters:
        return dict(self.model_extra or {})


Entry = Annotated[CaseEntry, Says("a mapping such as {case: 576x1024, visible: 576, hidden: 1024}")]
Cases = Annotated[tuple[Entry, ...], SOME, Says("a list of cases")]
Seconds = Annotated[Above0, Says("a number of seconds greater than 0", ABOVE_0)]
Protocol = Annotated[Parameters, Says("a mapping of parameters that all cases share to numbers or texts")]
WholeParameters = Annotated[Parameters, Says("a mapping of parameters to what they are in whole runs")]
PROGRAMS = Says("a mapping of workload names to a label and the published rows whose numbers are theirs")

# A guess for a table whose file makes none, until the machine has records of its own.
ROUND_SECONDS = 10
# What may be wrong in a table, and its cases can be read all the same.
ASIDE = {"unit", "better", "examples", "round_seconds", "facts", "caveats", "total"}

Command = Annotated[
    tuple[Annotated[StrictStr, Field(min_length=1, max_length=500)], ...], Field(min_length=1, max_length=100)
]
Commands = Annotated[
    Command | Annotated[dict[Architecture, Command], SOME],
    Says("a list of words, or a mapping of single-cpu, multi-cpu, gpu or tpu to such lists"),
]
Pattern = Annotated[StrictStr, Field(min_length=1, max_length=500), Says("a regular expression")]
FileName = Annotated[StrictStr, Field(pattern="^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$"), Says("the name of a file")]
ExitCode = Annotated[StrictInt, Field(ge=0, le=255), Says("a whole number from 0 to 255")]
ProgramNeeds = Annotated[Requires, Says("a mapping of what must be there: instructions, memory_gb, packages")]


@form("a mapping with command, and how its time and its result are known")
class ProgramEntry:
    """A program of somebody else's. Its time is that of the whole process, or what it prints: what stands in the one
    group of `time_pattern`, or under `time_key` (a.b) of its JSON. Its result is right if it ends with `exit_code`,
    prints `must_print`, and writes the numbers of the file `like` to `file`, as far as `tolerance` of the largest."""

    command: Commands
    time_pattern: Pattern = ""
    time_key: Text = ""
    time_unit: Annotated[str, OneOf(tuple(TIME_UNITS))] = SECONDS.name
    must_print: Pattern = ""
    file: FileName = ""
    like: Annotated[StrictStr, Field(pattern=r"^[\w{][\w.{}-]{0,99}$"), Says("the name of a file")] = ""
    tolerance: Positive = 0
    exit_code: ExitCode = 0
    timeout_seconds: Seconds = 600
    requires: ProgramNeeds = Field(default_factory=Requires)

    @property
    def placeholders(self) -> set[str]:
        """What its command and `like` leave to the case."""
        commands = self.command.values() if isinstance(self.command, dict) else [self.command]
        words = (word for words in (*commands, [self.like]) for word in words)
        return {name for word in words for name in PLACEHOLDER.findall(word)} - {*ROW_SAYS}

    def check(self, where: str) -> None:
        """UserError, a line that begins with `where`, for keys that do not fit one another."""
        for key, groups in (("time_pattern", 1), ("must_print", None)):
            try:
                pattern = re.compile(getattr(self, key))
            except (re.error, OverflowError, RecursionError) as error:
                raise UserError(f"{where}.{key}: is no regular expression: {error}") from None
            if groups and pattern.pattern and pattern.groups != groups:
                raise UserError(f"{where}.{key}: must have one group, (...), around the number")
        if self.time_pattern and self.time_key:
            raise UserError(f"{where}.time_key: the time is known by time_pattern; leave one of them out")
        if "library" in self.requires:
            raise UserError(f"{where}.requires.library: is for hardware profiles; leave it out")
        if len({bool(self.file), bool(self.like), bool(self.tolerance)}) > 1:
            raise UserError(f"{where}: give file, like and tolerance together, or none of them")

    def as_parameter(self, paper: str) -> dict[str, Any]:
        """What the measuring process needs of it. What is as by default is left out: later versions may have more of
        it."""
        said = json.loads(json.dumps(dataclasses.asdict(self)))
        usual = {one.name: one.default for one in dataclasses.fields(self)} | {"requires": {}}
        return {"paper": paper} | {key: value for key, value in said.items() if value != usual[key]}


@form("a mapping with title, workload, cases, smoke_cases, ...")
class Table:
    """An experiment as it is written."""

    title: Text
    workload: Workload
    cases: Cases
    smoke_cases: Cases
    protocol: Protocol = Field(default_factory=dict)
    round_seconds: Seconds = ROUND_SECONDS
    facts: Facts = ()
    caveats: Annotated[tuple[Text, ...], Says("a list of sentences")] = ()
    unit: Annotated[str, OneOf(tuple(UNITS))] = SECONDS.name
    better: Annotated[str, OneOf(("smaller", "larger"))] = ""
    examples: Count | None = None
    algorithms: Annotated[dict[str, Algorithm], SOME, Named, PROGRAMS] = Field(default_factory=dict)
    whole_parameters: WholeParameters = Field(default_factory=dict)
    total: Label | None = None
    learning: Cases = ()
    repeats: Count | None = None
    architectures: Architectures = ARCHITECTURES
    precision: Precision = ""
    program: ProgramEntry | None = None

    @property
    def all_cases(self) -> tuple[CaseEntry, ...]:
        return (*self.cases, *self.smoke_cases)

    @property
    def counts_examples(self) -> bool:
        return UNITS[self.unit].counted == "examples" or bool(self.examples)


# What an experiment has from its table unchanged.
AS_WRITTEN = (
    "title", "examples", "algorithms", "whole_parameters", "total", "round_seconds", "facts", "caveats", "repeats",
    "architectures", "precision",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Experiments:
    """Makes the experiments of a file's `tables`. `rows` are the names of the published rows, None if these could not
    be read; what is wrong goes to `mistakes`."""

    tables: Mapping[str, Table]
    rows: Collection[str] | None
    path: Path
    mistakes: Mistakes

    def read(self) -> dict[str, Experiment]:
        """Those in which nothing is wrong."""
        found = {}
        for name in self.tables:
            before = len(self.mistakes)
            with self.mistakes.collecting():
                experiment = self._read(name)
                if len(self.mistakes) == before:
                    found[name] = experiment
        with self.mistakes.collecting():
            self._check_measured_once(found)
        return found

    def _read(self, name: str) -> Experiment:
        table, where = self.tables[name], f"{self.path}: experiments.{name}"
        check_name("experiment", name, str(self.path))
        unit = UNITS[table.unit]
        if table.repeats and table.counts_examples:
            raise UserError(f"{where}.repeats: the table counts examples, which say how many steps it is for")
        if table.better not in {"", unit.better}:
            raise UserError(f"{where}.better: in {unit.name} the {unit.better} number is better; leave the key out")
        for algorithm in table.algorithms.values():
            find_workload(algorithm.workload, f"{where}.algorithms")
            for row in algorithm.published_for:
                place = f"{where}.algorithms.{algorithm.workload}.published_for"
                require(f"{place}: no row", row, self.rows or [row])
            for case in algorithm.cases:
                there = [one.case for one in (*table.all_cases, *table.learning)]
                require(f"{where}.algorithms.{algorithm.workload}.cases: no case", case, there)
        find_workload(table.workload, f"{where}.workload")
        if table.program:
            table.program.check(f"{where}.program")
        _check_protocol(table, where, self.mistakes)
        both = {case.case for case in table.cases} & {case.case for case in table.smoke_cases}
        if both:
            raise UserError(
                f"{where}.smoke_cases: {min(both)} is the name of one of the cases; give the tiny one another"
            )
        return Experiment(
            name=name,
            unit=unit,
            case_examples={
                case.case: examples
                for case in table.all_cases
                if (examples := (self._case_there(case) or case).examples) is not None
            },
            cases=self._cases(name, "cases"),
            smoke_cases=self._cases(name, "smoke_cases"),
            learning=self._cases(name, "learning"),
            columns={case.case: case.column for case in table.cases if case.column is not None},
            sources={case.case: case.source for case in table.all_cases if case.source is not None},
            **{key: getattr(table, key) for key in AS_WRITTEN},
        )

    def _case_there(self, case: CaseEntry) -> CaseEntry | None:
        """Of a case that another experiment measures, the case there."""
        there = self.tables[case.source].all_cases if case.source and case.source in self.tables else ()
        return next((one for one in there if one.case == case.case and one.source is None), None)

    def _cases(self, name: str, key: str) -> tuple[Case, ...]:
        """The cases listed under `key`, once for each algorithm."""
        table, where = self.tables[name], f"{self.path}: experiments.{name}.{key}"
        found: list[Case] = []
        for position, case in enumerate(getattr(table, key)):
            with self.mistakes.collecting():
                if case.case in {other.name for other in found}:
                    raise UserError(f"{where}: the case {case.case!r} stands twice")
                found += self._programs(case, table, key, name, f"{where}.{position}")
        return tuple(found)

    def _programs(self, case: CaseEntry, table: Table, key: str, name: str, where: str) -> list[Case]:
        """One case, once for each algorithm."""
        for other, said in (("workload", case.workload), ("from", case.source)):
            if table.algorithms and said is not None:
                raise UserError(
                    f"{where}: {other}: a table of several algorithms has its programs in `algorithms` alone"
                )
        if case.source is not None:
            return [self._taken(case, key, name, where)]
        found = []
        for program in tuple(table.algorithms) or (case.workload or table.workload,):
            # What an algorithm needs of its own is for the table's cases, not for those that are tried or learned.
            algorithm = table.algorithms.get(program)
            own = dict(algorithm.parameters) if algorithm and key == "cases" else {}
            if algorithm and algorithm.cases:
                if case.case not in algorithm.cases:
                    continue
                own |= algorithm.cases[case.case]
            before = len(self.mistakes)
            found.append(self._case(case, program, own, table, where))
            if len(self.mistakes) == before:
                self._case(case, program, own | table.whole_parameters, table, f"{where}: whole run")
        return found

    def _taken(self, case: CaseEntry, key: str, name: str, where: str) -> Case:
        """A case that another experiment of the paper measures."""
        others = [other for other in self.tables if other != name]
        require(f"{where}: from: no other experiment", str(case.source), others)
        source = self.tables[str(case.source)]
        there = {one.case: one for one in getattr(source, key) if one.source is None}
        require(f"{where}: {case.source} measures no case", case.case, there)
        if more := next(iter(case.model_dump(exclude={"case", "source"}, exclude_unset=True)), None):
            raise UserError(
                f"{where}: {more}: must stand at the case in {case.source}, which measures it, and not here"
            )
        if source.algorithms:
            raise UserError(f"{where}: from: {case.source} tells several algorithms apart; name a table that does not")
        measured = there[case.case]
        return self._case(measured, measured.workload or source.workload, {}, source, where)

    def _case(self, entry: CaseEntry, workload: str, more: Mapping[str, Any], table: Table, where: str) -> Case:
        if workload == PROGRAM and (table.program is None or entry in table.learning):
            raise UserError(f"{where}: {PROGRAM}: " + ("learns nothing to look at" if table.program else NO_PROGRAM))
        name = check_name("case", entry.case, where)
        (needs, takes), given = _kinds(workload, table, where), entry.parameters | dict(more)
        parameters: dict[str, Any] = {key: value for key, value in table.protocol.items() if key in takes} | given
        asked = parameters | dict.fromkeys(needs)
        for key in asked:
            with self.mistakes.collecting():
                require(f"{where}: unknown key", key, takes)
                if key not in parameters:
                    raise UserError(
                        f"{where}: the key {key!r} is missing, here or in the protocol: {workload} needs it"
                    )
                _check_parameter(parameters[key], takes[key], f"{where}: {key}")
        if (table.counts_examples or entry.examples is not None) and "batch" not in asked:
            raise UserError(f"{where}: the table counts examples, so a case needs a batch, here or in the protocol")
        if workload == PROGRAM and table.program:
            parameters[PROGRAM] = table.program.as_parameter(self.path.parent.name)
        return Case(name, workload, parameters)

    def _check_measured_once(self, experiments: Mapping[str, Experiment]) -> None:
        """The same work under two names would cost twice the time, and print two numbers for one thing."""
        seen: dict[tuple[Any, ...], tuple[str, str]] = {}
        for experiment in experiments.values():
            for kind, cases in (("cases", experiment.cases), ("smoke_cases", experiment.smoke_cases)):
                where = f"{self.path}: experiments.{experiment.name}.{kind}"
                for case in cases:
                    if case.name in experiment.sources:
                        continue
                    sizes = sorted((key, str(one)) for key, one in case.parameters.items())
                    work = (kind, experiment.precision, case.workload, tuple(sizes))
                    other, name = seen.setdefault(work, (experiment.name, case.name))
                    if other == experiment.name and name != case.name:
                        raise UserError(f"{where}: {case.name} and {name} are the same work")
                    if (other, name) != (experiment.name, case.name):
                        raise UserError(
                            f"{where}: {case.name} is the case {name} of {other}; "
                            f"write {{case: {name}, from: {other}}}, and it is measured once"
                        )


def _check_protocol(table: Table, where: str, mistakes: Mistakes) -> None:
    programs = {*table.algorithms, table.workload, *(case.workload or table.workload for case in table.cases)}
    used = {key for program in programs if program in workloads() for key in _kinds(program, table, where)[1]}
    for key in table.protocol:
        with mistakes.collecting():
            require(f"{where}.protocol: unknown key", key, used)


def _kinds(workload: str, table: Table, where: str) -> tuple[Kinds, Kinds]:
    """What the workload needs, and all that it takes: a program what its command leaves open and, beside others, what
    these take."""
    facts = find_workload(workload, where)
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
        raise UserError(f"{where}: {value!r} must be a number")
    elif kind == "whole" and not (isinstance(value, int) and value >= 1):
        raise UserError(f"{where}: {value!r} must be a whole number of at least 1")
