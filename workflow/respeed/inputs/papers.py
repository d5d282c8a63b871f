"""Papers: paper.yaml in workflow/papers/<name>, and beside it published.csv, which has every printed number.

`Paper` is the model of paper.yaml. The functions `_*_mistakes` check what no model can, such as that a claim's row
exists. A line of published.csv has a number's experiment, printed column (`case`) and row. The number's `value` is in
the table's unit, or is a speedup if `unit` is SPEEDUP. `printed` is the number's text in the paper; if the number was
inferred, `printed` is INFERRED and the number. If the paper prints words in place of a number, such as "Out of memory",
`printed` has these words, and `value` is empty.
"""

import csv
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest, unknown
from respeed.inputs.reader import NOTES, SHOWN, Files, adapter, fit, read_text, read_yaml
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
    Place,
    Printed,
    Program,
    PublishedRow,
    number_bytes,
)
from respeed.paths import ELSEWHERE, RUN, check_name
from respeed.text import clip, name_unprintable

# The workload that runs an outside program, and the names in a command that a row fills in.
PROGRAM = "program"
ROW_SAYS = {"threads", "device", "precision", "seed", "paper"}
# Mistakes that are listed of a file: what comes after them is mostly the same.
MOST_MISTAKES = 100
HEAD = "experiment,case,row,value,unit,printed"
# A printed number: commas stand only between groups of three digits, so that 10,5 is none.
_DIGITS = re.compile(r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+")
# Words in place of a number, such as n/a.
_WORDS = re.compile(r"(?![~.,+-]*[0-9]).{1,40}")


def _read(name: str, path: Path) -> Paper:
    paper = fit(Paper, read_yaml(path), path, name=name)
    experiments = dict(paper.experiments)
    mistakes = [*_twin_mistakes(paper)]
    wrong = set()
    for title, table in paper.experiments.items():
        lines = [*_table_mistakes(table, paper)]
        if not lines:
            cases = tuple(_cases(table, name))
            tiny = tuple(_cases(table, name, is_tiny=True))
            table = replace(table, cases=cases, smoke_cases=tiny)
            experiments[title] = table
            lines = [*_case_mistakes(table)]
        if lines:
            wrong.add(title)
        mistakes += lines
    paper = replace(paper, experiments=experiments)
    for claim in paper.claims.values():
        if claim.experiment not in wrong:
            mistakes += _claim_mistakes(claim, paper)
    lines = [f"{path}: {line}" for line in dict.fromkeys(mistakes)]  # several cases may have the same mistake
    numbers = path.with_name("published.csv")
    if os.path.lexists(numbers):  # a paper that prints no number needs none
        paper, more = _read_published(paper, numbers)
        lines += more
    else:
        for other in sorted(path.parent.iterdir()):
            if other.name.lower().startswith(numbers.stem) and not other.name.endswith(NOTES):
                lines.append(f"{other}: is not read; a paper's printed numbers are in {numbers.name}")
    if not lines:
        lines = [f"{numbers}: {line}" for line in _printed_mistakes(paper)]
    if lines:
        raise UserError(*lines)
    return paper


PAPER_FILES = Files("paper", "papers", "*/paper.yaml", _read)
paper_names = PAPER_FILES.names
load_paper = PAPER_FILES.load
load_papers = PAPER_FILES.load_all


def name_paper(word: str) -> str:
    """Return the name of a paper; of a path, which has a /, the name of its folder, by which it is found from now on.

    Raises UserError if that folder has no paper.yaml, or a name that is not allowed or another folder has.
    """
    if "/" not in word:
        return word
    folder = Path(word).expanduser().resolve()
    if not (folder / "paper.yaml").is_file():
        raise UserError(f"{word}: has no paper.yaml; {RUN}respeed new paper {word} writes one to start from")
    name = check_name("paper", folder.name, word)
    if ELSEWHERE.setdefault(name, folder) != folder:
        raise UserError(f"{word}: {ELSEWHERE[name]} has the same name; rename one of the two folders")
    return name


def _cases(table: Experiment, paper: str, *, is_tiny: bool = False) -> Iterator[Case]:
    """Yield the table's cases, or its tiny ones, with their workloads and all parameters, one for each algorithm."""
    for entry in table.smoke_cases if is_tiny else table.cases:
        for workload in table.algorithms or (entry.workload or table.workload,):
            _, takes = _kinds(table, workload)
            parameters = {key: value for key, value in table.protocol.items() if key in takes}
            parameters |= entry.parameters
            if algorithm := table.algorithms.get(workload):
                if algorithm.cases and entry.name not in algorithm.cases:
                    continue
                if not is_tiny:  # an algorithm's own parameters are for the table's cases
                    parameters |= algorithm.parameters
                parameters |= algorithm.cases.get(entry.name, {})
            if workload == PROGRAM:
                program = adapter(Program).dump_python(table.program, mode="json", exclude_defaults=True)
                parameters[PROGRAM] = {"paper": paper} | program
            column = None if is_tiny else entry.column  # a tiny case has no printed column
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
    takes: Kinds = {}
    for name in table.algorithms:
        if name != PROGRAM:
            takes |= workloads()[name].takes
    return needs, takes | facts.options | needs


# Mistakes in a paper.yaml that fits the model; each is a line without the file's name.


def _table_mistakes(table: Experiment, paper: Paper) -> Iterator[str]:
    """Yield the mistakes that keep the table's cases from being made."""
    where = f"experiments.{table.name}"
    entries = (*table.cases, *table.smoke_cases)
    algorithms = table.algorithms.values()
    names = Counter(entry.name for entry in entries)
    for case, times in names.items():
        if times > 1:
            yield f"{where}: the case {case!r} is there twice; give one of them another name"
        if case in (TOTAL, SMOKE_TOTAL):
            yield f"{where}: the case {case!r} has the name of the sum of all cases; give it another one"
        if algorithms and all(algorithm.cases and case not in algorithm.cases for algorithm in algorithms):
            yield f"{where}: no algorithm has the case {case!r}; leave it out, or name it in one of them"
    if table.repeats and (table.examples or table.unit.counted == "examples"):
        yield f"{where}: leave repeats out: the table counts examples, which give the number of steps"
    if table.total and table.unit.counted:
        yield f"{where}: leave total out: {table.unit.name} of several cases do not add up"
    used = {".workload": table.workload}
    for name, algorithm in table.algorithms.items():
        key = f".algorithms.{name}"
        used[key] = name
        for row in algorithm.published_for:
            yield from unknown(f"{where}{key}.published_for: no row", row, paper.rows)
        for case in algorithm.cases:
            yield from unknown(f"{where}{key}.cases: no case", case, names)
    for entry in entries:
        key = f": case {entry.name}"
        if entry.workload:
            used[f"{key}: workload"] = entry.workload
        if entry.workload and algorithms:
            advice = "has its programs in `algorithms` alone: leave workload out"
            yield f"{where}{key}: a table of several algorithms {advice}"
        if PROGRAM in entry.parameters:
            yield f"{where}{key}: unknown key 'program'; write it in the table"
    reasons = []
    keys = set[str]()
    for key, name in used.items():
        if reason := why_unusable("workload", name):
            reasons.append(f"{where}{key}: {reason}")
        else:
            _, takes = _kinds(table, name)
            keys.update(takes)
    if reasons:
        yield from reasons
    elif PROGRAM in used.values() and table.program is None:
        yield f"{where}: the table has no program; write program: {{command: [...]}} there"
    else:
        for key in table.protocol:
            yield from unknown(f"{where}.protocol: unknown key", key, keys)


def _case_mistakes(table: Experiment) -> Iterator[str]:
    """Yield the mistakes in the parameters of the table's cases, which must fit the fields of their workloads."""
    for case in (*table.cases, *table.smoke_cases):
        where = f"experiments.{table.name}: case {case.name}"
        needs, takes = _kinds(table, case.workload)
        given = dict(case.parameters)
        if case.workload == PROGRAM:
            del given[PROGRAM]
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
    text = clip(repr(value), SHOWN)
    if isinstance(kind, tuple):
        return None if value in kind else f"there is no {text}{nearest(value, kind)}"
    if kind == "any" and value and isinstance(value, str):
        return None
    if kind == "whole":
        is_right = type(value) is int and 1 <= value <= LARGEST  # true is an int, too, but not so to a reader
        words = "a whole number of at least 1"
    else:
        is_right = type(value) in (int, float) and 0 <= value <= LARGEST
        words = "a number of at least 0"
    return None if is_right else f"must be {words}, not {text}"


def _claim_mistakes(claim: Claim, paper: Paper) -> Iterator[str]:
    """Yield the mistakes that keep the claim from being tested on its table, or on the claims in its `of`."""
    where = f"claims.{claim.name}"
    needed = NEEDS[claim.test]
    for key in dict.fromkeys(chain.from_iterable(NEEDS.values())):
        is_given = bool(getattr(claim, key))
        if key in needed and not is_given:
            yield f"{where}: the key {key!r} is missing: the test {claim.test} needs it"
        if is_given and key not in needed:
            yield f"{where}.{key}: the test {claim.test} has no such key; leave it out"
    if claim.cases and claim.of:
        yield f"{where}.cases: the claims in `of` have their cases; leave it out"
    for name in claim.of:
        yield from unknown(f"{where}.of: no claim", name, paper.claims)
        if name in paper.claims and paper.claims[name].test != "each":
            yield f"{where}.of: {name} has the test {paper.claims[name].test}; a mean is over claims of the test each"
    if not claim.experiment:
        return
    wrong = unknown(f"{where}.experiment: no experiment", claim.experiment, paper.experiments)
    if claim.row:
        wrong += unknown(f"{where}.row: no row", claim.row, paper.rows)
    for name in claim.over:
        wrong += unknown(f"{where}.over: no row", name, paper.rows)
    yield from wrong
    if claim.row and not wrong:
        yield from _place_mistakes(claim, paper)


def _place_mistakes(claim: Claim, paper: Paper) -> Iterator[str]:
    """Yield the mistakes in the cases and rows of a claim, whose table and rows exist."""
    where = f"claims.{claim.name}"
    table = paper.experiments[claim.experiment]
    sizes = {}
    parameters = set[str]()
    for case in table.cases:
        size = case.parameters.get(claim.by, 0)
        sizes[case.name] = size if isinstance(size, int | float) else 0
        parameters.update(case.parameters)
    names = set(table.case_names())
    if claim.test not in ("each", "faster"):
        names = sizes.keys() - {claim.over_case}
    for name in claim.cases:
        yield from unknown(f"{where}.cases: no case", name, names)
    row = paper.rows[claim.row]
    for name in claim.over:
        is_same = not table.algorithms and _are_alike(row, paper.rows[name])
        if is_same or name == claim.row:
            yield f"{where}.over: {name} and {claim.row} stand for the same rows of ours: their speedup is always 1"
    if "by" not in NEEDS[claim.test]:
        return
    wrong = unknown(f"{where}.over_case: no case", claim.over_case, sizes)
    wrong += unknown(f"{where}.by: no parameter", claim.by, parameters)
    yield from wrong
    first = sizes.pop(claim.over_case, 0)
    least = min(sizes.values(), default=math.inf)
    if not wrong and not 0 < first < least:
        yield f"{where}.by: {claim.by} must be a number that is larger in every case than in {claim.over_case}"


def _twin_mistakes(paper: Paper) -> Iterator[str]:
    """Yield the rows that no table could tell apart; the year stands in none."""
    seen: dict[Names, str] = {}
    for row in paper.rows.values():
        facts = (row.label, row.algorithm, row.device, row.precision)
        words = ", ".join(filter(None, facts))
        first = seen.setdefault((words, row.package), row.name)
        if first != row.name:
            yield f"rows.{row.name}.label: tables cannot tell it from {first}, {words}; give it another label"


def _are_alike(row: PublishedRow, base: PublishedRow) -> bool:
    """Return whether both published rows are compared with the same rows of ours."""
    precisions = {row.precision or "fp32", base.precision or "fp32"}
    return len(precisions) == 1 and not set(row.beside).isdisjoint(base.beside)


# published.csv.


def _read_published(paper: Paper, path: Path) -> tuple[Paper, list[str]]:
    """Return the paper with the numbers and speedups of published.csv, and a line for each mistake there."""
    values: dict[str, dict[Place, Printed]] = defaultdict(dict)
    speedups: dict[str, dict[Place, Printed]] = defaultdict(dict)
    mistakes = list[str]()
    head, *lines = read_text(path).splitlines() or [""]
    if ",".join(_split_line(head)) != HEAD:
        return paper, [f"{path}:1: the columns must be {HEAD}, in this order, with commas between them"]
    for number, line in enumerate(lines, start=2):
        if len(mistakes) >= MOST_MISTAKES:
            mistakes.append(f"{path}:{number}: not looked at from here on, as there are so many mistakes above")
            break
        cells = _split_line(line)
        if not any(cells):
            continue
        wrong = [*_line_mistakes(cells, paper)]
        if not wrong:
            experiment, case, row, value, unit, printed = cells
            numbers = (speedups if unit == SPEEDUP else values)[experiment]
            if (case, row) in numbers:
                wrong.append(f"{experiment}, {case}, {row} is there twice; leave one of them out")
            width = number_bytes(paper.rows[row].precision) / number_bytes("fp32")
            if value:
                text = printed.removesuffix(SPEEDUP).strip()
                numbers[case, row] = Printed(_number(value), text, width)
            else:
                numbers[case, row] = Printed(math.nan, printed)
        mistakes += [f"{path}:{number}: {mistake}" for mistake in wrong]
    experiments = {}
    for name, table in paper.experiments.items():
        experiments[name] = replace(table, published=values[name], speedups=speedups[name])
    return replace(paper, experiments=experiments), mistakes


def _split_line(line: str) -> list[str]:
    """Return the cells of a line, without the blanks around them that spreadsheets and people leave."""
    lines = csv.reader([line], skipinitialspace=True)
    return [cell.strip() for cell in next(lines, [])]


def _line_mistakes(cells: list[str], paper: Paper) -> Iterator[str]:
    """Yield the mistakes in the cells of a line."""
    if len(cells) != HEAD.count(",") + 1:
        yield f"must have the values {HEAD}, not {len(cells)} of them; or a quote is not closed"
        return
    experiment, case, row, value, unit, printed = cells
    yield from unknown("no experiment", experiment, paper.experiments)
    yield from unknown("no row", row, paper.rows)
    if table := paper.experiments.get(experiment):
        columns = [table.columns.get(name, name) for name in table.case_names()]
        yield from unknown("no case", case, columns)
        yield from unknown("no unit", unit, [table.unit.name, SPEEDUP])
    has_words = _WORDS.fullmatch(printed) and not name_unprintable(printed)
    if has_words and not value and unit != SPEEDUP:
        return
    number = _number(value)
    if "," in value or not 0 < number <= LARGEST:
        yield f"value: must be a number greater than 0, in digits with a point, such as 1234.5, not {value!r}"
    elif _number(printed) != number:
        yield f"printed: must be the value, {value}, in digits such as 1,234.5, not {printed!r}"


def _number(text: str) -> float:
    """Return the number in a printed text such as 6,573.73 or 12.9x; 0 if it is not a number."""
    digits = text.removeprefix(INFERRED).removesuffix(SPEEDUP).strip()
    return float(digits.replace(",", "")) if _DIGITS.fullmatch(digits) else 0.0


def _printed_mistakes(paper: Paper) -> Iterator[str]:
    """Compare cases' columns, printed speedups and claims with the printed numbers, and yield the mistakes."""
    for table in paper.experiments.values():
        printed = {column for column, _ in (*table.published, *table.speedups)}
        for case, column in table.columns.items():
            yield from unknown(f"no number is printed in the column of the case {case!r}:", column, printed)
        for (column, row), number in table.speedups.items():
            speedup = table.speedup(column, row, paper.cpu_rows)
            if speedup is None:
                continue
            # The two may differ by the rounding of the speedup and of the numbers.
            if abs(speedup - number.value) > number.rounding * number.value + 0.01 * speedup:
                start = f"the speedup {number.text} of {table.name}, {column}, {row}"
                yield f"{start} contradicts the printed numbers, which give {speedup:.3g}"
    for claim in paper.claims.values():
        if claim.test not in {"each", "growth"}:
            continue
        row = claim.row
        table = paper.experiments[claim.experiment]
        speedups = []
        for case in claim.cases or table.case_names():
            printed_speedup = table.printed_speedup(case, row)
            speedups.append(table.speedup(case, row, claim.over) or printed_speedup)
        if not any(speedups) or (claim.cases and not all(speedups)):
            cases = ", ".join(claim.cases)
            where = f"{cases} of {table.name}" if cases else table.name
            start = f"claims.{claim.name}: published.csv has no speedup of {row} over {' or '.join(claim.over)}"
            yield f"{start} in {where}, nor numbers for one"
