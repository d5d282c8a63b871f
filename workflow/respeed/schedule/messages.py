"""What a run tells before it begins and when it is done, and of jobs on a cluster that fail."""

import itertools
import logging
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from respeed.analysis.estimates import FULL_PRECISION
from respeed.errors import GOES_ON
from respeed.inputs.config import why_denied
from respeed.inputs.profiles import other_library
from respeed.machine.accelerators import NAMES, split_device
from respeed.paths import MACHINES, ROOT
from respeed.schedule.next_turn import Plan
from respeed.schedule.selection import by_experiment, chosen_experiments
from respeed.schedule.spec import cases_of
from respeed.schedule.workflow import Target, Workflow
from respeed.text import counted, in_words

# What the plugin says before Slurm's own words.
REFUSED = "SLURM sbatch failed. The error message was '"


def announcement(run: Workflow) -> str:
    """What will be measured and about how long it takes, for people who read a dry run."""
    lines = [line for target in run.targets for line in _of_machine(target)]
    if run.nodes and any(target.is_left for target in run.targets):
        lines.append(f"  a job of Slurm for each machine; what it says is in {run.results}/logs/<machine>")
    return "\n".join(lines)


def _of_machine(target: Target) -> list[str]:
    preset, plan = target.config.preset, target.plan
    lines = [f"respeed: {target.machine}, preset {preset.name}: {counted(preset.rounds, 'round')} of everything"]
    if target.asks_node:
        names = ", ".join(target.config.profiles)
        return [*lines, f"  its first job finds out what is left, and which of these profiles apply: {names}"]
    cells, asked = by_experiment(target.work.cells), set(itertools.chain(*plan.in_time()))
    papers = [target.papers[name] for name in target.config.papers]
    tables = [(paper, name) for paper in papers for name in chosen_experiments(target.config, paper)]
    for paper, name in tables:
        if mine := cells.get((paper.name, name)):
            todo = sum(plan.attempts(cell) < preset.rounds for cell in mine if cell in asked)
            lines.append(f"  {paper.name} {name}: {todo} of {len(mine)} cells to measure")
        cases = paper.experiments[name].smoke_cases if preset.is_smoke else paper.experiments[name].cases
        lines += [f"  {paper.name} {name}: not measured: {why}" for why in dict.fromkeys(map(why_denied, cases)) if why]
    whys: dict[str, list[str]] = {}
    for profile in map(target.profiles.__getitem__, target.config.profiles):
        runs = any(cases_of(paper.experiments[name], profile, preset.is_smoke) for paper, name in tables)
        is_row = runs and not other_library(profile, target.hardware)
        if (is_row or not target.config.all_profiles) and (reason := target.why_not(profile)):
            whys.setdefault(reason, []).append(profile.name)
    lines += [f"  {', '.join(names)}: not measured: {reason}" for reason, names in whys.items()]
    lines += [f"  {line}" for line in _out_of_time(plan)]
    for why, count in Counter(plan.untimed.values()).items():
        lines.append(f"  {counted(count, 'earlier record')} of no time, to be measured again: {why}")
    if plan.otherwise:
        records = counted(plan.otherwise, "earlier record")
        lines.append(f"  {records} will not be used: measured with other sizes, threads, timing or seed")
    if left := plan.seconds_left() + target.gauge_seconds:
        alone = "" if target.node else "; leave the machine alone meanwhile"
        lines.append(f"  about {in_words(left)} of measuring in all{alone}")
    return lines


def _out_of_time(plan: Plan) -> list[str]:
    """How much of the spare the minutes are not enough for, in a line; none where they are."""
    left = sum(len(group) for group in plan.work.spare if group not in plan.in_time())
    more = "preset=paper has more, and what you name by profiles= is always measured"
    return [f"{plan.work.seconds / 60:g} minutes are not enough for {counted(left, 'cell')}: {more}"] if left else []


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
    _say(f"the report is {named}; tables are in {run.results}/tables")
    now = {target.machine: target.read_plan() for target in run.targets}
    for target in run.targets:
        plan = now[target.machine]
        missing = 0 if run.smoke else plan.cells_without_interval()
        lines = [f"{missing} of {counted(len(target.work.cells), 'cell')} have no interval"] if missing else []
        if lines := [*lines, *_out_of_time(plan), *filter(None, [without_devices(target, plan)])]:
            _say(f"{target.machine}: {'; '.join(lines)}; ./run respeed doctor says what disturbs")


def without_devices(target: Target, now: Plan) -> str | None:
    """Return why none of the rows of accelerators that are asked for was measured; None where one was, or where no
    row was named and there is no such device."""
    config = target.config
    rows = [one for name in config.profiles if not (one := target.profiles[name]).is_cpu]
    rows.sort(key=lambda one: one.precision != FULL_PRECISION)  # others may have reasons of their precision
    if config.all_profiles:
        rows = [one for one in rows if target.why_not(one) != f"no {NAMES[split_device(one.device)[0]]} device"]
    timed = {
        record["id"]["profile"]
        for record in now.records.values()
        if any(case["status"] == "measured" for case in record["cases"])
    }
    if not rows or any(one.name in timed for one in rows):
        return None
    left = [why for path, why in now.untimed.items() if path.parts[-2] == rows[0].name]
    why = target.why_not(rows[0]) or next(filter(None, left), "not yet")
    return f"no row of a GPU or TPU was measured: {rows[0].name}: {why}"


def say_unfinished(run: Workflow, refused: bool) -> None:
    """After a run that failed: on which machines of a cluster something is left to measure. If Slurm `refused` jobs, it
    would do so again."""
    waited_for = [target for target in run.targets if target.node and target.is_left]
    if left := ", ".join(target.machine for target in waited_for if not target.session.exists()):
        when = " once Slurm takes the jobs" if refused else ""
        _say(f"not all was measured on {left}; nothing is lost, and {GOES_ON}{when}")


def _say(line: str) -> None:
    print(f"respeed: {line}", file=sys.stderr)


class FailedJobs(logging.Handler):
    """For Snakemake's logger: tells of a job that Slurm could not end well what Slurm says of it, and the last thing
    that the job itself said. Snakemake's own account goes to its log: it is quiet about rules, and would say twenty
    lines a job. `refused` are the lines about jobs that Slurm did not take: each is told once."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(getattr(record, "event", None), "value", "")
        # Only who submits jobs gives a reason; a job here has said its own on the screen.
        if event == "job_error" and (reason := getattr(record, "rule_msg", None)):
            made, logs = getattr(record, "output", []), getattr(record, "log", [])
            lines = failure(reason, made, logs)
            if lines[0] not in self.refused:
                print("\n".join(lines), file=sys.stderr, flush=True)
            if REFUSED in reason:
                self.refused.add(lines[0])


def failure(reason: str, made: list[str], logs: list[str]) -> list[str]:
    """The lines for people: `made` are the files that the job would have made, `logs` its own log and then Slurm's."""
    _, refused, why = reason.partition(REFUSED)
    if refused:
        machine = Path(made[0]).parent.name
        file, why = (MACHINES / machine).relative_to(ROOT), why.splitlines()[0].removeprefix("sbatch: error: ")
        return [f"respeed: {machine}: Slurm refuses its jobs: {why}; look at slurm: in {file}.yaml"]
    lines = [f"respeed: no {', '.join(made)}: {reason.splitlines()[0].partition(' Detailed failure reason')[0]}"]
    if logs and (said := _last_line(Path(logs[0]))):
        lines.append(f"  the job said last: {said.removeprefix('respeed: ')} ({', '.join(logs)})")
    return lines


def _last_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
    except OSError:
        return ""
