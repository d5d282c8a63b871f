"""What a run tells before it begins, and when it is done."""

import sys
from collections import Counter
from pathlib import Path

from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.rounds import read_rounds
from respeed.inputs.config import why_denied
from respeed.inputs.machines import other_library
from respeed.machine.description import describe_machine
from respeed.machine.devices import NAMES, split_device
from respeed.schedule.look import judge
from respeed.schedule.plan import Plan
from respeed.schedule.run import Run
from respeed.schedule.work import cases_of, chosen_experiments
from respeed.text import counted, in_words

# Of the cells that failed so many are named in the last line.
NAMED = 3


def announce(run: Run) -> str:
    """Return what will be measured and about how long it takes, for people who read a dry run."""
    preset = run.config.preset
    each = f"preset {preset.name}: {counted(preset.rounds, 'round')} of everything"
    if run.nodes:
        lines = [f"respeed: {machine}, {each}; its job finds out what is left" for machine in run.nodes]
        return "\n".join([*lines, f"  what each job says is in {run.results}/logs/<machine>"])
    plan, lines = run.plan(), [f"respeed: {run.machine}, {each}"]
    due = {cell for entry in plan.entries if entry.done < preset.rounds for cell in entry.wanted.cells}
    cells = [cell for one in run.work.wanted for cell in one.cells]
    tables = [
        (run.papers[paper], name)
        for paper in run.config.papers
        for name in chosen_experiments(run.config, run.papers[paper])
    ]
    for paper, name in tables:
        if mine := [cell for cell in cells if cell[1:3] == (paper.name, name)]:
            lines.append(f"  {paper.name} {name}: {sum(cell in due for cell in mine)} of {len(mine)} cells to measure")
        cases = paper.experiments[name].cases
        lines += [f"  {paper.name} {name}: not measured: {why}" for why in dict.fromkeys(map(why_denied, cases)) if why]
    whys: dict[str, list[str]] = {}
    for name in (name for name in run.config.profiles if name in run.why_not):
        profile = run.profiles[name]
        runs = any(cases_of(paper.experiments[table], profile) for paper, table in tables)
        if (runs and not other_library(profile, describe_machine())) or not run.config.all_profiles:
            whys.setdefault(run.why_not[name], []).append(name)
    lines += [f"  {', '.join(names)}: not measured: {reason}" for reason, names in whys.items()]
    lines += [f"  {line}" for line in _out_of_time(plan)]
    if left := plan.seconds_left():
        lines.append(f"  about {in_words(left)} of measuring in all; leave the machine alone meanwhile")
    return "\n".join(lines)


def _out_of_time(plan: Plan) -> list[str]:
    """Return how much of the spare the minutes are not enough for, in a line; none where they are."""
    listed = {(entry.wanted.profile, entry.wanted.key) for entry in plan.first_entries}
    left = sum((one.profile, one.key) not in listed for one in plan.work.wanted if one.profile not in plan.broken)
    more = "preset=paper has more, and what you name by profiles= is always measured"
    return [f"{plan.work.minutes:g} minutes are not enough for {counted(left, 'cell')}: {more}"] if left else []


def say_farewell(run: Run) -> bool:
    """Print the last lines of a run: where everything is, and what came out; return whether anything failed."""
    document, page = Path(f"{run.document}.pdf"), Path(f"{run.document}.html")
    if document.exists():
        # After the target `pdf`, a page of before is older than what the tables say.
        is_new = page.exists() and page.stat().st_mtime >= Path(run.results, "tables", "cells.csv").stat().st_mtime
        named = f"{document}{f', for a browser {page}' if is_new else ''}"
        _say(f"the report is {named}; tables are in {run.results}/tables")
    if run.nodes:
        return False
    lines, has_failed = what_came_out(run)
    for line in lines:
        _say(line)
    return has_failed


def what_came_out(run: Run) -> tuple[list[str], bool]:
    """Return what there is to say of the cells that are asked for, and whether any failed or was wrong."""
    plan = run.plan()
    asked = [cell for one in run.work.wanted for cell in one.cells]
    judged = judge(read_rounds(plan.records, run.papers), asked)
    failed, lines = judged[judged["status"] == "failed"], []
    if (missing := int(judged["without"].sum())) and not run.smoke:
        lines.append(
            f"{missing} of {counted(len(asked), 'cell')} have no interval; ./run respeed doctor says what disturbs"
        )
    lines += [*_out_of_time(plan), *filter(None, [without_devices(run, plan)])]
    timed = judged["seconds"].notna()
    counts = f"{counted(int(timed.sum()), 'cell')} measured"
    if left := len(asked) - int(timed.sum()) - len(failed):
        whys = judged.loc[~timed & (judged["status"] != "failed"), "reason"]
        counts += f", {left} not measured: {whys.iloc[0] if len(whys) else 'not yet'}"
    if len(failed):
        named = [f"{one.experiment} {one.case} on {one.profile}: {one.reason}" for one in rows_of(failed)]
        more = f"; and {len(named) - NAMED} more" if len(named) > NAMED else ""
        counts += f", {len(failed)} failed: {'; '.join(named[:NAMED])}{more}; ./run respeed status shows where"
    return [*lines, f"{run.machine}: {counts}"], bool(len(failed))


def without_devices(run: Run, plan: Plan) -> str | None:
    """Return why none of the rows of accelerators that are asked for was measured; None where one was, or where no row
    was named and there is no such device.
    """
    rows = [one for name in run.config.profiles if not (one := run.profiles[name]).is_cpu]
    rows.sort(key=lambda one: one.precision != FULL_PRECISION)  # others may have reasons of their precision
    if run.config.all_profiles:
        rows = [one for one in rows if run.why_not.get(one.name) != f"no {NAMES[split_device(one.device)[0]]} device"]
    names = {one.name for one in rows}
    mine = [record for record in plan.records if record.profile in names]
    if not rows or any(result.status == "measured" for record in mine for result in record.results):
        return None
    whys = Counter(result.reason for record in mine for result in record.results)
    why = run.why_not.get(rows[0].name) or next(iter(whys), "not yet")
    return f"no row of a GPU or TPU was measured: {rows[0].name}: {why}"


def _say(line: str) -> None:
    print(f"respeed: {line}", file=sys.stderr)
