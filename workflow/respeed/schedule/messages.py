"""What a run tells before it begins and when it is done."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from respeed.analysis.cells import judge_cells
from respeed.analysis.rounds import CELL, CellKey, read_rounds
from respeed.inputs.files import overlooked
from respeed.inputs.profiles import other_library
from respeed.paths import record_paths
from respeed.records.store import read_json
from respeed.schedule.history import happened_meanwhile
from respeed.schedule.selection import chosen_experiments
from respeed.schedule.target import Target
from respeed.schedule.workflow import Workflow
from respeed.text import in_words

NEVER_ASKED = "not looked at yet"


def announcement(run: Workflow) -> str:
    """What will be measured and about how long it takes, for people who read a dry run."""
    lines = [line for target in run.targets for line in _of_machine(target)]
    lines += [f"  {line}" for line in overlooked()]
    if run.nodes and any(target.is_left for target in run.targets):
        lines.append(f"  a job of Slurm for each machine; what it says is in {run.results}/logs/<machine>")
    return "\n".join(lines)


def _of_machine(target: Target) -> list[str]:
    preset = target.config.preset
    rounds = f"{preset.rounds} round{'s' if preset.rounds > 1 else ''} of everything"
    lines = [f"respeed: {target.machine}, preset {preset.name}: {rounds}"]
    if target.asks_node:
        count = len(record_paths(target.smoke, target.machine))
        known = f"{count} record{'s' if count > 1 else ''}; its profiles are asked again" if count else NEVER_ASKED
        return [*lines, f"  {known}: its first job finds out which profiles apply, and what is left", *_gauging(target)]
    attempts = target.history.attempts
    for paper in target.config.papers:
        for name in chosen_experiments(target.config, target.papers[paper]):
            cells = [cell for cell in target.work.cells if (cell.paper, cell.experiment) == (paper, name)]
            todo = sum(attempts[cell] < preset.rounds for cell in cells)
            if cells:
                lines.append(f"  {paper} {name}: {todo} of {len(cells)} cells to measure")
    for name in target.config.profiles:
        profile = target.profiles[name]
        replaced = target.config.all_profiles and other_library(profile, target.hardware)
        if (reason := target.why_not(profile)) and not replaced:
            lines.append(f"  {name}: not measured: {reason}")
    for why, count in Counter(reason.partition(": ")[2] for reason in target.unusable.values()).items():
        records = f"{count} record{'s' if count > 1 else ''}"
        lines.append(f"  {records} of before cannot be used, and will be made anew: {why}")
    if others := target.history.otherwise:
        records = f"{others} record{'s' if others > 1 else ''} of before"
        lines.append(f"  {records} stay unused: measured with other sizes, threads, timing or seed than these")
    lines += [f"  {line}" for line in target.history.made_on.identity_lines]
    lines += _gauging(target)
    if left := target.plan.seconds_left() + target.gauge_seconds:
        alone = "" if target.node else "; leave the machine alone meanwhile"
        lines.append(f"  about {in_words(left)} of measuring in all{alone}")
    return lines


def _gauging(target: Target) -> list[str]:
    seconds = target.gauge_seconds
    return [f"  what the machine reaches (hardware sheet): about {in_words(seconds)}"] if seconds else []


def say_farewell(run: Workflow, snakemake: Any, *, done: bool = False) -> None:
    """The last lines of a run that is `done`, or that had nothing to do: where everything is, and what is missing.

    `snakemake` is its own workflow, which knows what kind of run it is; another kind says nothing.
    """
    dag = getattr(snakemake, "dag", None)
    measures = snakemake.executor_plugin is not None and not snakemake.dryrun
    idle = measures and dag is not None and any(dag.targetjobs) and not len(dag)
    document, page = Path(f"{run.document}.pdf"), Path(f"{run.document}.html")
    if not (done or idle) or not document.exists():
        return
    # After the target `pdf`, a page of before is older than what the tables say.
    is_new = page.exists() and page.stat().st_mtime >= Path(run.results, "tables", "cells.csv").stat().st_mtime
    named = f"{document}{f', for a browser {page}' if is_new else ''}"
    print(f"respeed: the report is {named}; tables are in {run.results}/tables", file=sys.stderr)
    for target in run.targets if done else ():
        for line in _happened_to(target):
            print(f"respeed: {target.machine}: {line}", file=sys.stderr)
    for target in [] if run.smoke else run.targets:
        if missing := cells_without_interval(target):
            where = f" of {target.machine}" if target.node else ""
            print(
                f"respeed: {missing} of {len(target.work.cells)} cells{where} have no interval, since too many of "
                "their rounds were disturbed; ./run respeed doctor says by whom. More: --config preset=paper",
                file=sys.stderr,
            )


def _happened_to(target: Target) -> list[str]:
    """What happened to the machine's records since the run began: those that were there, and those that its session
    says it made."""
    before, now, session = target.history.records, target.read_now()[0].records, target.session
    made = read_json(session).get("records", []) if target.is_left and session.exists() else []
    known = {*before, *(session.parent / path for path in made)}
    return happened_meanwhile(known, [record for path, record in now.items() if path not in before])


def say_unfinished(run: Workflow) -> None:
    """After a run that failed: on which machines of a cluster something is left to measure."""
    waited_for = [target for target in run.targets if target.node and target.is_left]
    left = ", ".join(target.machine for target in waited_for if not target.session.exists())
    if left:
        print(
            f"respeed: not all was measured on {left}; nothing is lost, and the same command goes on", file=sys.stderr
        )


def cells_without_interval(target: Target) -> int:
    """How many cells rounds were measured of, but not enough clean ones."""
    judged = judge_cells(read_rounds(target.read_now()[0].records.values()))
    asked = set(target.work.cells)
    judged = judged[np.array([CellKey(*cell) in asked for cell in judged[CELL].itertuples(index=False)], dtype=bool)]
    without = (judged["status"] == "contaminated") | (judged["step"].notna() & judged["step_low"].isna())
    return int(without.sum())
