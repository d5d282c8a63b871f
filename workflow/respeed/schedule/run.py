"""A run: a configuration resolved to the machines that it measures, and what the rules of the workflow read and are
told.

On a cluster each machine is measured by a job on a node of its own, which decides for itself what is left: the head
knows only what is asked for.
"""

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.config import Config, load_config
from respeed.inputs.machines import MACHINE_FILES, Profile, told_of
from respeed.machine.description import describe_machine, machine_slug
from respeed.model import ARCHITECTURES, Paper
from respeed.paths import HARDWARE, MACHINES, PAPERS, ROOT, records_folder, results_folder
from respeed.records import DESCRIPTION, case_key, record_paths, write_description
from respeed.schedule.plan import Plan, read_plan
from respeed.schedule.rows import Row, check_same_machine, find_rows
from respeed.schedule.work import Work, list_work, machines_in_full, papers_shown, profiles_shown, source_of

# The Snakemake profile that sends jobs to Slurm.
PROFILE = "profiles/slurm"
# Of the minutes of a job of Slurm, those in which nothing is measured: its start, and the turn that takes longer than
# was thought.
SPARE_MINUTES = 3


@dataclass(frozen=True)
class Run:
    """A configuration resolved.

    Attributes
    ----------
    config : Config
        What is asked for, with the profiles that the machine's own file names.
    overrides : mapping
        What --config said.
    papers, profiles : mapping
        Those that are shown, the chosen papers first, at the sizes of the preset; and all profiles.
    machine : str
        The name of this machine, or of the first one of a cluster.
    nodes : mapping
        On a cluster, what Slurm is asked for, by machine.
    only : tuple of str
        Words of which one must stand in the name of a case.
    """

    config: Config
    overrides: Mapping[str, Any]
    papers: Mapping[str, Paper]
    profiles: Mapping[str, Profile]
    machine: str
    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    only: tuple[str, ...] = ()

    @property
    def smoke(self) -> bool:
        """Return whether the sizes are tiny and the times no measurements."""
        return self.config.preset.is_smoke

    @property
    def measured(self) -> list[str]:
        """Return the names of the machines that this run measures: what others measured is read, and never made."""
        return list(self.nodes) or [self.machine]

    # What is left, of this machine.

    @cached_property
    def _rows(self) -> tuple[dict[str, Row], dict[str, str]]:
        asked = self.config.profiles if not self.config.all_profiles else self.profiles
        return find_rows({name: self.profiles[name] for name in self.profiles if name in asked})

    @property
    def rows(self) -> Mapping[str, Row]:
        """Return the rows that this machine can run."""
        return self._rows[0]

    @property
    def why_not(self) -> Mapping[str, str]:
        """Return why this machine cannot run the others, by profile."""
        return self._rows[1]

    @cached_property
    def work(self) -> Work:
        """Return all that is asked of this machine."""
        return list_work(self.config, self.papers, self.rows, self.machine, self.only)

    def plan(self) -> Plan:
        """Return what is left of it, by the records that there are."""
        return read_plan(self.work)

    def describe(self) -> None:
        """Write what this machine is and cannot run."""
        check_same_machine(self.machine, self.smoke)
        every = find_rows(self.profiles)[1]
        write_description(self.machine, self.smoke, {"hardware": describe_machine(), "not_measurable": every})

    # Names and places.

    @property
    def results(self) -> str:
        """Return the folder of everything that the run makes."""
        return str(results_folder(self.smoke))

    @property
    def document(self) -> str:
        """Return the report's path without its ending."""
        return "report/smoke" if self.smoke else "report/report"

    def stamp(self, machine: str) -> str:
        """Return the empty file that measuring leaves when nothing is left of what is asked for.

        Its name has a checksum of that, and a number: the next one where something is left all the same, such as a row
        that could not start, or was measured by hand since. Snakemake makes no file anew because it is gone. Records
        are no rule's output: nothing here can delete or repeat what was measured.
        """
        asked = [self.work.digest, sorted(self.why_not.items())] if not self.nodes else self._asked_of_node(machine)
        folder, name = Path(self.results, "logs", machine), f"measured-{hash_of(asked)}-"
        there = [*folder.glob(f"{name}*[0-9]")]
        return str(folder / f"{name}{max(1, len(there) + self._is_left(there))}")

    def _is_left(self, stamps: list[Path]) -> bool:
        """Return whether these stamps tell nothing of what this machine is to measure, or has measured by now."""
        if self.nodes or not stamps:
            return False
        written = max(path.stat().st_mtime_ns for path in stamps)
        is_newer = any(path.stat().st_mtime_ns > written for path in record_paths(self.smoke, self.machine))
        return is_newer or self.plan().next_turn() is not None

    def _asked_of_node(self, machine: str) -> list[Any]:
        """Return all that decides what is asked of a node, which knows alone which rows it can run."""
        cases = {
            (case_key(case.workload, case.parameters), source_of(case, architecture))
            for name in self.config.papers
            for experiment in self.papers[name].experiments.values()
            for case in experiment.cases
            for architecture in ARCHITECTURES
        }
        told = [str(told_of(machine)), str(self.config), *sorted(map(str, self.profiles.values()))]
        return [self.settings, told, sorted(cases)]

    @cached_property
    def sources(self) -> list[str]:
        """Return what tables are made of: a stamp for each machine that is measured, the records of all others, and the
        files whose words and published numbers stand beside.
        """
        own = [self.stamp(machine) for machine in self.measured]
        folder = records_folder(self.smoke)
        files = [*record_paths(self.smoke), *folder.glob(f"*/{DESCRIPTION}")]
        others = [path for path in files if path.relative_to(folder).parts[0] not in self.measured]
        told = [PAPERS / name / file for name in self.papers for file in ("paper.yaml", "published.csv")]
        told += [*HARDWARE.glob("*.yaml"), *MACHINES.glob("*.yaml")]
        return [*own, *sorted(map(str, others)), *sorted(os.path.relpath(path) for path in told if path.is_file())]

    @property
    def front_page(self) -> dict[str, str]:
        """Return what report/captions/workflow.rst needs: a part of a page, and the figure below it, with its text."""
        paper = next(iter(self.papers.values()))
        experiment = next(iter(paper.experiments.values()))
        shown = machines_in_full(self.smoke, self.machine)
        machine = self.machine if self.machine in shown or not shown else shown[0]
        return {
            "front": f"{self.results}/front.html",
            "figure": f"{self.results}/figures/{paper.name}/{experiment.name}/{machine}-speedup.svg",
            "figure_says": f"{experiment.title} on {machine}.",
        }

    # What the commands are told that the rules call.

    @property
    def settings(self) -> list[str]:
        """Return what --config said."""
        return [f"{key}={json.dumps(value)}" for key, value in self.overrides.items()]

    @property
    def shown(self) -> list[str]:
        """Return where tables, figures and report are made: of which records, in full of which machine, and of which
        papers.
        """
        return [*(["--smoke"] if self.smoke else []), "--machine", self.machine, "--papers", *self.config.papers]

    def how_to_measure(self, wildcards: Any) -> list[str]:
        """Return what `respeed measure` is told where the machine is measured."""
        if not self.nodes:
            return ["--config", *self.settings]
        there = {**self.overrides, "machine": wildcards.machine, "cluster": False}
        minutes = self.nodes[wildcards.machine]["runtime"] - SPARE_MINUTES
        return [
            "--budget",
            f"{minutes}min",
            "--config",
            *(f"{key}={json.dumps(value)}" for key, value in there.items()),
        ]

    @property
    def resources(self) -> dict[str, Callable[..., Any]]:
        """Return what the rule asks of Slurm, as Snakemake takes it: what the file of its wildcard's machine says."""

        def of(key: str) -> Callable[..., Any]:
            return lambda wildcards: self.nodes[wildcards.machine].get(key)

        return {key: of(key) for key in sorted({key for node in self.nodes.values() for key in node})}


