"""All that the Snakemake files ask: paths, and what the user is told before anything runs."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.config import Config, check_command_line
from respeed.inputs.machines import SlurmNode, load_told, told_of
from respeed.inputs.profiles import Profile
from respeed.machine.description import machine_slug
from respeed.model.paper import Paper
from respeed.paths import (
    HARDWARE,
    MACHINES,
    PAPERS,
    ROOT,
    description_path,
    hardware_path,
    learning_path,
    record_paths,
    records_folder,
    results_folder,
)
from respeed.protocol import SMOKE_STAMP
from respeed.records.folder import REPORT, check_room, check_snakemake, hold_folder
from respeed.records.store import recorded_machines, set_aside, why_no_description, why_no_learning
from respeed.schedule.jobs import Jobs, as_settings
from respeed.schedule.machines import choose_in_full
from respeed.schedule.shown import read_choice
from respeed.schedule.target import Target, narrowed
from respeed.schedule.work import Work

# The descriptor of the folder's lock: held until the process ends.
_HELD: list[int] = []


@dataclass(frozen=True)
class Workflow:
    """A configuration resolved for the machines that it measures; `overrides` is what --config said, `papers` are those
    that are shown: the chosen ones first.

    As a rule that is this machine. On a cluster, `nodes` has those that are measured through Slurm, by name, and
    `machine` is the first of them.
    """

    config: Config
    overrides: Mapping[str, Any]
    papers: Mapping[str, Paper]
    profiles: Mapping[str, Profile]
    machine: str
    nodes: Mapping[str, SlurmNode] = field(default_factory=dict)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The machines that this run measures."""
        return tuple(
            Target(
                narrowed(self.config, told_of(machine)), self.papers, self.profiles, machine, self.nodes.get(machine)
            )
            for machine in (self.nodes or [self.machine])
        )

    @property
    def work(self) -> Work:
        """What is asked of `machine`."""
        return self.targets[0].work

    @property
    def measured(self) -> list[str]:
        """The names of the machines that this run measures: what others measured is read, and never made."""
        return [target.machine for target in self.targets]

    @property
    def sessions(self) -> list[str]:
        """The files of the sessions of measuring: those that were finished, and those that this run adds."""
        return [path for target in self.targets for path in target.sessions]

    @property
    def descriptions(self) -> list[str]:
        return [str(target.description) for target in self.targets]

    @property
    def jobs(self) -> Jobs:
        return Jobs(self.targets, self.overrides, self.profiles)

    @property
    def settings(self) -> list[str]:
        """What --config said, for the commands that the rules call."""
        return as_settings(self.overrides)

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
    def hardware_sheets(self) -> list[str]:
        """What the machines reach."""
        return [str(target.hardware_sheet) for target in self.targets]

    @property
    def gauge_due(self) -> dict[str, str]:
        """The machines whose hardware sheet is to be measured, and why. One that can be used is an input and nothing
        more, so that nothing can delete it or measure it again."""
        return {target.machine: target.gauge_due for target in self.targets if target.gauge_due}

    def clear_description(self, wildcards: Any, *, workflow: Any) -> list[str]:
        """Take a description that nothing can be read from out of the way: the machine can write another."""
        path = description_path(wildcards.machine, self.smoke)
        runs = workflow.executor_plugin is not None and not workflow.dryrun and not workflow.touch
        if runs and path.exists() and (reason := why_no_description(path)):
            set_aside(path)
            print(f"respeed: set aside: {reason}", file=sys.stderr)
        return []

    def clear_hardware(self, wildcards: Any, *, workflow: Any) -> list[str]:
        """Take a sheet that cannot be used out of the way."""
        path = hardware_path(wildcards.machine, self.smoke)
        runs = workflow.executor_plugin is not None and not workflow.dryrun and not workflow.touch
        if runs and wildcards.machine in self.gauge_due and path.exists():
            set_aside(path)
            print(f"respeed: {path}: set aside: {self.gauge_due[wildcards.machine]}", file=sys.stderr)
        return []

    @property
    def learning_records(self) -> list[str]:
        return [path for target in self.targets for path in target.learning_records]

    def learning_cases(self, wildcards: Any) -> str:
        """What is to be learned: when it changes, it is learned again."""
        return repr(self.papers[wildcards.paper].experiments[wildcards.experiment].learning)

    @cached_property
    def learned(self) -> list[tuple[str, str, str]]:
        """(paper, experiment, machine) of everything learned that figures are drawn of."""
        planned = {Path(path) for path in self.learning_records}
        found = [path for machine in self.machines for path in Path(self.records).glob(f"{machine}/*/*/learning.json")]
        there = {path for path in found if why_no_learning(path, self.smoke) is None}
        parts = sorted(path.relative_to(self.records).parts for path in planned | there)
        known = set(self.experiments)
        return [(paper, experiment, machine) for machine, paper, experiment, _ in parts if (paper, experiment) in known]

    @property
    def foreign_learning(self) -> list[str]:
        """What other machines' programs learned, as far as figures are drawn of it: read, never made here."""
        others = [machine for machine in self.machines if machine not in self.measured]
        return sorted(str(path) for name in others for path in Path(self.records).glob(f"{name}/*/*/learning.json"))

    def clear_learning(self, wildcards: Any, *, workflow: Any) -> list[str]:
        """Take a damaged file out of the way, as `clear_way` does with records."""
        path = learning_path(wildcards.machine, wildcards.paper, wildcards.experiment, self.smoke)
        runs = workflow.executor_plugin is not None and not workflow.dryrun and not workflow.touch
        if runs and path.exists() and (reason := why_no_learning(path, self.smoke)):
            set_aside(path)
            print(f"respeed: set aside: {reason}", file=sys.stderr)
        return []

    @property
    def described_by(self) -> list[str]:
        """The files whose words and published numbers stand in the tables beside the records."""
        printed = [PAPERS / name / file for name in self.papers for file in ("paper.yaml", "published.csv")]
        files = [path for path in [*printed, *HARDWARE.glob("*.yaml"), *MACHINES.glob("*.yaml")] if path.is_file()]
        folder = Path(self.records)
        sheets = [
            path
            for name in ("machine.json", "hardware.json")
            for path in folder.glob(f"*/{name}")
            if path.parent.name not in self.measured
        ]
        return sorted(os.path.relpath(path) for path in [*files, *sheets])

    @property
    def foreign_records(self) -> list[str]:
        """The records of other machines: read, never measured."""
        found = record_paths(self.smoke)
        return [str(path) for path in found if path.relative_to(self.records).parts[0] not in self.measured]

    @cached_property
    def machines(self) -> list[str]:
        """The machines that figures are drawn of: these, and while they are few every other with records."""
        return choose_in_full(dict.fromkeys(self.measured, 0) | recorded_machines(self.smoke), self.machine)

    @property
    def experiments(self) -> list[tuple[str, str]]:
        """All (paper, experiment) that are shown: each has a table, measured or not."""
        return [(paper.name, name) for paper in self.papers.values() for name in paper.experiments]

    def check_room(self, measures: bool) -> None:
        """UserError if not all can be written that the run is going to write."""
        check_room(self.smoke, [REPORT], measures=measures)

    def hold_folder(self) -> None:
        """Take the folder for this run, for as long as it lives; UserError if another has it."""
        if not _HELD:
            _HELD.append(hold_folder(self.smoke))


