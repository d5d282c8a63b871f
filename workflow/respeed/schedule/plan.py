"""Decide what to measure next, by one list of cases, ordered by tier and by the rounds that they have.

The list follows from the configuration and the records alone, so that a killed run can resume. Each case has a goal,
the number of rounds that it should have. First, cases get the preset's `rounds`, in the order of their tiers: the first
table, then the usual cases, then those spare cases for which the minutes are enough. These first rounds then decide,
once, which numbers are still open. The cases of open numbers are measured until they have the preset's `most` rounds,
or until the minutes are used up.
"""

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

import pandas as pd

from respeed.analysis.cells import JudgedCell, judge_cells, make_cells
from respeed.analysis.claims import open_claims
from respeed.analysis.estimates import CELL_LEVEL, SETTLED_MARGIN, half_of
from respeed.analysis.rounds import read_rounds, settings_of
from respeed.analysis.speedups import Compared, Samples, add_totals, compare_to_fastest_cpu
from respeed.analysis.tables import CellKey
from respeed.machine import describe_machine
from respeed.machine.software import package_versions
from respeed.model import Paper
from respeed.records import Record, Result, read_records
from respeed.schedule.rows import Row
from respeed.schedule.work import USUAL, Wanted, Work

# Guesses: the start of a process for a row that was never measured, and a round of a smoke case without the start.
START_SECONDS, SMOKE_CASE_SECONDS = 3.0, 0.2
# A later round takes this share of the first, in which code is compiled: 0.76 to 0.99 over all cases of three machines.
LATER_SHARE = 0.87
# Another cell is only chosen if the time is enough for this many more rounds of all chosen cells: fewer settle nothing.
WORTH_ROUNDS = 2

Try = tuple[Record, Result]