def hash_of(asked: Any) -> str:
    """Return a short checksum."""
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]


def resolve_run(overrides: Mapping[str, Any], *, measures: bool = True, only: tuple[str, ...] = ()) -> Run:
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
    told = told_of(machine)
    if told and told.profiles is not None and not nodes:
        named = [name for name in config.profiles if name in told.profiles]
        chosen = told.profiles if config.all_profiles else tuple(named)
        config = replace(config, profiles=chosen, all_profiles=False)
    return Run(config, dict(overrides), papers, profiles, machine, nodes, only)


def _words_of(slurm: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return what Slurm is asked for: a whole node, if nothing else is said. A shell is given `slurm_extra`."""
    return {**slurm, "slurm_extra": shlex.join(shlex.split(str(slurm.get("slurm_extra", "--exclusive"))))}


def _nodes(only: str | None) -> dict[str, dict[Any, Any]]:
    """Return what Slurm is asked for, for all machines that are told of, or for the one that config.yaml names."""
    told = MACHINE_FILES.load_all()
    nodes = {machine: _words_of(one.slurm) for machine, one in told.items() if one.slurm}
    if not nodes:
        raise UserError(
            f"cluster: no file in {MACHINES.relative_to(ROOT)} has slurm:; ./run respeed new machine NAME writes one "
            "to start from"
        )
    if only and only not in nodes:
        raise UserError(f"machine: {only!r} has no slurm: in {MACHINES.relative_to(ROOT)}{nearest(only, nodes)}")
    return {only: nodes[only]} if only else nodes
