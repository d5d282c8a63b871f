"""Printed numbers: published.csv of a paper."""

import csv
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from respeed.errors import UserError, nearest
from respeed.inputs.files import from_here, read_text
from respeed.inputs.forms import Mistakes, require
from respeed.model.paper import SPEEDUP, Experiment, Place, Printed
from respeed.text import clip, name_unprintable

COLUMNS = ["experiment", "case", "row", "value", "unit", "printed"]
# No printed table has more, no line of one is longer, and none of its numbers has more digits.
MAX_BYTES = 300_000
MAX_LINES = 5_000
MAX_LETTERS = 500
# Digits and a point, as everybody reads them: no signs, exponents, underscores or digits of other scripts.
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")


Numbers = dict[Place, Printed]


def read_published(
    path: Path,
    experiments: Mapping[str, Experiment],
    unread: Collection[str] | None,
    rows: Collection[str] | None,
    mistakes: Mistakes,
) -> tuple[Numbers, Numbers]:
    """All numbers of the file, and all printed speedups, by their places; a paper that prints none needs none. What is
    wrong in a line goes to `mistakes`, but not what is said of an experiment that could not be read, None for any of
    them, nor of rows, where None could be."""
    values: Numbers = {}
    speedups: Numbers = {}
    path = from_here(path)
    if os.path.lexists(path):
        with mistakes.collecting():
            for where, line in _lines(path, mistakes):
                if unread is not None and line["experiment"] not in unread:
                    with mistakes.collecting():
                        _read_line(line, where, experiments, rows, speedups if line["unit"] == SPEEDUP else values)
    for experiment in experiments.values():
        there = {place[1] for place in (*values, *speedups) if place[0] == experiment.name}
        for case, column in experiment.columns.items():
            if column not in there:
                known = nearest(column, there)
                mistakes.append(f"{path}: nothing is printed for the column {column!r} of the case {case!r}{known}")
    return values, speedups


def _lines(path: Path, mistakes: Mistakes) -> Iterator[tuple[str, dict[str, str]]]:
    """Each line by its columns, with what messages call it. A line is a row: no text of a table needs two, and so a
    quote that never ends is found where it begins."""
    lines = read_text(path, MAX_BYTES).split("\n")
    if _fields(lines[0], f"{path}:1") != COLUMNS:
        raise UserError(f"{path}:1: the columns must be {','.join(COLUMNS)}")
    if len(lines) > MAX_LINES:
        raise UserError(f"{path}: has more than {MAX_LINES} lines, which no printed table needs")
    for number, line in enumerate(lines[1:], start=2):
        where = f"{path}:{number}"
        with mistakes.collecting():
            fields = _fields(line, where)
            if fields and len(fields) != len(COLUMNS):
                raise UserError(f"{where}: must have {len(COLUMNS)} values, has {len(fields)}")
            if fields:
                yield where, dict(zip(COLUMNS, fields, strict=True))


def _fields(line: str, where: str) -> list[str]:
    """What stands in the line; nothing in an empty one."""
    line = line.removesuffix("\r")
    if char := name_unprintable(line):
        raise UserError(f"{where}: holds the character {char}; write the line without it")
    if len(line) > MAX_LETTERS:
        raise UserError(f"{where}: {clip(line, 40)!r} has more than {MAX_LETTERS} characters")
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error as error:
        said = "a quote does not end" if "unexpected end" in str(error) else str(error)
        raise UserError(f"{where}: is no line of a CSV file: {said}") from None


def _read_line(
    line: Mapping[str, str],
    where: str,
    experiments: Mapping[str, Experiment],
    rows: Collection[str] | None,
    found: Numbers,
) -> None:
    name = line["experiment"]
    require(f"{where}: no experiment", name, experiments)
    experiment = experiments[name]
    columns = [experiment.columns.get(case, case) for case in experiment.case_names()]
    require(f"{where}: no case", line["case"], columns)
    require(f"{where}: no row", line["row"], [line["row"]] if rows is None else rows)
    if line["unit"] not in {experiment.unit.name, SPEEDUP}:
        raise UserError(f"{where}: unit: {line['unit']!r} is neither {name}'s unit, {experiment.unit.name}, nor x")
    place = (name, line["case"], line["row"])
    if place in found:
        raise UserError(f"{where}: {', '.join(place)} stands twice")
    value = positive(line["value"], f"{where}: value")
    said = line["printed"].replace(",", "").removesuffix(SPEEDUP).strip()
    if positive(said, f"{where}: printed") != value:
        raise UserError(f"{where}: printed: {line['printed']!r} is another number than the value, {line['value']}")
    found[place] = Printed(value, line["printed"].removesuffix(SPEEDUP).strip())


def positive(text: str, where: str) -> float:
    """The number that the text is; UserError unless it is one greater than 0."""
    value = float(text) if _NUMBER.fullmatch(text) else 0.0
    if value <= 0:
        raise UserError(f"{where}: {text!r} must be a number greater than 0, in digits such as 1234.5")
    return value
