"""What a run says before it measures, and what came out of it: the lines that a user reads."""

import contextlib
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from respeed.analysis.cells import make_cells
from respeed.analysis.columns import rows_of
from respeed.analysis.controls import say_failed
from respeed.analysis.estimates import SETTLED_MARGIN, Estimate, rounds_missing
from respeed.analysis.neighbours import SLOWED
from respeed.analysis.rounds import CONTROL, read_rounds
from respeed.analysis.speedups import Samples
from respeed.errors import UserError
from respeed.inputs.consent import say_denied
from respeed.inputs.machines import other_library
from respeed.machine import describe_machine
from respeed.output import load_shown
from respeed.output.layout import find
from respeed.records import read_records, recorded_machines
from respeed.schedule.plan import Plan, judge
from respeed.schedule.run import Run
from respeed.schedule.work import Asked, cases_of, chosen_tables, machines_shown
from respeed.sessions import name_session, split_sessions
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
    each = f"preset {preset.name}: {counted(preset.rounds, 'round')} of everything"
    denied = [line for name in run.config.papers for line in say_denied(name)]
    if run.nodes:
        lines = []
        for machine, resources in run.nodes.items():
            lines.append(f"respeed: {machine}, {each}; its job finds out what is left")
            lines.append(f"  it asks Slurm for {', '.join(f'{name}: {value}' for name, value in resources.items())}")
        lines += [f"  {line}" for line in denied]
        return "\n".join([*lines, f"  what each job says is in {run.results}/logs/<machine>"])
    plan, lines = run.plan(), [f"respeed: {run.machine}, {each}"]
    due = {cell for entry in plan.entries if entry.done < entry.goal for cell in entry.wanted.cells}
    for paper, table in chosen_tables(run.config, run.papers):
        asked = {cell for cell in run.work.cells if (cell.paper, cell.experiment) == (paper.name, table.name)}
        if asked & due:
            lines.append(f"{paper.name} {table.name}: {len(asked & due)} of {len(asked)} cells to measure")
    lines += [*denied, *_say_why_not(run), *_out_of_time(plan)]
    if plan.next_turn() is None:
        lines.append("nothing is due; ./run respeed measure --again measures anew")
    else:
        later = ", then what is still uncertain" if preset.most > preset.rounds else ""
        about = f"about {in_words(plan.seconds_left())} to the end of round {preset.rounds}{later}"
        lines.append(f"{about}; leave the machine alone meanwhile")
        if 0 < 60 * plan.work.minutes < plan.seconds_left():
            lines.append("for numbers in 4 minutes: --config preset=look, the first paper's RBMs alone")
    return "\n  ".join(lines)


def _say_why_not(run: Run) -> list[str]:
    """Return a line for each reason why this machine cannot run rows that are asked for and have cases.

    Unless they are named, rows of libraries that are not installed here are left out.
    """
    tables = chosen_tables(run.config, run.papers)
    rows: dict[str, list[str]] = {}
    for name in run.config.profiles:
        profile = run.profiles[name]
        is_row = any(cases_of(table, profile) for _, table in tables) and not other_library(profile, describe_machine())
        if name in run.why_not and (is_row or not run.config.all_profiles):
            rows.setdefault(run.why_not[name], []).append(name)
    return [f"{', '.join(names)}: not measured: {reason}" for reason, names in rows.items()]


def _out_of_time(plan: Plan) -> list[str]:
    """Return a line with the number of spare cells for which the minutes are not enough; no line if there are none."""
    listed = {entry.wanted.place for entry in plan.first_entries}
    left = sum(one.place not in listed for one in plan.work.wanted if one.profile not in plan.broken)
    more = "preset=paper has more, and what you name by profiles= is always measured"
    return [f"{plan.work.minutes:g} minutes are not enough for {counted(left, 'cell')}: {more}"] if left else []


def say_farewell(run: Run) -> Outcome:
    """Print the last lines of a run: its finding, where figure, report and tables are, and what came out."""
    document, page = Path(f"{run.document}.pdf"), Path(f"{run.document}.html")
    if document.exists():
        if finding := _find(run):
            _say(finding)
        figure = Path(run.first_figure)
        # After the target `pdf`, an earlier page is older than the tables.
        is_new = page.exists() and page.stat().st_mtime >= Path(run.results, "tables", "cells.csv").stat().st_mtime
        named = f"{document}{f', for a browser {page}' if is_new else ''}"
        drawn = f"; its first figure is {figure}" if figure.exists() else ""
        _say(f"the report is {named}; tables are in {run.results}/tables{drawn}")
    return Outcome(False, False) if run.nodes else say_what_came_out(run, _say)


