"""Papers: workflow/papers/<name>/paper.yaml and published.csv, which has every printed number."""

import csv
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictStr

from respeed.errors import UserError, nearest
from respeed.inputs.experiments import ASIDE, Experiments, Table
from respeed.inputs.files import from_here, read_text, read_yaml
from respeed.inputs.forms import Keys, Mistakes, faultless, fit, require
from respeed.model.paper import NEEDS, SECONDS, SPEEDUP, Claim, Experiment, Facts, Paper, Place, Printed, PublishedRow
from respeed.model.validation import SOME, Named, Positive, Says, Text, Year, form
from respeed.paths import NAME, PAPERS, check_name
from respeed.text import clip, name_unprintable

HISTORY = Says("a mapping of experiments to the operations that a printed time is for, or null where it is a rate")


def _author(value: Any) -> Any:
    """An organisation's name gets braces, as in BibTeX: `reference` keeps it whole."""
    name = value["organisation"] if isinstance(value, dict) and [*value] == ["organisation"] else None
    return f"{{{name}}}" if isinstance(name, str) and name else value


Author = Annotated[
    StrictStr,
    Field(min_length=1, max_length=1000),
    BeforeValidator(_author),
    Says("a name, or {organisation: NAME}", {"type": ["string", "object"]}),
]
Authors = Annotated[tuple[Author, ...], SOME, Says("a list of names")]
Doi = Annotated[
    StrictStr,
    Field(pattern=r"^10\.[0-9]{4,9}(\.[0-9]+)*/[^ ]+$"),
    Says("a DOI alone, such as 10.1145/1553374.1553486, without the address before it"),
]
Address = Annotated[StrictStr, Field(pattern="^https?://[^ ]+$"), Says("an address that begins with https://")]
# Of these mappings one entry may be wrong and the others be looked at all the same.
SECTIONS: dict[str, Any] = {
    "rows": Annotated[dict[str, PublishedRow], Named],
    "experiments": dict[str, Table],
    "claims": Annotated[dict[str, Claim], Named],
}


@form("a mapping such as workflow/papers/raina2009/paper.yaml")
class PaperFile:
    """paper.yaml as it is written."""

    title: Text
    authors: Authors
    venue: Text
    year: Year
    claim: Text
    rows: Annotated[dict[str, PublishedRow], SOME, Named, Says("a mapping of names to the published rows")]
    experiments: Annotated[dict[str, Table], SOME, Says("a mapping of experiment names to what each ran")]
    facts: Facts = ()
    doi: Doi = ""
    url: Address = ""
    claims: Annotated[dict[str, Claim], Named, Says("a mapping of names to what the paper claims")] = Field(
        default_factory=dict
    )
    history: Annotated[dict[str, Positive | None], HISTORY] = Field(default_factory=dict)


# What a paper has from its file unchanged.
AS_WRITTEN = ("title", "authors", "venue", "year", "doi", "url", "claim", "facts", "history")


def paper_folders(folder: Path = PAPERS) -> list[str]:
    """The names of all folders of papers, or of what is meant to be one: a name may be none."""
    return [path.parent.name for path in sorted(folder.glob("*/paper.yaml"))]


def paper_names(folder: Path = PAPERS) -> tuple[str, ...]:
    """The names of all papers there are. A folder whose name is none is a draft that nobody can ask for."""
    return tuple(name for name in paper_folders(folder) if NAME.fullmatch(name))


def load_papers(names: Iterable[str] | None = None, folder: Path = PAPERS) -> dict[str, Paper]:
    """Papers by name, by default all; UserError if one of them is not valid."""
    return {name: load_paper(name, folder) for name in (paper_names(folder) if names is None else names)}


def load_paper(name: str, folder: Path = PAPERS) -> Paper:
    """Read one paper; UserError if there is none of that name or its files are not valid."""
    require(f"{from_here(folder)}: no paper", name, paper_names(folder))
    return faultless(read_paper(name, folder))


def read_paper(name: str, folder: Path = PAPERS) -> tuple[Paper | None, Mistakes]:
    """The paper, or None, and all mistakes in its files: of what is wrong, only what depends on it is not looked at."""
    path, mistakes, paper = from_here(folder / name / "paper.yaml"), Mistakes(), None
    with mistakes.collecting():
        check_name("paper", name, str(path.parent))
    with mistakes.collecting():
        paper = _read(name, read_yaml(path), path, mistakes)
    return (None if mistakes else paper), mistakes


