"""results/[smoke/]records/<machine>/<paper>/<experiment>/<profile>/round-NN.json, both ways."""

import re
from pathlib import Path, PurePath

from respeed.model.errors import UserError
from respeed.model.names import check_name
from respeed.model.round import RoundId

RESULTS = Path("results")
_FILE = re.compile(r"(round|whole)-([0-9]{2})\.json")


def results_folder(smoke: bool) -> Path:
    """Where everything of a run lies; what the smoke preset writes cannot mix with real numbers."""
    return RESULTS / "smoke" if smoke else RESULTS


def records_folder(smoke: bool) -> Path:
    return results_folder(smoke) / "records"


def machine_sheet(machine: str, smoke: bool) -> Path:
    """The file that says what a machine is and which profiles it cannot run."""
    return records_folder(smoke) / machine / "machine.json"


def learning_path(machine: str, paper: str, experiment: str, smoke: bool) -> Path:
    """The record of what an experiment's programs learn on a machine."""
    return records_folder(smoke) / machine / paper / experiment / "learning.json"


def parse_learning_path(path: PurePath) -> tuple[str, str, str, bool]:
    """Machine, paper, experiment, and whether it is a smoke run's; UserError if `path` is no such record's."""
    *folder, machine, paper, experiment, file = path.parts if len(path.parts) > 5 else ("",) * 5
    if file != "learning.json" or folder[-1] != "records":
        raise UserError(f"{path}: must look like results/records/<machine>/<paper>/<experiment>/learning.json")
    for kind, name in (("machine", machine), ("paper", paper), ("experiment", experiment)):
        check_name(kind, name, str(path))
    return machine, paper, experiment, tuple(folder[-2:]) == ("smoke", "records")


def round_path(round_id: RoundId) -> Path:
    """The path of a round's record, relative to the working directory."""
    kind = "whole" if round_id.whole else "round"
    folder = records_folder(round_id.smoke) / round_id.machine / round_id.paper / round_id.experiment
    return folder / round_id.profile / f"{kind}-{round_id.index:02d}.json"


def parse_round_path(path: PurePath) -> RoundId:
    """The round whose record `path` is; UserError if it is no path of a record."""
    *folder, machine, paper, experiment, profile, file = path.parts if len(path.parts) > 6 else ("",) * 6
    found = _FILE.fullmatch(file)
    smoke = tuple(folder[-2:]) == ("smoke", "records")
    if not found or not folder or folder[-1] != "records":
        raise UserError(
            f"{path}: is not the path of a record; they look like "
            "results/records/<machine>/<paper>/<experiment>/<profile>/round-01.json"
        )
    for kind, name in (("machine", machine), ("paper", paper), ("experiment", experiment), ("profile", profile)):
        check_name(kind, name, str(path))
    return RoundId(machine, paper, experiment, profile, int(found[2]), whole=found[1] == "whole", smoke=smoke)
