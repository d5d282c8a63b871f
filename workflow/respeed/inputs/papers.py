"""Papers: workflow/papers/<name>/paper.yaml and published.csv, which has every printed number."""

import csv
import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictFloat, StrictInt, ValidationInfo, WithJsonSchema, field_validator
from pydantic.dataclasses import dataclass

from respeed.errors import UserError, nearest
from respeed.inputs.experiments import Experiments, Table
from respeed.inputs.files import read_text, read_yaml
from respeed.inputs.forms import Mistakes, fit, require
from respeed.inputs.reader import Files
from respeed.model.fields import FORM, LARGEST, SOME, Named, Positive, Text, Year
from respeed.model.paper import INFERRED, NEEDS, SPEEDUP, Claim, Experiment, Fact, Paper, Place, Printed, PublishedRow
from respeed.paths import PAPERS, check_name
from respeed.text import name_unprintable


def _read_author(value: Any) -> Any:
    """Put braces around the name of an organisation, as in BibTeX: `reference` keeps it whole."""
    name = value.get("organisation") if isinstance(value, dict) and len(value) == 1 else value
    if name and isinstance(name, str):
        return name if value is name else f"{{{name}}}"
    raise ValueError("must be a name, or {organisation: NAME}")


Author = Annotated[Text, BeforeValidator(_read_author), WithJsonSchema({"type": ["string", "object"]})]
Doi = Annotated[
    str,
    Field(
        pattern=r"^10\.[0-9]{4,9}(\.[0-9]+)*/[^ ]+$",
        description="a DOI alone, such as 10.1145/1553374.1553486, without the address before it",
    ),
]
Address = Annotated[str, Field(pattern="^https?://[^ ]+$", description="an address that begins with https://")]


@dataclass(frozen=True, config=FORM)
class PaperFile:
    """paper.yaml as it is written. An author may be {organisation: NAME}."""

    title: Text
    authors: Annotated[tuple[Author, ...], SOME]
    venue: Text
    year: Year
    claim: Text
    rows: Annotated[dict[str, PublishedRow], SOME, Named]
    experiments: Annotated[dict[str, Table], SOME]
    facts: tuple[Fact, ...] = ()
    doi: Doi = ""
    url: Address = ""
    claims: Annotated[dict[str, Claim], Named] = field(default_factory=dict)
    history: dict[str, Positive | None] = field(default_factory=dict)


# What a paper has from its file unchanged.
AS_WRITTEN = ("title", "authors", "venue", "year", "doi", "url", "claim", "facts", "history")


def _read(name: str, path: Path) -> Paper:
    mistakes = Mistakes()
    written: PaperFile = fit(PaperFile, _with_years(read_yaml(path)), path)
    for kind, names in (("row", written.rows), ("claim", written.claims)):
        for one in names:
            with mistakes.collecting():
                check_name(kind, one, str(path))
    experiments = Experiments(written.experiments, written.rows, path, mistakes).make()
    mistakes.raise_any()
    for claim in written.claims.values():
        where, before = f"{path}: claims.{claim.name}", len(mistakes)
        with mistakes.collecting():
            require(f"{where}.experiment: no experiment", claim.experiment, experiments)
        for key, row in (("row", claim.row), *(("over", row) for row in claim.over)):
            with mistakes.collecting():
                require(f"{where}.{key}: no row", row, written.rows)
        with mistakes.collecting():
            if len(mistakes) == before:
                _check_claim(claim, experiments[claim.experiment], written.rows, where)
    for one, work in written.history.items():
        with mistakes.collecting():
            require(f"{path}: history: no experiment", one, experiments)
            if (work is None) != bool(experiments[one].unit.counted):
                raise UserError(f"{path}: history.{one}: must be a number of operations, or null for a table of rates")
    printed = path.with_name("published.csv")
    values, speedups = _read_published(printed, experiments, written.rows, mistakes)
    mistakes.raise_any()
    paper = Paper(
        name=name,
        rows=tuple(written.rows.values()),
        experiments=experiments,
        published=values,
        speedups=speedups,
        claims=tuple(written.claims.values()),
        **{key: getattr(written, key) for key in AS_WRITTEN},
    )
    _check_columns(paper, printed, mistakes)
    _check_speedups(paper, printed, mistakes)
    _check_printed_claims(paper, path, mistakes)
    mistakes.raise_any()
    return paper


