"""Files that people write and carry: respeed check, new, export and import."""

import os
import shutil
from itertools import chain
from pathlib import Path

from respeed import transfer
from respeed.errors import UserError, nearest
from respeed.inputs.config import check_config, denied_papers
from respeed.inputs.machines import MACHINE_FILES, PROFILE_FILES
from respeed.inputs.papers import PAPER_FILES
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
    hold_folder,
    records_folder,
)
from respeed.records import record_paths
from respeed.text import counted, visible
from respeed.transfer import check_carried

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
    """Print a line for each mistake in what people write and in records.

    Parameters
    ----------
    path : Path or None
        A folder or a zip file of records, to look at nothing else; None for all files that people write, workloads and
        backends among them, and the records under results.

    Returns
    -------
    int
        The exit code: 1 if there is any mistake.
    """
    mistakes: list[str] = []
    looked: list[str] = []
    records: list[tuple[Path, bool | None]] = [(path, None)] if path else []
    if path is None:
        kinds = (PROFILE_FILES, PAPER_FILES, MACHINE_FILES)
        mistakes = [*check_config(), *chain.from_iterable(kind.check() for kind in kinds), *broken_files()]
        looked = ["config.yaml", *(counted(len(kind.names()), kind.kind) for kind in kinds)]
        for name, why in [] if mistakes else denied_papers(PAPER_FILES.names()):
            print(f"{name}: not allowed: {why}")
        records = [(records_folder(smoke), smoke) for smoke in (False, True) if record_paths(smoke)]
    for folder, smoke in records:
        wrong, files = check_carried(folder, smoke)
        mistakes += wrong
        looked.append(f"{counted(files, 'file')} in {folder}")
    for line in mistakes:
        print(visible(line))
    print(f"{counted(len(mistakes), 'mistake') if mistakes else 'no mistake'}; looked at {', '.join(looked)}")
    return 1 if mistakes else 0


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


def export_records(file: Path, smoke: bool, machine: str | None) -> None:
    """Write records to a zip file, and say what is in it and what is to be done with it."""
    for name, records in transfer.export_records(file, smoke, machine).items():
        print(f"{name}: {counted(records, 'record')}")
    print(f"wrote {file}, {file.stat().st_size:,} bytes")
    print(f"next, where it is to go: ./run respeed import {'--smoke ' if smoke else ''}{file.name}")


def import_records(path: Path, smoke: bool, name: str | None) -> None:
    """Add what is not here yet, and say what that was."""
    lock = hold_folder(smoke)
    try:
        machines = transfer.import_records(path, smoke, name)
    finally:
        os.close(lock)
    for machine, done in machines.items():
        new = counted(done.new, "file") if done.new else ""
        known = [f"{counted(done.known, 'file')} were here already"] if done.known else []
        print(f"{machine}: {'; '.join([f'new: {new}' if new else 'nothing new', *known, *done.lines])}")
    if any(done.new for done in machines.values()):
        print(f"next: ./run snakemake --cores all report{' --config preset=smoke' if smoke else ''}")
