"""What to measure next: one rule, asked again after every turn."""

import random
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from respeed.analysis.estimates import smallest_sample
from respeed.analysis.rounds import CELL, CellKey, read_rounds
from respeed.model.paper import Case
from respeed.paths import RoundId
from respeed.schedule.history import History
from respeed.schedule.interim_analysis import NO_INTERVAL, choose_unsettled
from respeed.schedule.selection import Work, by_experiment

Item = TypeVar("Item")

# A number without any interval is worth more time than the preset has for the others: so many times its minutes.
OVERTIME = 1.2


@dataclass(frozen=True)
class Turn:
    """What one process measures: cells of one profile, or one whole run. `number` counts the rounds of these cells;
    `again` is empty, or says why they are measured beyond the first rounds."""

    profile: str
    cells: tuple[CellKey, ...]
    number: int
    again: str = ""
    whole: bool = False


@dataclass(frozen=True)
class Plan:
    """What is left to measure, given what was measured. Made of the history alone: a run that is stopped, and asked
    again, goes on where it was."""

    history: History

    @property
    def work(self) -> Work:
        return self.history.work

    def next_turn(self) -> Turn | None:
        """The next turn; None if nothing is left that this configuration asks for, or that its time is enough for."""
        return self._first_rounds() or self._again() or self._whole()

    @property
    def first_turns_left(self) -> int:
        """How many turns it takes to measure everything as often as the preset says."""
        attempts, rounds = self.history.attempts, self.work.preset.rounds
        fewest = {
            profile: min(attempts[cell] for cell in self.work.cells if cell.profile == profile)
            for profile in self.work.profiles
        }
        return sum(max(0, rounds - number) for number in fewest.values())

    def first_seconds_left(self) -> float:
        """About how long they take."""
        attempts, rounds = self.history.attempts, self.work.preset.rounds
        total = 0.0
        for number in range(rounds):
            total += self.history.seconds_of([cell for cell in self.work.cells if attempts[cell] <= number])
        return total

    def seconds_left(self) -> float:
        """About how long all that is left takes; whole runs are not counted."""
        least = self.first_seconds_left()
        if not least:
            again = self._again()
            if again is None:
                return 0.0
            least = self.history.seconds_of(again.cells)
        return max(least, self.work.seconds - self.history.spent_seconds())

    def _first_rounds(self) -> Turn | None:
        """Round 1 of everything comes before round 2 of anything. Profiles take turns in random order."""
        attempts = self.history.attempts
        number = min((attempts[cell] for cell in self.work.cells), default=self.work.preset.rounds)
        if number >= self.work.preset.rounds:
            return None
        return self._turn([cell for cell in self.work.cells if attempts[cell] == number], number + 1)

    def _again(self) -> Turn | None:
        """What the look after the first rounds left unsettled, as long as there is time for one more turn of it."""
        if not self._unsettled:
            return None
        seconds, without = self.work.seconds, self._still_without_interval()
        settled = {cell for cell, why in self._unsettled.items() if why == NO_INTERVAL} - without
        waiting = [cell for cell in self._unsettled if cell not in settled]
        return self._turn_again(waiting, seconds) or self._turn_again(list(without), OVERTIME * seconds)

    def _turn_again(self, cells: list[CellKey], seconds: float) -> Turn | None:
        attempts = self.history.attempts
        waiting = [cell for cell in cells if attempts[cell] < self.work.preset.most]
        if not waiting:
            return None
        number = min(attempts[cell] for cell in waiting)
        turn = self._turn([cell for cell in waiting if attempts[cell] == number], number + 1)
        if self.history.spent_seconds() + self.history.seconds_of(turn.cells) > seconds:
            return None
        return replace(turn, again=", ".join(dict.fromkeys(self._unsettled[cell] for cell in turn.cells)))

    def _still_without_interval(self) -> set[CellKey]:
        """Of the cells that had no interval, those that have none yet: it is counted, and no time is looked at."""
        clean = read_rounds(self.history.records.values()).groupby(CELL)["seconds"].count()
        return {cell for cell, why in self._unsettled.items() if why == NO_INTERVAL and clean[cell] < smallest_sample()}

    @cached_property
    def _unsettled(self) -> dict[CellKey, str]:
        """Decided once, on the first rounds: a second look is the last one, when tables are made."""
        preset = self.work.preset
        if preset.most <= preset.rounds:
            return {}
        first = self.history.first_rounds()
        return choose_unsettled(first, self.work.seconds - first.spent_seconds())

    def _turn(self, cells: list[CellKey], number: int) -> Turn:
        profiles = list(dict.fromkeys(cell.profile for cell in cells))
        everyone = self._shuffled(self.work.profiles, f"{number}/profiles")
        profile = next(name for name in everyone if name in profiles)
        mine = by_experiment([cell for cell in cells if cell.profile == profile])
        # All profiles have the same order of experiments: between two profiles' rounds of one lies one turn.
        order = self._shuffled(list(by_experiment(self.work.cells)), str(number))
        return Turn(profile, tuple(cell for where in order for cell in mine.get(where, ())), number)

    def _whole(self) -> Turn | None:
        for paper, experiment, profile in self.work.wholes:
            if not self.history.has_whole(paper, experiment, profile):
                cells = [cell for cell in self.work.cells if cell[1:3] == (paper, experiment)]
                return Turn(profile, tuple(cell for cell in cells if cell.profile == profile), 1, whole=True)
        return None

    def _shuffled(self, items: list[Item], purpose: str) -> list[Item]:
        return random.Random(f"{self.work.seed}/{purpose}").sample(items, len(items))


def rounds_of(turn: Turn, history: History) -> dict[RoundId, tuple[Case, ...]]:
    """The rounds that a turn measures, and the cases of each."""
    rounds = {}
    for (paper, name), cells in by_experiment(turn.cells).items():
        index = history.next_index(paper, name, turn.profile, whole=turn.whole)
        smoke = history.work.smoke
        round_id = RoundId(history.work.machine, paper, name, turn.profile, index, whole=turn.whole, smoke=smoke)
        experiment = history.work.papers[paper].experiments[name]
        wanted = {(cell.case, cell.workload) for cell in cells}
        every = experiment.smoke_cases if smoke else experiment.cases
        rounds[round_id] = tuple(case for case in every if (case.name, case.workload) in wanted)
    return rounds