def _find(run: Run) -> str | None:
    """Return the finding on this machine, by the first paper and the tables that were built; None at tiny sizes."""
    if run.smoke:
        return None
    with contextlib.suppress(UserError):  # a table that somebody has deleted
        shown = load_shown(Asked(run.smoke, run.machine, run.config.papers, run.show))
        return find(shown, next(iter(shown.papers.values())), run.machine)
    return None


def say_what_came_out(run: Run, say: Callable[[str], None]) -> Outcome:
    """Call `say` with lines about the results of the cells that are asked for."""
    plan = run.plan()
    rounds = read_rounds(plan.records, run.papers)
    judged = judge(rounds, run.work.cells)
    failed = judged[judged["status"] == "failed"]
    lines = [*_out_of_time(plan), *_say_why_not(run), *_say_set_aside(run), *_say_others(run), *_say_open(run, judged)]
    for line in lines:
        say(line)
    timed = judged["seconds"].notna()
    settled = (judged["status"] == "settled").sum()
    counts = f"{counted(int(timed.sum()), 'cell')} measured"
    if not run.smoke:
        counts += f", {settled} known to ±{format_share(SETTLED_MARGIN)}"
    if left := len(run.work.cells) - int(timed.sum()) - len(failed):
        whys = judged.loc[~timed & (judged["status"] != "failed"), "reason"]
        counts += f", {left} not measured: {whys.iloc[0] if len(whys) else 'not yet'}"
    if len(failed):
        named = [f"{one.experiment} {one.case} on {one.profile}: {one.reason}" for one in rows_of(failed)]
        more = f"; and {len(named) - NAMED} more" if len(named) > NAMED else ""
        counts += f", {len(failed)} failed: {'; '.join(named[:NAMED])}{more}; ./run respeed status shows where"
    controls = rounds[(rounds["algorithm"] == CONTROL) & (not run.smoke)]
    untrue = say_failed(make_cells(controls, run.papers, {}, {}), Samples(controls))
    say("; ".join(filter(None, [f"{run.machine}: {counts}", untrue])))
    return Outcome(bool(len(failed)), plan.next_turn() is not None)


def _say_set_aside(run: Run) -> list[str]:
    """Return a line with the sessions of this machine that are set aside; no line if there are none."""
    names = [name_session(session) for session in split_sessions(read_records(run.smoke, run.machine, aside=True))]
    return [f"set aside, and not counted: {', '.join(names)} (./run respeed sessions)"] if names else []


def _say_others(run: Run) -> list[str]:
    """Return a line with the machines that have records here and are not shown; no line if there are none."""
    shown = machines_shown(run.smoke, run.machine, run.show)
    others = sorted(name for name, records in recorded_machines(run.smoke).items() if records and name not in shown)
    if not others:
        return []
    named = ", ".join([*others[:NAMED], *(["..."] if len(others) > NAMED else [])])
    return [f"{counted(len(others), 'other machine')} not shown ({named}): --config show=all"]


def _say_open(run: Run, judged: pd.DataFrame) -> list[str]:
    """Return lines about the cells that are not known well, and what would settle them."""
    if run.smoke:
        return []
    lines = []
    slowness = judged[judged["is_cpu"].astype(bool)].groupby("profile")["slowness"].median()
    slowed = [f"{name} by {format_share(slow - 1)}" for name, slow in slowness.items() if slow > SLOWED]
    if slowed:
        lines.append(f"neighbours on this host slowed {', '.join(slowed)}; times are those beside a quiet probe")
    wide = judged[(judged["status"] == "wide") & judged["step_low"].notna()]
    missing = [
        (rounds_missing(Estimate(row.seconds, row.step_low, row.step_high), row.rounds, row.doubt), row.rounds)
        for row in rows_of(wide)
    ]
    if missing := sorted(one for one in missing if one[0] > 0):
        known = f"{counted(len(missing), 'cell')} known less well than ±{format_share(SETTLED_MARGIN)}"
        lines.append(f"{known}; {_say_more(run, *missing[len(missing) // 2])}")
    if without := int(judged["without"].sum()):
        lines.append(f"{counted(without, 'cell')} without an interval; ./run respeed doctor says what disturbs")
    return lines


def _say_more(run: Run, more: float, rounds: int) -> str:
    """Say what would settle half of the uncertain cells: so many `more` rounds, and a preset that has as many."""
    if math.isinf(more):
        return "beside these neighbours, more rounds settle few"
    presets = [one for one in run.config.presets.values() if one.minutes > run.config.preset.minutes]
    enough = [one.name for one in presets if one.most >= rounds + more]
    how = f": --config preset={enough[0]}" if enough else ""
    return f"about {counted(math.ceil(more), 'more round')} would settle half of them{how}"


def _say(line: str) -> None:
    print(f"respeed: {line}", file=sys.stderr)