class Entry(NamedTuple):
    """A line of the list: a case, its tier, the rounds that it has, its goal, and why it is open, if it is."""

    tier: int
    done: int
    goal: int
    wanted: Wanted
    why: str = ""


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
    def tries(self) -> Mapping[tuple[str, str], list[Try]]:
        """Return, for each case on a row, the results that count, in the order of time."""
        now, hardware = package_versions(), describe_machine()
        wanted = {one.place: one for one in self.work.wanted}
        found: dict[tuple[str, str], list[Try]] = defaultdict(list)
        for record in (record for record in self.records if record.start.started >= self.work.since):
            same = record.start.versions == now and all(
                getattr(record.start.machine, fact) == hardware[fact] for fact in ("accelerators", "accelerator_driver")
            )
            for result in record.results:
                one = wanted.get((record.profile, result.key))
                if one and _counts(one, record, result, self.work, same):
                    found[one.place].append((record, result))
        return found

    def tried(self, wanted: Wanted) -> list[Try]:
        """Return the results of a case that count."""
        return self.tries.get(wanted.place, [])

    @cached_property
    def spent_seconds(self) -> float:
        """Return the seconds of all processes that measured any case of the work."""
        used = {record.path: record for tries in self.tries.values() for record, _ in tries}
        return math.fsum(record.wall_seconds for record in used.values())

    # The list.

    @cached_property
    def entries(self) -> list[Entry]:
        """Return the list: the cases of the first rounds or, once these are done, the cases that are still open."""
        preset, listed = self.work.preset, self.first_entries
        if preset.most > preset.rounds and not self.work.since and all(entry.done >= entry.goal for entry in listed):
            listed = self._open(listed)
        return sorted(listed, key=lambda entry: entry[:2])

    @cached_property
    def first_entries(self) -> list[Entry]:
        """Return the cases that get the preset's rounds; spare tiers are included if begun or within the minutes."""
        preset, minutes = self.work.preset, 60 * self.work.minutes
        tiers: dict[int, list[Entry]] = defaultdict(list)
        for one in self.work.wanted:
            if one.profile not in self.broken:
                tiers[one.tier].append(Entry(one.tier, len(self.tried(one)), preset.rounds, one))
        listed = [entry for tier, group in tiers.items() if tier <= USUAL for entry in group]
        seconds = self.spent_seconds + self.seconds_of(listed)
        for _, group in sorted((tier, group) for tier, group in tiers.items() if tier > USUAL):
            more = self.seconds_of(group)
            if any(entry.done for entry in group) or seconds + more <= minutes:
                listed, seconds = [*listed, *group], seconds + more
        return listed

    def _open(self, listed: list[Entry]) -> list[Entry]:
        """Return the cases that are worth more rounds, each with a tier by its urgency.

        The first rounds alone decide which cases are open, and of these, only as many are returned as the minutes are
        likely to be enough for.
        """
        preset, asked = self.work.preset, {cell: entry for entry in listed for cell in entry.wanted.cells}
        rounds = read_rounds(self.records, self.work.papers)
        first = rounds[rounds["round"] <= preset.rounds]
        used = {
            record.path: record.wall_seconds
            for entry in listed
            for record, _ in self.tried(entry.wanted)[: preset.rounds]
        }
        left = 60 * self.work.minutes - math.fsum(used.values())
        chosen: dict[tuple[str, str], Entry] = {}
        for why, cells in find_open(first, asked, dict(self.work.papers), preset.most):
            entries = [asked[cell]._replace(tier=WHYS.index(why), goal=preset.most, why=why) for cell in cells]
            more = {entry.wanted.place: entry for entry in entries} | chosen
            once = self.seconds_of(entry._replace(goal=entry.done + 1) for entry in more.values())
            if WORTH_ROUNDS * once <= left:
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
        due = [entry for entry in self.entries if entry.done < entry.goal]
        minutes = 60 * self.work.minutes - self.spent_seconds
        if not due:
            return None
        tier, done = due[0][:2]
        first = [entry for entry in due if entry[:2] == (tier, done)]
        if done == 0 and self.work.preset.rounds > 1:
            first = [entry for entry in first if entry.wanted.is_first] or first
        names = list(dict.fromkeys(one.profile for one in self.work.wanted))
        random.Random(f"{self.work.seed}/{done + 1}/profiles").shuffle(names)
        profile = min((entry.wanted.profile for entry in first), key=names.index)
        mine = [entry for entry in first if entry.wanted.profile == profile]
        if mine[0].why and self.seconds_of(entry._replace(goal=entry.done + 1) for entry in mine) > minutes:
            return None
        if self.seconds_of(due) <= min(budget_seconds, minutes if minutes > 0 else math.inf):
            mine += [
                entry for entry in due if entry.wanted.profile == profile and entry.tier > tier and entry.done <= done
            ]
        random.Random(f"{self.work.seed}/{profile}/{done + 1}").shuffle(mine)
        mine.sort(key=lambda entry: not entry.wanted.is_first)
        whys = ", ".join(dict.fromkeys(filter(None, (entry.why for entry in mine))))
        return Turn(mine[0].wanted.row, tuple((entry.wanted, entry.done + 1) for entry in mine), whys)

    @cached_property
    def first_table_rounds(self) -> int:
        """Return how many rounds every case of the first table has on every row that could start."""
        cases = [one for one in self.work.wanted if one.is_first and one.profile not in self.broken]
        return min((len(self.tried(one)) for one in cases), default=0)

    # The time.

    def seconds_of(self, entries: Iterable[Entry]) -> float:
        """Estimate the seconds until these cases reach their goals."""
        seconds, starts = 0.0, dict[str, int]()
        for entry in entries:
            left, profile = max(0, entry.goal - entry.done), entry.wanted.profile
            seconds += left * self._seconds_of_round(entry.wanted)
            starts[profile] = max(starts.get(profile, 0), left)
        return seconds + sum(number * self._start_of(profile) for profile, number in starts.items())

    def _seconds_of_round(self, wanted: Wanted) -> float:
        """Estimate the seconds of a round of a case by its last one: a busy machine's neighbours stay for some minutes.

        Of a case without rounds this is the guess times the `_pace`.
        """
        took = [result.wall_seconds for _, result in self.tried(wanted)]
        if len(took) > 1:
            return took[-1]
        return LATER_SHARE * took[0] if took else self._pace * self._guess(wanted)

    def _guess(self, wanted: Wanted) -> float:
        return SMOKE_CASE_SECONDS if self.work.smoke else wanted.guess

    @cached_property
    def _pace(self) -> float:
        """Return the seconds that this machine takes for a guessed second, over the first rounds of all cases."""
        tried = [one for one in self.work.wanted if self.tried(one) and self._guess(one)]
        took = math.fsum(self.tried(one)[0][1].wall_seconds for one in tried)
        return took / math.fsum(map(self._guess, tried)) if took else 1.0

    def seconds_of_turn(self, turn: Turn) -> float:
        """Estimate the seconds that a turn takes."""
        return self.seconds_of(Entry(one.tier, number - 1, number, one) for one, number in turn.cases)

    def _start_of(self, profile: str) -> float:
        starts = [one.start.start_seconds for one in self.records if one.profile == profile and one.start.start_seconds]
        return self.turn_seconds + (statistics.median(starts) if starts else START_SECONDS)

    def seconds_left(self) -> float:
        """Estimate the seconds until all cases have their first rounds or, after these, at most until the run is done.

        Open cases take at most the minutes that are left.
        """
        if not any(entry.why for entry in self.entries):
            return self.seconds_of(self.entries)
        minutes = max(0.0, 60 * self.work.minutes - self.spent_seconds)
        return min(self.seconds_of(self.entries), minutes) if self.next_turn() else 0.0


