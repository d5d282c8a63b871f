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
_RECORD = "*/*/*/round-[0-9][0-9]*.json"

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, order=True)
class RoundId:
    """Which round it is. `index` counts from 1; `smoke` is one of tiny sizes that is no measurement."""

    machine: str
    paper: str
    experiment: str
    profile: str
    index: int
    smoke: bool = False


def class_name(name: str) -> str:
    """Return the name of a workload's class: VectorSum of vector_sum."""
    return "".join(word.capitalize() for word in name.split("_"))


def check_name(kind: str, name: str, where: str) -> str:
    """Return `name` if it can be used as one; UserError otherwise."""
    if NAME.fullmatch(name):
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
    *above, machine, last = ("", "", *path.parts)
    if last != file or above[-1:] != ["records"]:
        raise UserError(f"{path}: must look like results/records/<machine>/{file}")
    return check_name("machine", machine, str(path)), above[-2:-1] == ["smoke"]


def record_paths(smoke: bool, machine: str = "*") -> list[Path]:
    """The records there are of one machine, or of any, in the order of their names."""
    return sorted(records_folder(smoke).glob(f"{machine}/{_RECORD}"))


def session_paths(smoke: bool, machine: str) -> list[Path]:
    """Return the empty files that earlier runs of `respeed measure` left when nothing was left to measure."""
    return sorted((results_folder(smoke) / "logs" / machine).glob("session-*.done"))


def next_session(smoke: bool, machine: str) -> Path:
    """Return the file that the next of these runs will leave."""
    folder = results_folder(smoke) / "logs" / machine
    paths = (folder / f"session-{number:03d}.done" for number in itertools.count(1))
    return next(path for path in paths if not path.exists())


def round_path(round_id: RoundId) -> Path:
    """The path of a round's record, relative to the working directory."""
    folder = records_folder(round_id.smoke) / round_id.machine / round_id.paper / round_id.experiment
    return folder / round_id.profile / f"round-{round_id.index:02d}.json"
