"""A run: its configuration and machines, and the arguments for Snakemake's rules.

On a cluster, each machine is measured by a job on a node of its own. The job finds out what is left to measure; the
head node knows only what is asked for.
"""

import hashlib
import json
import os
import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.config import ALL, THIS, Config, load_config
from respeed.inputs.machines import MACHINE_FILES, PROFILE_FILES, Profiles, notes_of
from respeed.inputs.papers import PAPER_FILES
from respeed.inputs.registry import files_of_workloads
from respeed.machine import describe_machine
from respeed.model import Names, Papers
from respeed.paths import ELSEWHERE, RUN, STUDY, find_file, folders_of, results_folder
from respeed.records import files_of_machine, record_paths, recorded_machines, write_description
from respeed.schedule.plan import Plan, read_plan
from respeed.schedule.rows import Row, Rows, check_same_machine, find_rows
from respeed.schedule.work import Work, list_work
from respeed.shown import papers_shown

# The Snakemake profile that sends jobs to Slurm.
PROFILE = "profiles/slurm"
# The plugin then asks for no number of CPUs, where it would ask for as many as the head has: a job that has its node
# alone gets every CPU of that node.
WHOLE_NODE = {"cpus_per_task": -1}
# The minutes of a Slurm job that are kept free, for the job's start and for a turn that takes longer than estimated.
SPARE_MINUTES = 3


@dataclass(frozen=True)
class Run:
    """A configuration, with the papers, profiles and machines that it names.

    Attributes
    ----------
    config : Config
        The configuration; its profiles are limited to those that the machine's own file names, if it names any.
    overrides : mapping
        The settings of --config.
    papers, profiles : mapping
        The papers that are shown, the chosen ones first, with the preset's cases; and all valid profiles.
    machine : str
        The name of this machine, or of a cluster's first machine.
    nodes : mapping
        On a cluster, the resources to ask Slurm for, by machine.
    only : tuple of str
        Words; the name of a case must contain at least one of them. Without words, all cases are chosen.
    since : str
        A moment (ISO 8601): what was measured before does not count as measured. Empty if everything counts.
    """

    config: Config
    overrides: Mapping[str, Any]
    papers: Papers
    profiles: Profiles
    machine: str
    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    only: Names = ()
    since: str = ""

    @property
    def smoke(self) -> bool:
        """Return whether the cases are tiny, so that their times are not measurements."""
        return self.config.preset.is_smoke

    # The work that is left on this machine.

    # Only the rows that are asked for are tried: to try the device of another row may take seconds.
    @cached_property
    def _found(self) -> tuple[dict[str, Row], dict[str, str]]:
        names = self.profiles if self.config.all_profiles else self.config.profiles
        return find_rows({name: profile for name, profile in self.profiles.items() if name in names})

    @property
    def rows(self) -> Rows:
        """Return the rows that this machine can run."""
        return self._found[0]

    @property
    def why_not(self) -> Mapping[str, str]:
        """Return, by profile, why this machine cannot run the other rows that are asked for."""
        return self._found[1]

    @cached_property
    def work(self) -> Work:
        """Return the work for this machine."""
        return list_work(self.config, self.papers, self.rows, self.machine, self.only, self.since)

    @cached_property
    def plan(self) -> Plan:
        """Return the plan of the work that no record has when the run begins."""
        return read_plan(self.work)

    def describe(self) -> None:
        """Write the description of this machine, with the rows that it cannot run, and why."""
        check_same_machine(self.machine, self.smoke)
        _, why_not = find_rows(self.profiles)
        write_description(self.machine, self.smoke, {"hardware": describe_machine(), "not_measurable": why_not})

    # Names and places.

    @property
    def show(self) -> Sequence[str]:
        """Return the machines to show, as `machines_shown` takes them; of a cluster, all by default."""
        if self.nodes and self.config.show == (THIS,):
            return [ALL]
        if self.smoke and ALL not in self.config.show:
            return [THIS]
        return self.config.show

    @property
    def results(self) -> str:
        """Return the folder of everything that the run makes, except the report."""
        return str(results_folder(self.smoke))

    @property
    def document(self) -> str:
        """Return the report's path without a suffix."""
        return "report/smoke" if self.smoke else "report/report"

    @cached_property
    def stamps(self) -> dict[str, str]:
        """Return, by machine, the path of its stamp: an empty file that shows that nothing is left to measure.

        Snakemake measures a machine that has no such file. So this machine's stamp gets the next number in its name as
        long as something is left, or if a record is newer than the last stamp. A cluster's head node does not know what
        is left; there, the name has a checksum of all that is asked for. Records are no rule's output, so Snakemake can
        neither delete nor repeat a measurement.
        """
        if self.nodes:
            return {name: f"{self.results}/logs/{name}/asked-{self._checksum(name)}" for name in self.nodes}
        folder = Path(self.results, "logs", self.machine)
        stamps = [*folder.glob("measured-*[0-9]")]
        records = record_paths(self.smoke, self.machine)
        is_newer = _newest(stamps) < _newest(records)
        is_left = not stamps or is_newer or bool(self.plan.next_turn())
        return {self.machine: str(folder / f"measured-{len(stamps) + is_left}")}

    def _checksum(self, machine: str) -> str:
        """Return a checksum of the settings and files that decide what is asked of a machine's node."""
        files = [STUDY / "config.yaml", MACHINE_FILES.path(machine), *files_of_workloads()]
        files += map(PROFILE_FILES.path, PROFILE_FILES.names())
        for paper in self.config.papers:
            files += find_file("papers", paper).glob("*")
        texts = [setting.encode() for setting in self.settings]
        texts += [path.read_bytes() for path in sorted(files) if path.is_file()]
        return hashlib.sha256(b"\n".join(texts)).hexdigest()[:12]

    @cached_property
    def sources(self) -> list[str]:
        """Return the inputs of the tables.

        These are the stamp of each machine that this run measures, the records and descriptions of the other machines
        that are shown, and the files about the shown papers, hardware profiles and machines.
        """
        records: list[Path] = []
        for machine in recorded_machines(self.smoke):
            if machine not in self.stamps and not {machine, ALL}.isdisjoint(self.show):
                records += files_of_machine(self.smoke, machine)
        files = list[Path]()
        for kind in (PROFILE_FILES, MACHINE_FILES):
            files += map(kind.path, kind.names())
        for paper in self.papers:
            files += [PAPER_FILES.path(paper), PAPER_FILES.path(paper).with_name("published.csv")]
        paths = [os.path.relpath(path) for path in files if path.is_file()]
        return [*self.stamps.values(), *sorted(map(str, records)), *sorted(paths)]

    # The arguments of the commands that rules call.

    @property
    def settings(self) -> list[str]:
        """Return the settings of --config."""
        return _as_settings(self.overrides)

    @property
    def shown(self) -> list[str]:
        """Return the arguments of `respeed report`: which records, this machine, which machines, and the papers."""
        kind = ["--smoke"] if self.smoke else []
        papers = [str(ELSEWHERE.get(paper, paper)) for paper in self.config.papers]
        return [*kind, "--machine", self.machine, "--show", *self.show, "--papers", *papers]

    def how_to_measure(self, machine: str) -> list[str]:
        """Return the arguments of the `respeed measure` command that measures a machine."""
        if not self.nodes:
            return ["--config", *self.settings]
        minutes = self.nodes[machine]["runtime"] - SPARE_MINUTES
        on_node = {**self.overrides, "machine": machine, "cluster": False}
        return ["--budget", f"{minutes}min", "--config", *_as_settings(on_node)]