def read_plan(work: Work, broken: frozenset[str] = frozenset(), turn_seconds: float = 0.0) -> Plan:
    """Read the records of a machine, and return the plan of its work."""
    return Plan(work, tuple(read_records(work.smoke, work.machine)), broken, turn_seconds)


def _counts(wanted: Wanted, record: Record, result: Result, work: Work, is_same: bool) -> bool:
    """Return whether a result was measured as it would be measured now.

    A result without a time counts until the workload's file, the outside program, the libraries or the device change;
    then the case is tried again.
    """
    start, profile = record.start, wanted.row.profile
    if start.backend is None or start.threads != wanted.row.threads or start.timing != asdict(work.timing):
        return False
    if settings_of(start.profile, start.threads) != settings_of(profile, wanted.row.threads):
        return False
    has_source = result.source == wanted.source
    if result.status == "measured":
        return has_source or "program" not in result.parameters
    return has_source and is_same


# Why a cell is measured again, the most urgent first.
CLAIM_OPEN, UNDECIDED, WIDE = WHYS = ("claim open", "undecided", "wide interval")


def judge(rounds: pd.DataFrame, asked: Collection[CellKey]) -> list[JudgedCell]:
    """Judge the cells that have `rounds`, and return those that are in `asked`, in the order of `asked`."""
    judged = judge_cells(rounds)
    return [judged[key] for key in asked if key in judged]


def find_open(
    rounds: pd.DataFrame, asked: Collection[CellKey], papers: dict[str, Paper], most: int
) -> list[tuple[str, set[CellKey]]]:
    """Return sets of cells that are worth measuring again, each with the reason, the most urgent first.

    First come the cells that an open claim is about; then cells that cannot be distinguished from the fastest CPU row,
    each with the cell that it is compared with; then cells with a wide interval or without one. Claims and
    indistinguishable cells are left out if they probably need more than `most` rounds.
    """
    samples = Samples(rounds)
    compared = compare_to_fastest_cpu(judge(rounds, asked), samples, papers)
    pairs = []
    # An unproven cell lacks an interval, or is compared with a cell that lacks one: only the cell without an interval
    # is measured again.
    for pair in compared:
        if pair.verdict == "indistinguishable" and pair.base:
            pairs.append((_rounds_needed(pair), {pair.cell.key, pair.base.key}))
    cells = add_totals(make_cells(rounds, papers, {}, {}), samples, papers)
    claims = [(needed, sorted(keys & {*asked})) for needed, keys in open_claims(cells, samples, papers)]
    wide = [pair.cell for pair in compared if pair.cell.status in ("wide", "contaminated")]
    may_settle = [cell for cell in wide if half_of(cell.doubt, CELL_LEVEL) < SETTLED_MARGIN]
    return [
        *((CLAIM_OPEN, set(keys)) for needed, keys in sorted(claims) if needed <= most),
        *((UNDECIDED, keys) for needed, keys in sorted(pairs, key=itemgetter(0)) if needed <= most),
        *((WIDE, {cell.key}) for cell in may_settle),
    ]


def _rounds_needed(pair: Compared[JudgedCell]) -> float:
    """Estimate how many rounds would show that a cell and its base differ, if their measured ratio is right."""
    ratio = pair.ratio
    if ratio is None or ratio.low is None or ratio.high is None or ratio.value == 1:
        return math.inf
    half_width = math.log(ratio.high / ratio.low) / 2
    return pair.cell.rounds * (half_width / math.log(ratio.value)) ** 2