def _read(name: str, data: Any, path: Path, mistakes: Mistakes) -> Paper | None:
    written, misfits = fit(PaperFile, data, path)
    mistakes += [line for _, line in misfits]
    if not isinstance(data, dict):
        return None
    wrong = [place for place, _ in misfits]
    right = {section: _right_entries(data.get(section), section, wrong) for section in SECTIONS}
    if "year" in data and ("year",) not in wrong:
        right["rows"] = {name: {"year": data["year"], **row} for name, row in right["rows"].items()}
    right["experiments"] = _mended(data.get("experiments"), wrong) | (whole := right["experiments"])
    rows, tables, claims = (fit(form, right[section], path)[0] for section, form in SECTIONS.items())
    known = data["rows"] if isinstance(data.get("rows"), dict) else None
    for row in rows:
        with mistakes.collecting():
            check_name("row", row, str(path))
    read = Experiments(tables, known, path, mistakes).read()
    experiments = {name: experiment for name, experiment in read.items() if name in whole}
    # What is said of an experiment, or of a row, that is wrong itself waits until that is mended.
    every = data["experiments"] if isinstance(data.get("experiments"), dict) else {}
    unread = {*every} - {*experiments}
    for claim in claims.values():
        where, before = f"{path}: claims.{claim.name}", len(mistakes)
        named = [("row", claim.row, known), *(("over", row, known) for row in claim.over)]
        for key, said, there in (("experiment", claim.experiment, every), *named):
            with mistakes.collecting():
                require(f"{where}.{key}: no {key.replace('over', 'row')}", said, there or [said])
        with mistakes.collecting():
            check_name("claim", claim.name, str(path))
            if len(mistakes) == before and claim.experiment in experiments and {claim.row, *claim.over} <= {*rows}:
                _check_claim(claim, experiments[claim.experiment], rows, where)
    printed = path.with_name("published.csv")
    values, speedups = read_published(printed, experiments, unread if every else None, known, mistakes)
    for one in written.history if written else ():
        with mistakes.collecting():
            require(f"{path}: history: no experiment", one, every)
    if written is None or mistakes:
        return None
    for one, work in written.history.items():
        if (work is None) != bool(experiments[one].unit.counted):
            raise UserError(f"{path}: history.{one}: must be a number of operations, or null for a table of rates")
    paper = Paper(
        name=name,
        rows=tuple(rows.values()),
        experiments=experiments,
        published=values,
        speedups=speedups,
        claims=tuple(claims.values()),
        **{key: getattr(written, key) for key in AS_WRITTEN},
    )
    _check_speedups(paper, printed, mistakes)
    _check_printed_claims(paper, path, mistakes)
    return paper


def _right_entries(entries: Any, section: str, wrong: Collection[Keys]) -> dict[str, Any]:
    """Those of a section in which nothing is wrong."""
    if not isinstance(entries, dict) or (section,) in wrong:
        return {}
    named = {place[1] for place in wrong if len(place) > 1 and place[0] == section}
    return {name: entry for name, entry in entries.items() if name not in named}


def _mended(entries: Any, wrong: Collection[Keys]) -> dict[str, Any]:
    """The experiments whose cases can be read, whatever else is wrong in them, without what is."""
    found, known = dict[str, Any](), {*Table.__dataclass_fields__}
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        mine = [place for place in wrong if place[:2] == ("experiments", name)]
        keys = {place[2] for place in mine if len(place) > 2}
        if mine and isinstance(entry, dict) and keys <= ASIDE and ("protocol" in entry or {*entry} <= known):
            mended = {"title": "–"} | {key: entry[key] for key in entry if key in known - keys - {"better"}}
            found |= {name: mended} if fit(Table, mended, PAPERS)[0] else {}
    return found


def _check_claim(claim: Claim, experiment: Experiment, rows: Mapping[str, PublishedRow], where: str) -> None:
    """UserError, a line that begins with `where`, for a claim that says nothing of the experiment and these rows."""
    needed = NEEDS[claim.test]
    for key in ("over", "over_case", "by"):
        if key in needed and not getattr(claim, key):
            raise UserError(f"{where}: the key {key!r} is missing: the test {claim.test} needs it")
        if key not in needed and getattr(claim, key):
            raise UserError(f"{where}.{key}: the test {claim.test} does not have it; leave it out")
    if claim.row in claim.over:
        raise UserError(f"{where}.over: {claim.row} is the claim's own row; name what it is compared with")
    for one in claim.over:
        if not experiment.algorithms and _alike(rows[claim.row], rows[one]):
            raise UserError(
                f"{where}.over: {one} stands beside the same rows of ours as {claim.row}: they cannot differ"
            )
    if claim.test == "total" and experiment.total is None:
        raise UserError(f"{where}.test: {experiment.name} has no total; name a table that has one, or test each")
    if claim.test == "limited":
        _check_scaling(claim, experiment, where)


