"""Papers: workflow/papers/<name>/paper.yaml and published.csv."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StrictStr

from respeed.errors import UserError
from respeed.inputs.experiments import Experiments, Table
from respeed.inputs.files import from_here
from respeed.inputs.forms import Mistakes, Place, fit, require
from respeed.inputs.published import read_published
from respeed.inputs.yaml_loader import read_yaml
from respeed.model.paper import NEEDS, Claim, Experiment, Facts, Paper, PublishedRow
from respeed.model.validation import SOME, Named, Says, Text, Year, form
from respeed.paths import NAME, PAPERS, check_name

Authors = Annotated[tuple[Text, ...], SOME, Says("a list of names")]
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
    facts: Facts
    experiments: Annotated[dict[str, Table], SOME, Says("a mapping of experiment names to what each ran")]
    doi: Text = ""
    url: Address = ""
    claims: Annotated[dict[str, Claim], Named, Says("a mapping of names to what the paper claims")] = Field(
        default_factory=dict
    )


def paper_names(folder: Path = PAPERS) -> tuple[str, ...]:
    """The names of all papers there are. A folder whose name is none is a draft that nobody can ask for."""
    folders = (path.parent.name for path in sorted(folder.glob("*/paper.yaml")))
    return tuple(name for name in folders if NAME.fullmatch(name))


def check_folders(folder: Path = PAPERS) -> Mistakes:
    """A line for each folder of a paper whose name is none."""
    mistakes = Mistakes()
    for path in sorted(folder.glob("*/paper.yaml")):
        with mistakes.collecting():
            check_name("paper", path.parent.name, str(from_here(path.parent)))
    return mistakes


def load_papers(names: Iterable[str] | None = None, folder: Path = PAPERS) -> dict[str, Paper]:
    """Papers by name, by default all; UserError if one of them is not valid."""
    return {name: load_paper(name, folder) for name in (paper_names(folder) if names is None else names)}


def load_paper(name: str, folder: Path = PAPERS) -> Paper:
    """Read one paper; UserError if there is none of that name or its files are not valid."""
    require(f"{from_here(folder)}: no paper", name, paper_names(folder))
    paper, mistakes = read_paper(name, folder)
    mistakes.raise_any()
    assert paper is not None  # without mistakes there is one
    return paper


def read_paper(name: str, folder: Path = PAPERS) -> tuple[Paper | None, Mistakes]:
    """The paper, or None, and all mistakes in its files: of what is wrong, only what depends on it is not looked at."""
    path, mistakes, paper = from_here(folder / name / "paper.yaml"), Mistakes(), None
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
    rows, tables, claims = (fit(form, right[section], path)[0] for section, form in SECTIONS.items())
    known = data["rows"] if isinstance(data.get("rows"), dict) else None
    for row in rows:
        with mistakes.collecting():
            check_name("row", row, str(path))
    experiments = Experiments(tables, known, path, mistakes).read()
    # What is said of an experiment, or of a row, that is wrong itself waits until that is mended.
    every = data["experiments"] if isinstance(data.get("experiments"), dict) else {}
    unread = {*every} - {*experiments}
    for claim in claims.values():
        if every and claim.experiment not in unread and known and not {claim.row, *claim.over} & ({*known} - {*rows}):
            with mistakes.collecting():
                check_name("claim", claim.name, str(path))
                _check_claim(claim, experiments, rows, f"{path}: claims.{claim.name}")
    printed = path.with_name("published.csv")
    values, speedups = read_published(printed, experiments, unread if every else None, known, mistakes)
    if written is None or mistakes:
        return None
    paper = Paper(
        name=name,
        rows=tuple(rows.values()),
        experiments=experiments,
        published=values,
        speedups=speedups,
        claims=tuple(claims.values()),
        **{key: getattr(written, key) for key in ("title", "authors", "venue", "year", "doi", "url", "claim", "facts")},
    )
    _check_speedups(paper, printed, mistakes)
    _check_printed_claims(paper, path, mistakes)
    return paper


def _right_entries(entries: Any, section: str, wrong: Collection[Place]) -> dict[str, Any]:
    """Those of a section in which nothing is wrong."""
    if not isinstance(entries, dict) or (section,) in wrong:
        return {}
    named = {place[1] for place in wrong if len(place) > 1 and place[0] == section}
    return {name: entry for name, entry in entries.items() if name not in named}


def _check_claim(
    claim: Claim, experiments: Mapping[str, Experiment], rows: Mapping[str, PublishedRow], where: str
) -> None:
    """UserError, a line that begins with `where`, for a claim about what is not there."""
    require(f"{where}.experiment: no experiment", claim.experiment, experiments)
    experiment, needed = experiments[claim.experiment], NEEDS[claim.test]
    for key in ("over", "over_case", "by"):
        if key in needed and not getattr(claim, key):
            raise UserError(f"{where}: the key {key!r} is missing: the test {claim.test} needs it")
        if key not in needed and getattr(claim, key):
            raise UserError(f"{where}.{key}: the test {claim.test} does not have it; leave it out")
    for key, row in (("row", claim.row), *(("over", row) for row in claim.over)):
        require(f"{where}.{key}: no row", row, rows)
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
