"""Files that people write: respeed check lists their mistakes, respeed new writes one to start from."""

import shutil
from itertools import chain
from pathlib import Path

from respeed.errors import UserError, nearest
from respeed.inputs.config import check_config, denied_papers
from respeed.inputs.machines import MACHINE_FILES
from respeed.inputs.papers import PAPER_FILES
from respeed.inputs.profiles import PROFILE_FILES
from respeed.inputs.registry import broken_files
from respeed.paths import (
    BACKENDS,
    HARDWARE,
    MACHINES,
    PAPERS,
    ROOT,
    STARTERS,
    WORKLOADS,
    check_name,
    class_name,
    record_folders,
    records_folder,
)
from respeed.records.transfer import check_carried
from respeed.text import counted, visible

# What stands for the name in a starter.
PLACEHOLDER = "NAME"
# Where each kind of file lies, and the command that tries it.
KINDS = {
    "paper": (PAPERS, "./run snakemake --cores all --config preset=smoke papers=NAME"),
    "workload": (WORKLOADS, "./run pytest tests/conformance -k NAME"),
    "hardware": (HARDWARE, "./run respeed doctor"),
    "machine": (MACHINES, "./run respeed check"),
    "backend": (BACKENDS, "./run pytest tests/conformance -k NAME"),
}


def check(path: Path | None) -> int:
    """Print a line for each mistake in the files that people write and in the records under results, or only in the
    records at `path`; the exit code is 1 if there is any."""
    if path is not None:
        mistakes, looked = _check_records(path)
    else:
        mistakes, looked = _check_files()
        for smoke in filter(record_folders, (False, True)):
            wrong, records = _check_records(records_folder(smoke), smoke)
            mistakes, looked = [*mistakes, *wrong], f"{looked}; {records}"
    for line in mistakes:
        print(visible(line))
    print(f"{counted(len(mistakes), 'mistake') if mistakes else 'no mistake'}; looked at {looked}")
    return 1 if mistakes else 0


def _check_files() -> tuple[list[str], str]:
    """Return the mistakes in config.yaml, hardware profiles, papers, workflow/machines, and in what workloads and
    backends say of themselves; and a text of what was looked at."""
    kinds = (PROFILE_FILES, PAPER_FILES, MACHINE_FILES)
    mistakes = [*check_config(), *chain.from_iterable(kind.check() for kind in kinds), *broken_files()]
    for name, why in [] if mistakes else denied_papers(PAPER_FILES.names()):
        print(f"{name}: not allowed: {why}")
    return mistakes, ", ".join(["config.yaml", *(counted(len(kind.names()), kind.kind) for kind in kinds)])


def _check_records(path: Path, smoke: bool | None = None) -> tuple[list[str], str]:
    """Return the mistakes in the records of a folder or a zip file, and how many files that are."""
    mistakes, files = check_carried(path, smoke)
    return mistakes, f"{counted(files, 'file')} in {path}"


def write_starter(kind: str, name: str) -> None:
    """Copy the starter of that kind under that name, and print where it lies and the command that tries it.

    Raises UserError if there is no such kind, or the name is taken or cannot be one.
    """
    if kind not in KINDS:
        raise UserError(f"new: no kind of file {kind!r}{nearest(kind, KINDS)}")
    folder, tries = KINDS[kind]
    (source,) = STARTERS.glob(f"{kind}*")
    if source.suffix == ".py" and not name.isidentifier():
        raise UserError(f"new {kind}: {name!r} cannot be the name of a Python file; use small letters, digits and _")
    path = folder / f"{check_name(kind, name, f'new {kind}')}{source.suffix}"
    if path.exists():
        raise UserError(f"new {kind}: {path.relative_to(ROOT)} is there already")
    (shutil.copytree if source.is_dir() else shutil.copyfile)(source, path)
    for file in path.iterdir() if path.is_dir() else [path]:
        text = file.read_text(encoding="utf-8").replace(f"class {PLACEHOLDER}(", f"class {class_name(name)}(")
        file.write_text(text.replace(PLACEHOLDER, name), encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}; once it is filled in: {tries.replace(PLACEHOLDER, name)}")
