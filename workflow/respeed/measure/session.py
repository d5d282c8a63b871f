"""A session of measuring: turn after turn, until nothing is left that the configuration asks for, or the time is up."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from respeed.errors import NotMeasurable, UserError
from respeed.measure.lock import Held, machine_lock, say_on_screen
from respeed.measure.turn import measure_turn
from respeed.paths import records_folder, round_path
from respeed.records.models import SESSION_SCHEMA
from respeed.records.store import set_aside, write_record
from respeed.schedule.availability import check_same_machine, describe_as
from respeed.schedule.next_turn import Plan, Turn, happened_meanwhile, read_plan
from respeed.schedule.selection import Work
from respeed.schedule.spec import make_spec
from respeed.text import in_words
from respeed.timing.clock import clock_facts, seconds_now, utc_now

# Of a line that shows the case at hand.
WIDTH = 110


@dataclass(frozen=True)
class Outcome:
    """What a session did. `again` are the attempts at cases that had been disturbed; `ended` says why it ended, and
    `is_whole` whether nothing was left. `records` are those that it made; `meanwhile` is what happened to them."""

    started: str
    turns: int
    again: int
    seconds: float
    ended: str
    is_whole: bool
    records: tuple[Path, ...] = ()
    meanwhile: tuple[str, ...] = ()

    def __str__(self) -> str:
        turns = "1 turn" if self.turns == 1 else f"{self.turns} turns"
        again = f", disturbed cases tried again {self.again} times" if self.again else ""
        return "; ".join([f"{turns} in {in_words(self.seconds)}{again}", self.ended, *self.meanwhile])

    def facts(self, work: Work) -> dict[str, Any]:
        """For the file that the session leaves."""
        return {
            "schema": SESSION_SCHEMA,
            "machine": work.machine,
            "preset": work.preset.name,
            "started": self.started,
            "turns": self.turns,
            "attempts_again": self.again,
            "seconds": round(self.seconds, 1),
            "ended": self.ended,
            "records": [
                path.relative_to(records_folder(work.smoke) / work.machine).as_posix() for path in self.records
            ],
        }


class Progress:
    """One turn on the screen: a line when it begins, on a terminal the case at hand, and what was tried again."""

    def __init__(self, turn: Turn, number: int, plan: Plan, say: Callable[[str], None]) -> None:
        first = plan.first_turns_left
        if turn.whole:
            what = f"whole run, {turn.profile}"
        elif turn.again:
            cells = "1 cell" if len(turn.cells) == 1 else f"{len(turn.cells)} cells"
            what = f"turn {number}, {turn.profile}, {cells} again ({turn.again})"
        else:
            what = f"turn {number} of {number + first - 1}, {turn.profile}"
        left = in_words(plan.seconds_left())
        self.head, self.tail, self.say = f"respeed: {what}", f"about {left} left", say
        self.again, self._shown = 0, ""
        self._terminal = sys.stderr.isatty()
        say(f"{self.head}, {self.tail}")

    def watch(self, experiment: str, case: str, again: bool) -> None:
        """A case begins."""
        self.again += again
        if again:
            self._clear()
            self.say(f"  {experiment} {case} was disturbed: again")
        if self._terminal:
            self._clear()
            self._shown = f"  {experiment} {case} …"[:WIDTH]
            print(self._shown, end="\r", file=sys.stderr, flush=True)

    def done(self) -> None:
        """The turn is over."""
        self._clear()

    def _clear(self) -> None:
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
    started, began, turns, again = utc_now(), seconds_now(), 0, 0
    with machine_lock(budget_seconds if wait_seconds is None else wait_seconds, say) as lock:
        plan = read_plan(work)
        check_same_machine(work.machine, plan.made_on, describe_as(work.machine))
        before = set(plan.records)
        for line in plan.made_on.identity_lines:
            say(f"respeed: {line}")
        for path, reason in plan.unusable.items():
            set_aside(path)
            say(f"respeed: set aside: {reason}")
        ended, is_whole = "nothing is left that the preset asks for, or has time for", True
        while turn := plan.next_turn():
            needed = plan.seconds_of(turn.cells)
            if budget_seconds is not None and seconds_now() - began + needed > budget_seconds:
                ended, is_whole = f"the next turn takes about {in_words(needed)}, which the budget has not left", False
                break
            progress = Progress(turn, turns + 1, plan, say)
            again += _measure(turn, plan, lock, progress)
            turns += 1
        made = tuple(path for path in plan.records if path not in before)
        meanwhile = happened_meanwhile(plan.records, [plan.records[path] for path in made])
    return Outcome(started, turns, again, seconds_now() - began, ended, is_whole, made, tuple(meanwhile))


def _measure(turn: Turn, plan: Plan, lock: Held, progress: Progress) -> int:
    """Measure a turn; returns how many attempts were made again at cases that had been disturbed."""
    work, planned = plan.work, plan.rounds_of(turn)
    try:
        specs = [
            make_spec(round_id, work.seed, cases, work.papers[round_id.paper]) for round_id, cases in planned.items()
        ]
    except NotMeasurable as reason:
        raise UserError(f"{turn.profile}: cannot be measured on this machine: {reason}") from None
    probes = plan.session_probes(turn.profile, utc_now(), clock_facts())
    for round_id, record in measure_turn(specs, lock, probes, progress.watch):
        write_record(round_path(round_id), record)
        plan.add(record)
    progress.done()
    return progress.again
