"""A session: it runs one measuring process (a turn) after another, until all is measured or the time is up."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

from respeed.analysis.rounds import current_session, probes_of
from respeed.machine.process import Held, machine_lock, say_on_screen
from respeed.measure.order import Asked, Order
from respeed.measure.timing import seconds_now, utc_now
from respeed.measure.turn import measure_turn
from respeed.schedule.plan import Plan, Turn, read_plan
from respeed.schedule.rows import check_same_machine
from respeed.schedule.work import Work
from respeed.text import counted, in_words

# The width of the line that shows the current case.
WIDTH = 110


@dataclass(frozen=True)
class Outcome:
    """The result of a session: `ended` is why it ended, and `is_whole` whether no case was left to measure."""

    turns: int
    seconds: float
    ended: str
    is_whole: bool

    def __str__(self) -> str:
        """Return the last line that a session prints."""
        return f"{counted(self.turns, 'turn')} in {in_words(self.seconds)}; {self.ended}"


def measure_session(
    work: Work,
    budget_seconds: float | None = None,
    say: Callable[[str], None] = say_on_screen,
    wait_seconds: float | None = None,
) -> Outcome:
    """Measure the work's cases that no record has yet; each case is recorded as soon as it is done.

    With `budget_seconds`, no turn begins that is expected to end after the budget. Raises UserError if the machine's
    records were made on other hardware, or if another measurement still runs after `wait_seconds`; if `wait_seconds` is
    None, after `budget_seconds`.
    """
    began, turns, broken, last = seconds_now(), 0, frozenset[str](), None
    with machine_lock(budget_seconds if wait_seconds is None else wait_seconds, say) as lock:
        check_same_machine(work.machine, work.smoke)
        while True:
            plan, left = read_plan(work, broken), math.inf
            if budget_seconds is not None:
                left = budget_seconds - (seconds_now() - began)
            turn = plan.next_turn(left)
            if turn is None:
                return Outcome(turns, seconds_now() - began, "nothing is left to measure within the minutes", True)
            if (needed := plan.seconds_of_turn(turn)) > left:
                ended = f"the next turn takes about {in_words(needed)}, more than is left of the budget"
                return Outcome(turns, seconds_now() - began, ended, False)
            say(f"respeed: {_say_turn(turn, turns, plan)}")
            tell = say if not turns else None
            reason = "nothing of its last turn can be counted" if turn == last else _measure(turn, plan, lock, tell)
            last = turn
            if reason:
                broken |= {turn.row.profile.name}
                say(f"respeed: {turn.row.profile.name}: not tried again in this session: {reason}")
            turns += 1


def _say_turn(turn: Turn, before: int, plan: Plan) -> str:
    again = f" again ({turn.again})" if turn.again else ""
    what = f"turn {before + 1} of {before + plan.turns_left}, {turn.row.profile.name}"
    return f"{what}, {counted(len(turn.cases), 'case')}{again}, about {in_words(plan.seconds_left())} left"


def _measure(turn: Turn, plan: Plan, lock: Held, tell: Callable[[str], None] | None) -> str | None:
    """Measure a turn; return None if its row's backend started, else the reason why it did not.

    With `tell`, which only the first turn gets, each message of progress has a line of its own on the screen; else each
    message overwrites the last one.
    """
    work, row = plan.work, turn.row
    session, _ = current_session(plan.records, utc_now())
    order = Order(
        row.profile,
        row.threads,
        row.cpus,
        tuple(Asked(one.case, number, one.source, one.rehearsals, one.guess) for one, number in turn.cases),
        work.timing,
        work.seed,
        probes_of(record for record in session if record.profile == row.profile.name),
    )
    shown = ""

    def watch(case: str) -> None:
        nonlocal shown
        if tell and case:
            tell(f"respeed:   {case}")
        elif sys.stderr.isatty():
            print(" " * len(shown), end="\r", file=sys.stderr)
            shown = f"  {case} …"[:WIDTH]
            print(shown, end="\r", file=sys.stderr, flush=True)

    records = measure_turn(order, work.machine, work.smoke, lock, watch)
    watch("")
    return None if any(one.start.backend for one in records) else records[-1].results[0].reason
