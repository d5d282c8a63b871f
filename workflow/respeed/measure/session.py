"""Sessions of measuring. For papers: turn after turn, until nothing is left that the configuration asks for, or the
time is up; a file a round. For the hardware sheet: pass after pass, each number of threads, precision and device in a
process of its own, in another order each time; all rounds in one file.
"""

import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from respeed.analysis.hardware_sheet import disturbed_profiles
from respeed.analysis.rounds import probes_of
from respeed.errors import NotMeasurable, UserError
from respeed.machine.accelerators import accelerator_bytes
from respeed.machine.cpu import cache_bytes
from respeed.machine.lock import Held, machine_lock, say_on_screen
from respeed.machine.software import package_versions, source_commit
from respeed.measure.turn import measure_turn
from respeed.paths import ROOT, parse_machine_path, round_path
from respeed.records.store import write_record
from respeed.schedule.availability import check_same_machine, describe_as
from respeed.schedule.gauge import LEAST_PASSES, MOST_PASSES, PATIENCE, SECONDS, Gauge, plan_gauge, why_due
from respeed.schedule.next_turn import Plan, Turn, read_plan
from respeed.schedule.selection import Work
from respeed.schedule.spec import RoundSpec, make_spec
from respeed.text import counted, in_words
from respeed.timing.clock import seconds_now, utc_now

# Of a line that shows the case at hand.
WIDTH = 110
# What all processes of a hardware sheet share stands once in it.
SHARED = ("machine", "commit", "versions", "libraries", "environment")


@dataclass(frozen=True)
class Outcome:
    """What a session did. `again` are the attempts at cases that had been disturbed; `ended` says why it ended, and
    `is_whole` whether nothing was left."""

    turns: int
    again: int
    seconds: float
    ended: str
    is_whole: bool

    def __str__(self) -> str:
        again = f", disturbed cases tried again {self.again} times" if self.again else ""
        return f"{counted(self.turns, 'turn')} in {in_words(self.seconds)}{again}; {self.ended}"


