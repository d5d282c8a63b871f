"""The experiments of a paper: tables, their cases, and the workloads that these are of."""

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from respeed.errors import UserError
from respeed.inputs.forms import Mistakes, require
from respeed.inputs.registry import find_workload, workloads
from respeed.model.paper import (
    ARCHITECTURES,
    SECONDS,
    UNITS,
    Algorithm,
    Architectures,
    Case,
    Experiment,
    Facts,
    Parameters,
    Precision,
)
from respeed.model.validation import ABOVE_0, SOME, Above0, Count, Label, Named, OneOf, Says, Text, form
from respeed.paths import check_name

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
            raise UserError(f"{where}.better: of {unit.name}, the {unit.better} number is the better one")
        for algorithm in table.algorithms.values():
            find_workload(algorithm.workload, f"{where}.algorithms")
            for row in algorithm.published_for:
                place = f"{where}.algorithms.{algorithm.workload}.published_for"
                require(f"{place}: no row", row, self.rows or [row])
        find_workload(table.workload, f"{where}.workload")
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
            own = table.algorithms[program].parameters if table.algorithms and key == "cases" else {}
            before = len(self.mistakes)
            found.append(self._case(case, program, own, table, where))
            if len(self.mistakes) == before:
                self._case(case, program, table.whole_parameters, table, f"{where}: whole run")
        return found

    def _taken(self, case: CaseEntry, key: str, name: str, where: str) -> Case:
        """A case that another experiment of the paper measures."""
        others = [other for other in self.tables if other != name]
        require(f"{where}: from: no other experiment", str(case.source), others)
        source = self.tables[str(case.source)]
        there = {one.case: one for one in getattr(source, key) if one.source is None}
        require(f"{where}: {case.source} measures no case", case.case, there)
        if more := next(iter(case.model_dump(exclude={"case", "source"}, exclude_unset=True)), None):
            raise UserError(f"{where}: {more}: stands with the case in {case.source}, not here")
        if source.algorithms:
            raise UserError(f"{where}: from: {case.source} tells several algorithms apart; name a table that does not")
        measured = there[case.case]
        return self._case(measured, measured.workload or source.workload, {}, source, where)

    def _case(self, entry: CaseEntry, workload: str, more: Mapping[str, Any], table: Table, where: str) -> Case:
        name = check_name("case", entry.case, where)
        facts, given = find_workload(workload, where), entry.parameters | dict(more)
        parameters = {key: value for key, value in table.protocol.items() if key in facts.takes} | given
        asked = dict.fromkeys(facts.parameters) | parameters
        for key in asked:
            with self.mistakes.collecting():
                require(f"{where}: unknown key", key, facts.takes)
                if key not in parameters:
                    raise UserError(
                        f"{where}: the key {key!r} is missing, here or in the protocol: {workload} needs it"
                    )
                _check_parameter(parameters[key], facts.takes[key], f"{where}: {key}")
        if (table.counts_examples or entry.examples is not None) and "batch" not in asked:
            raise UserError(f"{where}: the table counts examples, so a case needs a batch, here or in the protocol")
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
                    work = (kind, experiment.precision, case.workload, tuple(sorted(case.parameters.items())))
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
    used = {key for program in programs if program in workloads() for key in workloads()[program].takes}
    for key in table.protocol:
        with mistakes.collecting():
            require(f"{where}.protocol: unknown key", key, used)


def _check_parameter(value: Any, kind: str | tuple[str, ...], where: str) -> None:
    if not isinstance(kind, str):
        require(f"{where}: there is no", value, kind)
    elif isinstance(value, str):
        raise UserError(f"{where}: {value!r} must be a number")
    elif kind == "whole" and not (isinstance(value, int) and value >= 1):
        raise UserError(f"{where}: {value!r} must be a whole number of at least 1")
