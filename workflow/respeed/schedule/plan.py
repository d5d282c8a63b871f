"""Decide what to measure next, by one list of cases, ordered by tier and by the rounds that they have.

The list follows from the configuration and the records alone, so that a killed run can resume. Each case has a goal,
the number of rounds that it should have. First, cases get the preset's `rounds`, in the order of their tiers: the first
table, then the usual cases, then those spare cases for which the minutes are enough. These first rounds then decide,
once, which numbers are still open. The cases of open numbers are measured until they have the preset's `most` rounds,
or until the minutes are used up.
"""

import math
import os
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import pandas as pd

from respeed.analysis.cells import judge_cells
from respeed.analysis.claims import open_claims
from respeed.analysis.estimates import CELL_LEVEL, SETTLED_MARGIN, half_of
from respeed.analysis.rounds import read_rounds, settings_of
from respeed.analysis.speedups import Samples, add_totals
from respeed.analysis.tables import CellKey
from respeed.machine.devices import accelerator_driver, accelerator_names, name_card
from respeed.machine.software import package_versions
from respeed.model import Papers
from respeed.records import Record, Result, read_records
from respeed.schedule.work import USUAL, Tier, Wanted, Work

# A guess: the start of a process for a row that was never measured.
START_SECONDS = 3.0
# A later round takes this share of the first, in which code is compiled: 0.76 to 0.99 over all cases of three machines.
LATER_SHARE = 0.87
# Another cell is only chosen if the time is enough for this many more rounds of all chosen cells: fewer settle nothing.
WORTH_ROUNDS = 2

# Why a cell is measured again, the most urgent first.
CLAIM_OPEN = "claim open"
WIDE = "wide interval"
REASONS = (CLAIM_OPEN, WIDE)

Try = tuple[Record, Result]


class Entry(NamedTuple):
    """A line of the list: a case, the rounds that it has, its goal, and the `reason` why it is open."""

    wanted: Wanted
    done: int
    goal: int
    reason: str = ""

    @property
    def tier(self) -> Tier:
        """Return the tier of the case; of an open case, by its urgency."""
        if self.reason:
            return REASONS.index(self.reason), False, ""
        return self.wanted.tier

    @property
    def rounds_left(self) -> int:
        """Return how many rounds the case has fewer than its goal."""
        return max(0, self.goal - self.done)

    def once_more(self) -> "Entry":
        """Return the entry with the next round as its goal."""
        return self._replace(goal=self.done + 1)


# The cases of a row that one measuring process measures; the goal of each is the number of its round.
Turn = tuple[Entry, ...]


