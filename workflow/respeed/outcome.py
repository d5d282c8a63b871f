"""What a run says before it measures, and what came out of it: the lines that a user reads."""

import contextlib
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from respeed.analysis.cells import JudgedCell, make_cells
from respeed.analysis.controls import say_failed
from respeed.analysis.estimates import SETTLED_MARGIN, rounds_missing
from respeed.analysis.neighbours import SLOWED
from respeed.analysis.rounds import CONTROL
from respeed.analysis.speedups import Samples
from respeed.errors import UserError
from respeed.inputs.config import unread_files
from respeed.inputs.consent import say_denied
from respeed.inputs.machines import other_library
from respeed.machine import describe_machine
from respeed.output import load_results
from respeed.output.finding import find
from respeed.records import read_records, recorded_machines
from respeed.schedule.plan import Plan, judge, read_plan
from respeed.schedule.rows import say_renamed
from respeed.schedule.run import WHOLE_NODE, Run
from respeed.schedule.work import cases_of, chosen_tables
from respeed.sessions import name_session, split_sessions
from respeed.shown import Asked, machines_shown
from respeed.text import counted, format_share, in_words

# The number of failed cells that are named in the last line, and of machines that are not shown.
NAMED = 3


class Outcome(NamedTuple):
    """Whether a cell failed, and whether something that is asked for is left to measure."""

    has_failed: bool
    is_left: bool


def announce(run: Run) -> str:
    """Return lines that say what a run will measure, and about how long that takes."""
    preset = run.config.preset
    goal = f"preset {preset.name}: {counted(preset.rounds, 'round')} of everything"
    if preset.most > preset.rounds and preset.minutes:
        goal += f", however long; what is then left of {preset.minutes:g} minutes a paper goes to uncertain numbers"
    denied = [f"  {line}" for line in chain(unread_files(), *map(say_denied, run.config.papers))]
    if run.nodes:
        lines = []
        for machine, resources in run.nodes.items():
            lines.append(f"respeed: {machine}, {goal}; its job finds out what is left")
            requests = [f"{name}: {value}" for name, value in resources.items() if WHOLE_NODE.get(name) != value]
            lines.append(f"  it asks Slurm for {', '.join(requests)}")
        return "\n".join([*lines, *denied, f"  what each job says is in {run.results}/logs/<machine>"])
    renamed = say_renamed(run.machine, run.smoke)
    lines = [*_count_due(run), *denied, *(f"  {line}" for line in chain(renamed, say_limits(run, run.plan)))]
    if not run.plan.next_turn():
        lines.append("  nothing is due; ./run respeed measure --again measures anew")
    else:
        seconds = run.plan.seconds_left()
        about = f"about {in_words(seconds)} to the end of round {preset.rounds}"
        lines.append(f"  {about}; leave the machine alone meanwhile")
        if 0 < 60 * run.work.minutes < seconds:
            lines.append("  for numbers in 4 minutes: --config preset=look, the first paper's RBMs alone")
    return "\n".join([f"respeed: {run.machine}, {goal}", *lines])


def _count_due(run: Run) -> list[str]:
    """Return a line for each table of which cells are due: how many of those that are asked for."""
    due = set(chain.from_iterable(entry.wanted.cells for entry in run.plan.entries if entry.rounds_left))
    lines = []
    for paper, table in chosen_tables(run.config, run.papers):
        cells = {cell for cell in run.work.cells if (cell.paper, cell.experiment) == (paper.name, table.name)}
        if number := len(cells & due):
            lines.append(f"  {paper.name} {table.name}: {number} of {len(cells)} cells to measure")
    return lines


def say_limits(run: Run, plan: Plan) -> list[str]:
    """Return lines about what a run leaves out: spare cells for lack of minutes, and rows that the machine cannot run.

    Unless they are named, rows without a case, and of libraries that are not installed here, are left out.
    """
    lines = []
    if cards := plan.other_cards:
        lines.append(f"measured so far on {'; '.join(sorted(cards))}: that does not count for {plan.card}")
    listed = {entry.wanted.place for entry in plan.first_entries}
    spare = sum(wanted.place not in listed for wanted in plan.work.wanted if wanted.profile not in plan.broken)
    if spare:
        more = "preset=paper has more, and what you name by profiles= is always measured"
        lines.append(f"{plan.work.minutes:g} minutes are not enough for {counted(spare, 'cell')}: {more}")
    tables = chosen_tables(run.config, run.papers)
    rows: dict[str, list[str]] = {}
    for name in (name for name in run.config.profiles if name in run.why_not):
        profile = run.profiles[name]
        has_cases = any(cases_of(table, profile) for _, table in tables)
        if not run.config.all_profiles or (has_cases and not other_library(profile, describe_machine())):
            rows.setdefault(run.why_not[name], []).append(name)
    return [*lines, *(f"{', '.join(names)}: not measured: {reason}" for reason, names in rows.items())]


