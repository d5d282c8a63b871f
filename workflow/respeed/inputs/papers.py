"""Papers: workflow/papers/<name>/paper.yaml and published.csv."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.claims import read_claim
from respeed.inputs.experiments import check_measured_once, read_experiment
from respeed.inputs.files import from_here
from respeed.inputs.mistakes import Mistakes
from respeed.inputs.published import Numbers, read_published
from respeed.inputs.schema import misfits
from respeed.inputs.yaml_file import read_yaml
from respeed.model.paper import Experiment, Fact, Paper
from respeed.model.published import CPU_ARCHITECTURES, Hardware, PublishedRow
from respeed.paths import NAME, PAPERS, check_name

# Of these mappings one entry may be wrong and the others be looked at all the same.
SECTIONS = ("rows", "claims", "experiments")


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
    if name not in paper_names(folder):
        raise UserError(f"{from_here(folder)}: no paper {name!r}{nearest(name, paper_names(folder))}")
    paper, mistakes = read_paper(name, folder)
    mistakes.raise_any()
    assert paper is not None  # without mistakes there is one
    return paper


def read_paper(name: str, folder: Path = PAPERS) -> tuple[Paper | None, Mistakes]:
    """The paper, or None, and all mistakes in its files: of what is wrong, only what depends on it is not looked at."""
    path, mistakes = from_here(folder / name / "paper.yaml"), Mistakes()
    data: Any = None
    with mistakes.collecting():
        data = read_yaml(path)
    if mistakes:
        return None, mistakes
    wrong = _drop_misfits(data, path, mistakes)
    if not isinstance(data, dict) or any(section not in data for section in ("rows", "experiments")):
        return None, mistakes
    rows = _rows(data, path, mistakes)
    known = {*data["rows"], *wrong["rows"]}
    experiments: dict[str, Experiment] = {}
    for key in data["experiments"]:
        experiment = read_experiment(key, data["experiments"], known, path, mistakes)
        if experiment:
            experiments[key] = experiment
    # What is said of an experiment, or of a row, that is wrong itself waits until that is mended.
    unread = {*data["experiments"], *wrong["experiments"]} - set(experiments)
    claims = []
    for key, one in data.get("claims", {}).items():
        if one["experiment"] not in unread and not {one["row"], *one.get("over", ())} & (known - set(rows)):
            with mistakes.collecting():
                check_name("claim", key, str(path))
                claims.append(read_claim(key, one, experiments, rows, f"{path}: claims.{key}"))
    with mistakes.collecting():
        check_measured_once(experiments, path)
    printed = path.with_name("published.csv")
    numbers = read_published(printed, experiments, unread, known, mistakes)
    if mistakes:
        return None, mistakes
    paper = _paper(name, data, rows, experiments, numbers, claims)
    _check_speedups(paper, printed, mistakes)
    _check_claims(paper, path, mistakes)
    return (None if mistakes else paper), mistakes


def _drop_misfits(data: Any, path: Path, mistakes: Mistakes) -> dict[str, set[str]]:
    """Note what does not fit the schema, and take out of `data` the entries of sections that it is in; their names."""
    dropped: dict[str, set[str]] = {section: set() for section in SECTIONS}
    for place, line in list(misfits(data, "paper", path)):
        mistakes.append(line)
        match place:
            case (section, str(name), *_) if section in SECTIONS:
                _drop(data.get(section), name)
                dropped[section].add(name)
            case (section, *_):
                _drop(data, section)
    return dropped


def _drop(mapping: Any, key: Any) -> None:
    if isinstance(mapping, dict):
        mapping.pop(key, None)


def _rows(data: Mapping[str, Any], path: Path, mistakes: Mistakes) -> dict[str, PublishedRow]:
    rows = {}
    for name, row in data["rows"].items():
        with mistakes.collecting():
            check_name("row", name, str(path))
            if len({architecture in CPU_ARCHITECTURES for architecture in row["beside"]}) > 1:
                raise UserError(f"{path}: rows.{name}.beside: names CPU rows and others; a row stands beside one kind")
            hardware = Hardware(**row["hardware"]) if "hardware" in row else None
            facts = {"year": data.get("year", 0), **row, "beside": tuple(row["beside"]), "hardware": hardware}
            rows[name] = PublishedRow(name=name, **facts)
    return rows


def _paper(
    name: str,
    data: Mapping[str, Any],
    rows: Mapping[str, PublishedRow],
    experiments: Mapping[str, Experiment],
    numbers: Numbers,
    claims: list[Any],
) -> Paper:
    return Paper(
        name=name,
        title=data["title"],
        authors=tuple(data["authors"]),
        venue=data["venue"],
        year=data["year"],
        doi=data.get("doi", ""),
        url=data.get("url", ""),
        claim=data["claim"],
        rows=tuple(rows.values()),
        facts=tuple(Fact(**fact) for fact in data["facts"]),
        experiments=experiments,
        published=numbers.values,
        speedups=numbers.speedups,
        claims=tuple(claims),
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


def _check_claims(paper: Paper, path: Path, mistakes: Mistakes) -> None:
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