def resolve_workflow(overrides: Mapping[str, Any], *, measures: bool = True) -> Workflow:
    """Read and check every file that a run depends on; UserError if there is a mistake in one. A run that `measures`
    nothing leaves out papers and profiles that are wrong."""
    config, papers, profiles = read_choice(overrides, measures=measures)
    nodes = _nodes(config.machine) if config.cluster else {}
    machine = next(iter(nodes), None) or config.machine or machine_slug()
    return Workflow(config, dict(overrides), papers, profiles, machine, nodes)


def load_workflow(overrides: Mapping[str, Any], command: Sequence[str] = (), *, measures: bool = True) -> Workflow:
    """The same for Snakemake, whose command line is `command`: a mistake, or the name of another machine, ends the
    program with one line, exit code 2."""
    with giving_up():
        check_command_line(command)
        check_snakemake()
        found = resolve_workflow(overrides, measures=measures)
        for target in found.targets:
            target.check()
    return found


def _nodes(only: str | None) -> dict[str, SlurmNode]:
    """The machines that Slurm has nodes of: all that are told of, or the one that config.yaml names."""
    nodes = {machine: told.slurm for machine, told in load_told().items() if told.slurm}
    if not nodes:
        raise UserError(
            f"cluster: no file in {MACHINES.relative_to(ROOT)} has slurm:; ./run respeed new machine NAME writes one "
            "to start from"
        )
    if only and only not in nodes:
        raise UserError(f"machine: {only!r} has no slurm: in {MACHINES.relative_to(ROOT)}{nearest(only, nodes)}")
    return {only: nodes[only]} if only else nodes


@contextlib.contextmanager
def giving_up() -> Iterator[None]:
    """A user's mistake ends the program with one line. Snakemake would wrap an exception in lines of its own; this is
    about the user's file, not about the workflow."""
    try:
        yield
    except UserError as error:
        print(f"respeed: {error}", file=sys.stderr)
        sys.exit(2)
