"""Where files lie: those that people drop in, and results/[smoke/]records/<machine>/<paper>/<experiment>/<profile>/
round-NN.json, both ways. And what may be a name, since names become folders."""

import itertools
import re
from dataclasses import dataclass
from pathlib import Path, PurePath

from respeed.errors import UserError

# Seen from the package, so that any working directory will do.
WORKFLOW = Path(__file__).resolve().parents[1]
ROOT = WORKFLOW.parent
HARDWARE = WORKFLOW / "hardware"
PAPERS = WORKFLOW / "papers"
MACHINES = WORKFLOW / "machines"
SCHEMAS = WORKFLOW / "schemas"
STARTERS = WORKFLOW / "starters"
WORKLOADS = WORKFLOW / "respeed" / "workloads"
BACKENDS = WORKFLOW / "respeed" / "backends"

RESULTS = Path("results")
# Paper, experiment, profile, file.
_RECORD = "*/*/*/*-[0-9][0-9]*.json"
_SESSION = "session-*.json"
# What a file that cannot be used is renamed to ends with this and a number.
SET_ASIDE = ".set-aside"

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
# Snakemake takes a wildcard that ends so for one that would grow for ever.
MOST_REPEATS = 19
_REPEATS = re.compile(rf"(.+)\1{{{MOST_REPEATS}}}$")


@dataclass(frozen=True, order=True)
class RoundId:
    """Which round it is. `index` counts from 1; `whole` is a run in which nothing is extrapolated,
    `smoke` one of tiny sizes that is no measurement."""

    machine: str
    paper: str
    experiment: str
    profile: str
    index: int
    whole: bool = False
    smoke: bool = False


def class_name(name: str) -> str:
    """Of a workload or a backend, in a file that holds several: VectorSum of vector_sum."""
    return name.title().replace("_", "")


def check_name(kind: str, name: str, where: str) -> str:
    """Return `name` if it can be used as one; UserError otherwise."""
    if NAME.fullmatch(name):
        if _REPEATS.search(name):
            raise UserError(
                f"{where}: {name!r} cannot be the name of a {kind}: it ends with the same {MOST_REPEATS + 1} times"
            )
        return name
    raise UserError(
        f"{where}: {name!r} cannot be the name of a {kind}; use small letters, digits, - and _ (at most 64, "
        "starting with a letter or digit)"
    )


def results_folder(smoke: bool) -> Path:
    """Where everything of a run lies; what the smoke preset writes cannot mix with real numbers."""
    return RESULTS / "smoke" if smoke else RESULTS


def records_folder(smoke: bool) -> Path:
    return results_folder(smoke) / "records"


def description_path(machine: str, smoke: bool) -> Path:
    """The machine's description: what it is and which profiles it cannot run."""
    return records_folder(smoke) / machine / "machine.json"


def renaming_folder(machine: str, smoke: bool) -> Path:
    """Where a machine's new folder is built, so deep that nothing takes it for a machine's."""
    return records_folder(smoke) / ".renaming" / machine


def record_folders(smoke: bool) -> dict[str, list[Path]]:
    """The records in each machine's folder, in the order of their names; none where there is only a description or
    a hardware sheet."""
    folder = records_folder(smoke)
    found: dict[str, list[Path]] = {
        path.parent.name: [] for name in ("machine.json", "hardware.json") for path in folder.glob(f"*/{name}")
    }
    for path in record_paths(smoke):
        found.setdefault(path.relative_to(folder).parts[0], []).append(path)
    return dict(sorted(found.items()))


def hardware_path(machine: str, smoke: bool) -> Path:
    """The hardware sheet: what the machine reaches, as it was measured."""
    return records_folder(smoke) / machine / "hardware.json"


def parse_machine_path(path: PurePath, file: str) -> tuple[str, bool]:
    """Machine, and whether it is a smoke run's; UserError if `path` is not of such a file: machine.json, which is its
    description, or hardware.json, its hardware sheet."""
    (machine,), smoke = _parse(path, file, "machine")
    return machine, smoke


def parse_learning_path(path: PurePath) -> tuple[str, str, str, bool]:
    """Machine, paper, experiment, and whether it is a smoke run's; UserError if `path` is no such record's."""
    (machine, paper, experiment), smoke = _parse(path, "learning.json", "machine", "paper", "experiment")
    return machine, paper, experiment, smoke


def _parse(path: PurePath, file: str, *kinds: str) -> tuple[tuple[str, ...], bool]:
    """The names of these kinds of which the path's folders are made, and whether it is a smoke run's."""
    *folders, last = path.parts or ("",)
    above, names = folders[: -len(kinds)], folders[-len(kinds) :]
    if last != file or above[-1:] != ["records"]:
        raise UserError(f"{path}: must look like results/records/{'/'.join(f'<{kind}>' for kind in kinds)}/{file}")
    for kind, name in zip(kinds, names, strict=True):
        check_name(kind, name, str(path))
    return tuple(names), above[-2:-1] == ["smoke"]


def record_paths(smoke: bool, machine: str = "*") -> list[Path]:
    """The records there are of one machine, or of any, in the order of their names."""
    return sorted(records_folder(smoke).glob(f"{machine}/{_RECORD}"))


def session_paths(smoke: bool, machine: str) -> list[Path]:
    """What earlier runs of `respeed measure` left when they were done: a file each."""
    return sorted((records_folder(smoke) / machine).glob(_SESSION))


def next_session(smoke: bool, machine: str) -> Path:
    """The file that the next one will leave."""
    there = {path.name for path in session_paths(smoke, machine)}
    names = (f"session-{number:03d}.json" for number in itertools.count(1))
    return records_folder(smoke) / machine / next(name for name in names if name not in there)


def learning_path(machine: str, paper: str, experiment: str, smoke: bool) -> Path:
    """The record of what an experiment's programs learn on a machine."""
    return records_folder(smoke) / machine / paper / experiment / "learning.json"


def round_path(round_id: RoundId) -> Path:
    """The path of a round's record, relative to the working directory."""
    kind = "whole" if round_id.whole else "round"
    folder = records_folder(round_id.smoke) / round_id.machine / round_id.paper / round_id.experiment
    return folder / round_id.profile / f"{kind}-{round_id.index:02d}.json"
