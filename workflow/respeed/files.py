"""Commands for the files that people write: respeed check, new and init."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from respeed.errors import UserError
from respeed.exchange import paths_below, read_bundle
from respeed.inputs.config import load_config, say_replaced, unread_files
from respeed.inputs.consent import find_consent, say_denied
from respeed.inputs.machines import MACHINE_FILES, PROFILE_FILES, load_datasheets
from respeed.inputs.papers import PAPER_FILES, name_paper
from respeed.inputs.reader import from_here, mistakes_of, read_yaml
from respeed.inputs.registry import broken_files
from respeed.paths import (
    BACKENDS,
    IN_WHEEL,
    ROOT,
    RUN,
    STARTERS,
    STUDY,
    check_name,
    class_name,
    folders_of,
    imported_folder,
    records_folder,
    write_text,
)
from respeed.text import counted

# The text in a starter that the name replaces.
PLACEHOLDER = "NAME"
# Only a clone has the tests that any workload must pass.
_OF_CODE = "pytest tests/conformance -k NAME" if STUDY == ROOT else "respeed check"
# Where each kind of file lies, and the command that tries it.
KINDS = {
    "paper": ("papers", "snakemake --cores all --config preset=smoke papers=NAME"),
    "workload": ("workloads", _OF_CODE),
    "hardware": ("hardware", "respeed doctor"),
    "machine": ("machines", "respeed check"),
    "backend": ("backends", _OF_CODE),
}
# The folders of a study that people fill, and those that a run fills.
FOLDERS = ("papers", "hardware", "machines", "workloads", "results/records", "report")


class Looked(NamedTuple):
    """What was looked at, in words; the mistakes in it; and lines to know before it is run."""

    at: list[str]
    mistakes: list[str]
    lines: list[str]


def check(path: Path | None, show: str | None = None) -> int:
    """Print a line for each mistake in the files that people write and in records.

    Parameters
    ----------
    path : Path or None
        A paper's folder, a file of claims, or a folder or a zip file of records, to check only that. None to check all
        files that people write, including workloads and backends, and the records under results.
    show : str or None
        The name of a paper, to print its claims and tables without any measurement, and check nothing.

    Returns
    -------
    int
        The exit code: 1 if there is any mistake, 0 otherwise.
    """
    if show is not None and path is not None:
        raise UserError("check: give either PATH or --show PAPER")
    if show is not None:
        from respeed.output.page import describe_paper  # imports pandas, which nothing else here needs

        print(describe_paper(PAPER_FILES.load(name_paper(show))))
        return 0
    if path is None:
        looks = [_check_files()]
        for smoke in (False, True):
            homes = filter(paths_below, (records_folder(smoke), imported_folder(smoke)))
            looks += [_check_records(home, smoke) for home in homes]
    elif (path / "paper.yaml").is_file():
        looks = [_check_paper(name_paper(f"{path}/"))]
    elif path.suffix in (".yaml", ".yml"):
        data = read_yaml(path)
        if not isinstance(data, dict) or "claims" not in data:
            raise UserError(f"check: {path} has no claims; without a path, all that you wrote for respeed is checked")
        looks = [_check_claims(path)]
    else:
        looks = [_check_records(path, None)]
    mistakes = list[str]()
    places = list[str]()
    for look in looks:
        mistakes += look.mistakes
        places += look.at
        print(*look.lines, *look.mistakes, sep="\n", end="\n" if look.lines or look.mistakes else "")
    number = counted(len(mistakes), "mistake") if mistakes else "no mistake"
    print(f"{number}; looked at {', '.join(places)}")
    return int(bool(mistakes))


def _check_files() -> Looked:
    """Look at every file that people write."""
    of_config = mistakes_of(load_config)
    looked = Looked(["config.yaml"], of_config + mistakes_of(load_datasheets), say_replaced())
    for kind in (PROFILE_FILES, PAPER_FILES, MACHINE_FILES):
        looked.mistakes.extend(kind.check())
        looked.at.append(counted(len(kind.names()), kind.kind))
    looked.mistakes.extend(unread_files() + broken_files())
    for name in [] if of_config else PAPER_FILES.names():
        _look_at_consent(name, looked)
    return looked


def _check_paper(name: str) -> Looked:
    """Look at one paper, which may lie anywhere."""
    looked = Looked([str(PAPER_FILES.path(name))], mistakes_of(partial(PAPER_FILES.load, name)), [])
    _look_at_consent(name, looked)
    return looked


def _check_claims(path: Path) -> Looked:
    """Look at a file of claims about commands."""
    from respeed.speedup.claims import read_claims  # imports pandas, which nothing else here needs

    try:
        claims, _ = read_claims(path)
    except UserError as error:
        return Looked([str(path)], error.lines, [])
    return Looked([f"{counted(len(claims), 'claim')} in {path}"], [], [])


def _look_at_consent(name: str, looked: Looked) -> None:
    """Add the lines about a paper whose programs may not run, or what is in the way of consent."""
    try:
        denied = say_denied(name)
    except UserError:  # of the paper, which is among the mistakes
        return
    in_the_way = mistakes_of(partial(find_consent, name)) if denied else []
    looked.mistakes.extend(in_the_way)
    looked.lines.extend([] if in_the_way else denied)


def _check_records(home: Path, smoke: bool | None) -> Looked:
    """Look at the records in a folder or a zip file; `smoke` says of which kind they must be."""
    bundle = read_bundle(home, smoke)
    return Looked([f"{counted(len(bundle.files), 'good file')} in {home}"], bundle.mistakes, [])


def write_starter(kind: str, name: str) -> None:
    """Copy the starter of a `kind` under a `name`, and print the path of the copy and the command that tries the copy.

    The `name` of a paper may be the path of a folder, with a /.

    Raises UserError if the name is taken or not allowed, or if there is no place for what people write.
    """
    where, tries = KINDS[kind]
    source = next(STARTERS.glob(f"{kind}*"))
    stem = name
    if kind == "paper" and "/" in name:
        folder = Path(name).expanduser().parent
        stem = Path(name).name
        tries = tries.replace(PLACEHOLDER, name)
    elif STUDY == IN_WHEEL:
        raise UserError(f"new {kind}: this folder is no study; make one with respeed init FOLDER, and go there")
    elif kind == "backend" and STUDY != ROOT:
        raise UserError("new backend: it becomes a part of respeed; write it in a clone of respeed")
    else:
        folder = BACKENDS if kind == "backend" else folders_of(where)[0]
    if source.suffix == ".py" and not stem.isidentifier():
        raise UserError(f"new {kind}: {stem!r} cannot be the name of a Python file; use small letters, digits and _")
    path = folder / f"{check_name(kind, stem, f'new {kind}')}{source.suffix}"
    if path.exists():
        raise UserError(f"new {kind}: {from_here(path)} is there already")

    def fill_in(text: str) -> str:
        text = text.replace(f"class {PLACEHOLDER}(", f"class {class_name(stem)}(").replace(PLACEHOLDER, stem)
        return text if folder.is_relative_to(ROOT) else _without_schema(text)

    _copy(source, path, fill_in)
    print(f"wrote {from_here(path)}; once it is filled in: {RUN}{tries.replace(PLACEHOLDER, stem)}")


def write_study(folder: Path) -> None:
    """Make a folder in which Snakemake measures as in a clone of respeed: with a Snakefile and config.yaml of its own.

    Raises UserError, before anything is written, if the folder has one of these files.
    """

    def of_study(text: str) -> str:
        text = re.sub("^report-(metadata|stylesheet): .*\n", "", _without_schema(text), flags=re.MULTILINE)
        return re.sub("^allow: .*$", "allow: []", text.replace("workflow/", ""), flags=re.MULTILINE)

    targets = {"config.yaml": ROOT / "config.yaml", "profiles": ROOT / "profiles"}
    for source in sorted((STARTERS / "study").iterdir()):
        targets[source.name.replace("gitignore", ".gitignore")] = source
    for name in targets:
        if (folder / name).exists():
            raise UserError(f"init: {folder / name} is there already; name a folder without one")
    for name, source in targets.items():
        _copy(source, folder / name, of_study)
    for name in FOLDERS:
        write_text(folder / name / ".gitkeep", "")
    print(f"wrote {folder}; go there, and with respeed installed: snakemake --cores all --config preset=smoke")


def _without_schema(text: str) -> str:
    """Return a file of YAML without the line that names a schema to editors: the schemas lie in a clone."""
    return re.sub("^# yaml-language-server: .*\n", "", text)


def _copy(source: Path, target: Path, edit: Callable[[str], str]) -> None:
    """Copy a file or the files below a folder, each text edited."""
    for path in source.rglob("*") if source.is_dir() else [source]:
        if path.is_file():
            write_text(target / path.relative_to(source), edit(path.read_text(encoding="utf-8")))