class Progress:
    """One turn on the screen: a line when it begins, on a terminal the case at hand, and what was tried again."""

    def __init__(self, turn: Turn, number: int, plan: Plan, say: Callable[[str], None]) -> None:
        first = plan.first_turns_left
        if turn.again:
            what = f"turn {number}, {turn.profile}, {counted(len(turn.cells), 'cell')} again ({turn.again})"
        else:
            what = f"turn {number} of {number + first - 1}, {turn.profile}"
        self.say, self.again, self._shown = say, 0, ""
        say(f"respeed: {what}, about {in_words(plan.seconds_left())} left")

    def watch(self, experiment: str, case: str, again: bool) -> None:
        """A case begins."""
        self.again += again
        if again:
            self.clear()
            self.say(f"  {experiment} {case} was disturbed: again")
        if sys.stderr.isatty():
            self.clear()
            self._shown = f"  {experiment} {case} …"[:WIDTH]
            print(self._shown, end="\r", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Of the case at hand, which is over, nothing more is shown."""
        if self._shown:
            print(" " * len(self._shown), end="\r", file=sys.stderr, flush=True)
            self._shown = ""


def measure_session(
    work: Work,
    budget_seconds: float | None = None,
    say: Callable[[str], None] = say_on_screen,
    wait_seconds: float | None = None,
) -> Outcome:
    """Measure what the work asks for and records do not have; every record is written as soon as it is done.

    Within a budget no turn is begun that is expected to end after it. UserError if the machine's records were made on
    other hardware, or if another measurement still runs after `wait_seconds`, or after the budget.
    """
    began, turns, again = seconds_now(), 0, 0
    with machine_lock(budget_seconds if wait_seconds is None else wait_seconds, say) as lock:
        plan = read_plan(work)
        check_same_machine(work.machine, work.smoke, describe_as(work.machine))
        ended, is_whole = "all that the preset asks for and has time for is measured", True
        while turn := plan.next_turn():
            needed = plan.seconds_of(turn.cells)
            if budget_seconds is not None and seconds_now() - began + needed > budget_seconds:
                ended, is_whole = f"the next turn takes about {in_words(needed)}, which the budget has not left", False
                break
            progress = Progress(turn, turns + 1, plan, say)
            again += _measure(turn, plan, lock, progress)
            turns += 1
    return Outcome(turns, again, seconds_now() - began, ended, is_whole)


def with_another_session(work: Work) -> Work:
    """The work as often as it had sessions, and once more. One that goes on is not another: that takes a pause of half
    an hour."""
    times, preset = 1 + read_plan(work).sessions_before(utc_now()), work.preset
    rounds, most = times * preset.rounds, times * preset.most
    return replace(work, preset=replace(preset, rounds=rounds, most=most, minutes=times * preset.minutes))


def _measure(turn: Turn, plan: Plan, lock: Held, progress: Progress) -> int:
    """Measure a turn; returns how many attempts were made again at cases that had been disturbed."""
    work, planned = plan.work, plan.rounds_of(turn)
    try:
        specs = [
            make_spec(round_id, work.seed, cases, work.papers[round_id.paper]) for round_id, cases in planned.items()
        ]
    except NotMeasurable as reason:
        raise UserError(f"{turn.profile}: cannot be measured on this machine: {reason}") from None
    probes = plan.probes(turn.profile, utc_now())
    has_begun = specs[0].profile.is_cpu
    for round_id, record in measure_turn(specs, lock, probes, progress.watch):
        write_record(round_path(round_id), record)
        plan.add(record)
        has_begun |= "backend" in record["provenance"]
    progress.clear()
    if not has_begun:  # its device would fail as often as it is asked
        plan.leave_out(turn.profile)
        progress.say(f"respeed: {turn.profile}: not tried again in this session: {record['cases'][0]['reason']}")
    return progress.again


def measure_gauge(path: Path, wait_seconds: float | None = None) -> None:
    """Measure this machine and write its hardware sheet, whole or not at all; one that can be used is left as it is.

    Raises UserError if the name is another machine's.
    """
    machine, smoke = parse_machine_path(path, "hardware.json")
    check_same_machine(machine, smoke, describe_as(machine))
    gauge = plan_gauge(machine, smoke)
    if why_due(path, gauge) is None:
        say_on_screen(f"respeed: {path} is there already; delete it to measure it anew")
        return
    with machine_lock(wait_seconds) as lock:
        started, began = utc_now(), seconds_now()
        rounds = _passes(gauge, lock)
    made = {"machine": describe_as(machine), "commit": source_commit(ROOT), "versions": package_versions()}
    absent = [
        {
            "profile": asdict(spec.profile),
            "threads": spec.threads,
            "cases": [asdict(case) for case in spec.cases],
            "reason": reason,
        }
        for spec, reason in gauge.absent
    ]
    sheet = {
        "smoke": smoke,
        "digest": gauge.digest,
        "started": started,
        "wall_seconds": round(seconds_now() - began, 1),
        "provenance": made,
        "memory": {"caches": cache_bytes(), "accelerators": accelerator_bytes()},
        "rounds": rounds,
        "absent": absent,
    }
    write_record(path, sheet)


def _passes(gauge: Gauge, lock: Held) -> list[dict[str, Any]]:
    """The records of all processes, those that are measured once before the others. After the least number of passes,
    another one only if it ends in time. What was disturbed is measured again in the next pass."""
    records: list[dict[str, Any]] = []

    def measure(specs: Sequence[RoundSpec], number: int) -> None:
        for spec in random.Random(number).sample(specs, len(specs)):
            own = replace(spec, id=replace(spec.id, index=number))
            # Beside the probes of this row so far.
            probes = probes_of(record for record in records if record["id"]["profile"] == spec.profile.name)
            record = dict(measure_turn([own], lock, probes))[own.id]
            provenance = {key: value for key, value in record["provenance"].items() if key not in SHARED}
            records.append(record | {"provenance": provenance})

    began = seconds_now()
    if gauge.once:
        say_on_screen(f"respeed: hardware sheet: {len(gauge.once)} processes that are measured once")
    measure(gauge.once, 1)
    passes_began, took = seconds_now(), 0.0
    often = {spec.id.profile for spec in gauge.often}
    for number in count(1):
        now, disturbed = seconds_now(), disturbed_profiles(records)
        if number > LEAST_PASSES and now - began + took > SECONDS:
            break
        # A machine that others use: a run has other things to measure. One that is only slow has its passes.
        if number > 1 and now - passes_began > PATIENCE * SECONDS and disturbed & often:
            break
        is_time = number > 1 and now - began < PATIENCE * SECONDS
        specs = [*gauge.often, *(spec for spec in gauge.once if is_time and spec.id.profile in disturbed)]
        say_on_screen(f"respeed: hardware sheet, pass {number}: {len(specs)} processes")
        measure(specs, number)
        took = seconds_now() - now
        if gauge.smoke or number == MOST_PASSES:
            break
    return records
