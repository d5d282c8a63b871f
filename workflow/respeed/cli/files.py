"""respeed check: every mistake in every file that people write. respeed new: a commented file to start from."""

import keyword
from dataclasses import dataclass
from pathlib import Path

from respeed.errors import UserError, nearest
from respeed.inputs.config import check_config
from respeed.inputs.files import overlooked
from respeed.inputs.forms import Mistakes
from respeed.inputs.machines import read_told, told_machines
from respeed.inputs.papers import check_folders, paper_names, read_paper
from respeed.inputs.profiles import read_profiles
from respeed.inputs.registry import broken_files
from respeed.paths import BACKENDS, HARDWARE, MACHINES, PAPERS, ROOT, STARTERS, WORKLOADS, check_name
from respeed.text import visible

# What stands for the name in a starter.
PLACEHOLDER = "NAME"


@dataclass(frozen=True)
class Starter:
    """`files` go from the folder of starters to `folder`; `then` are the next steps."""

    files: dict[str, str]
    folder: Path
    then: tuple[str, ...]
    is_module: bool = False


KINDS = {
    "paper": Starter(
        {"paper/paper.yaml": "NAME/paper.yaml", "paper/published.csv": "NAME/published.csv"},
        PAPERS,
        (
            "write its rows, facts and cases, and what it printed; then",
            "./run respeed check",
            "./run snakemake --cores all --config preset=smoke papers=NAME",
        ),
    ),
    "workload": Starter(
        {"workload.py": "NAME.py"},
        WORKLOADS,
        (
            "write its equations in place of the layer's; then",
            "./run pytest tests/conformance -k NAME",
            "and name it in a paper: workload: NAME",
        ),
        is_module=True,
    ),
    "hardware": Starter(
        {"hardware.yaml": "NAME.yaml"},
        HARDWARE,
        (
            "say how to run; then",
            "./run respeed hardware",
            "./run snakemake --cores all --config preset=smoke profiles=NAME",
        ),
    ),
    "machine": Starter(
        {"machine.yaml": "NAME.yaml"},
        MACHINES,
        (
            "say what it costs, or how Slurm finds it; then",
            "./run respeed check",
            "./run snakemake --cores all pdf",
        ),
    ),
    "backend": Starter(
        {"backend.py": "NAME.py"},
        BACKENDS,
        (
            "write your library's calls in place of NumPy's; then",
            "./run pytest tests/conformance -k NAME",
            "and name it in a hardware profile (./run respeed new hardware ROW): backend: NAME",
        ),
        is_module=True,
    ),
}


def check_files() -> int:
    """Print a line for each mistake in config.yaml, the hardware profiles, the papers, workflow/machines, and in what
    workloads and backends say of themselves; the exit code is 1 if there is any."""
    mistakes = Mistakes(check_config())
    profiles, wrong = read_profiles()
    machines, papers = told_machines(), paper_names()
    mistakes += check_folders()
    for found in wrong.values():
        mistakes += found
    for machine in machines:
        mistakes += read_told(machine)[1]
    for paper in papers:
        mistakes += read_paper(paper)[1]
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
    targets = {source: starter.folder / _named(target, name) for source, target in starter.files.items()}
    if taken := next((path for path in targets.values() if path.exists()), None):
        raise UserError(f"new {kind}: {_shown(taken)} is there already")
    for source, path in targets.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(_named((STARTERS / source).read_text(encoding="utf-8"), name), encoding="utf-8")
        print(f"wrote {_shown(path)}")
    first, *others = (_named(step, name) for step in starter.then)
    print(f"next: {first}")
    for step in others:
        print(f"      {step}")


def _named(text: str, name: str) -> str:
    return text.replace(PLACEHOLDER, name)


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))