def say_farewell(run: Run) -> Outcome:
    """Print the last lines of a run: its finding, where report and tables are, and what came out."""
    document = Path(f"{run.document}.pdf")
    page = document.with_suffix(".html")
    if document.exists():
        if finding := _find(run):
            _say(finding)
        places = str(document)
        # After the target `pdf`, an earlier page is older than the tables.
        if page.exists() and page.stat().st_mtime >= Path(run.results, "tables", "cells.csv").stat().st_mtime:
            places += f", for a browser {page}"
        places += f"; tables are in {run.results}/tables"
        _say(f"the report is {places}")
    if run.nodes:
        return Outcome(False, False)
    plan = read_plan(run.work)
    for line in say_limits(run, plan):
        _say(line)
    return say_what_came_out(run, plan, _say)


def _find(run: Run) -> str | None:
    """Return the finding on this machine, by the first paper and the tables that were built; None at tiny sizes."""
    if run.smoke:
        return None
    with contextlib.suppress(UserError):  # a table that somebody has deleted
        results = load_results(Asked(run.smoke, run.machine, run.config.papers, run.show))
        return find(results, next(iter(results.papers.values())), run.machine)
    return None


def say_what_came_out(run: Run, plan: Plan, say: Callable[[str], None]) -> Outcome:
    """Call `say` with lines about the results of the cells that are asked for, by a plan that was just read."""
    judged = judge(plan.rounds, run.work.cells)
    failed = [cell for cell in judged if cell.status == "failed"]
    timed = [cell for cell in judged if cell.seconds]
    counts = f"{run.machine}: {counted(len(timed), 'cell')} measured"
    if not run.smoke:
        settled = sum(cell.status == "settled" for cell in judged)
        counts += f", {settled} known to ±{format_share(SETTLED_MARGIN)}"
    if missing := len(run.work.cells) - len(timed) - len(failed):
        whys = [cell.reason for cell in judged if not cell.seconds and cell.status != "failed"]
        counts += f", {missing} not measured: {next(iter(whys), 'not yet')}"
    if failed:
        cells = [f"{cell.experiment} {cell.case} on {cell.profile}: {cell.reason}" for cell in failed]
        counts += f", {len(failed)} failed: {_some(cells)}; ./run respeed status shows where"
    last = [counts]
    if not run.smoke:
        controls = plan.rounds[plan.rounds["algorithm"] == CONTROL]
        last.append(say_failed(make_cells(controls, run.papers, {}, {}), Samples(controls)))
    for line in [*_say_hidden(run), *_say_open(run, judged), "; ".join(filter(None, last))]:
        say(line)
    return Outcome(bool(failed), bool(plan.next_turn()))


def _some(names: list[str]) -> str:
    """Return the first `NAMED` names, and how many more there are."""
    more = [f"and {len(names) - NAMED} more"] if len(names) > NAMED else []
    return "; ".join([*names[:NAMED], *more])


def _say_hidden(run: Run) -> list[str]:
    """Return lines with the sessions of this machine that are set aside, and with the machines that are not shown."""
    lines = []
    if sessions := split_sessions(read_records(run.smoke, run.machine, aside=True)):
        names = ", ".join(map(name_session, sessions))
        lines.append(f"set aside, and not counted: {names} (./run respeed sessions)")
    shown = machines_shown(run.smoke, run.machine, run.show)
    recorded = recorded_machines(run.smoke)
    others = [name for name in sorted(recorded) if recorded[name] and name not in shown]
    if others:
        lines.append(f"{counted(len(others), 'other machine')} not shown ({_some(others)}): --config show=all")
    return lines


def _say_open(run: Run, judged: Sequence[JudgedCell]) -> list[str]:
    """Return lines about the cells that are not known well, and what would settle them."""
    if run.smoke:
        return []
    lines = []
    slowness: dict[str, list[float]] = defaultdict(list)
    for cell in judged:
        if cell.is_cpu and cell.slowness:
            slowness[cell.profile].append(cell.slowness)
    medians = {name: statistics.median(factors) for name, factors in sorted(slowness.items())}
    slowed = [f"{name} by {format_share(slow - 1)}" for name, slow in medians.items() if slow > SLOWED]
    if slowed:
        lines.append(f"neighbours on this host slowed {', '.join(slowed)}; times are those beside a quiet probe")
    missing = []
    for cell in judged:
        if cell.status == "wide" and cell.step and cell.step.margin:
            missing.append((rounds_missing(cell.step, cell.rounds, cell.doubt), cell.rounds))
    missing = sorted((more, rounds) for more, rounds in missing if more > 0)
    if missing:
        uncertain = f"{counted(len(missing), 'cell')} known less well than ±{format_share(SETTLED_MARGIN)}"
        lines.append(f"{uncertain}; {_say_more(run, *missing[len(missing) // 2])}")
    without = sum(cell.status == "contaminated" or (cell.step is not None and not cell.step.margin) for cell in judged)
    if without:
        lines.append(f"{counted(without, 'cell')} without an interval; ./run respeed doctor says what disturbs")
    return lines


def _say_more(run: Run, more: float, rounds: int) -> str:
    """Say what would settle half of the uncertain cells: so many `more` rounds, and a preset that has as many."""
    if math.isinf(more):
        return "beside these neighbours, more rounds settle few"
    line = f"about {counted(math.ceil(more), 'more round')} would settle half of them"
    for preset in run.config.presets.values():
        if preset.minutes > run.config.preset.minutes and preset.most >= rounds + more:
            return f"{line}: --config preset={preset.name}"
    return line


def _say(line: str) -> None:
    print(f"respeed: {line}", file=sys.stderr)
