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
from respeed.inputs.files import overlooked
from respeed.inputs.profiles import other_library
from respeed.machine.accelerators import split_device
from respeed.paths import MACHINES, ROOT, record_paths
from respeed.records.store import read_json
from respeed.schedule.next_turn import Plan, happened_meanwhile
from respeed.schedule.selection import by_experiment, chosen_experiments
from respeed.schedule.spec import cases_of
from respeed.schedule.workflow import Target, Workflow
from respeed.text import counted, in_words

# What the plugin says before Slurm's own words.
REFUSED = "SLURM sbatch failed. The error message was '"


def announcement(run: Workflow) -> str:
    """What will be measured and about how long it takes, for people who read a dry run."""
    lines = [line for target in run.targets for line in _of_machine(target)]
    lines += [f"  {line}" for line in overlooked()]
    if run.nodes and any(target.is_left for target in run.targets):
        lines.append(f"  a job of Slurm for each machine; what it says is in {run.results}/logs/<machine>")
    return "\n".join(lines)


def _of_machine(target: Target) -> list[str]:
    preset, plan = target.config.preset, target.plan
    lines = [f"respeed: {target.machine}, preset {preset.name}: {counted(preset.rounds, 'round')} of everything"]
    if target.asks_node:
        count = len(record_paths(target.smoke, target.machine))
        known = f"{counted(count, 'record')}; its profiles are asked again" if count else "not looked at yet"
        names = ", ".join(target.config.profiles)
        lines.append(f"  {known}: its first job finds out what is left, and which of these profiles apply: {names}")
        return [*lines, *_gauging(target)]
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
    for why, count in Counter(reason.partition(": ")[2] for reason in plan.unusable.values()).items():
        lines.append(f"  {counted(count, 'earlier record')} cannot be used, and will be measured again: {why}")
    if plan.otherwise:
        records = counted(plan.otherwise, "earlier record")
        lines.append(f"  {records} will not be used: measured with other sizes, threads, timing or seed")
    lines += [f"  {line}" for line in plan.made_on.identity_lines]
    if first := plan.left_of_first_table:
        rows, took = " and ".join(dict.fromkeys(cell.profile for cell in first)), in_words(plan.seconds_of(first))
        lines.append(f"  first a table of {first[0].experiment} on {rows}: about {took} of measuring")
    if by_row := plan.first_seconds():
        rows = ", ".join(f"{name} {in_words(seconds)}" for name, seconds in by_row.items())
        lines.append(f"  {counted(preset.rounds, 'round')} of each row: {rows}")
    elif turn := plan.next_turn():
        lines.append(f"  next: {turn.profile}, {'a whole run' if turn.whole else f'once more: {turn.again}'}")
    lines += _gauging(target)
    if left := plan.seconds_left() + target.gauge_seconds:
        alone = "" if target.node else "; leave the machine alone meanwhile"
        lines.append(f"  about {in_words(left)} of measuring in all{alone}")
    return lines


def _out_of_time(plan: Plan) -> list[str]:
    """How much of the spare the minutes are not enough for, in a line; none where they are."""
    left = sum(len(group) for group in plan.work.spare if group not in plan.in_time())
    what = f"{counted(left, 'cell')} of other precisions, or of tables that the paper says nothing of"
    more = "preset=paper has more; what you name by profiles= or experiments= is always measured"
    return [f"{plan.work.seconds / 60:g} minutes are not enough for {what}; {more}"] if left else []


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
    _say(f"the report is {named}; tables are in {run.results}/tables")
    now = {target.machine: target.read_plan() for target in run.targets}
    for target in run.targets if done else ():
        for line in _happened_to(target, now[target.machine]):
            _say(f"{target.machine}: {line}")
    for target in [] if run.smoke else run.targets:
        if missing := now[target.machine].cells_without_interval():
            where = f" of {target.machine}" if target.node else ""
            _say(
                f"{missing} of {len(target.work.cells)} cells{where} have no interval, since too many of "
                "their rounds were disturbed; ./run respeed doctor says by whom. For more rounds: --config preset=paper"
            )
    for target in run.targets:
        for line in _out_of_time(now[target.machine]):
            _say(f"{target.machine}: {line}")
        if missed := without_devices(target, now[target.machine]):
            _say(f"{target.machine}: {missed}")


def without_devices(target: Target, now: Plan) -> str | None:
    """Why none of the rows of accelerators was measured that are asked for, where there is one or they are named."""
    config, there = target.config, target.hardware.get("devices", {})
    rows = [one for name in config.profiles if not (one := target.profiles[name]).is_cpu]
    rows.sort(key=lambda one: one.precision != FULL_PRECISION)  # others may have reasons of their precision
    rows = [one for one in rows if not config.all_profiles or split_device(one.device)[0] in there]
    timed = {
        record["id"]["profile"]
        for record in now.records.values()
        if any(case["status"] == "measured" for case in record["cases"])
    }
    if not rows or any(one.name in timed for one in rows):
        return None
    left = [
        line.partition(": has no time: ")[2] for path, line in now.unusable.items() if path.parts[-2] == rows[0].name
    ]
    why = target.why_not(rows[0]) or next(filter(None, left), "not yet")
    return f"no row of a GPU or TPU was measured: {rows[0].name}: {why}"


def _happened_to(target: Target, now: Plan) -> list[str]:
    """What happened to the machine's records since the run began: those that were there, and those that its session
    says it made."""
    before, session = target.plan.records, target.session
    made = read_json(session).get("records", []) if target.is_left and session.exists() else []
    known = {*before, *(session.parent / path for path in made)}
    return happened_meanwhile(known, [record for path, record in now.records.items() if path not in before])


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
        machine = made[0].partition("records/")[2].partition("/")[0]
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
