"""Files for people and of machines: respeed new and check; export, import, verify and rename."""

import keyword
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from respeed.errors import UserError, nearest
from respeed.inputs.config import check_config, denied_papers, load_config
from respeed.inputs.files import overlooked
from respeed.inputs.machines import read_told, told_machines
from respeed.inputs.papers import paper_folders, read_paper
from respeed.inputs.profiles import read_profiles
from respeed.inputs.registry import broken_files
from respeed.machine.description import machine_slug
from respeed.paths import BACKENDS, HARDWARE, MACHINES, PAPERS, ROOT, STARTERS, WORKLOADS, check_name, records_folder
from respeed.records.models import Kind, shown
from respeed.records.rename import adopt_strangers, rename_left_out, rename_machine
from respeed.records.store import hold_folder
from respeed.records.transfer import Imported, export_bundle, import_bundle, verify
from respeed.text import counted, visible


def export_records(file: Path, smoke: bool, machine: str | None) -> None:
    """Write the bundle, and say what is in it and what is to be done with it."""
    done = export_bundle(file, smoke, machine)
    for name, records in done.records.items():
        print(f"{name}: {counted(records, Kind.RECORD)}")
    _say_left_out(done.left_out)
    print(f"wrote {file}, {done.size:,} bytes")
    print(f"next, where it is to go: ./run respeed import {'--smoke ' if smoke else ''}{file.name}")


def import_records(path: Path, smoke: bool, name: str | None) -> None:
    """Add what is not here yet, and say what that was."""
    outcome = import_bundle(path, smoke, name)
    for machine, done in outcome.machines.items():
        print(f"{machine}: {_summary(done)}")
        for line in done.lines:
            print(f"{machine}: {line}")
    _say_left_out(outcome.left_out)
    if any(done.new for done in outcome.machines.values()):
        print(f"next: ./run snakemake --cores all report{' --config preset=smoke' if smoke else ''}")


def _summary(done: Imported) -> str:
    known = f"{counted(done.known.total(), 'file')} were here already" if done.known else ""
    if not done.new:
        return f"nothing new; {known}" if known else "nothing new"
    new = ", ".join(counted(number, kind) for kind, number in sorted(done.new.items()))
    return "; ".join(filter(None, [f"new: {new}", known]))


def _say_left_out(left_out: Mapping[str, list[Path]]) -> None:
    for reason, files in left_out.items():
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        print(f"left out: {shown(str(files[0]))}{more}: {reason}")


def verify_records(path: Path | None, smoke: bool) -> int:
    """Print a line for each file that is not right, for each machine that has some without a checksum, and for all; the
    exit code is 2 if any is not right."""
    found = verify(path or records_folder(smoke))
    for line in [*found.wrong, *found.strange]:
        print(line)
    for machine, count in sorted(found.unchecked.items()):
        if count:
            print(f"{machine}: {count} without a checksum: nothing tells whether they were changed")
    files, wrong, unchecked = found.files.total(), len(found.wrong), found.unchecked.total()
    machines = f"{len(found.files)} machine{'s' * (len(found.files) != 1)}"
    counts = [f"{files - wrong - unchecked} hold"]
    counts += [f"{unchecked} without a checksum"] if unchecked else []
    counts += [f"{wrong} not right"] if wrong else []
    print(f"{files} file{'s' * (files != 1)} of {machines}: {', '.join(counts)}")
    return 0 if found.is_right else 2


def rename(old: str, new: str, left_out: bool, smoke: bool) -> None:
    """Rename, and print what was done; UserError if there is nothing to rename or the new name is taken."""
    named = load_config(strict=False).machine
    lock = hold_folder(smoke)
    try:
        if left_out:
            files = rename_left_out(old, new, smoke)
        else:
            files = adopt_strangers(new, smoke) if old == new else rename_machine(old, new, smoke)
    except OSError as error:
        raise UserError(
            f"{records_folder(smoke)}: cannot be changed: {error.strerror}; mend that, then give the same command again"
        ) from None
    finally:
        os.close(lock)
    moved = f"{files} files are" if files > 1 else "1 file is"
    print(f"{moved} of {new} now, in {records_folder(smoke) / new}")
    if old != new and not left_out and (named or machine_slug()) == old:
        why = "in config.yaml" if named else "by default"
        print(f"this machine is called {old} {why}; to go on as {new}, write machine: {new} in config.yaml")


