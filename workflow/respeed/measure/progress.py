"""What a run says while it measures: each case's number, each turn's disturbances, and the time that is left.

A case's number is computed while the next case is built and checked. That takes some milliseconds, so that it disturbs
no timed step.
"""

import sys
from collections import Counter
from collections.abc import Callable
from operator import attrgetter

from respeed.analysis.cells import estimate_rounds, published_beside
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import FEWEST_ROUNDS
from respeed.analysis.rounds import Conditions, JudgedRound, count_causes
from respeed.analysis.tables import CellKey, Round, group_by
from respeed.measure.timing import seconds_now
from respeed.model import CPU_ARCHITECTURES, DEVICE_ARCHITECTURES, number_bytes
from respeed.paths import RUN
from respeed.records import Record, Result
from respeed.schedule.plan import Plan, Turn
from respeed.schedule.work import Wanted
from respeed.sessions import split_sessions
from respeed.text import counted, format_speedup, in_words, measured_time

# Letters of the line that shows the current case.
WIDTH = 110
# Of fewer blocks, most may be disturbed by chance.
TELLING_BLOCKS = 20
# The first table is shown after its first round, and again when its numbers have intervals.
SHOWN_AFTER = (1, FEWEST_ROUNDS)


class Progress:
    """Follows the turns of a session, and says how they go.

    Parameters
    ----------
    say : callable
        Prints a line on the screen, and writes it to the log.
    show_first_table : callable
        Prints the first table, which has so many rounds by now.

    Attributes
    ----------
    turns, counted : int
        How many turns were begun, and how many of their rounds have a time.
    """

    def __init__(self, say: Callable[[str], None], show_first_table: Callable[[int], None]) -> None:
        self._say = say
        self._show_first_table = show_first_table
        self._status = ""
        self._began = self._turn_began = seconds_now()
        self._seconds_left = 0.0
        self._blocks = self._discarded = 0
        self._is_warned = False
        self.turns = self.counted = self._rounds_shown = 0

    @property
    def seconds(self) -> float:
        """Return the seconds since the session began."""
        return seconds_now() - self._began

    def say(self, line: str) -> None:
        """Print a line, in place of the one that shows the current case."""
        self.note("")
        self._say(line)

    def note(self, text: str) -> None:
        """On a terminal, show the time that is left, and what is done at the moment; "" clears that line."""
        if not sys.stderr.isatty():
            return
        remaining = max(0.0, self._seconds_left - (seconds_now() - self._turn_began))
        line = f"  {in_words(remaining)} left: {text}"[:WIDTH] if text else ""
        print(f"{line:{len(self._status)}}", end="\r", file=sys.stderr, flush=True)
        self._status = line

    def begin_turn(self, plan: Plan, turn: Turn) -> None:
        """Say which turn begins and how much time is left; before that, show the first table if it is time to."""
        goal = plan.work.preset.rounds
        rounds = plan.first_table_rounds
        if self.turns and rounds in SHOWN_AFTER and self._rounds_shown < rounds < goal:
            self._rounds_shown = rounds
            self.note("")
            self._show_first_table(rounds)
        self._seconds_left = plan.seconds_left()
        self._turn_began = seconds_now()
        self.turns += 1
        gone = in_words(self.seconds)
        remaining = in_words(self._seconds_left)
        if turn[0].reason:
            reasons = ", ".join(dict.fromkeys(entry.reason for entry in turn))
            aim = f"again ({reasons}); {gone} gone, at most {remaining} left"
        else:
            aim = f"round {turn[-1].goal} of {goal}; {gone} gone, about {remaining} left to the end of round {goal}"
        cases = counted(len(turn), "case")
        self.say(f"respeed: turn {self.turns}: {turn[0].wanted.profile}, {cases}, {aim}")
        self._plan = plan
        self._judged = list[JudgedRound]()
        self._wanted = {entry.wanted.key: entry.wanted for entry in turn}
        self._name_width = max(len(self._name(wanted)) for wanted in self._wanted.values())
        timed = plan.rounds[plan.rounds["step_seconds"].notna()]
        self._rounds: dict[CellKey, list[Round]] = group_by(rows_of(timed, Round), attrgetter("key"))

    def finish_case(self, record: Record) -> None:
        """Say the number of the record's last case: its time with its interval, and how it compares with the paper."""
        result = record.results[-1]
        wanted = self._wanted[result.key]
        sessions = split_sessions([*self._plan.records, record])
        judged = Conditions(sessions, len(sessions) - 1).judge(record, result)
        self._judged.append(judged)
        if result.status != "measured":
            number = f"{result.status}: {result.reason}"
        elif judged.step_seconds is None:
            number = f"disturbed: {judged.causes}"
        else:
            self.counted += 1
            estimate = estimate_rounds([*self._rounds.get(wanted.cells[0], []), judged])
            time = measured_time(estimate.value, estimate.low, estimate.high)
            interval = time.interval if estimate.margin else ""
            number = f"{time.text:>9} {interval:6} {self._compare(wanted, result, estimate.value)}".rstrip()
        self.say(f"  {self._name(wanted):{self._name_width}} {number}")

    def _name(self, wanted: Wanted) -> str:
        """Name a case on a row; in a table of several algorithms, also its algorithm."""
        cell = wanted.cells[0]
        algorithm = self._plan.work.papers[cell.paper].experiments[cell.experiment].algorithms.get(cell.algorithm)
        label = f" by {algorithm.label}" if algorithm else ""
        return f"{cell.experiment} {cell.case}{label} on {cell.profile}"

    def _compare(self, wanted: Wanted, result: Result, step_seconds: float) -> str:
        """Return how fast a step is beside the paper's accelerator, or else its CPU; empty if it prints no number."""
        cell = wanted.cells[0]
        paper = self._plan.work.papers[cell.paper]
        steps = paper.experiments[cell.experiment].steps(wanted.case)
        width = number_bytes("fp32") / number_bytes(wanted.row.profile.precision)
        work = (steps * (result.flops or 0.0), steps * width * (result.traffic_bytes or 0.0))
        for architecture, name in ((DEVICE_ARCHITECTURES[0], "GPU"), (CPU_ARCHITECTURES[-1], "CPU")):
            _, published = published_beside(paper, cell, architecture, *work)
            if published:
                return f"{format_speedup(published / (steps * step_seconds))} the paper's {name}"
        return ""

    def end_turn(self) -> None:
        """Say how much of a turn was disturbed and by what, and once, if most of the session was, what to do."""
        blocks = sum(judged.blocks for judged in self._judged)
        discarded = sum(judged.discarded for judged in self._judged)
        causes = sum((judged.cause_counts for judged in self._judged), Counter[str]())
        disturbed = f"{discarded or 'none'} of {counted(blocks, 'block')} disturbed"
        if causes:
            disturbed += f": {count_causes(causes)}"
        self.say(f"  {in_words(seconds_now() - self._turn_began)}; {disturbed}")
        self._blocks += blocks
        self._discarded += discarded
        if not self._is_warned and 2 * self._discarded > self._blocks >= TELLING_BLOCKS:
            self._is_warned = True
            self.say(
                "respeed: this machine is not quiet: close other programs, or stop and measure later; "
                f"{RUN}respeed doctor names busy programs"
            )

    def end(self, reason: str) -> None:
        """Say how many turns the session had, how long they took, and why it ended."""
        self.say(f"respeed: {counted(self.turns, 'turn')} in {in_words(self.seconds)}; {reason}")
