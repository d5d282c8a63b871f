"""All that the Snakemake files ask: paths, and what the user is told before anything runs."""

import fcntl
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from respeed.load.config import check_command_line
from respeed.load.folders import HARDWARE, MACHINES, PAPERS
from respeed.model.config import Config
from respeed.model.errors import UserError
from respeed.model.paper import Paper
from respeed.model.profile import Profile
from respeed.model.timing import SMOKE_STAMP
from respeed.plan.history import History, read_history
from respeed.plan.machines import choose_in_full
from respeed.plan.next_turn import Plan
from respeed.plan.same_machine import check_same_machine
from respeed.plan.sheet import make_sheet
from respeed.plan.shown import read_choice
from respeed.plan.spec import Digests
from respeed.plan.work import Work, chosen_experiments, make_work
from respeed.provenance.machine import describe_machine, machine_slug
from respeed.record.files import recorded_machines, usable_learning
from respeed.record.paths import (
    learning_path,
    machine_sheet,
    next_session,
    record_paths,
    records_folder,
    results_folder,
    session_paths,
)

# The descriptor of the folder's lock: held until the process ends.
_HELD: list[int] = []


@dataclass(frozen=True)
class Workflow:
    """A configuration resolved for this machine; `overrides` is what --config said, `papers` are those that are shown:
    the chosen ones first."""

    config: Config
    overrides: Mapping[str, Any]
    papers: Mapping[str, Paper]
    profiles: Mapping[str, Profile]
    machine: str

    @cached_property
    def work(self) -> Work:
        return make_work(self.config, self.papers, self.profiles, self.machine)

    @property
    def history(self) -> History:
        """What was measured, and can be used."""
        return self._read[0]

    @property
    def unusable(self) -> dict[Path, str]:
        """The records of the tables that are asked for that cannot be used, and why."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[History, dict[Path, str]]:
        return read_history(self.work, Digests(self.config.seed, self.papers).of)

    @cached_property
    def plan(self) -> Plan:
        return Plan(self.history)

    @cached_property
    def sessions(self) -> list[str]:
        """A file for each session of measuring that was finished, and the one that this run would add if anything is
        left to measure. Records are no rule's output: nothing here can delete or repeat what was measured."""
        done = [str(path) for path in session_paths(self.smoke, self.machine)]
        return [*done, self.session] if self.plan.next_turn() else done

    @cached_property
    def session(self) -> str:
        return str(next_session(self.smoke, self.machine))

    @property
    def settings(self) -> list[str]:
        """What --config said, for the commands that the rules call."""
        return [f"{key}={json.dumps(value)}" for key, value in self.overrides.items()]

    @property
    def smoke(self) -> bool:
        return self.config.preset.is_smoke

    @property
    def records(self) -> str:
        return str(records_folder(self.smoke))

    @property
    def results(self) -> str:
        return str(results_folder(self.smoke))

    @property
    def kind(self) -> str:
        """What the commands must be told to work on the same records."""
        return "--smoke" if self.smoke else ""

    @property
    def stamp(self) -> str:
        return SMOKE_STAMP if self.smoke else ""

    @property
    def document(self) -> str:
        """The report's path without its ending."""
        return "report/smoke" if self.smoke else "report/report"

    @property
    def sheet(self) -> str:
        return str(machine_sheet(self.machine, self.smoke))

    @property
    def learning_records(self) -> list[str]:
        """What this machine's programs learn, for every planned experiment that has something to learn."""
        return [
            str(learning_path(self.machine, paper, name, self.smoke))
            for paper in self.config.papers
            for name in chosen_experiments(self.config, self.papers[paper])
            if self.papers[paper].experiments[name].learning
        ]

    def learning_cases(self, wildcards: Any) -> str:
        """What is to be learned: when it changes, it is learned again."""
        return repr(self.papers[wildcards.paper].experiments[wildcards.experiment].learning)

    @cached_property
    def learned(self) -> list[tuple[str, str, str]]:
        """(paper, experiment, machine) of everything learned that figures are drawn of."""
        planned = {Path(path) for path in self.learning_records}
        found = [path for machine in self.machines for path in Path(self.records).glob(f"{machine}/*/*/learning.json")]
        there = {path for path in found if usable_learning(path, self.smoke)}
        parts = sorted(path.relative_to(self.records).parts for path in planned | there)
        known = set(self.experiments)
        return [(paper, experiment, machine) for machine, paper, experiment, _ in parts if (paper, experiment) in known]

    @property
    def foreign_learning(self) -> list[str]:
        """What other machines' programs learned, as far as figures are drawn of it: read, never made here."""
        others = [machine for machine in self.machines if machine != self.machine]
        return sorted(str(path) for name in others for path in Path(self.records).glob(f"{name}/*/*/learning.json"))

    def clear_learning(self, wildcards: Any, *, workflow: Any) -> list[str]:
        """Take a damaged file out of the way, as `clear_way` does with records."""
        path = learning_path(wildcards.machine, wildcards.paper, wildcards.experiment, self.smoke)
        runs = workflow.executor_plugin is not None and not workflow.dryrun and not workflow.touch
        if runs and path.exists() and not usable_learning(path, self.smoke):
            print(f"respeed: {path}: removed: damaged, or of another kind of run", file=sys.stderr)
            path.unlink()
        return []

    @property
    def described_by(self) -> list[str]:
        """The files whose words and published numbers stand in the tables beside the records."""
        printed = [PAPERS / name / file for name in self.papers for file in ("paper.yaml", "published.csv")]
        files = [path for path in [*printed, *HARDWARE.glob("*.yaml"), *MACHINES.glob("*.yaml")] if path.is_file()]
        sheets = [path for path in Path(self.records).glob("*/machine.json") if path.parent.name != self.machine]
        return sorted(os.path.relpath(path) for path in [*files, *sheets])

    @property
    def foreign_records(self) -> list[str]:
        """The records of other machines: read, never measured."""
        found = record_paths(self.smoke)
        return [str(path) for path in found if path.relative_to(self.records).parts[0] != self.machine]

    @cached_property
    def machines(self) -> list[str]:
        """The machines that figures are drawn of: this one, and while they are few every other with records."""
        return choose_in_full({self.machine: 0} | recorded_machines(self.smoke), self.machine)

    @property
    def experiments(self) -> list[tuple[str, str]]:
        """All (paper, experiment) that are shown: each has a table, measured or not."""
        return [(paper.name, name) for paper in self.papers.values() for name in paper.experiments]

    def hold_folder(self) -> None:
        """Take the folder for this run, for as long as it lives; one line and exit code 2 if another has it."""
        if _HELD:
            return
        Path(self.results).mkdir(parents=True, exist_ok=True)
        descriptor = os.open(Path(self.results) / ".lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _give_up(UserError(f"{self.results}: another run is at work in this folder; wait for it or stop it"))
        _HELD.append(descriptor)

    def sheet_facts(self) -> dict[str, Any]:
        """The contents of this machine's sheet: when they change, the sheet is written anew."""
        facts = make_sheet(self.machine, self.profiles)
        # What a kernel leaves of the memory after its own start differs from boot to boot, and is no news.
        del facts["hardware"]["memory_bytes"]
        return facts


def load_workflow(overrides: Mapping[str, Any], command: Sequence[str] = (), *, measures: bool = True) -> Workflow:
    """Read and check every file that a run depends on; a mistake in one ends the program with one line, exit code 2.

    `command` is Snakemake's command line, where there is one. A run that `measures` nothing leaves out what is wrong.
    """
    try:
        check_command_line(command)
        config, papers, profiles = read_choice(overrides, measures=measures)
        found = Workflow(config, dict(overrides), papers, profiles, config.machine or machine_slug())
        check_same_machine(found.machine, found.history.made_on, describe_machine())
    except UserError as error:
        _give_up(error)
    return found


def _give_up(error: UserError) -> NoReturn:
    # Snakemake would wrap an exception in lines of its own; this is about the user's file, not about the workflow.
    print(f"respeed: {error}", file=sys.stderr)
    sys.exit(2)
