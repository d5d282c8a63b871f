"""A configuration, resolved: the machines that a run measures, what is left to do on each, and what the rules of the
workflow read and are told.
"""

import json
import math
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.config import Config, load_config
from respeed.inputs.machines import MACHINE_FILES, SlurmNode, told_of
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
    next_session,
    record_paths,
    records_folder,
    results_folder,
    session_paths,
)
from respeed.records.store import read_description, recorded_machines
from respeed.schedule.availability import (
    check_same_machine,
    checksum,
    make_description,
    read_answers,
    resolve_described,
)
from respeed.schedule.gauge import Gauge, plan_gauge, why_due
from respeed.schedule.next_turn import Plan, read_plan
from respeed.schedule.selection import (
    Work,
    choose_in_full,
    make_work,
    papers_shown,
    profiles_shown,
)
from respeed.schedule.spec import current_digests
from respeed.text import in_words

# The Snakemake profile that sends jobs to Slurm.
PROFILE = "profiles/slurm"
# Of the minutes of a job of Slurm, those in which nothing is measured: its start, and the turn that takes longer than
# was thought.
SPARE_MINUTES = 3
# More often than it takes when all goes well, a machine's job is asked for again: nodes die, jobs are preempted.
SPARE_RETRIES = 3
# A job that only describes a machine, or measures its hardware sheet.
SHORT_MINUTES = 15


@dataclass(frozen=True)
class Target:
    """A machine that a run measures: this one, or one that Slurm gives a `node` of. `config` asks for the profiles that
    are to be measured on it."""

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

    # What the machine is, and can run.

    @cached_property
    def _described(self) -> Mapping[str, Any]:
        """What is known of it: of this machine as it is now, of a node by its description, if it has one."""
        if self.node is None:
            return make_description(self.machine, self.profiles)
        return read_description(self.machine, self.smoke) or {}

    @property
    def hardware(self) -> Mapping[str, Any]:
        """The machine's facts; of one that was not looked at yet, none."""
        facts: Mapping[str, Any] = self._described.get("hardware", {})
        return facts

    def why_not(self, profile: Profile) -> str | None:
        """The reason why the machine cannot measure the profile; None if it can, or was not asked yet."""
        reason: str | None = None if self.asks_node else self._described["profiles"][profile.name].get("reason")
        return reason

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
    def _is_known(self) -> bool:
        """Whether the description answers for every profile that is asked for, as it is now."""
        answers = read_answers(self.machine, self.smoke)
        asked = {name: answers.get(name, {}).get("asked") for name in self.config.profiles}
        return all(said == checksum(self.profiles[name]) for name, said in asked.items())

    @cached_property
    def gauge_due(self) -> str | None:
        """Why its hardware sheet must be measured; None if it can be used."""
        return why_due(self.hardware_sheet, self._gauge, is_elsewhere=self.node is not None)

    @property
    def gauge_seconds(self) -> float:
        """About how long that takes: 0 where it need not be; of a node as long as here."""
        return self._gauge.seconds if self.gauge_due else 0.0

    @cached_property
    def _gauge(self) -> Gauge:
        return plan_gauge(self.machine, self.smoke)

    # What is asked of it, and what is left.

    @cached_property
    def work(self) -> Work:
        return make_work(self.config, self.papers, self.profiles, self.machine, self.why_not)

    @cached_property
    def plan(self) -> Plan:
        return self.read_plan()

    def read_plan(self) -> Plan:
        """The plan as it is by now."""
        if self.asks_node:
            return Plan(self.work)
        resolve = partial(resolve_described, self._described["profiles"])
        return read_plan(self.work, current_digests(self.config.seed, self.papers, resolve))

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

    def check(self) -> None:
        """UserError if this is another machine than the name's records were made on, or if its job is too short for
        what comes next."""
        if self.node is None:
            check_same_machine(self.machine, self.smoke, self.hardware)
        elif not self.asks_node and (turn := self.plan.next_turn()):
            needed = self.plan.seconds_of(turn.cells)
            if needed > _budget_seconds(self.node):
                file = (MACHINES / self.machine).relative_to(ROOT)
                raise UserError(
                    f"{file}.yaml: slurm.minutes: {self.node.minutes} is too short: the next turn takes about "
                    f"{in_words(needed)}; write {int(needed / 60) + 2 + SPARE_MINUTES} or more"
                )

    @property
    def jobs_needed(self) -> int:
        """How many jobs of Slurm it takes to measure what is left."""
        return max(1, math.ceil(self.plan.seconds_left() / _budget_seconds(self.node))) if self.node else 1


