"""What a run says before it measures, and what came out of it: the lines that a user reads."""

import contextlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from respeed.analysis.cells import judge_cells
from respeed.analysis.controls import say_failed
from respeed.analysis.estimates import SETTLED_MARGIN, rounds_missing
from respeed.analysis.speedups import Samples
from respeed.analysis.tables import Cell
from respeed.errors import UserError, tell
from respeed.inputs.config import say_replaced, unread_files
from respeed.inputs.consent import say_denied
from respeed.inputs.machines import other_library
from respeed.machine import describe_machine
from respeed.output import load_results
from respeed.output.finding import find
from respeed.paths import RUN
from respeed.records import read_records, recorded_machines
from respeed.schedule.plan import Plan, read_plan
from respeed.schedule.rows import say_renamed
from respeed.schedule.run import WHOLE_NODE, Run
from respeed.schedule.work import cases_of, chosen_tables
from respeed.sessions import name_session, split_sessions
from respeed.shown import Asked, machines_shown
from respeed.text import counted, format_share, in_words

# The number of failed cells that are named in the last line, and of machines that are not shown.
NAMED = 3


class Outcome(NamedTuple):
    """What came out of a run: its last lines, and whether a cell failed, or something is left to measure."""

    lines: list[str]
    has_failed: bool = False
    is_left: bool = False


def announce(run: Run) -> str:
    """Return lines that say what a run will measure, and about how long that takes."""
    preset = run.config.preset
    goal = f"preset {preset.name}: {counted(preset.rounds, 'round')} of everything"
    if preset.most > preset.rounds and preset.minutes:
        goal += f", however long; what is then left of {preset.minutes:g} minutes a paper goes to uncertain numbers"
    denied = [*unread_files(), *say_replaced(), *chain.from_iterable(map(say_denied, run.config.papers))]
    lines = []
    if run.nodes:
        for machine, resources in run.nodes.items():
            requests = [f"{name}: {value}" for name, value in resources.items() if WHOLE_NODE.get(name) != value]
            lines.append(f"{machine} asks Slurm for {', '.join(requests)}")
        lines += [*denied, f"each job finds out what is left; what it says is in {run.results}/logs/<machine>"]
        return "\n  ".join([f"{', '.join(run.nodes)}, {goal}", *lines])
    is_due = bool(run.plan.next_turn())
    lines += _count_due(run) if is_due else []
    lines += [*denied, *say_renamed(run.machine, run.smoke)]
    lines += say_limits(run, run.plan)
    if not is_due:
        lines.append(f"nothing is due; {RUN}respeed measure --again measures anew")
    else:
        seconds = run.plan.seconds_left()
        end = f"the end of round {preset.rounds}"
        lines.append(f"about {in_words(seconds)} to {end}; leave the machine alone meanwhile")
        if 0 < 60 * run.work.minutes < seconds:
            lines.append("for numbers in 4 minutes: --config preset=look, the first paper's RBMs alone")
    return "\n  ".join([f"{run.machine}, {goal}", *lines])


def _count_due(run: Run) -> list[str]:
    """Return a line for each table of which cells are due: how many of those that are asked for."""
    due = set(chain.from_iterable(entry.wanted.cells for entry in run.plan.entries if entry.rounds_left))
    tables: dict[str, list[bool]] = defaultdict(list)
    for cell in run.work.cells:
        tables[f"{cell.paper} {cell.experiment}"].append(cell in due)
    return [f"{name}: {sum(cells)} of {len(cells)} cells to measure" for name, cells in tables.items() if any(cells)]


def say_limits(run: Run, plan: Plan) -> list[str]:
    """Return lines about what a run leaves out: spare cells for lack of minutes, and rows that the machine cannot run.

    Unless they are named, rows without a case, and of libraries that are not installed here, are left out.
    """
    lines = []
    if cards := plan.other_cards:
        lines.append(f"measured so far on {'; '.join(sorted(cards))}: that does not count for {plan.card}")
    if spare := len(plan.work.wanted) - len(plan.first_entries):
        more = "preset=paper has more, and what you name by profiles= is always measured"
        lines.append(f"{plan.work.minutes:g} minutes are not enough for {counted(spare, 'cell')}: {more}")
    tables = [table for _, table in chosen_tables(run.config, run.papers)]
    rows: dict[str, list[str]] = defaultdict(list)
    for name in filter(run.why_not.get, run.config.profiles):
        profile = run.profiles[name]
        has_cases = any(cases_of(table, profile) for table in tables)
        if not run.config.all_profiles or (has_cases and not other_library(profile, describe_machine())):
            rows[run.why_not[name]].append(name)
    return [*lines, *(f"{', '.join(names)}: not measured: {reason}" for reason, names in rows.items())]


