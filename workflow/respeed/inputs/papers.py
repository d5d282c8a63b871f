"""Papers: paper.yaml in workflow/papers/<name>, and beside it published.csv, which has every printed number.

`Paper` is the model of paper.yaml. The functions `_*_mistakes` check what no model can, such as that a claim's row
exists. A line of published.csv has a number's experiment, printed column (`case`) and row. The number's `value` is in
the table's unit, or is a speedup if `unit` is SPEEDUP. `printed` is the number's text in the paper; if the number was
inferred, `printed` is INFERRED and the number.
"""

import csv
import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from respeed.errors import nearest, unknown
from respeed.inputs.reader import SHOWN, Files, WrongFile, adapter, fit, read_text, read_yaml
from respeed.inputs.registry import Kinds, why_unusable, workloads
from respeed.model import (
    INFERRED,
    LARGEST,
    NEEDS,
    SMOKE_TOTAL,
    SPEEDUP,
    TOTAL,
    Case,
    Claim,
    Experiment,
    Names,
    Paper,
    Parameters,
    Place,
    Printed,
    Program,
    PublishedRow,
)
from respeed.paths import PAPERS
from respeed.text import clip

# The workload that runs an outside program, and the names in a command that a row fills in.
PROGRAM = "program"
ROW_SAYS = {"threads", "device", "precision", "seed", "paper"}
# Mistakes that are listed of a file: what comes after them is mostly the same.
MOST_MISTAKES = 100
HEAD = "experiment,case,row,value,unit,printed"


def _read(name: str, path: Path) -> Paper:
    paper: Paper = fit(Paper, read_yaml(path), path, name=name, published={}, speedups={})
    measured, wrong, mistakes = dict(paper.experiments), set[str](), list[str]()
    for title, table in paper.experiments.items():
        found = [*_table_mistakes(table, paper)]
        if not found:
            measured[title] = _measured(table, name)
            found = [*_case_mistakes(measured[title])]
        wrong |= {title} if found else set()
        mistakes += found
    paper = replace(paper, experiments=measured)
    for claim in paper.claims.values():
        mistakes += _claim_mistakes(claim, paper) if claim.experiment not in wrong else ()
    lines = [f"{path}: {line}" for line in dict.fromkeys(mistakes)]  # several cases may have the same mistake
    numbers = path.with_name("published.csv")
    if os.path.lexists(numbers):  # a paper that prints no number needs none
        paper, more = _read_published(paper, numbers)
        lines += more
    if lines := lines or [f"{numbers}: {line}" for line in _printed_mistakes(paper)]:
        raise WrongFile(lines)
    return paper


PAPER_FILES = Files("paper", PAPERS, "*/paper.yaml", _read)
paper_names = PAPER_FILES.names
load_paper = PAPER_FILES.load
load_papers = PAPER_FILES.load_all


def _measured(table: Experiment, paper: str) -> Experiment:
    """Return a table in which each case has its workload and all its parameters."""
    cases = [case for one in table.cases for case in _cases(one, table, paper)]
    tried = [case for one in table.smoke_cases for case in _cases(one, table, paper, is_tried=True)]
    return replace(table, cases=tuple(cases), smoke_cases=tuple(tried))


def _cases(entry: Case, table: Experiment, paper: str, *, is_tried: bool = False) -> Iterator[Case]:
    """Yield a case with its workload and all its parameters, once for each algorithm that has the case."""
    for workload in table.algorithms or (entry.workload or table.workload,):
        own: Parameters = {}
        if algorithm := table.algorithms.get(workload):
            if algorithm.cases and entry.name not in algorithm.cases:
                continue
            # An algorithm's own parameters are for the table's cases, not for the tiny ones of the smoke preset.
            own = ({} if is_tried else algorithm.parameters) | algorithm.cases.get(entry.name, {})
        takes = _kinds(table, workload)[1]
        shared = {key: value for key, value in table.protocol.items() if key in takes}
        parameters = {**shared, **entry.parameters, **own}
        if workload == PROGRAM:
            program = adapter(Program).dump_python(table.program, mode="json", exclude_defaults=True)
            parameters[PROGRAM] = {"paper": paper} | program
        column = None if is_tried else entry.column  # a tiny case has no printed column
        yield replace(entry, workload=workload, parameters=parameters, column=column)


def _kinds(table: Experiment, workload: str) -> tuple[Kinds, Kinds]:
    """Return the parameters that a case of the table must give the workload, and all that a case may give, with kinds.

    An outside program needs the {names} in its command that its row does not fill in, and may have the parameters of
    the table's other workloads.
    """
    facts = workloads()[workload]
    if workload != PROGRAM or table.program is None:
        return facts.parameters, facts.takes
    needs: Kinds = dict.fromkeys(sorted(table.program.placeholders - ROW_SAYS), "any")
    others = (workloads()[name].takes for name in table.algorithms if name != PROGRAM)
    return needs, {key: kind for one in (*others, facts.options, needs) for key, kind in one.items()}


# Mistakes in a paper.yaml that fits the model; each is a line without the file's name.


