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
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import pandas as pd

from respeed.analysis.cells import judge_cells
from respeed.analysis.claims import open_claims
from respeed.analysis.estimates import CELL_LEVEL, SETTLED_MARGIN, half_of
from respeed.analysis.rounds import read_rounds, settings_of
from respeed.analysis.speedups import Samples, add_totals, make_speedups
from respeed.analysis.tables import Cell, CellKey, Speedup
from respeed.machine.devices import accelerator_driver, accelerator_names, name_card
from respeed.machine.software import package_versions
from respeed.model import Papers
from respeed.records import Record, Result, read_records
from respeed.schedule.rows import Row
from respeed.schedule.work import USUAL, Wanted, Work

# Guesses: the start of a process for a row that was never measured, and a round of a smoke case without the start.
START_SECONDS = 3.0
SMOKE_CASE_SECONDS = 0.2
# A later round takes this share of the first, in which code is compiled: 0.76 to 0.99 over all cases of three machines.
LATER_SHARE = 0.87
# Another cell is only chosen if the time is enough for this many more rounds of all chosen cells: fewer settle nothing.
WORTH_ROUNDS = 2

# Why a cell is measured again, the most urgent first.
CLAIM_OPEN = "claim open"
UNDECIDED = "undecided"
WIDE = "wide interval"
REASONS = (CLAIM_OPEN, UNDECIDED, WIDE)

Try = tuple[Record, Result]


class Entry(NamedTuple):
    """A line of the list: a case, its tier, the rounds that it has, its goal, and the `reason` why it is open."""

    tier: int
    done: int
    goal: int
    wanted: Wanted
    reason: str = ""

    @property
    def is_due(self) -> bool:
        """Return whether the case has fewer rounds than its goal."""
        return self.done < self.goal

    def once_more(self) -> "Entry":
        """Return the entry with the next round as its goal."""
        return self._replace(goal=self.done + 1)


@dataclass(frozen=True)
class Turn:
    """The cases of a row that one measuring process measures, each with the number of its round."""

    row: Row
    cases: tuple[tuple[Wanted, int], ...]
    again: str = ""