# What stands for the name in a starter.
PLACEHOLDER = "NAME"


@dataclass(frozen=True)
class Starter:
    """What `source` is in the folder of starters, a file or a folder of some, is to be in `folder`; `then` are the next
    steps."""

    source: str
    folder: Path
    then: tuple[str, ...]

    @property
    def is_module(self) -> bool:
        return self.source.endswith(".py")

    def files(self, name: str) -> dict[Path, Path]:
        """Where each file of the starter goes for something of that name."""
        source = STARTERS / self.source
        if source.is_dir():
            return {path: self.folder / name / path.name for path in sorted(source.iterdir())}
        return {source: self.folder / f"{name}{source.suffix}"}


KINDS = {
    "paper": Starter("paper", PAPERS, (
        "write its rows, facts and cases, and what it printed; then",
        "./run respeed check",
        "./run snakemake --cores all --config preset=smoke papers=NAME",
    )),
    "workload": Starter("workload.py", WORKLOADS, (
        "write its equations in place of the layer's; then",
        "./run pytest tests/conformance -k NAME",
        "and name it in a paper: workload: NAME",
    )),
    "hardware": Starter("hardware.yaml", HARDWARE, (
        "say how to run; then",
        "./run respeed hardware",
        "./run snakemake --cores all --config preset=smoke profiles=NAME",
    )),
    "machine": Starter("machine.yaml", MACHINES, (
        "say what it costs, or how Slurm finds it; then",
        "./run respeed check",
        "with a price:  ./run snakemake --cores all report",
        "with slurm:    ./run snakemake --profile profiles/slurm -n",
    )),
    "backend": Starter("backend.py", BACKENDS, (
        "write your library's calls in place of NumPy's; then",
        "./run pytest tests/conformance -k NAME",
        "and name it in a hardware profile (./run respeed new hardware ROW): backend: NAME",
    )),
}  # fmt: skip


def check_files() -> int:
    """Print a line for each mistake in config.yaml, the hardware profiles, the papers, workflow/machines, and in what
    workloads and backends say of themselves; the exit code is 1 if there is any."""
    (profiles, wrong), papers, machines = read_profiles(), paper_folders(), told_machines()
    mistakes = [*check_config(), *chain.from_iterable(wrong.values())]
    for _, found in (*map(read_told, machines), *map(read_paper, papers)):
        mistakes += found
    mistakes += [*broken_files(), *overlooked()]
    for line in mistakes:
        print(visible(line))
    found_mistakes = counted(len(mistakes), "mistake") if mistakes else "no mistake"
    named = [f"{kind} ({', '.join(names) or 'none'})" for kind, names in (("papers", papers), ("machines", machines))]
    looked = ", ".join(["config.yaml", counted(len({*profiles, *wrong}), "hardware profile"), *named])
    print(f"{found_mistakes}; looked at {looked}, and what workloads and backends say of themselves")
    for name, why in [] if mistakes else denied_papers(papers):
        print(f"{name}: not allowed: {why}")
    return 1 if mistakes else 0


def write_starter(kind: str, name: str) -> None:
    """Write the starter of that kind under that name, and print what to do next; UserError if there is no such kind, or
    the name cannot be one or is taken."""
    if kind not in KINDS:
        raise UserError(f"new: no kind of file {kind!r}{nearest(kind, KINDS)}")
    starter = KINDS[kind]
    check_name(kind, name, f"new {kind}")
    if starter.is_module and (not name.isidentifier() or keyword.iskeyword(name)):
        raise UserError(
            f"new {kind}: {name!r} cannot be the name of a Python file that is imported; use small letters, digits and "
            "_, starting with a letter"
        )
    files = starter.files(name)
    if taken := next((path for path in files.values() if path.exists()), None):
        raise UserError(f"new {kind}: {taken.relative_to(ROOT)} is there already")
    for source, path in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(source.read_text(encoding="utf-8").replace(PLACEHOLDER, name), encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    print("next: " + "\n      ".join(starter.then).replace(PLACEHOLDER, name))
