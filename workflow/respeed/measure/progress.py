"""What a turn shows while it runs: a line when it begins, on a terminal the case at hand, and what was tried again."""

import sys
from collections.abc import Callable

from respeed.schedule.duration import in_words
from respeed.schedule.next_turn import Plan, Turn

WIDTH = 110


class Progress:
    """One turn on the screen."""

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
