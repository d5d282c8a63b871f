"""The experiments of a paper: tables, their cases, and the workloads that these are of."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.mistakes import Mistakes
from respeed.inputs.modules import check_module, workload_parameters
from respeed.model.paper import Algorithm, Case, Experiment, Fact
from respeed.model.published import ARCHITECTURES
from respeed.model.unit import SECONDS, UNITS
from respeed.paths import check_name

# What a case says beside its parameters.
NOT_PARAMETERS = {"case", "workload", "from", "column", "examples"}


def read_experiment(
    name: str, experiments: Mapping[str, Any], rows: Collection[str], path: Path, mistakes: Mistakes
) -> Experiment | None:
    """The experiment `name` of the mapping in the file; None if anything is wrong with it, which goes to `mistakes`."""
    before = len(mistakes)
    experiment = None
    with mistakes.collecting():
        experiment = _read(name, experiments, rows, path, mistakes)
    return experiment if len(mistakes) == before else None


def _read(
    name: str, experiments: Mapping[str, Any], rows: Collection[str], path: Path, mistakes: Mistakes
) -> Experiment:
    data, where = experiments[name], f"{path}: experiments.{name}"
    check_name("experiment", name, str(path))
    unit = UNITS[data.get("unit", SECONDS.name)]
    if data.get("better", unit.better) != unit.better:
        raise UserError(f"{where}.better: of {unit.name}, the {unit.better} number is the better one")
    algorithms = {
        workload: _algorithm(workload, facts, rows, f"{where}.algorithms")
        for workload, facts in data.get("algorithms", {}).items()
    }
    _check_workload(data["workload"], f"{where}.workload")
    with mistakes.collecting():
        _check_protocol(data, algorithms, where)
    both = {case["case"] for case in data["cases"]} & {case["case"] for case in data["smoke_cases"]}
    if both:
        raise UserError(f"{where}.smoke_cases: {min(both)} is the name of one of the cases; give the tiny one another")
    return Experiment(
        name=name,
        title=data["title"],
        unit=unit,
        examples=data.get("examples"),
        case_examples={
            case["case"]: found["examples"]
            for case in _all_cases(data)
            if "examples" in (found := _source(case, experiments) or case)
        },
        cases=_cases("cases", name, experiments, algorithms, where, mistakes),
        smoke_cases=_cases("smoke_cases", name, experiments, algorithms, where, mistakes),
        learning=_cases("learning", name, experiments, algorithms, where, mistakes) if "learning" in data else (),
        algorithms=algorithms,
        columns={case["case"]: case["column"] for case in data["cases"] if "column" in case},
        sources={case["case"]: case["from"] for case in _all_cases(data) if "from" in case},
        whole_parameters=data.get("whole_parameters", {}),
        total=data.get("total"),
        round_seconds=data["round_seconds"],
        facts=tuple(Fact(**fact) for fact in data["facts"]),
        caveats=tuple(data["caveats"]),
    )


def check_measured_once(experiments: Mapping[str, Experiment], path: Path) -> None:
    """The same work under two names would cost twice the time, and print two numbers for one thing."""
    seen: dict[tuple[Any, ...], tuple[str, str]] = {}
    for experiment in experiments.values():
        for kind, cases in (("cases", experiment.cases), ("smoke_cases", experiment.smoke_cases)):
            for case in cases:
                if case.name in experiment.sources:
                    continue
                work = (kind, case.workload, tuple(sorted(case.parameters.items())))
                other, name = seen.setdefault(work, (experiment.name, case.name))
                if other == experiment.name and name != case.name:
                    raise UserError(f"{path}: experiments.{other}.{kind}: {case.name} and {name} are the same work")
                if (other, name) != (experiment.name, case.name):
                    raise UserError(
                        f"{path}: experiments.{experiment.name}.{kind}: {case.name} is the case {name} of {other}; "
                        f"write {{case: {name}, from: {other}}}, and it is measured once"
                    )


def _all_cases(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*data["cases"], *data["smoke_cases"]]


def _algorithm(workload: str, data: Mapping[str, Any], rows: Collection[str], where: str) -> Algorithm:
    _check_workload(workload, where)
    for row in data["published_for"]:
        if row not in rows:
            raise UserError(f"{where}.{workload}.published_for: no row {row!r}{nearest(row, rows)}")
    return Algorithm(
        workload, data["label"], tuple(data["published_for"]), tuple(data.get("architectures", ARCHITECTURES))
    )


def _check_workload(name: str, where: str) -> None:
    check_module("workload", name, where)
    if name not in workload_parameters():
        raise UserError(f"{where}: no workload {name!r}{nearest(name, workload_parameters())}")


def _check_protocol(data: Mapping[str, Any], algorithms: Collection[str], where: str) -> None:
    programs = {*algorithms, data["workload"], *(case.get("workload", data["workload"]) for case in data["cases"])}
    used = {key for program in programs for key in workload_parameters().get(program, ())}
    if unknown := next((key for key in data["protocol"] if key not in used), None):
        raise UserError(f"{where}.protocol: unknown key {unknown!r}{nearest(unknown, used)}")


def _source(case: Mapping[str, Any], experiments: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Of a case that another experiment measures, the case there."""
    there = _all_cases(experiments[case["from"]]) if case.get("from") in experiments else []
    return next((one for one in there if one["case"] == case["case"] and "from" not in one), None)


