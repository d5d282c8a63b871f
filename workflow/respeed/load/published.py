"""Printed numbers: published.csv of a paper."""

import csv
import io
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from respeed.load.mistakes import Mistakes
from respeed.load.yaml_file import read_text
from respeed.model.errors import UserError, nearest
from respeed.model.paper import Experiment
from respeed.model.published import Place, Printed
from respeed.model.unit import SPEEDUP

COLUMNS = ["experiment", "case", "row", "value", "unit", "printed"]


@dataclass(frozen=True)
class Numbers:
    """Those of tables, and the speedups, each by its place."""

    values: dict[Place, Printed] = field(default_factory=dict)
    speedups: dict[Place, Printed] = field(default_factory=dict)


def read_published(
    path: Path,
    experiments: Mapping[str, Experiment],
    unread: Collection[str],
    rows: Collection[str],
    mistakes: Mistakes,
) -> Numbers:
    """All numbers of the file; a paper that prints none needs none. What is wrong in a line goes to `mistakes`, but not
    what is said of an experiment that could not be read."""
    numbers = Numbers()
    if path.exists():
        with mistakes.collecting():
            for where, line in _lines(path, mistakes):
                if line["experiment"] not in unread:
                    with mistakes.collecting():
                        _read_line(line, where, experiments, rows, numbers)
    for experiment in experiments.values():
        there = {place[1] for place in (*numbers.values, *numbers.speedups) if place[0] == experiment.name}
        for case, column in experiment.columns.items():
            if column not in there:
                known = nearest(column, there)
                mistakes.append(f"{path}: nothing is printed for the column {column!r} of the case {case!r}{known}")
    return numbers


def _lines(path: Path, mistakes: Mistakes) -> Iterator[tuple[str, dict[str, str]]]:
    rows = csv.DictReader(io.StringIO(read_text(path)))
    if rows.fieldnames != COLUMNS:
        raise UserError(f"{path}:1: the columns must be {','.join(COLUMNS)}")
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            mistakes.append(f"{path}:{number}: must have {len(COLUMNS)} values")
        else:
            yield f"{path}:{number}", row


def _read_line(
    line: Mapping[str, str], where: str, experiments: Mapping[str, Experiment], rows: Collection[str], numbers: Numbers
) -> None:
    name = line["experiment"]
    if name not in experiments:
        raise UserError(f"{where}: no experiment {name!r}{nearest(name, experiments)}")
    experiment = experiments[name]
    columns = [experiment.columns.get(case, case) for case in experiment.case_names()]
    if line["case"] not in columns:
        raise UserError(f"{where}: no case {line['case']!r}{nearest(line['case'], columns)}")
    if line["row"] not in rows:
        raise UserError(f"{where}: no row {line['row']!r}{nearest(line['row'], rows)}")
    if line["unit"] not in {experiment.unit.name, SPEEDUP}:
        raise UserError(f"{where}: unit: {line['unit']!r} is neither {name}'s unit, {experiment.unit.name}, nor x")
    place = (name, line["case"], line["row"])
    found = numbers.speedups if line["unit"] == SPEEDUP else numbers.values
    if place in found:
        raise UserError(f"{where}: {', '.join(place)} stands twice")
    value = positive(line["value"], f"{where}: value")
    said = line["printed"].replace(",", "").removesuffix(SPEEDUP).strip()
    if positive(said, f"{where}: printed") != value:
        raise UserError(f"{where}: printed: {line['printed']!r} is another number than the value, {line['value']}")
    found[place] = Printed(value, line["printed"].removesuffix(SPEEDUP).strip())


def positive(text: str, where: str) -> float:
    """The number that the text is; UserError unless it is one greater than 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise UserError(f"{where}: {text!r} must be a number greater than 0")
    return value