PAPER_FILES = Files("paper", PAPERS, "*/paper.yaml", _read)
paper_names = PAPER_FILES.names
load_paper = PAPER_FILES.load
load_papers = PAPER_FILES.load_all


def _with_years(data: Any) -> Any:
    """Give rows without a year the paper's."""
    if not isinstance(data, dict) or "year" not in data or not isinstance(data.get("rows"), dict):
        return data
    rows = data["rows"].items()
    return data | {"rows": {key: {"year": data["year"], **row} if isinstance(row, dict) else row for key, row in rows}}


def _check_claim(claim: Claim, experiment: Experiment, rows: Mapping[str, PublishedRow], where: str) -> None:
    """Raise a UserError, a line that begins with `where`, for a claim that says nothing of the experiment and rows."""
    needed = NEEDS[claim.test]
    for key in ("over", "over_case", "by"):
        if key in needed and not getattr(claim, key):
            raise UserError(f"{where}: the key {key!r} is missing: the test {claim.test} needs it")
        if key not in needed and getattr(claim, key):
            raise UserError(f"{where}.{key}: the test {claim.test} does not have it; leave it out")
    for one in claim.over:
        if one == claim.row:
            raise UserError(f"{where}.over: {one} is the claim's own row; name what it is compared with")
        if not experiment.algorithms and _are_alike(rows[claim.row], rows[one]):
            raise UserError(
                f"{where}.over: {one} stands beside the same rows of ours as {claim.row}: they cannot differ"
            )
    if claim.test == "limited":
        _check_scaling(claim, experiment, where)


def _are_alike(one: PublishedRow, other: PublishedRow) -> bool:
    """Return whether the same rows of ours answer both."""
    return bool(set(one.beside) & set(other.beside)) and (one.precision or "fp32") == (other.precision or "fp32")


def _check_scaling(claim: Claim, experiment: Experiment, where: str) -> None:
    require(f"{where}.over_case: no case", claim.over_case, experiment.case_names())
    for case in experiment.cases:
        require(f"{where}.by: {case.name} has no parameter", claim.by, case.parameters)
    sizes = {case.name: case.parameters[claim.by] for case in experiment.cases}
    first = sizes.pop(claim.over_case)
    if any(isinstance(size, str) or size <= first for size in sizes.values()) or isinstance(first, str) or first <= 0:
        raise UserError(
            f"{where}.by: {claim.by} must be a number that is larger in every case than in {claim.over_case}"
        )


def _check_columns(paper: Paper, path: Path, mistakes: Mistakes) -> None:
    """Let no case answer a column of which nothing is printed."""
    for experiment in paper.experiments.values():
        there = {place[1] for place in (*paper.published, *paper.speedups) if place[0] == experiment.name}
        for case, column in experiment.columns.items():
            if column not in there:
                known = nearest(column, there)
                mistakes.append(f"{path}: nothing is printed for the column {column!r} of the case {case!r}{known}")


def _check_speedups(paper: Paper, path: Path, mistakes: Mistakes) -> None:
    """Hold each printed speedup against what the printed numbers make, as far as it was rounded and these were."""
    for (experiment, column, row), printed in paper.speedups.items():
        cases = paper.experiments[experiment].case_names()
        case = next(one for one in cases if paper.experiments[experiment].columns.get(one, one) == column)
        made = paper.speedup(experiment, case, row, paper.cpu_rows)
        decimals = len(printed.text.partition(".")[2])
        if made and abs(made - printed.value) > 0.5 * 10.0**-decimals + 0.01 * made:
            mistakes.append(
                f"{path}: the speedup {printed.text} of {experiment}, {column}, {row} contradicts the printed numbers, "
                f"which make {made:.3g}"
            )


