"""respeed check: every mistake in every file that people write. respeed new: a commented file to start from."""

import keyword
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from respeed.errors import UserError, nearest
from respeed.inputs.config import check_config
from respeed.inputs.files import overlooked
from respeed.inputs.machines import read_told, told_machines
from respeed.inputs.papers import paper_folders, read_paper
from respeed.inputs.profiles import read_profiles
from respeed.inputs.registry import broken_files
from respeed.paths import BACKENDS, HARDWARE, MACHINES, PAPERS, ROOT, STARTERS, WORKLOADS, check_name
from respeed.text import visible

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
        "./run snakemake --cores all pdf",
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
    (profiles, wrong), papers = read_profiles(), paper_folders()
    mistakes = [*check_config(), *chain.from_iterable(wrong.values())]
    for _, found in (*map(read_told, told_machines()), *map(read_paper, papers)):
        mistakes += found
    mistakes += [*broken_files(), *overlooked()]
    for line in mistakes:
        print(visible(line))
    if not mistakes:
        print(f"no mistake in config.yaml, {len(profiles)} hardware profiles, and papers: {', '.join(papers)}")
    return 1 if mistakes else 0


def write_starter(kind: str, name: str) -> None:
    """Write the starter of that kind under that name, and print what to do next; UserError if there is no such kind, or
    the name cannot be one or is taken."""
    if kind not in KINDS:
        raise UserError(f"new: nothing to start from for a {kind!r}{nearest(kind, KINDS)}")
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