@dataclass(frozen=True)
class Workflow:
    """A configuration resolved for the machines that it measures; `overrides` is what --config said, `papers` are those
    that are shown: the chosen ones first. One that does not `measure` shows the records that there are.

    As a rule that is this machine. On a cluster, `nodes` has those that are measured through Slurm, by name, and
    `machine` is the first of them.
    """

    config: Config
    overrides: Mapping[str, Any]
    papers: Mapping[str, Paper]
    profiles: Mapping[str, Profile]
    machine: str
    nodes: Mapping[str, SlurmNode] = field(default_factory=dict)
    measures: bool = True

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The machines that this run measures, each with the profiles that its file names, if it names some."""
        found = []
        for machine in self.nodes or [self.machine]:
            config, told = self.config, told_of(machine)
            if told and told.profiles is not None:
                named = [name for name in config.profiles if name in told.profiles]
                chosen = told.profiles if config.all_profiles else tuple(named)
                config = replace(config, profiles=chosen, all_profiles=False)
            found.append(Target(config, self.papers, self.profiles, machine, self.nodes.get(machine)))
        return tuple(found)

    # Names and places.

    @property
    def measured(self) -> list[str]:
        """The names of the machines that this run measures: what others measured is read, and never made."""
        return [target.machine for target in self.targets]

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
    def document(self) -> str:
        """The report's path without its ending."""
        return "report/smoke" if self.smoke else "report/report"

    @cached_property
    def machines(self) -> list[str]:
        """The machines that figures are drawn of: these, and while they are few every other with records."""
        own = dict.fromkeys(self.measured, 0) if self.measures else {}
        return choose_in_full(own | recorded_machines(self.smoke), self.machine)

    @property
    def experiments(self) -> list[tuple[str, str]]:
        """All (paper, experiment) that are shown: each has a table, measured or not."""
        return [(paper.name, name) for paper in self.papers.values() for name in paper.experiments]

    @property
    def front_page(self) -> dict[str, str]:
        """What report/captions/workflow.rst needs: a part of a page, and the figure below it, with its text."""
        paper, experiment = self.experiments[0]
        machine = self.machine if self.machine in self.machines or not self.machines else self.machines[0]
        return {
            "front": f"{self.results}/front.html",
            "figure": f"{self.results}/figures/{paper}/{experiment}/{machine}-speedup.svg",
            "figure_says": f"{self.papers[paper].experiments[experiment].title} on {machine}.",
        }

    # What the commands are told that the rules call.

    @property
    def settings(self) -> list[str]:
        """What --config said."""
        return _as_settings(self.overrides)

    @property
    def shown(self) -> list[str]:
        """Where tables, figures and report are made: of which records, in full of which machine, and of which
        papers."""
        return [*(["--smoke"] if self.smoke else []), "--machine", self.machine, "--papers", *self.config.papers]

    def how_to_measure(self, wildcards: Any) -> list[str]:
        """Where the machine is measured: within what time, and what --config said."""
        if not self.nodes:
            return ["--config", *self.settings]
        there = {"machine": wildcards.machine, "cluster": False}
        budget = f"{_budget_seconds(self.nodes[wildcards.machine]):g}s"
        return ["--budget", budget, "--config", *_as_settings({**self.overrides, **there})]

    # The jobs that measure machines: here, or through Slurm on nodes of theirs.

    @property
    def gauge_due(self) -> dict[str, str]:
        """The machines whose hardware sheet is to be measured, and why. One that can be used is an input and nothing
        more, so that nothing can delete it or measure it again."""
        return {target.machine: target.gauge_due for target in self.targets if target.gauge_due}

    @property
    def session_number(self) -> str:
        """A pattern of the number of each machine's next session: an earlier one is not measured again."""
        found = [str(target.session).removesuffix(".done").rpartition("-") for target in self.targets]
        return "|".join(f"(?<={re.escape(place)}-){number}" for place, _, number in found)

    def clear_way(self, snakemake: Any, what: str) -> Callable[[Any], list[str]]:
        """Return an input function without inputs, which removes what cannot be used, so that its job makes another:
        the machine's description, or its hardware sheet, by `what`."""

        def clear(wildcards: Any) -> list[str]:
            machine = wildcards.machine
            runs = snakemake.executor_plugin is not None and not snakemake.dryrun and not snakemake.touch
            if runs and what == "hardware" and machine in self.gauge_due:
                hardware_path(machine, self.smoke).unlink(missing_ok=True)
            elif runs and what == "description" and read_description(machine, self.smoke) is None:
                description_path(machine, self.smoke).unlink(missing_ok=True)
            return []

        return clear

    def described(self, wildcards: Any) -> dict[str, Any]:
        """When this changes, the machine's description is written anew: its contents, or of a machine that only its
        own job can look at, what it was asked."""
        if self.nodes:
            return {name: checksum(profile) for name, profile in self.profiles.items()}
        facts = make_description(wildcards.machine, self.profiles)
        # What a kernel leaves of the memory after its own start differs from boot to boot, and is no news.
        del facts["hardware"]["memory_bytes"]
        return facts

    def resources(self, short: bool = False) -> dict[str, Callable[..., Any]]:
        """What a rule asks of Slurm so that its job runs on the machine of its wildcard, on a whole node: functions, as
        Snakemake takes them; nothing where that is here. A `short` job takes minutes at most."""

        def of(key: str) -> Callable[..., Any]:
            return lambda wildcards: _asked_of_slurm(self.nodes[wildcards.machine], short)[key]

        return {key: of(key) for key in _asked_of_slurm(SlurmNode(), short)} if self.nodes else {}

    def retries(self, snakemake: Any) -> int:
        """How often a job on a cluster is asked for again: as often as its time limit makes necessary, and some more.
        In the job itself, Snakemake would only repeat it until its time is up."""
        if not self.nodes or not snakemake.is_main_process:
            return 0
        return max(target.jobs_needed for target in self.targets) - 1 + SPARE_RETRIES

    def check_executor(self, snakemake: Any) -> None:
        """UserError if this run would measure a cluster's machine here, or this machine on a cluster."""
        elsewhere = snakemake.executor_plugin.common_settings.non_local_exec
        if self.nodes and not elsewhere:
            raise UserError(f"cluster: true measures through Slurm: add --profile {PROFILE}, or say cluster: false")
        if elsewhere and not self.nodes:
            raise UserError(f"jobs on a cluster need to know which machine they measure; use --profile {PROFILE}")

    # What tables, figures and report are made of.

    @property
    def sources(self) -> list[Path | str]:
        """What the tables are made of: what this run makes of its machines, the files of all others, and those whose
        words and published numbers stand beside."""
        own: list[Path | str] = []
        for target in self.targets:
            own += [*target.sessions, target.description, target.hardware_sheet]
        files = [path for name in ("machine", "hardware") for path in Path(self.records).glob(f"*/{name}.json")]
        others = [path for path in [*record_paths(self.smoke), *files] if self._is_foreign(path)]
        told = [PAPERS / name / file for name in self.papers for file in ("paper.yaml", "published.csv")]
        told += [*HARDWARE.glob("*.yaml"), *MACHINES.glob("*.yaml")]
        return [*own, *sorted(others), *sorted(os.path.relpath(path) for path in told if path.is_file())]

    def _is_foreign(self, path: Path) -> bool:
        """Whether the record or other file is of a machine that this run does not measure."""
        return path.relative_to(self.records).parts[0] not in self.measured