def _cases(
    key: str,
    name: str,
    experiments: Mapping[str, Any],
    algorithms: Collection[str],
    where: str,
    mistakes: Mistakes,
) -> tuple[Case, ...]:
    """The cases listed under `key`, once for each algorithm."""
    data = experiments[name]
    found: list[Case] = []
    for position, case in enumerate(data[key]):
        with mistakes.collecting():
            if case["case"] in {other.name for other in found}:
                raise UserError(f"{where}.{key}: the case {case['case']!r} stands twice")
            found += _programs(case, key, name, experiments, algorithms, f"{where}.{key}.{position}")
    return tuple(found)


def _programs(
    case: Mapping[str, Any],
    key: str,
    name: str,
    experiments: Mapping[str, Any],
    algorithms: Collection[str],
    where: str,
) -> list[Case]:
    """One case, once for each algorithm."""
    data = experiments[name]
    for other in ("workload", "from"):
        if algorithms and other in case:
            raise UserError(f"{where}: {other}: a table of several algorithms has its programs in `algorithms` alone")
    if "from" in case:
        return [_taken(case, key, name, experiments, where)]
    found = []
    for program in tuple(algorithms) or (data["workload"],):
        # What an algorithm needs of its own is for the table's cases, not for those that are tried or learned.
        own = data["algorithms"][program].get("parameters", {}) if algorithms and key == "cases" else {}
        found.append(_case({**case, **own}, {**data, "workload": program}, where))
        _case({**case, **data.get("whole_parameters", {})}, {**data, "workload": program}, f"{where}: whole run")
    return found


def _taken(case: Mapping[str, Any], key: str, name: str, experiments: Mapping[str, Any], where: str) -> Case:
    """A case that another experiment of the paper measures."""
    others = [other for other in experiments if other != name]
    if case["from"] not in others:
        raise UserError(f"{where}: from: no other experiment {case['from']!r}{nearest(case['from'], others)}")
    source = experiments[case["from"]]
    there = {one["case"]: one for one in source[key] if "from" not in one}
    if case["case"] not in there:
        raise UserError(f"{where}: {case['from']} measures no case {case['case']!r}{nearest(case['case'], there)}")
    if unknown := next((key for key in case if key not in {"case", "from"}), None):
        raise UserError(f"{where}: {unknown}: stands with the case in {case['from']}, not here")
    if "algorithms" in source:
        raise UserError(f"{where}: from: {case['from']} tells several algorithms apart; name a table that does not")
    return _case(there[case["case"]], source, where)


def _case(data: Mapping[str, Any], experiment: Mapping[str, Any], where: str) -> Case:
    name = check_name("case", data["case"], where)
    workload = data.get("workload", experiment["workload"])
    _check_workload(workload, where)
    wanted = workload_parameters()[workload]
    given = {key: value for key, value in data.items() if key not in NOT_PARAMETERS}
    if unknown := next((key for key in given if key not in wanted), None):
        raise UserError(f"{where}: unknown key {unknown!r}{nearest(unknown, wanted)}")
    parameters = {key: value for key, value in experiment["protocol"].items() if key in wanted} | given
    for key, kind in wanted.items():
        if key not in parameters:
            raise UserError(f"{where}: the key {key!r} is missing, here or in the protocol: {workload} needs it")
        _check_parameter(parameters[key], kind, f"{where}: {key}")
    counted = UNITS[experiment.get("unit", SECONDS.name)].counted == "examples"
    if (counted or experiment.get("examples") or "examples" in data) and "batch" not in parameters:
        raise UserError(f"{where}: the table counts examples, so a case needs a batch, here or in the protocol")
    return Case(name, workload, parameters)


def _check_parameter(value: Any, kind: str | tuple[str, ...], where: str) -> None:
    if not isinstance(kind, str):
        if value not in kind:
            raise UserError(f"{where}: {value!r} is not offered{nearest(str(value), kind)}")
    elif isinstance(value, str):
        raise UserError(f"{where}: {value!r} must be a number")
    elif kind == "whole" and not (isinstance(value, int) and value >= 1):
        raise UserError(f"{where}: {value!r} must be a whole number of at least 1")