def _alike(one: PublishedRow, other: PublishedRow) -> bool:
    """Whether the same rows of ours answer both."""
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


def _check_speedups(paper: Paper, path: Path, mistakes: Mistakes) -> None:
    """A printed speedup must be what the printed numbers make, as far as it was rounded and these were."""
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
    """A claim about printed numbers must be about some."""
    for claim in paper.claims:
        cases = paper.experiments[claim.experiment].case_names()
        if claim.test in {"each", "largest", "growth"} and not any(
            paper.speedup(claim.experiment, case, claim.row, claim.over)
            or paper.printed_speedup(claim.experiment, case, claim.row)
            for case in cases
        ):
            over = " or ".join(claim.over)
            mistakes.append(
                f"{path}: claims.{claim.name}: nothing is printed of {claim.row} over {over} in {claim.experiment}"
            )


# Without a unit it is the table's, and without a text the value is what was printed.
COLUMNS = ["experiment", "case", "row", "value", "unit", "printed"]
# What columns were called before tables had units.
OLDER = {"architecture": "row", "seconds": "value"}
# No printed table has more, no line of one is longer, and none of its numbers has more digits.
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
    path, head, lines = from_here(path), COLUMNS, list[str]()
    with mistakes.collecting():
        head, lines = _lines(path) if os.path.lexists(path) else (head, lines)
    for number, text in enumerate(lines, start=2):
        where = f"{path}:{number}"
        with mistakes.collecting():
            fields = _fields(text, where)
            if fields and len(fields) != len(head):
                raise UserError(f"{where}: must have {len(head)} values, has {len(fields)}")
            line = {OLDER.get(key, key): text for key, text in zip(head, fields, strict=False)}
            if line and unread is not None:
                require(f"{where}: no experiment", line["experiment"], [*experiments, *unread])
            if line and line["experiment"] in experiments:
                line = {"unit": SECONDS.name, **line} if "seconds" in head else line
                found = speedups if line.get("unit") == SPEEDUP else values
                _read_line(line, where, experiments, rows, found, mistakes)
    for experiment in experiments.values():
        there = {place[1] for place in (*values, *speedups) if place[0] == experiment.name}
        for case, column in experiment.columns.items():
            if column not in there:
                known = nearest(column, there)
                mistakes.append(f"{path}: nothing is printed for the column {column!r} of the case {case!r}{known}")
    return values, speedups


def _lines(path: Path) -> tuple[list[str], list[str]]:
    """The columns' names, and the lines below. A line is a row: no text of a table needs two, and so a quote that never
    ends is found where it begins."""
    lines = read_text(path).split("\n")
    head = _fields(lines[0], f"{path}:1")
    if [OLDER.get(name, name) for name in head] not in (COLUMNS[:number] for number in (4, 5, 6)):
        may = "in this order; printed, or unit and printed, may be left out"
        raise UserError(f"{path}:1: the columns must be {','.join(COLUMNS)}, {may}")
    if len(lines) > MAX_LINES:
        raise UserError(f"{path}: has more than {MAX_LINES} lines, which no printed table needs")
    return head, lines[1:]


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
    mistakes: Mistakes,
) -> None:
    """Put its number into `found`, or all that is wrong with it to the mistakes."""
    name, experiment = line["experiment"], experiments[line["experiment"]]
    line = {"unit": experiment.unit.name, "printed": line["value"], **line}
    columns = [experiment.columns.get(case, case) for case in experiment.case_names()]
    place, before = (name, line["case"], line["row"]), len(mistakes)
    with mistakes.collecting():
        require(f"{where}: no case", line["case"], columns)
    with mistakes.collecting():
        require(f"{where}: no row", line["row"], [line["row"]] if rows is None else rows)
    if line["unit"] not in {experiment.unit.name, SPEEDUP}:
        mistakes.append(f"{where}: unit: {line['unit']!r} is neither {name}'s unit, {experiment.unit.name}, nor x")
    if place in found:
        mistakes.append(f"{where}: {', '.join(place)} stands twice")
    value = positive(line["value"], f"{where}: value")
    said = line["printed"].replace(",", "").removesuffix(SPEEDUP).strip()
    if positive(said, f"{where}: printed") != value:
        raise UserError(f"{where}: printed: {line['printed']!r} is another number than the value, {line['value']}")
    if len(mistakes) == before:
        found[place] = Printed(value, line["printed"].removesuffix(SPEEDUP).strip())


def positive(text: str, where: str) -> float:
    """The number that the text is; UserError unless it is one greater than 0."""
    value = float(text) if _NUMBER.fullmatch(text) else 0.0
    if value <= 0:
        raise UserError(f"{where}: {text!r} must be a number greater than 0, in digits such as 1234.5")
    return value