def _budget_seconds(node: SlurmNode) -> float:
    """How long a job may measure."""
    return 60.0 * (node.minutes - SPARE_MINUTES)


def _asked_of_slurm(node: SlurmNode, short: bool) -> dict[str, Any]:
    """As resources of a rule; None says nothing of one, and Slurm's own default holds."""
    nodelist = [f"--nodelist={node.nodelist}"] if node.nodelist else []
    return {
        "slurm_partition": node.partition,
        "slurm_account": node.account,
        "constraint": node.constraint,
        "gres": node.gres,
        # A negative number asks for none: of a whole node, the job then has all.
        "cpus_per_task": node.cpus or -1,
        # None is not allowed here; 0 asks for none as well.
        "mem_mb": math.ceil(1024 * (node.memory_gb or 0)),
        "runtime": min(node.minutes, SHORT_MINUTES) if short else node.minutes,
        "nodes": 1,
        "slurm_extra": shlex.join(["--exclusive", *nodelist]),
    }


def resolve_workflow(overrides: Mapping[str, Any], *, measures: bool = True) -> Workflow:
    """Read and check every file that a run depends on.

    What a run `measures` must be right: UserError if not. One that measures nothing leaves out papers and profiles that
    are wrong, with a line.
    """
    config = load_config(overrides=overrides)
    papers = papers_shown(config.preset.is_smoke, config.papers, strict=measures)
    profiles = profiles_shown(config.profiles if measures else ())
    if not measures:
        config = replace(
            config,
            papers=tuple(name for name in config.papers if name in papers),
            profiles=tuple(name for name in config.profiles if name in profiles),
        )
    nodes = _nodes(config.machine) if config.cluster else {}
    machine = next(iter(nodes), None) or config.machine or machine_slug()
    return Workflow(config, dict(overrides), papers, profiles, machine, nodes, measures)


def _nodes(only: str | None) -> dict[str, SlurmNode]:
    """The machines that Slurm has nodes of: all that are told of, or the one that config.yaml names."""
    nodes = {machine: told.slurm for machine, told in MACHINE_FILES.load_all().items() if told.slurm}
    if not nodes:
        raise UserError(
            f"cluster: no file in {MACHINES.relative_to(ROOT)} has slurm:; ./run respeed new machine NAME writes one "
            "to start from"
        )
    if only and only not in nodes:
        raise UserError(f"machine: {only!r} has no slurm: in {MACHINES.relative_to(ROOT)}{nearest(only, nodes)}")
    return {only: nodes[only]} if only else nodes


def _as_settings(overrides: Mapping[str, Any]) -> list[str]:
    """Settings as words for a command."""
    return [f"{key}={json.dumps(value)}" for key, value in overrides.items()]
