"""Papers: workflow/papers/<name>/paper.yaml and published.csv."""

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from respeed.load.claims import load_claims
from respeed.load.folders import PAPERS
from respeed.load.modules import workload_parameters
from respeed.load.schema import check_schema
from respeed.load.yaml_file import read_text, read_yaml
from respeed.model.errors import UserError, nearest
from respeed.model.names import check_name
from respeed.model.paper import Algorithm, Architecture, Case, Experiment, Fact, Hardware, Paper

ARCHITECTURES = ("single-cpu", "multi-cpu", "gpu", "tpu")
PUBLISHED_COLUMNS = ["experiment", "case", "architecture", "seconds", "speedup"]


def paper_names(folder: Path = PAPERS) -> tuple[str, ...]:
    """The names of all papers there are, checked as names."""
    return tuple(
        check_name("paper", path.parent.name, str(path.parent)) for path in sorted(folder.glob("*/paper.yaml"))
    )


def load_papers(folder: Path = PAPERS) -> dict[str, Paper]:
    """All papers by name."""
    return {name: load_paper(name, folder) for name in paper_names(folder)}


def load_paper(name: str, folder: Path = PAPERS) -> Paper:
    """Read one paper; UserError if there is none of that name or its files are not valid."""
    if name not in paper_names(folder):
        raise UserError(f"{folder}: no paper {name!r}{nearest(name, paper_names(folder))}")
    path = folder / name / "paper.yaml"
    data = read_yaml(path)
    check_schema(data, "paper", path)
    experiments = {
        check_name("experiment", key, str(path)): _experiment(key, data["experiments"], path)
        for key in data["experiments"]
    }
    _check_measured_once(experiments, path)
    architectures = tuple(_architecture(key, value) for key, value in data["architectures"].items())
    printed, speedups = _published(folder / name / "published.csv", experiments, [row.name for row in architectures])
    return Paper(
        name=name,
        title=data["title"],
        authors=tuple(data["authors"]),
        venue=data["venue"],
        year=data["year"],
        doi=data["doi"],
        claim=data["claim"],
        architectures=architectures,
        facts=_facts(data),
        experiments=experiments,
        published={key: float(text) for key, text in printed.items()},
        printed_speedups=speedups,
        printed_seconds=printed,
        claims=load_claims(data.get("claims", {}), experiments, [row.name for row in architectures], path),
    )


def _architecture(name: str, data: Mapping[str, Any]) -> Architecture:
    hardware = Hardware(**data["hardware"]) if "hardware" in data else None
    return Architecture(name, data["label"], data["package"], hardware)


def _facts(data: Mapping[str, Any]) -> tuple[Fact, ...]:
    return tuple(Fact(**fact) for fact in data["facts"])


def _experiment(name: str, experiments: Mapping[str, Any], path: Path) -> Experiment:
    data = experiments[name]
    algorithms = {
        workload: Algorithm(
            workload,
            facts["label"],
            tuple(facts["published_for"]),
            tuple(facts.get("architectures", ARCHITECTURES)),
        )
        for workload, facts in data.get("algorithms", {}).items()
    }

    if unknown := next((workload for workload in algorithms if workload not in workload_parameters()), None):
        known = nearest(unknown, workload_parameters())
        raise UserError(f"{path}: experiments.{name}.algorithms: no workload {unknown!r}{known}")

    def cases(key: str) -> tuple[Case, ...]:
        found: list[Case] = []
        for position, case in enumerate(data[key]):
            where = f"{path}: experiments.{name}.{key}.{position}"
            if case["case"] in {other.name for other in found}:
                raise UserError(f"{path}: experiments.{name}.{key}: the case {case['case']!r} stands twice")
            if "from" in case:
                found.append(_taken(case, key, name, experiments, where))
                continue
            given = {key: value for key, value in case.items() if key != "column"}
            if algorithms and "workload" in given:
                raise UserError(f"{where}: workload: a table of several algorithms has them in `algorithms` alone")
            programs = tuple(algorithms) or (data["workload"],)
            for program in programs:
                # What an algorithm needs of its own is for the table's cases, not for those that are tried or learned.
                own = data["algorithms"][program].get("parameters", {}) if algorithms and key == "cases" else {}
                found.append(_case(given | own, {**data, "workload": program}, where))
                _case(given | data.get("whole_parameters", {}), {**data, "workload": program}, f"{where}: whole run")
        return tuple(found)

    programs = set(algorithms) | {data["workload"], *(case.get("workload", data["workload"]) for case in data["cases"])}
    used = {key for program in programs for key in workload_parameters().get(program, ())}
    if data["workload"] not in workload_parameters():
        known = nearest(data["workload"], workload_parameters())
        raise UserError(f"{path}: experiments.{name}.workload: no workload {data['workload']!r}{known}")
    if unknown := next((key for key in data["protocol"] if key not in used), None):
        raise UserError(f"{path}: experiments.{name}.protocol: unknown key {unknown!r}{nearest(unknown, used)}")
    return Experiment(
        name=name,
        title=data["title"],
        examples=data.get("examples"),
        cases=cases("cases"),
        smoke_cases=cases("smoke_cases"),
        learning=cases("learning") if "learning" in data else (),
        algorithms=algorithms,
        columns={case["case"]: case["column"] for case in data["cases"] if "column" in case},
        sources={case["case"]: case["from"] for case in (*data["cases"], *data["smoke_cases"]) if "from" in case},
        whole_parameters=data.get("whole_parameters", {}),
        total=data.get("total"),
        round_seconds=data["round_seconds"],
        facts=_facts(data),
        caveats=tuple(data["caveats"]),
    )


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


