"""A machine that a run measures: this one, or one that Slurm gives a node of. What it has, and what is left there."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from respeed.errors import NotMeasurable, UserError
from respeed.inputs.config import Config
from respeed.inputs.machines import SlurmNode
from respeed.inputs.profiles import Profile
from respeed.model.paper import Paper
from respeed.paths import MACHINES, ROOT, description_path, hardware_path, learning_path, next_session, session_paths
from respeed.records.store import misplaced, read_description, read_hardware
from respeed.schedule.availability import (
    Answers,
    check_same_machine,
    describe_as,
    resolve_threads,
)
from respeed.schedule.gauge import NOT_GAUGED, plan_gauge, why_due
from respeed.schedule.history import History, read_history
from respeed.schedule.next_turn import Plan
from respeed.schedule.selection import Work, chosen_experiments, make_work
from respeed.schedule.slurm import SPARE_MINUTES, budget_seconds
from respeed.schedule.spec import Digests
from respeed.text import in_words


@dataclass(frozen=True)
class Target:
    """`config` asks for the profiles that are to be measured on it. `node` is None for this machine."""

    config: Config
    papers: Mapping[str, Paper]
    profiles: Mapping[str, Profile]
    machine: str
    node: SlurmNode | None = None

    @property
    def smoke(self) -> bool:
        return self.config.preset.is_smoke

    @property
    def description(self) -> Path:
        return description_path(self.machine, self.smoke)

    @property
    def hardware_sheet(self) -> Path:
        return hardware_path(self.machine, self.smoke)

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self.description)

    @property
    def _is_known(self) -> bool:
        """Whether the description answers for every profile that is asked for, as it is now."""
        return self._answers.know(self.profiles[name] for name in self.config.profiles)

    @cached_property
    def asks_node(self) -> bool:
        """Whether only the machine itself can say what is left: it has no description yet, or profiles changed."""
        return self.node is not None and not self._is_known

    @property
    def asks_again(self) -> bool:
        """Whether the description is there, but older than a profile that is asked for, or without answers: one that
        came from elsewhere, or was made before they were kept."""
        return self.description.exists() and not self._is_known

    @property
    def hardware(self) -> Mapping[str, Any]:
        """The machine's facts; of one that was not looked at yet, none."""
        if self.node is None:
            return describe_as(self.machine)
        description = read_description(self.machine, self.smoke)
        return description["hardware"] if description else {}

    @cached_property
    def gauge_due(self) -> str | None:
        """Why its hardware sheet must be measured; None if it can be used. Of a node only what its files say is looked
        at: whether it measures the same things still, its own job finds out."""
        if self.node is None:
            return why_due(self.hardware_sheet, self.machine, plan_gauge(self.machine, self.smoke))
        if not self.hardware_sheet.exists():
            return NOT_GAUGED
        try:
            sheet = read_hardware(self.hardware_sheet)
        except UserError as error:
            return str(error)
        return misplaced(sheet, self.machine, self.smoke, self.hardware)

    @property
    def gauge_seconds(self) -> float:
        """About how long that takes: 0 where it need not be; of a node as long as here."""
        return plan_gauge(self.machine, self.smoke).seconds if self.gauge_due else 0.0

    def check(self) -> None:
        """UserError if this is another machine than the name's records were made on, or if its job is too short for
        what comes next."""
        if self.node is None:
            check_same_machine(self.machine, self.history.made_on, describe_as(self.machine))
        elif not self.asks_node and (turn := self.plan.next_turn()):
            needed = self.history.seconds_of(turn.cells)
            if needed > budget_seconds(self.node):
                file = (MACHINES / self.machine).relative_to(ROOT)
                raise UserError(
                    f"{file}.yaml: slurm.minutes: {self.node.minutes} is too short: the next turn takes about "
                    f"{in_words(needed)}; write {int(needed / 60) + 2 + SPARE_MINUTES} or more"
                )

    def resolve(self, profile: Profile) -> tuple[int, tuple[int, ...]]:
        """The number of threads of the profile there, and its CPUs; NotMeasurable if the machine cannot run it."""
        return resolve_threads(profile) if self.node is None else self._answers.resolve(profile)

    def why_not(self, profile: Profile) -> str | None:
        """The reason why the machine cannot measure the profile; None if it can, or was not asked yet."""
        try:
            if not self.asks_node:
                self.resolve(profile)
        except NotMeasurable as reason:
            return str(reason)
        return None

    @cached_property
    def work(self) -> Work:
        return make_work(self.config, self.papers, self.profiles, self.machine, self.why_not)

    @property
    def history(self) -> History:
        """What was measured, and can be used."""
        return self._read[0]

    @property
    def unusable(self) -> dict[Path, str]:
        """The records of the tables that are asked for that nothing can use, and why."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[History, dict[Path, str]]:
        return self.read_now()

    def read_now(self) -> tuple[History, dict[Path, str]]:
        """The same as it is by now."""
        if self.asks_node:
            return History(self.work), {}
        return read_history(self.work, Digests(self.config.seed, self.papers, self.resolve).of)

    @cached_property
    def plan(self) -> Plan:
        return Plan(self.history)

    @cached_property
    def is_left(self) -> bool:
        """Whether there is anything to measure, or there may be."""
        return self.asks_node or self.plan.next_turn() is not None

    @cached_property
    def session(self) -> Path:
        """The file that a session of measuring leaves, if this run has one."""
        return next_session(self.smoke, self.machine)

    @property
    def sessions(self) -> list[Path]:
        """A file for each session that was finished, and the one that this run would add if anything is left to
        measure. Records are no rule's output: nothing here can delete or repeat what was measured."""
        return [*session_paths(self.smoke, self.machine), *([self.session] if self.is_left else [])]

    @property
    def learning_records(self) -> list[Path]:
        """What its programs learn, for every planned experiment that has something to learn."""
        return [
            learning_path(self.machine, paper, name, self.smoke)
            for paper in self.config.papers
            for name in chosen_experiments(self.config, self.papers[paper])
            if self.papers[paper].experiments[name].learning
        ]