def _check_printed_claims(paper: Paper, path: Path, mistakes: Mistakes) -> None:
    """Let no claim be about printed numbers where none is printed."""
    for claim in paper.claims:
        cases = paper.experiments[claim.experiment].case_names()
        if claim.test in {"each", "growth"} and not any(
            paper.speedup(claim.experiment, case, claim.row, claim.over)
            or paper.printed_speedup(claim.experiment, case, claim.row)
            for case in cases
        ):
            over = " or ".join(claim.over)
            mistakes.append(
                f"{path}: claims.{claim.name}: nothing is printed of {claim.row} over {over} in {claim.experiment}"
            )


COLUMNS = ["experiment", "case", "row", "value", "unit", "printed"]
Numbers = dict[Place, Printed]


def _read_number(text: Any) -> Any:
    """Return the number of a printed text: 6,573.73 or 12.9x."""
    digits = str(text).removeprefix(INFERRED).replace(",", "").removesuffix(SPEEDUP).strip()
    if not (digits.isascii() and digits.replace(".", "", 1).isdecimal()):
        raise ValueError(f"{text!r} must be a number greater than 0, in digits such as 1234.5")
    return float(digits)


Digits = Annotated[StrictInt | StrictFloat, Field(gt=0, le=LARGEST), BeforeValidator(_read_number)]


@dataclass(frozen=True, config=FORM)
class PrintedLine:
    """A line of published.csv: a number in the table's unit, or x for a speedup, and its text as it was printed; of a
    number that was inferred, INFERRED and the number."""

    experiment: str
    case: str
    row: str
    value: Digits
    unit: str
    printed: str

    @field_validator("printed")
    @classmethod
    def _check_printed(cls, printed: str, info: ValidationInfo) -> str:
        value = info.data.get("value")
        if value is not None and _read_number(printed) != value:
            raise ValueError(f"{printed!r} is another number than the value, {value}")
        return printed.removesuffix(SPEEDUP).strip()


def _read_published(
    path: Path, experiments: Mapping[str, Experiment], rows: Mapping[str, PublishedRow], mistakes: Mistakes
) -> tuple[Numbers, Numbers]:
    """Return all printed numbers, and all printed speedups, by their places; a paper that prints none needs no file."""
    values: Numbers = {}
    speedups: Numbers = {}
    with mistakes.collecting():
        for number, line in _lines(path) if os.path.lexists(path) else ():
            where = Path(f"{path}:{number}")
            with mistakes.collecting():
                found: PrintedLine = fit(PrintedLine, line, where)
                place = _place(found, experiments, rows, str(where))
                numbers = speedups if found.unit == SPEEDUP else values
                if place in numbers:
                    raise UserError(f"{where}: {', '.join(place)} stands twice; leave one of them out")
                numbers[place] = Printed(float(found.value), found.printed)
    return values, speedups


def _lines(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the lines below the columns' names, each with its number; UserError if the text is not of that form."""
    lines = read_text(path).splitlines()
    for number, line in enumerate(lines, start=1):
        if char := name_unprintable(line):
            raise UserError(f"{path}:{number}: holds the character {char}; write the line without it")
        if line.count('"') % 2:
            raise UserError(f"{path}:{number}: a quote does not end; write one printed number a line")
    reader = csv.DictReader(lines, restkey="more values", strict=True)
    if reader.fieldnames != COLUMNS:
        raise UserError(f"{path}:1: the columns must be {','.join(COLUMNS)}, in this order")
    try:
        return [(reader.line_num, line) for line in reader]
    except csv.Error as error:
        raise UserError(f"{path}:{reader.line_num + 1}: is no line of a CSV file: {error}") from None


def _place(
    line: PrintedLine, experiments: Mapping[str, Experiment], rows: Mapping[str, PublishedRow], where: str
) -> Place:
    """Return where the line's number stands; UserError, a line that begins with `where`, if there is no such place."""
    require(f"{where}: no experiment", line.experiment, experiments)
    experiment = experiments[line.experiment]
    require(f"{where}: no case", line.case, [experiment.columns.get(case, case) for case in experiment.case_names()])
    require(f"{where}: no row", line.row, rows)
    require(f"{where}: unit: no unit", line.unit, [experiment.unit.name, SPEEDUP])
    return line.experiment, line.case, line.row
