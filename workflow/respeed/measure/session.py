"""A session: it runs one measuring process (a turn) after another, until all is measured or the time is up."""

import math

from respeed.analysis.cells import judge_cells
from respeed.errors import UserError
from respeed.machine.process import Held, machine_lock
from respeed.measure.order import Job, Order
from respeed.measure.progress import Progress
from respeed.measure.timing import wrong_clock
from respeed.measure.turn import measure_turn
from respeed.paths import ELSEWHERE
from respeed.schedule.plan import Plan, Turn, read_plan
from respeed.schedule.work import Work
from respeed.text import counted, format_share, in_words

# A number that differs by less is the same.
SAME = 5e-4


def measure_session(
    work: Work, progress: Progress, budget_seconds: float | None = None, wait_seconds: float | None = None
) -> bool:
    """Measure the work's cases that no record has yet; each case is recorded as soon as it is done.

    Say at the end how long it took, and why it ended. Return whether no case was left to measure.

    With `budget_seconds`, no turn begins that is expected to end after the budget. Raises UserError if the clock is
    wrong, or if another measurement still runs after `wait_seconds`; if `wait_seconds` is None, after `budget_seconds`.
    """
    if wrong := wrong_clock():
        raise UserError(f"{wrong}: set it")
    broken = frozenset[str]()
    last: Turn = ()
    begun = None
    with machine_lock(budget_seconds if wait_seconds is None else wait_seconds, progress.say) as lock:
        while True:
            plan = read_plan(work, broken)
            begun = begun or plan
            seconds = math.inf if budget_seconds is None else budget_seconds - progress.seconds
            turn = plan.next_turn(seconds)
            needed = plan.seconds_of(turn)
            if not turn or needed > seconds:
                _say_moved(begun, plan, progress)
            if not turn:
                progress.end("nothing is left to measure within the minutes")
                return True
            if needed > seconds:
                progress.end(f"the next turn takes about {in_words(needed)}, more than is left of the budget")
                return False
            reason = "nothing of its last turn can be counted" if turn == last else _measure(turn, plan, lock, progress)
            last = turn
            if reason:
                name = turn[0].wanted.profile
                broken |= {name}
                progress.say(f"respeed: {name}: not tried again in this session: {reason}")


def _measure(turn: Turn, plan: Plan, lock: Held, progress: Progress) -> str | None:
    """Measure a turn; return None if its row's backend started, else the reason why it did not."""
    work = plan.work
    row = turn[0].wanted.row
    jobs = []
    for entry in turn:
        wanted = entry.wanted
        jobs.append(Job(wanted.case, entry.goal, wanted.source, wanted.rehearsals, wanted.guess))
    order = Order(row.profile, row.threads, row.cpus, tuple(jobs), work.timing, work.seed, ELSEWHERE)
    progress.begin_turn(plan, turn)
    records = measure_turn(order, work.machine, work.smoke, lock, progress)
    progress.end_turn()
    return None if any(record.start.backend for record in records) else records[-1].results[0].reason


def _say_moved(begun: Plan, now: Plan, progress: Progress) -> None:
    """Say how many numbers of cells without a new round differ from those at the beginning, and by how much at most.

    They move if a row was quieter than it had been before.
    """
    after = judge_cells(now.rounds, now.work.papers)
    moved = []
    for key, old in judge_cells(begun.rounds, begun.work.papers).items():
        new = after.get(key)
        if new and new.seconds and old.seconds and new.rounds == old.rounds:
            change = abs(new.seconds / old.seconds - 1)
            if change > SAME:
                moved.append(change)
    if moved:
        numbers = counted(len(moved), "earlier number")
        progress.say(f"respeed: {numbers} moved, by {format_share(max(moved))} at most: a quieter probe was seen")
