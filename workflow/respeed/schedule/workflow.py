"""A configuration, resolved: what every rule reads, makes and is told, and which machines are measured."""

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.config import Config
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
from respeed.records.store import recorded_machines, set_aside, why_no_description, why_no_learning
from respeed.schedule.availability import checksum, make_description
from respeed.schedule.selection import Work, choose_in_full, read_choice
from respeed.schedule.slurm import PROFILE, SPARE_RETRIES, budget_seconds, jobs_needed, resources
from respeed.schedule.target import Target

# Snakemake's HTML report lists categories, and the files in each, in the order of their names.
CLAIMS, TABLES, FIGURES, LEARNING, CELLS, DATA, SHEETS = (
    "1 Claims", "2 Tables", "3 Figures", "4 What is learned", "5 Every cell", "6 Data", "7 Machines",
)  # fmt: skip
# The tables of all papers: as pages, as data that the report shows, and as data alone.
PAGES = {"cells": "Seconds", "speedups": "Speedups", "cost": "Cost and energy"}
TIDY = {
    "claims": "Claims and verdicts",
    "cells": "Every cell: seconds",
    "speedups": "Every cell: speedups",
    "cost": "Every cell: cost and energy",
    "why": "Every speedup as factors",
    "roofline": "Rates beneath their roofs",
    "rates": "What each machine reaches",
    "scaling": "What more threads bring",
}
MORE = (
    "rounds",
    "factors",
    "parts",
    "totals",
    "wholes",
    "machines",
    "spread",
    "standings",
    "hardware",
    "facts",
    "backends",
)
# What is drawn of every table, of every program that learns, of a paper, and of a machine's hardware sheet.
DRAWN = {"seconds": "Times or rates", "speedup": "Speedups"}
LEARNED = {"learning": "What is left to explain", "learned": "Pictures of what was learned"}
OF_PAPER = {"roofline": "roofline"}
OF_MACHINE = {"scaling": "What more threads bring", "rates": "What a product reaches"}
# What every figure is beside an SVG: for LaTeX, a page, and slides.
ENDINGS = (".pdf", ".png", "-slide.svg", "-slide.png")

# Braces would be wildcards to Snakemake, and it writes labels into a script as they are.
_AS_TEXT = str.maketrans(
    {
        "{": "(",
        "}": ")",
        "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
        ">": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    }
)