@dataclass(frozen=True)
class Plan:
    """What is left of `work`, given its machine's `records`; the rows in `broken` could not start in this session.

    A turn takes `turn_seconds` besides what its record counts: to plan it, and to end its process.
    """

    work: Work
    records: tuple[Record, ...] = ()
    broken: frozenset[str] = frozenset()
    turn_seconds: float = 0.0

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
                if wanted and _counts(wanted, record, result, self.work, is_same):
                    tries[wanted.place].append((record, result))
        return tries

    @cached_property
    def card(self) -> str:
        """Return the machine's accelerators now, and the choice among them, in words."""
        return name_card(accelerator_names(), os.environ)

    @property
    def other_cards(self) -> set[str]:
        """Return the other accelerators on which the rows that are asked for have been measured, in words."""
        asked = {wanted.profile for wanted in self.work.wanted}
        return {self._card_of(record) for record in self.records if record.profile in asked} - {self.card}

    def _card_of(self, record: Record) -> str:
        """Return the accelerators among which a record's row ran, in words; for a row on CPUs, those of now."""
        start = record.start
        return self.card if start.profile.is_cpu else name_card(start.machine.accelerators, start.environment)

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
        if preset.most > preset.rounds and not self.work.since and not any(entry.is_due for entry in listed):
            listed = self._open(listed)
        return sorted(listed, key=lambda entry: (entry.tier, entry.done))

    @cached_property
    def first_entries(self) -> list[Entry]:
        """Return the cases that get the preset's rounds; spare tiers are included if begun or within the minutes."""
        goal = self.work.preset.rounds
        entries = [
            Entry(wanted.tier, len(self.tried(wanted)), goal, wanted)
            for wanted in self.work.wanted
            if wanted.profile not in self.broken
        ]
        listed = [entry for entry in entries if entry.tier <= USUAL]
        seconds = self.seconds_of(listed)
        for tier in sorted({entry.tier for entry in entries if entry.tier > USUAL}):
            spare = [entry for entry in entries if entry.tier == tier]
            more = self.seconds_of(spare)
            if any(entry.done for entry in spare) or seconds + more <= self.seconds_to_spend:
                listed += spare
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
        first_tries = chain.from_iterable(self.tried(entry.wanted)[: preset.rounds] for entry in listed)
        seconds = 60 * self.work.minutes - _seconds_of_processes(first_tries)
        first = self.rounds[self.rounds["round"] <= preset.rounds]
        chosen: dict[tuple[str, str], Entry] = {}
        for reason, cells in find_open(first, by_cell, self.work.papers, preset.most):
            more = {}
            for cell in cells:
                entry = by_cell[cell]
                more[entry.wanted.place] = entry._replace(tier=REASONS.index(reason), goal=preset.most, reason=reason)
            more |= chosen
            if WORTH_ROUNDS * self.seconds_of(entry.once_more() for entry in more.values()) <= seconds:
                chosen = more
        return list(chosen.values())

    # The next turn.

    def next_turn(self, budget_seconds: float = math.inf) -> Turn | None:
        """Return the next turn; None if no case is due, or if the minutes are not enough for the next open cases.

        Of the cases that are due, those of the lowest tier come first, and all of them get round 1 before any gets
        round 2. Rows come in random order. If `budget_seconds` and the minutes are enough for all due cases, a turn
        also includes its row's cases of higher tiers. Cases of the first table come first in each turn, and in round 1
        they have turns of their own, so that this table can be shown early.
        """
        due = [entry for entry in self.entries if entry.is_due]
        if not due:
            return None
        seed = self.work.seed
        tier = due[0].tier
        done = due[0].done
        first = [entry for entry in due if entry.tier == tier and entry.done == done]
        if done == 0 and self.work.preset.rounds > 1:
            first = [entry for entry in first if entry.wanted.is_first] or first
        profiles = list(dict.fromkeys(wanted.profile for wanted in self.work.wanted))
        random.Random(f"{seed}/{done + 1}/profiles").shuffle(profiles)
        profile = min((entry.wanted.profile for entry in first), key=profiles.index)
        chosen = [entry for entry in first if entry.wanted.profile == profile]
        minutes = self.seconds_to_spend
        if chosen[0].reason and self.seconds_of(entry.once_more() for entry in chosen) > minutes:
            return None
        if self.seconds_of(due) <= min(budget_seconds, minutes if minutes > 0 else math.inf):
            of_row = [entry for entry in due if entry.wanted.profile == profile]
            chosen += [entry for entry in of_row if entry.tier > tier and entry.done <= done]
        random.Random(f"{seed}/{profile}/{done + 1}").shuffle(chosen)
        chosen.sort(key=lambda entry: not entry.wanted.is_first)
        reasons = dict.fromkeys(entry.reason for entry in chosen if entry.reason)
        return Turn(chosen[0].wanted.row, tuple((entry.wanted, entry.done + 1) for entry in chosen), ", ".join(reasons))

    @cached_property
    def first_table_rounds(self) -> int:
        """Return how many rounds every case of the first table has on every row that could start."""
        first = [wanted for wanted in self.work.wanted if wanted.is_first and wanted.profile not in self.broken]
        return min((len(self.tried(wanted)) for wanted in first), default=0)

    # The time.

    def seconds_of(self, entries: Iterable[Entry]) -> float:
        """Estimate the seconds until these cases reach their goals."""
        seconds = 0.0
        starts: dict[str, int] = {}
        for entry in entries:
            rounds = max(0, entry.goal - entry.done)
            profile = entry.wanted.profile
            seconds += rounds * self._seconds_of_round(entry.wanted)
            starts[profile] = max(starts.get(profile, 0), rounds)
        return seconds + sum(number * self._start_of(profile) for profile, number in starts.items())

    def _seconds_of_round(self, wanted: Wanted) -> float:
        """Estimate the seconds of a round of a case by its last one: a busy machine's neighbours stay for some minutes.

        Of a case without rounds this is the guess times the `_pace`.
        """
        tries = self.tried(wanted)
        if not tries:
            return self._pace * self._guess(wanted)
        seconds = tries[-1][1].wall_seconds
        return seconds if len(tries) > 1 else LATER_SHARE * seconds

    def _guess(self, wanted: Wanted) -> float:
        return SMOKE_CASE_SECONDS if self.work.smoke else wanted.guess

    @cached_property
    def _pace(self) -> float:
        """Return the seconds that this machine takes for a guessed second, over the first rounds of all cases."""
        guessed = [wanted for wanted in self.work.wanted if self.tried(wanted) and self._guess(wanted)]
        took = math.fsum(self.tried(wanted)[0][1].wall_seconds for wanted in guessed)
        return took / math.fsum(map(self._guess, guessed)) if took else 1.0

    def seconds_of_turn(self, turn: Turn) -> float:
        """Estimate the seconds that a turn takes."""
        return self.seconds_of(Entry(wanted.tier, number - 1, number, wanted) for wanted, number in turn.cases)

    def _start_of(self, profile: str) -> float:
        starts = [record.start.start_seconds for record in self.records if record.profile == profile]
        return self.turn_seconds + statistics.median([*filter(None, starts)] or [START_SECONDS])

    def seconds_left(self) -> float:
        """Estimate the seconds until all cases have their first rounds or, after these, at most until the run is done.

        Open cases take at most the minutes that are left.
        """
        seconds = self.seconds_of(self.entries)
        if not any(entry.reason for entry in self.entries):
            return seconds
        return max(0.0, min(seconds, self.seconds_to_spend)) if self.next_turn() else 0.0