def _check_measured_once(experiments: Mapping[str, Experiment], path: Path) -> None:
    """The same work under two names would cost twice the time, and print two numbers for one thing."""
    seen: dict[tuple[Any, ...], tuple[str, str]] = {}
    for experiment in experiments.values():
        for kind, cases in (("cases", experiment.cases), ("smoke_cases", experiment.smoke_cases)):
            for case in cases:
                if case.name in experiment.sources:
                    continue
                work = (kind, case.workload, tuple(sorted(case.parameters.items())))
                other, name = seen.setdefault(work, (experiment.name, case.name))
                if (other, name) != (experiment.name, case.name):
                    raise UserError(
                        f"{path}: experiments.{experiment.name}.{kind}: {case.name} is the case {name} of {other}; "
                        f"write {{case: {name}, from: {other}}}, and it is measured once"
                    )


def _case(data: Mapping[str, Any], experiment: Mapping[str, Any], where: str) -> Case:
    given = dict(data)
    name = check_name("case", given.pop("case"), where)
    workload = given.pop("workload", experiment["workload"])
    if workload not in workload_parameters():
        raise UserError(f"{where}: no workload {workload!r}{nearest(workload, workload_parameters())}")
    wanted = workload_parameters()[workload]
    if unknown := next((key for key in given if key not in wanted), None):
        raise UserError(f"{where}: unknown key {unknown!r}{nearest(unknown, wanted)}")
    parameters = {key: value for key, value in experiment["protocol"].items() if key in wanted} | given
    if missing := next((key for key in wanted if key not in parameters), None):
        raise UserError(f"{where}: the key {missing!r} is missing, here or in the protocol: {workload} needs it")
    for key, value in parameters.items():
        if wanted[key] == "whole" and not isinstance(value, int):
            raise UserError(f"{where}: {key}: {value!r} must be a whole number of at least 1")
    if experiment.get("examples") and "batch" not in parameters:
        raise UserError(f"{where}: the table counts examples, so a case needs a batch, here or in the protocol")
    return Case(name, workload, parameters)


def _published(
    path: Path, experiments: Mapping[str, Experiment], architectures: list[str]
) -> tuple[dict[tuple[str, str, str], str], dict[tuple[str, str, str], str]]:
    """The texts of the printed seconds, and of the printed speedups; each is a number greater than 0."""
    rows = csv.DictReader(io.StringIO(read_text(path)))
    if rows.fieldnames != PUBLISHED_COLUMNS:
        raise UserError(f"{path}:1: the columns must be {','.join(PUBLISHED_COLUMNS)}")
    found: dict[tuple[str, str, str], str] = {}
    speedups: dict[tuple[str, str, str], str] = {}
    for line, row in enumerate(rows, start=2):
        where = f"{path}:{line}"
        if None in row or None in row.values():
            raise UserError(f"{where}: must have {len(PUBLISHED_COLUMNS)} values")
        if row["experiment"] not in experiments:
            raise UserError(f"{where}: no experiment {row['experiment']!r}{nearest(row['experiment'], experiments)}")
        experiment = experiments[row["experiment"]]
        columns = [experiment.columns.get(case, case) for case in experiment.case_names()]
        if row["case"] not in columns:
            raise UserError(f"{where}: no case {row['case']!r}{nearest(row['case'], columns)}")
        if row["architecture"] not in architectures:
            raise UserError(
                f"{where}: no architecture {row['architecture']!r}{nearest(row['architecture'], architectures)}"
            )
        key = (row["experiment"], row["case"], row["architecture"])
        if key in found:
            raise UserError(f"{where}: {', '.join(key)} stands twice")
        _check_positive(row["seconds"], f"{where}: seconds")
        found[key] = row["seconds"]
        if row["speedup"]:
            _check_positive(row["speedup"], f"{where}: speedup")
            speedups[key] = row["speedup"]
    for experiment in experiments.values():
        printed = {case for name, case, _ in found if name == experiment.name}
        for case, column in experiment.columns.items():
            if column not in printed:
                known = nearest(column, printed)
                raise UserError(f"{path}: nothing is printed for the column {column!r} of the case {case!r}{known}")
    return found, speedups


def _check_positive(text: str, where: str) -> None:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise UserError(f"{where}: {text!r} must be a number greater than 0")