# Of a file, its caption, category, folder and columns: the same path, as Snakemake's HTML report shows it.
Report = Callable[..., Any]


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
        """The machines that this run measures, each with the profiles that its file names, if it names some."""
        found = []
        for machine in self.nodes or [self.machine]:
            config, told = self.config, told_of(machine)
            if told and told.profiles is not None:
                named = [name for name in config.profiles if name in told.profiles]
                config = replace(config, profiles=told.profiles if config.all_profiles else tuple(named))
            found.append(Target(config, self.papers, self.profiles, machine, self.nodes.get(machine)))
        return tuple(found)

    @property
    def work(self) -> Work:
        """What is asked of `machine`."""
        return self.targets[0].work

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
        return choose_in_full(dict.fromkeys(self.measured, 0) | recorded_machines(self.smoke), self.machine)

    @property
    def experiments(self) -> list[tuple[str, str]]:
        """All (paper, experiment) that are shown: each has a table, measured or not."""
        return [(paper.name, name) for paper in self.papers.values() for name in paper.experiments]

    @property
    def settings(self) -> list[str]:
        """What --config said, for the commands that the rules call."""
        return _as_settings(self.overrides)

    @property
    def shown(self) -> list[str]:
        """For the commands that make tables, figures and report: of which records, in full of which machine, and of
        which papers."""
        return [*(["--smoke"] if self.smoke else []), "--machine", self.machine, "--papers", *self.config.papers]

    # What is measured.

    @property
    def descriptions(self) -> list[Path]:
        return [target.description for target in self.targets]

    @property
    def hardware_sheets(self) -> list[Path]:
        """What the machines reach."""
        return [target.hardware_sheet for target in self.targets]

    @property
    def sessions(self) -> list[Path]:
        """The files of the sessions of measuring: those that were finished, and those that this run adds."""
        return [path for target in self.targets for path in target.sessions]

    @property
    def learning_records(self) -> list[Path]:
        return [path for target in self.targets for path in target.learning_records]

    @property
    def gauge_due(self) -> dict[str, str]:
        """The machines whose hardware sheet is to be measured, and why. One that can be used is an input and nothing
        more, so that nothing can delete it or measure it again."""
        return {target.machine: target.gauge_due for target in self.targets if target.gauge_due}

    def clear_way(self, snakemake: Any, what: str) -> Callable[[Any], list[str]]:
        """An input function without inputs: takes a description, hardware sheet or learning record (`what`) that
        nothing can be read from out of the way of the job that makes another."""

        def clear(wildcards: Any) -> list[str]:
            runs = snakemake.executor_plugin is not None and not snakemake.dryrun and not snakemake.touch
            path, reason = self._unreadable(what, wildcards)
            if runs and reason and path.exists():
                set_aside(path)
                print(f"respeed: set aside: {reason}", file=sys.stderr)
            return []

        return clear

    def _unreadable(self, what: str, wildcards: Any) -> tuple[Path, str | None]:
        if what == "hardware":
            path, due = hardware_path(wildcards.machine, self.smoke), self.gauge_due.get(wildcards.machine)
            return path, f"{path}: {due}" if due else None
        if what == "description":
            path = description_path(wildcards.machine, self.smoke)
            return path, why_no_description(path) if path.exists() else None
        path = learning_path(wildcards.machine, wildcards.paper, wildcards.experiment, self.smoke)
        return path, why_no_learning(path, self.smoke) if path.exists() else None

    # The jobs that measure machines: here, or through Slurm on nodes of theirs.

    @property
    def session_number(self) -> str:
        """A pattern of the number of each machine's next session: an earlier one is not measured again."""
        found = [re.fullmatch(r"(.+/session-)(\d+)\.json", str(target.session)) for target in self.targets]
        return "|".join(f"(?<={re.escape(place[1])}){place[2]}" for place in found if place)

    def settings_of(self, wildcards: Any) -> list[str]:
        """What --config said, for the command that measures the machine, where it runs."""
        there = {"machine": wildcards.machine, "cluster": False} if self.nodes else {}
        return _as_settings({**self.overrides, **there})

    def budget(self, wildcards: Any) -> str:
        """How long the machine's job may measure, for the same command."""
        return f"--budget {budget_seconds(self.nodes[wildcards.machine]):g}s" if self.nodes else ""

    def resources(self, short: bool = False) -> dict[str, Callable[..., Any]]:
        """What a rule asks of Slurm so that its job runs on the machine of its wildcard; nothing where that is here.
        A `short` job takes minutes at most."""
        return resources(self.nodes, short)

    def retries(self, snakemake: Any) -> int:
        """How often a job on a cluster is asked for again: as often as its time limit makes necessary, and some more.
        In the job itself, Snakemake would only repeat it until its time is up."""
        if not self.nodes or not snakemake.is_main_process:
            return 0
        needed = [jobs_needed(one.node, one.plan.seconds_left()) for one in self.targets if one.node]
        return max(needed) - 1 + SPARE_RETRIES

    def described(self, wildcards: Any) -> dict[str, Any]:
        """When this changes, the machine's description is written anew: its contents, or of a machine that only its
        own job can look at, what it was asked."""
        if self.nodes:
            return {name: checksum(profile) for name, profile in self.profiles.items()}
        facts = make_description(wildcards.machine, self.profiles)
        # What a kernel leaves of the memory after its own start differs from boot to boot, and is no news.
        del facts["hardware"]["memory_bytes"]
        return facts

    def learning_cases(self, wildcards: Any) -> str:
        """What is to be learned: when it changes, it is learned again."""
        return repr(self.papers[wildcards.paper].experiments[wildcards.experiment].learning)

    def check_executor(self, snakemake: Any) -> None:
        """UserError if this run would measure a cluster's machine here, or this machine on a cluster."""
        elsewhere = snakemake.executor_plugin.common_settings.non_local_exec
        if self.nodes and not elsewhere:
            raise UserError(f"cluster: true measures through Slurm: add --profile {PROFILE}, or say cluster: false")
        if elsewhere and not self.nodes:
            raise UserError(f"jobs on a cluster need to know which machine they measure; use --profile {PROFILE}")

    # What tables, figures and report are made of, and what they are.

    @property
    def foreign_records(self) -> list[Path]:
        """The records of other machines: read, never measured."""
        found = record_paths(self.smoke)
        return [path for path in found if path.relative_to(self.records).parts[0] not in self.measured]

    @property
    def foreign_learning(self) -> list[Path]:
        """What other machines' programs learned, as far as figures are drawn of it: read, never made here."""
        others = [machine for machine in self.machines if machine not in self.measured]
        return sorted(path for name in others for path in Path(self.records).glob(f"{name}/*/*/learning.json"))

    @property
    def described_by(self) -> list[str]:
        """The files whose words and published numbers stand in the tables beside the records."""
        printed = [PAPERS / name / file for name in self.papers for file in ("paper.yaml", "published.csv")]
        files = [path for path in [*printed, *HARDWARE.glob("*.yaml"), *MACHINES.glob("*.yaml")] if path.is_file()]
        others = [path for name in ("machine.json", "hardware.json") for path in Path(self.records).glob(f"*/{name}")]
        foreign = [path for path in others if path.parent.name not in self.measured]
        return sorted(os.path.relpath(path) for path in [*files, *foreign])

    def table_files(self, report: Report) -> list[Any]:
        """What the rule `tables` makes; `report` is Snakemake's flag of what its HTML report shows."""
        folder = f"{self.results}/tables"
        shown = [_flag(report, f"{folder}/claims.html", "claims", CLAIMS, Table=TIDY["claims"])]
        shown += [
            _flag(
                report,
                f"{folder}/{paper}/{name}.html",
                "table",
                TABLES,
                self._folder(paper),
                **self._label(paper, name),
            )
            for paper, name in self.experiments
        ]
        shown += [_flag(report, f"{folder}/{name}.html", name, CELLS, Table=title) for name, title in PAGES.items()]
        for paper, name in self.experiments:
            labels = self._label(paper, name) | {"File": f"{name}.csv"}
            shown.append(_flag(report, f"{folder}/{paper}/{name}.csv", "data", DATA, self._folder(paper), **labels))
        shown += [
            _flag(report, f"{folder}/{name}.csv", "data", DATA, "All papers", Table=title, File=f"{name}.csv")
            for name, title in TIDY.items()
        ]
        texts = [f"{folder}/{paper}/{name}.{ending}" for paper, name in self.experiments for ending in ("md", "tex")]
        more = [f"{folder}/{name}.csv" for name in MORE]
        return [*shown, *texts, *more, f"{folder}/front.html", f"{self.results}/README.md"]

    def figure_files(self, report: Report) -> list[Any]:
        """What the rule `figures` makes; `report` as for `table_files`."""
        folder, made = f"{self.results}/figures", []

        def add(where: str, drawn: Mapping[str, str], caption: str, category: str, **table: str) -> None:
            subfolder = self._folder(where.partition("/")[0]) if table else None
            for machine in self.machines:
                place = "/".join(filter(None, [folder, where, machine]))
                if drawn is LEARNED and (*where.split("/"), machine) not in self.learned:
                    continue
                for figure, title in drawn.items():
                    labels = table | {"Shows": title, "Machine": machine}
                    made.append(_flag(report, f"{place}-{figure}.svg", caption, category, subfolder, **labels))
                    made.extend(f"{place}-{figure}{ending}" for ending in ENDINGS)

        for paper, name in self.experiments:
            add(f"{paper}/{name}", DRAWN, "figure", FIGURES, **self._label(paper, name))
            add(f"{paper}/{name}", LEARNED, "learning", LEARNING, **self._label(paper, name))
        for paper in self.papers:
            add(paper, OF_PAPER, "roofline", FIGURES, Table="all")
        add("", OF_MACHINE, "sheet", SHEETS)
        return made

    @cached_property
    def learned(self) -> Collection[tuple[str, str, str]]:
        """(paper, experiment, machine) of everything learned that figures are drawn of."""
        found = [path for machine in self.machines for path in Path(self.records).glob(f"{machine}/*/*/learning.json")]
        there = {path for path in found if why_no_learning(path, self.smoke) is None}
        parts = [path.relative_to(self.records).parts for path in {*self.learning_records, *there}]
        return {(paper, experiment, machine) for machine, paper, experiment, _ in parts}

    @property
    def front_page(self) -> dict[str, str]:
        """What report/captions/workflow.rst needs: a part of a page, and the figure that stands below it, with its
        text."""
        paper, experiment = self.experiments[0]
        title = self.papers[paper].experiments[experiment].title
        return {
            "front": f"{self.results}/tables/front.html",
            "figure": f"{self.results}/figures/{paper}/{experiment}/{self.machine}-speedup.svg",
            "figure_says": f"{title}: speedups on {self.machine}.",
        }

    def _folder(self, paper: str) -> str:
        """What the report calls the folder of a paper's files."""
        return f"{self.papers[paper].title} ({self.papers[paper].year})"

    def _label(self, paper: str, experiment: str) -> dict[str, str]:
        """The title of a table, with its place in the paper."""
        experiments = self.papers[paper].experiments
        place = str(list(experiments).index(experiment) + 1).zfill(len(str(len(experiments))))
        return {"Table": f"{place} {experiments[experiment].title}"}


def _flag(report: Report, path: str, caption: str, category: str, subcategory: str | None = None, **labels: str) -> Any:
    """The path as Snakemake's HTML report shows it; the caption's place is seen from the rules."""
    texts = {key: text.translate(_AS_TEXT) for key, text in labels.items()}
    folder = subcategory.translate(_AS_TEXT) if subcategory else None
    return report(
        path, caption=f"../../report/captions/{caption}.rst", category=category, subcategory=folder, labels=texts
    )


def resolve_workflow(overrides: Mapping[str, Any], *, measures: bool = True) -> Workflow:
    """Read and check every file that a run depends on; UserError if there is a mistake in one. A run that `measures`
    nothing leaves out papers and profiles that are wrong."""
    config, papers, profiles = read_choice(overrides, measures=measures)
    nodes = _nodes(config.machine) if config.cluster else {}
    machine = next(iter(nodes), None) or config.machine or machine_slug()
    return Workflow(config, dict(overrides), papers, profiles, machine, nodes)


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


def _as_settings(overrides: Mapping[str, Any]) -> list[str]:
    """Settings as words for a command."""
    return [f"{key}={json.dumps(value)}" for key, value in overrides.items()]
