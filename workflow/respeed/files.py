"""Commands for the files that people write: respeed check and new."""

from functools import partial
from pathlib import Path

from respeed.errors import UserError
from respeed.exchange import paths_below, read_bundle
from respeed.inputs.config import load_config, unread_files
from respeed.inputs.consent import find_consent, say_denied
from respeed.inputs.machines import MACHINE_FILES, PROFILE_FILES, load_datasheets
from respeed.inputs.papers import PAPER_FILES
from respeed.inputs.reader import mistakes_of
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
    imported_folder,
    records_folder,
    write_text,
)
from respeed.text import counted

# The text in a starter that the name replaces.
PLACEHOLDER = "NAME"
# Where each kind of file lies, and the command that tries it.
KINDS = {
    "paper": (PAPERS, "./run snakemake --cores all --config preset=smoke papers=NAME"),
    "workload": (WORKLOADS, "./run pytest tests/conformance -k NAME"),
    "hardware": (HARDWARE, "./run respeed doctor"),
    "machine": (MACHINES, "./run respeed check"),
    "backend": (BACKENDS, "./run pytest tests/conformance -k NAME"),
}


def check(path: Path | None, show: str | None = None) -> int:
    """Print a line for each mistake in the files that people write and in records.

    Parameters
    ----------
    path : Path or None
        A folder or a zip file of records, if only these records are to be checked. None to check all files that people
        write, including workloads and backends, and the records under results.
    show : str or None
        The name of a paper, to print its claims and tables without any measurement, and check nothing.

    Returns
    -------
    int
        The exit code: 1 if there is any mistake, 0 otherwise.
    """
    if show is not None:
        from respeed.output.page import describe_paper  # imports pandas, which nothing else here needs

        print(describe_paper(PAPER_FILES.load(show)))
        return 0
    mistakes = list[str]()
    looked = list[str]()
    folders: dict[Path, bool | None] = {path: None} if path else {}
    if not path:
        of_config = mistakes_of(load_config)
        mistakes += of_config + mistakes_of(load_datasheets)
        looked.append("config.yaml")
        for kind in (PROFILE_FILES, PAPER_FILES, MACHINE_FILES):
            mistakes += kind.check()
            looked.append(counted(len(kind.names()), kind.kind))
        mistakes += unread_files() + broken_files()
        for name in [] if of_config else PAPER_FILES.names():
            try:
                denied = say_denied(name)
            except UserError:  # of the paper, which is among the mistakes
                continue
            in_the_way = mistakes_of(partial(find_consent, name)) if denied else []
            mistakes += in_the_way
            for line in [] if in_the_way else denied:
                print(line)
        for smoke in (False, True):
            homes = (records_folder(smoke), imported_folder(smoke))
            folders |= dict.fromkeys(filter(paths_below, homes), smoke)
    for home, kind_of_records in folders.items():
        bundle = read_bundle(home, kind_of_records)
        mistakes += bundle.mistakes
        looked.append(f"{counted(len(bundle.files), 'good file')} in {home}")
    for line in mistakes:
        print(line)
    number = counted(len(mistakes), "mistake") if mistakes else "no mistake"
    print(f"{number}; looked at {', '.join(looked)}")
    return int(bool(mistakes))


def write_starter(kind: str, name: str) -> None:
    """Copy the starter of a `kind` under a `name`, and print the path of the copy and the command that tries the copy.

    Raises UserError if the name is taken or not allowed.
    """
    folder, tries = KINDS[kind]
    (source,) = STARTERS.glob(f"{kind}*")
    if source.suffix == ".py" and not name.isidentifier():
        raise UserError(f"new {kind}: {name!r} cannot be the name of a Python file; use small letters, digits and _")
    path = folder / f"{check_name(kind, name, f'new {kind}')}{source.suffix}"
    if path.exists():
        raise UserError(f"new {kind}: {path.relative_to(ROOT)} is there already")
    for file in source.iterdir() if source.is_dir() else [source]:
        text = file.read_text(encoding="utf-8")
        text = text.replace(f"class {PLACEHOLDER}(", f"class {class_name(name)}(").replace(PLACEHOLDER, name)
        write_text(path / file.relative_to(source), text)
    print(f"wrote {path.relative_to(ROOT)}; once it is filled in: {tries.replace(PLACEHOLDER, name)}")