def read_plan(work: Work, broken: frozenset[str] = frozenset(), turn_seconds: float = 0.0) -> Plan:
    """Read the records of a machine, and return the plan of its work."""
    return Plan(work, tuple(read_records(work.smoke, work.machine)), broken, turn_seconds)


def _seconds_of_processes(tries: Iterable[Try]) -> float:
    """Return the seconds of all processes that made these results."""
    records = {record.path: record for record, _ in tries}
    return math.fsum(record.wall_seconds for record in records.values())


def _counts(wanted: Wanted, record: Record, result: Result, work: Work, is_same: bool) -> bool:
    """Return whether a result was measured as it would be measured now.

    A result without a time counts until the workload's file, the outside program, the libraries or the device change;
    then the case is tried again.
    """
    start = record.start
    if start.backend is None or start.threads != wanted.row.threads or start.timing != asdict(work.timing):
        return False
    if settings_of(start.profile, start.threads) != settings_of(wanted.row.profile, wanted.row.threads):
        return False
    has_source = result.source == wanted.source
    if result.status == "measured":
        return has_source or "program" not in result.parameters
    return has_source and is_same


def find_open(
    rounds: pd.DataFrame, wanted: Collection[CellKey], papers: Papers, most: int
) -> Iterator[tuple[str, Collection[CellKey]]]:
    """Yield groups of cells that are worth measuring again, each with the reason, the most urgent first.

    First come the cells that an open claim is about; then cells that cannot be distinguished from the fastest CPU row,
    each with the cell that it is compared with; then cells with a wide interval or without one. Claims and
    indistinguishable cells are left out if they probably need more than `most` rounds.
    """
    samples = Samples(rounds)
    judged = judge_cells(rounds, papers)
    wanted_cells = [judged[key] for key in wanted if key in judged]
    pairs = []
    # An unproven cell lacks an interval, or is compared with a cell that lacks one: only the cell without an interval
    # is measured again.
    for cell, row in zip(wanted_cells, make_speedups(wanted_cells, samples, papers), strict=True):
        if row.verdict == "indistinguishable":
            pairs.append((_rounds_needed(cell, row), [row.key, row.base_key]))
    cells = add_totals([*judged.values()], samples, papers)
    claims = [(needed, sorted(keys & {*wanted})) for needed, keys in open_claims(cells, samples, papers)]
    for needed, keys in sorted(claims):
        if needed <= most:
            yield CLAIM_OPEN, keys
    for needed, keys in sorted(pairs, key=itemgetter(0)):
        if needed <= most:
            yield UNDECIDED, keys
    for cell in wanted_cells:
        # No more rounds would settle the others.
        may_settle = cell.status == "wide" and half_of(samples.doubt(cell).error, CELL_LEVEL) < SETTLED_MARGIN
        if may_settle or cell.status == "contaminated":
            yield WIDE, [cell.key]


def _rounds_needed(cell: Cell, speedup: Speedup) -> float:
    """Estimate how many rounds would show that a cell and its base differ, if their measured speedup is right."""
    ratio = speedup.ratio
    return cell.rounds * (ratio.half / math.log(ratio.value)) ** 2 if ratio.value != 1 else math.inf