def say_farewell(run: Run) -> Outcome:
    """Print the last lines of a run: its finding, where report and tables are, and what came out."""
    document = Path(f"{run.document}.pdf")
    page = document.with_suffix(".html")
    if document.exists():
        if not run.smoke:
            with contextlib.suppress(UserError):  # a table that somebody has deleted
                results = load_results(Asked(run.smoke, run.machine, run.config.papers, run.show))
                if finding := find(results, next(iter(results.papers.values())), run.machine):
                    tell(finding)
        line = f"the report is {document}"
        # After the target `pdf`, an earlier page is older than the tables.
        if page.exists() and page.stat().st_mtime >= Path(run.results, "tables", "cells.csv").stat().st_mtime:
            line += f", for a browser {page}"
        tell(f"{line}; tables are in {run.results}/tables")
    outcome = Outcome([]) if run.nodes else conclude(run)
    for line in outcome.lines:
        tell(line)
    return outcome


def conclude(run: Run) -> Outcome:
    """Return what a run left out, and what came out of it, by the records that there are now."""
    plan = read_plan(run.work)
    outcome = count_cells(run, plan)
    return outcome._replace(lines=[*say_limits(run, plan), *outcome.lines])


def count_cells(run: Run, plan: Plan) -> Outcome:
    """Return what came out of the cells that are asked for, by a plan that was just read."""
    cells = judge_cells(plan.rounds, run.papers)
    judged = [cells[key] for key in run.work.cells if key in cells and cells[key].status != "due"]
    numbers = Counter(cell.status for cell in judged)
    measured = numbers["settled"] + numbers["wide"]
    last = f"{run.machine}: {counted(measured, 'cell')} measured"
    if not run.smoke:
        last += f", {numbers['settled']} known to ±{format_share(SETTLED_MARGIN)}"
    if missing := len(run.work.cells) - measured - numbers["failed"]:
        reasons = (cell.reason for cell in judged if cell.status in ("contaminated", "cannot-run"))
        last += f", {missing} not measured: {next(reasons, 'not yet')}"
    failed = [cell for cell in judged if cell.status == "failed"]
    if failed:
        names = [f"{cell.experiment} {cell.case} on {cell.profile}: {cell.reason}" for cell in failed]
        last += f", {len(failed)} failed: {_some(names)}; {RUN}respeed status shows where"
    lines = _say_hidden(run)
    if not run.smoke:
        samples = Samples(plan.rounds)
        lines += _say_open(run, judged, samples)
        last = "; ".join(filter(None, [last, say_failed(cells.values(), samples)]))
    return Outcome([*lines, last], bool(failed), bool(plan.next_turn()))


def _some(names: list[str]) -> str:
    """Return the first `NAMED` names, and how many more there are."""
    more = [f"and {len(names) - NAMED} more"] if len(names) > NAMED else []
    return "; ".join([*names[:NAMED], *more])


def _say_hidden(run: Run) -> list[str]:
    """Return lines with the sessions of this machine that are set aside, and with the machines that are not shown."""
    lines = []
    if sessions := split_sessions(read_records(run.smoke, run.machine, aside=True)):
        names = ", ".join(map(name_session, sessions))
        lines.append(f"set aside, and not counted: {names} ({RUN}respeed sessions)")
    displayed = machines_shown(run.smoke, run.machine, run.show)
    recorded = recorded_machines(run.smoke)
    hidden = [name for name in sorted(recorded) if recorded[name] and name not in displayed]
    if hidden:
        number = counted(len(hidden), "other machine")
        lines.append(f"{number} not shown ({_some(hidden)}): --config show=all")
    return lines


def _say_open(run: Run, judged: Sequence[Cell], samples: Samples) -> Iterator[str]:
    """Yield lines about the cells that are not known well, and what would settle them."""
    missing = []
    without = 0
    for cell in judged:
        if cell.status == "contaminated" or (cell.seconds and not cell.seconds_low):
            without += 1
        elif cell.status == "wide":
            more = rounds_missing(cell.time, cell.rounds, samples.doubt(cell).error)
            missing.append((more, cell.rounds))
    missing = sorted((more, rounds) for more, rounds in missing if more > 0)
    if missing:
        uncertain = f"{counted(len(missing), 'cell')} known less well than ±{format_share(SETTLED_MARGIN)}"
        yield f"{uncertain}; {_say_more(run, *missing[len(missing) // 2])}"
    if without:
        yield f"{counted(without, 'cell')} without an interval; {RUN}respeed doctor says what disturbs"


def _say_more(run: Run, more: float, rounds: int) -> str:
    """Say what would settle half of the uncertain cells: so many `more` rounds, and a preset that has as many."""
    if math.isinf(more):
        return "beside these neighbours, more rounds settle few"
    line = f"about {counted(math.ceil(more), 'more round')} would settle half of them"
    for preset in run.config.presets.values():
        if preset.minutes > run.config.preset.minutes and preset.most >= rounds + more:
            return f"{line}: --config preset={preset.name}"
    return line