def _table_mistakes(table: Experiment, paper: Paper) -> Iterator[str]:
    """Yield the mistakes that keep the table's cases from being made."""
    where, entries = f"experiments.{table.name}", (*table.cases, *table.smoke_cases)
    names = Counter(entry.name for entry in entries)
    for case, times in names.items():
        if times > 1:
            yield f"{where}: the case {case!r} is there twice; give one of them another name"
        if case in (TOTAL, SMOKE_TOTAL):
            yield f"{where}: the case {case!r} has the name of the sum of all cases; give it another one"
        if table.algorithms and all(one.cases and case not in one.cases for one in table.algorithms.values()):
            yield f"{where}: no algorithm has the case {case!r}; leave it out, or name it in one of them"
    if table.repeats and (table.examples or table.unit.counted == "examples"):
        yield f"{where}: leave repeats out: the table counts examples, which give the number of steps"
    if table.total and table.unit.counted:
        yield f"{where}: leave total out: {table.unit.name} of several cases do not add up"
    for name, algorithm in table.algorithms.items():
        for row in algorithm.published_for:
            yield from unknown(f"{where}.algorithms.{name}.published_for: no row", row, paper.rows)
        for case in algorithm.cases:
            yield from unknown(f"{where}.algorithms.{name}.cases: no case", case, names)
    used = [(".workload", table.workload), *((f".algorithms.{name}", name) for name in table.algorithms)]
    used += [(f": case {entry.name}: workload", entry.workload) for entry in entries if entry.workload]
    for entry in entries:
        at = f"{where}: case {entry.name}"
        if entry.workload and table.algorithms:
            yield f"{at}: a table of several algorithms has its programs in `algorithms` alone: leave workload out"
        if PROGRAM in entry.parameters:
            yield f"{at}: unknown key 'program'; write it in the table"
    programs = {name for _, name in used}
    if wrong := [f"{where}{at}: {why}" for at, name in used if (why := why_unusable("workload", name))]:
        yield from wrong
    elif PROGRAM in programs and table.program is None:
        yield f"{where}: the table has no program; write program: {{command: [...]}} there"
    else:
        keys = {key for name in programs for key in _kinds(table, name)[1]}
        for key in table.protocol:
            yield from unknown(f"{where}.protocol: unknown key", key, keys)


def _case_mistakes(table: Experiment) -> Iterator[str]:
    """Yield the mistakes in the parameters of the table's cases, which must fit the fields of their workloads."""
    for case in (*table.cases, *table.smoke_cases):
        where = f"experiments.{table.name}: case {case.name}"
        needs, takes = _kinds(table, case.workload)
        given = {key: value for key, value in case.parameters.items() if (case.workload, key) != (PROGRAM, PROGRAM)}
        for key, value in given.items():
            yield from unknown(f"{where}: unknown key", key, takes)
            if key in takes and (misfit := _misfit(value, takes[key])):
                yield f"{where}: {key}: {misfit}"
        for key in needs:
            if key not in given:
                yield f"{where}: the key {key!r} is missing, here or in protocol: {case.workload} needs it"
        counts = case.examples or table.examples or table.unit.counted == "examples"
        if counts and "batch" not in {*given, *needs}:
            yield f"{where}: the table counts examples: write a batch, here or in protocol"


def _misfit(value: Any, kind: str | Names) -> str | None:
    """Return why a parameter's `value` is not of its `kind`; None if it is."""
    said = clip(repr(value), SHOWN)
    if isinstance(kind, tuple):
        return None if value in kind else f"there is no {said}{nearest(value, kind)}"
    if kind == "any" and value and isinstance(value, str):
        return None
    allowed, words, least = ((int,), "whole number", 1) if kind == "whole" else ((int, float), "number", 0)
    is_right = type(value) in allowed and least <= value <= LARGEST  # true is an int, too, but not so to a reader
    return None if is_right else f"must be a {words} of at least {least}, not {said}"


def _claim_mistakes(claim: Claim, paper: Paper) -> Iterator[str]:
    """Yield the mistakes that keep the claim from being tested on its table, or on the claims in its `of`."""
    where, needed, rows = f"claims.{claim.name}", NEEDS[claim.test], paper.rows
    for key in dict.fromkeys(chain.from_iterable(NEEDS.values())):
        if key in needed and not getattr(claim, key):
            yield f"{where}: the key {key!r} is missing: the test {claim.test} needs it"
        if key not in needed and getattr(claim, key):
            yield f"{where}.{key}: the test {claim.test} has no such key; leave it out"
    for name in claim.of:
        yield from unknown(f"{where}.of: no claim", name, paper.claims)
        if name in paper.claims and paper.claims[name].test != "each":
            yield f"{where}.of: {name} has the test {paper.claims[name].test}; a mean is over claims of the test each"
    if not claim.experiment:
        return
    wrong = unknown(f"{where}.experiment: no experiment", claim.experiment, paper.experiments)
    for key, name in (*[("row", claim.row)] * bool(claim.row), *(("over", name) for name in claim.over)):
        wrong += unknown(f"{where}.{key}: no row", name, rows)
    yield from wrong
    if wrong or ("row" in needed and not claim.row):
        return
    table = paper.experiments[claim.experiment]
    for name in claim.over:
        if name == claim.row or (not table.algorithms and _are_alike(rows[name], rows[claim.row])):
            yield f"{where}.over: {name} and {claim.row} stand for the same rows of ours: their speedup is always 1"
    if "by" in needed:
        sizes = {case.name: case.parameters.get(claim.by) for case in table.cases}
        wrong = unknown(f"{where}.over_case: no case", claim.over_case, sizes)
        wrong += unknown(
            f"{where}.by: no parameter", claim.by, {key for case in table.cases for key in case.parameters}
        )
        yield from wrong
        numbers = {name: size if isinstance(size, int | float) else 0 for name, size in sizes.items()}
        first, least = numbers.pop(claim.over_case, 0), min(numbers.values(), default=math.inf)
        if not wrong and not 0 < first < least:
            yield f"{where}.by: {claim.by} must be a number that is larger in every case than in {claim.over_case}"


