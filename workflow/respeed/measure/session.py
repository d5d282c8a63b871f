"""A session of measuring: turn after turn, until nothing is left that the configuration asks for, or the time is up."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from respeed.errors import NotMeasurable, UserError
from respeed.measure.lock import Held, machine_lock, say_on_screen
from respeed.measure.parent import measure_turn
from respeed.measure.progress import Progress
from respeed.paths import records_folder, round_path
from respeed.records.files import set_aside, write_record
from respeed.records.shapes import SESSION_SCHEMA
from respeed.schedule.duration import in_words
from respeed.schedule.history import History, happened_meanwhile, read_history
from respeed.schedule.next_turn import Plan, Turn, rounds_of
from respeed.schedule.same_machine import check_same_machine, describe_as
from respeed.schedule.spec import Digests, make_spec
from respeed.schedule.work import Work
from respeed.timing.clock import clock_facts, seconds_now, utc_now


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
        history, unusable = read_history(work, Digests(work.seed, work.papers).of)
        check_same_machine(work.machine, history.made_on, describe_as(work.machine))
        before = set(history.records)
        for line in history.made_on.identity_lines:
            say(f"respeed: {line}")
        for path, reason in unusable.items():
            set_aside(path)
            say(f"respeed: set aside: {reason}")
        ended, is_whole = "nothing is left that the preset asks for, or has time for", True
        plan = Plan(history)
        while turn := plan.next_turn():
            needed = history.seconds_of(turn.cells)
            if budget_seconds is not None and seconds_now() - began + needed > budget_seconds:
                ended, is_whole = f"the next turn takes about {in_words(needed)}, which the budget has not left", False
                break
            progress = Progress(turn, turns + 1, plan, say)
            again += _measure(turn, history, lock, progress)
            turns += 1
        made = tuple(path for path in history.records if path not in before)
        meanwhile = happened_meanwhile(history.records, [history.records[path] for path in made])
    return Outcome(started, turns, again, seconds_now() - began, ended, is_whole, made, tuple(meanwhile))


def _measure(turn: Turn, history: History, lock: Held, progress: Progress) -> int:
    """Measure a turn; returns how many attempts were made again at cases that had been disturbed."""
    planned = rounds_of(turn, history)
    try:
        work = history.work
        specs = [
            make_spec(round_id, work.seed, cases, work.papers[round_id.paper]) for round_id, cases in planned.items()
        ]
    except NotMeasurable as reason:
        raise UserError(f"{turn.profile}: cannot be measured on this machine: {reason}") from None
    probes = history.session_probes(turn.profile, utc_now(), clock_facts())
    for round_id, record in measure_turn(specs, lock, probes, progress.watch):
        path = round_path(round_id)
        write_record(path, record)
        history.add(path, record)
    progress.done()
    return progress.again