@dataclass(frozen=True)
class Plan:
    """What is left of `work`, given its machine's `records`; the rows in `broken` could not start in this session."""

    work: Work
    records: tuple[Record, ...] = ()
    broken: frozenset[str] = frozenset()

    # The records.

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """Return the rounds of the records."""
        return read_rounds(self.records, self.work.papers)

    @cached_property
    def tries(self) -> Mapping[tuple[str, str], list[Try]]:
        """Return, for each case on a row, the results that count, in the order of time."""
        versions = package_versions()
        driver = accelerator_driver()
        cases = {wanted.place: wanted for wanted in self.work.wanted}
        tries: dict[tuple[str, str], list[Try]] = defaultdict(list)
        for record in self.records:
            start = record.start
            if start.started < self.work.since or self._card_of(record) != self.card:
                continue
            is_same = start.versions == versions and start.machine.accelerator_driver == driver
            for result in record.results:
                wanted = cases.get((record.profile, result.key))
                if wanted and self._counts(wanted, record, result, is_same):
                    tries[wanted.place].append((record, result))
        return tries

    def _counts(self, wanted: Wanted, record: Record, result: Result, is_same: bool) -> bool:
        """Return whether a result was measured as it would be measured now.

        A result without a time counts until the workload's file, the outside program, the libraries or the device
        change; then the case is tried again.
        """
        start = record.start
        threads = wanted.row.threads
        if start.backend is None or start.threads != threads or start.timing != asdict(self.work.timing):
            return False
        if settings_of(start.profile, threads) != settings_of(wanted.row.profile, threads):
            return False
        has_source = result.source == wanted.source
        if result.status == "measured":
            return has_source or not result.program
        return has_source and is_same

    @cached_property
    def card(self) -> str:
        """Return the machine's accelerators now, and the choice among them, in words."""
        return name_card(accelerator_names(), os.environ)

    @property
    def other_cards(self) -> set[str]:
        """Return the other accelerators on which the rows that are asked for have been measured, in words."""
        profiles = {wanted.profile for wanted in self.work.wanted}
        cards = {self._card_of(record) for record in self.records if record.profile in profiles}
        return cards - {self.card}

    def _card_of(self, record: Record) -> str:
        """Return the accelerators among which a record's row ran, in words; for a row on CPUs, those of now."""
        start = record.start
        if start.profile.is_cpu:
            return self.card
        return name_card(start.machine.accelerators, start.environment)

    def tried(self, wanted: Wanted) -> list[Try]:
        """Return the results of a case that count."""
        return self.tries.get(wanted.place, [])

    @cached_property
    def spent_seconds(self) -> float:
        """Return the seconds of all processes that measured any case of the work."""
        return _seconds_of_processes(chain.from_iterable(self.tries.values()))

    @property
    def seconds_to_spend(self) -> float:
        """Return the seconds that the minutes leave; below zero if more was spent."""
        return 60 * self.work.minutes - self.spent_seconds

    # The list.

    @cached_property
    def entries(self) -> list[Entry]:
        """Return the list: the cases of the first rounds or, once these are done, the cases that are still open."""
        preset = self.work.preset
        listed = self.first_entries
        if preset.most > preset.rounds and not self.work.since and not any(entry.rounds_left for entry in listed):
            listed = self._open(listed)
        return sorted(listed, key=lambda entry: (entry.tier, entry.done))

    @cached_property
    def first_entries(self) -> list[Entry]:
        """Return the cases that get the preset's rounds; spare tiers are included if begun or within the minutes."""
        goal = self.work.preset.rounds
        tiers: dict[Tier, list[Entry]] = defaultdict(list)
        for wanted in self.work.wanted:
            if wanted.profile not in self.broken:
                done = len(self.tried(wanted))
                tiers[max(wanted.tier, USUAL)].append(Entry(wanted, done, goal))
        listed: list[Entry] = []
        seconds = 0.0
        for tier in sorted(tiers):
            entries = tiers[tier]
            more = self.seconds_of(entries)
            is_begun = any(entry.done for entry in entries)
            if tier == USUAL or is_begun or seconds + more <= self.seconds_to_spend:
                listed += entries
                seconds += more
        return listed

    def _open(self, listed: list[Entry]) -> list[Entry]:
        """Return the cases that are worth more rounds, each with a tier by its urgency.

        The first rounds alone decide which cases are open, and of these, only as many are returned as the minutes are
        likely to be enough for.
        """
        preset = self.work.preset
        by_cell: dict[CellKey, Entry] = {}
        for entry in listed:
            by_cell |= dict.fromkeys(entry.wanted.cells, entry)
        first_tries: list[Try] = []
        for entry in listed:
            first_tries += self.tried(entry.wanted)[: preset.rounds]
        seconds = 60 * self.work.minutes - _seconds_of_processes(first_tries)
        first = self.rounds[self.rounds["round"] <= preset.rounds]
        chosen: dict[tuple[str, str], Entry] = {}
        for reason, cells in find_open(first, by_cell, self.work.papers, preset.most):
            entries = [by_cell[cell]._replace(goal=preset.most, reason=reason) for cell in cells]
            more = {entry.wanted.place: entry for entry in entries} | chosen
            if WORTH_ROUNDS * self.seconds_of(entry.once_more() for entry in more.values()) <= seconds:
                chosen = more
        return list(chosen.values())

    # The next turn.

    def next_turn(self, budget_seconds: float = math.inf) -> Turn:
        """Return the next turn; empty if no case is due, or if the minutes are not enough for the next open cases.

        Of the cases that are due, those of the lowest tier come first, and all of them get round 1 before any gets
        round 2. Rows come in random order. If `budget_seconds` and the minutes are enough for all due cases, a turn
        also includes its row's cases of higher tiers. Cases of the first table come first in each turn, and in round 1
        they have turns of their own, so that this table can be shown early.
        """
        due = [entry for entry in self.entries if entry.rounds_left]
        if not due:
            return ()
        tier = due[0].tier
        done = due[0].done
        first = [entry for entry in due if (entry.tier, entry.done) == (tier, done)]
        if done == 0 and self.work.preset.rounds > 1:
            first = [entry for entry in first if entry.wanted.is_first] or first
        seed = f"{self.work.seed}/{done + 1}"
        draws = {entry.wanted.profile: random.Random(f"{seed}/{entry.wanted.profile}") for entry in first}
        profile = min(draws, key=lambda name: draws[name].random())
        chosen = [entry.once_more() for entry in first if entry.wanted.profile == profile]
        minutes = self.seconds_to_spend
        if chosen[0].reason and self.seconds_of(chosen) > minutes:
            return ()
        if self.seconds_of(due) <= min(budget_seconds, minutes if minutes > 0 else math.inf):
            of_row = [entry for entry in due if entry.wanted.profile == profile]
            chosen += [entry.once_more() for entry in of_row if entry.tier > tier and entry.done <= done]
        draws[profile].shuffle(chosen)
        chosen.sort(key=lambda entry: not entry.wanted.is_first)
        return tuple(chosen)

    @cached_property
    def first_table_rounds(self) -> int:
        """Return how many rounds every case of the first table has on every row that could start."""
        return min((entry.done for entry in self.first_entries if entry.wanted.is_first), default=0)

    # The time.

    def seconds_of(self, entries: Iterable[Entry]) -> float:
        """Estimate the seconds until these cases reach their goals."""
        seconds = 0.0
        starts = Counter[str]()
        for entry in entries:
            profile = entry.wanted.profile
            seconds += entry.rounds_left * self._seconds_of_round(entry.wanted)
            starts[profile] = max(starts[profile], entry.rounds_left)
        return seconds + sum(number * self._start_of(profile) for profile, number in starts.items())

    def _seconds_of_round(self, wanted: Wanted) -> float:
        """Estimate the seconds of a round of a case by its last one: a busy machine's neighbours stay for some minutes.

        Of a case without rounds this is the guess times the `_pace`.
        """
        tries = self.tried(wanted)
        if not tries:
            return self._pace * wanted.guess
        seconds = tries[-1][1].wall_seconds
        return seconds if len(tries) > 1 else LATER_SHARE * seconds

    @cached_property
    def _pace(self) -> float:
        """Return the seconds that this machine takes for a guessed second, over the first rounds of all cases."""
        guessed = math.fsum(wanted.guess for wanted in self.work.wanted if self.tried(wanted))
        took = math.fsum(tries[0][1].wall_seconds for tries in self.tries.values())
        return took / guessed if took else 1.0

    def _start_of(self, profile: str) -> float:
        starts = [record.start.start_seconds for record in self.records if record.profile == profile]
        return statistics.median([*filter(None, starts)] or [START_SECONDS])

    def seconds_left(self) -> float:
        """Estimate the seconds until all cases have their first rounds or, after these, at most until the run is done.

        Open cases take at most the minutes that are left.
        """
        seconds = self.seconds_of(self.entries)
        if not any(entry.reason for entry in self.entries):
            return seconds
        return max(0.0, min(seconds, self.seconds_to_spend)) if self.next_turn() else 0.0