def _newest(paths: Iterable[Path]) -> int:
    """Return when the last of the files was written, in nanoseconds; 0 without files."""
    return max((path.stat().st_mtime_ns for path in paths), default=0)


def _as_settings(overrides: Mapping[str, Any]) -> list[str]:
    return [f"{key}={json.dumps(value)}" for key, value in overrides.items()]


def resolve_run(overrides: Mapping[str, Any], *, measures: bool = True, only: Names = (), since: str = "") -> Run:
    """Read and check every file that a run depends on, and return the run.

    If the run `measures`, a mistake in one of these files raises UserError. Otherwise, papers and profiles with
    mistakes are left out, with a message.
    """
    config = load_config(overrides=overrides)
    papers = papers_shown(config.preset.is_smoke, config.papers, strict=measures)
    profiles = PROFILE_FILES.load_all(chosen=config.profiles if measures else ())
    if not measures:
        valid = _among(papers, config.papers)
        config = replace(config, papers=valid, profiles=_among(profiles, config.profiles))
    nodes = _nodes(config.machine) if config.cluster else {}
    machine = next(iter(nodes), config.this_machine)
    notes = None if nodes else notes_of(machine)
    if notes and notes.profiles is not None:
        named = notes.profiles if config.all_profiles else _among(notes.profiles, config.profiles)
        config = replace(config, profiles=named, all_profiles=False)
    return Run(config, dict(overrides), papers, profiles, machine, nodes, only, since)


def _among(known: Container[str], names: Names) -> Names:
    """Return the names that are known."""
    return tuple(name for name in names if name in known)


def _machines() -> Path:
    """Return the folder of the user's notes on machines, as it is named in the study or clone."""
    return folders_of("machines")[0].relative_to(STUDY)


def _nodes(only: str | None) -> dict[str, dict[Any, Any]]:
    """Return, by machine, the resources to ask Slurm for: of all machines whose file has `slurm:`, or of `only`."""
    nodes = {}
    for machine, notes in MACHINE_FILES.load_all().items():
        if notes.slurm:
            options = notes.slurm["slurm_extra"].split()
            nodes[machine] = {**(WHOLE_NODE if "--exclusive" in options else {}), **notes.slurm}
            # A shell reads the options.
            nodes[machine]["slurm_extra"] = shlex.join(options)
    if not nodes:
        raise UserError(
            f"cluster: no file in {_machines()} has slurm:; {RUN}respeed new machine NAME writes one to start from"
        )
    if only and only not in nodes:
        raise UserError(f"machine: {only!r} has no slurm: in {_machines()}{nearest(only, nodes)}")
    return {only: nodes[only]} if only else nodes