def _are_alike(one: PublishedRow, other: PublishedRow) -> bool:
    """Return whether both published rows are compared with the same rows of ours."""
    return bool({*one.beside} & {*other.beside}) and (one.precision or "fp32") == (other.precision or "fp32")


# published.csv.


def _read_published(paper: Paper, path: Path) -> tuple[Paper, list[str]]:
    """Return the paper with the numbers and speedups of published.csv, and a line for each mistake there."""
    values: dict[Place, Printed] = {}
    speedups: dict[Place, Printed] = {}
    mistakes: list[str] = []
    head, *lines = read_text(path).splitlines() or [""]
    if head != HEAD:
        return paper, [f"{path}:1: the columns must be {HEAD}, in this order"]
    for number, line in enumerate(lines, start=2):
        if len(mistakes) > MOST_MISTAKES:
            break
        cells = next(csv.reader([line]), [])
        wrong = [*_line_mistakes(cells, paper)] if cells else []
        if cells and not wrong:
            experiment, case, row, value, unit, printed = cells
            place, numbers = (experiment, case, row), speedups if unit == SPEEDUP else values
            if place in numbers:
                wrong = [f"{', '.join(place)} is there twice; leave one of them out"]
            numbers[place] = Printed(_number(value), printed.removesuffix(SPEEDUP).strip())
        mistakes += [f"{path}:{number}: {one}" for one in wrong]
    return replace(paper, published=values, speedups=speedups), mistakes


def _line_mistakes(cells: list[str], paper: Paper) -> Iterator[str]:
    """Yield the mistakes in the cells of a line."""
    if len(cells) != HEAD.count(",") + 1:
        yield f"must have the values {HEAD}, not {len(cells)} of them; or a quote is not closed"
        return
    experiment, case, row, value, unit, printed = cells
    yield from unknown("no experiment", experiment, paper.experiments)
    yield from unknown("no row", row, paper.rows)
    if table := paper.experiments.get(experiment):
        yield from unknown("no case", case, [table.columns.get(one, one) for one in table.case_names()])
        yield from unknown("no unit", unit, [table.unit.name, SPEEDUP])
    if not 0 < _number(value) <= LARGEST:
        yield f"value: must be a number greater than 0, in digits such as 1234.5, not {value!r}"
    elif _number(printed) != _number(value):
        yield f"printed: must be the value, {value}, in digits such as 1,234.5, not {printed!r}"


def _number(text: str) -> float:
    """Return the number in a printed text such as 6,573.73 or 12.9x; 0 if it is not a number."""
    digits = text.removeprefix(INFERRED).replace(",", "").removesuffix(SPEEDUP).strip()
    return float(digits) if digits.isascii() and digits.replace(".", "", 1).isdecimal() else 0.0


def _printed_mistakes(paper: Paper) -> Iterator[str]:
    """Compare cases' columns, printed speedups and claims with the printed numbers, and yield the mistakes."""
    for table in paper.experiments.values():
        there = {place[1] for place in (*paper.published, *paper.speedups) if place[0] == table.name}
        for case, column in table.columns.items():
            yield from unknown(f"no number is printed in the column of the case {case!r}:", column, there)
    for (name, column, row), number in paper.speedups.items():
        made = paper.speedup(name, column, row, paper.cpu_rows)
        # The two may differ by the rounding of the speedup and of the numbers.
        if made and abs(made - number.value) > 0.5 * 10.0 ** -len(number.text.partition(".")[2]) + 0.01 * made:
            place = f"the speedup {number.text} of {name}, {column}, {row}"
            yield f"{place} contradicts the printed numbers, which give {made:.3g}"
    for claim in paper.claims.values():
        name, row, over = claim.experiment, claim.row, claim.over
        cases = paper.experiments[name].case_names() if claim.test in {"each", "growth"} else ()
        if cases and not any(
            paper.speedup(name, one, row, over) or paper.printed_speedup(name, one, row) for one in cases
        ):
            yield (
                f"claims.{claim.name}: published.csv has no speedup of {row} over {' or '.join(over)} in {name}, "
                "nor numbers for one"
            )