def read_plan(work: Work, broken: frozenset[str] = frozenset()) -> Plan:
    """Read the records of a machine, and return the plan of its work."""
    return Plan(work, tuple(read_records(work.smoke, work.machine)), broken)


def _seconds_of_processes(tries: Iterable[Try]) -> float:
    """Return the seconds of all processes that made these results."""
    records = {record.path: record for record, _ in tries}
    return math.fsum(record.wall_seconds for record in records.values())


def find_open(
    rounds: pd.DataFrame, wanted: Collection[CellKey], papers: Papers, most: int
) -> Iterator[tuple[str, Collection[CellKey]]]:
    """Yield groups of cells that are worth measuring again, each with the reason, the most urgent first.

    First come the cells that an open claim is about; then cells with a wide interval or without one. Claims are left
    out if they probably need more than `most` rounds.
    """
    samples = Samples(rounds)
    judged = judge_cells(rounds, papers)
    cells = add_totals([*judged.values()], samples, papers)
    claims = [(needed, sorted(keys & {*wanted})) for needed, keys in open_claims(cells, samples, papers)]
    for needed, keys in sorted(claims):
        if needed <= most:
            yield CLAIM_OPEN, keys
    for key in filter(judged.get, wanted):
        cell = judged[key]
        # No more rounds would settle the others.
        may_settle = cell.status == "wide" and half_of(samples.doubt(cell).error, CELL_LEVEL) < SETTLED_MARGIN
        if may_settle or cell.status == "contaminated":
            yield WIDE, [key]
