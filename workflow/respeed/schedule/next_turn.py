"""What to measure next on a machine: one rule, asked again after every turn. Its answer follows from the configuration
and the records alone.

First, where there is an accelerator, a round of a first table. Then everything as often as the preset says; then, in
the time that is left, what an interim analysis of these rounds left unsettled.
"""

import itertools
import math
import random
import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from respeed.analysis.cells import judge_cells, make_cells
from respeed.analysis.claims import open_claims
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import FEWEST_ROUNDS
from respeed.analysis.rounds import (
    CELL,
    CellKey,
    first_rounds,
    in_order,
    key_of,
    number_sessions,
    probes_of,
    read_rounds,
)
from respeed.analysis.speedups import Samples, add_totals, compare_to_fastest_cpu
from respeed.model.paper import Case
from respeed.paths import RoundId, round_path
from respeed.protocol import Probes
from respeed.records.store import read_records
from respeed.schedule.selection import Work, by_experiment
from respeed.schedule.spec import Digest, current_digests

# Until a profile was measured: what its process takes before its first case.
START_SECONDS = 3.0
# A smoke round is mostly the start of its process.
SMOKE_CASE_SECONDS = 0.2
# A number without any interval is worth more time than the preset has for the others: so many times its minutes.
OVERTIME = 1.2
# Another cell is only chosen if so many more rounds of all that is chosen fit the time: fewer would settle nothing.
WORTH_ROUNDS = 2
NO_INTERVAL, CLAIM_OPEN, UNDECIDED, WIDE = "no interval", "claim open", "undecided", "wide interval"

Item = TypeVar("Item")


@dataclass(frozen=True)
class Turn:
    """What one process measures: cells of one profile. `number` counts the rounds of these cells;
    `again` is empty, or says why they are measured beyond the first rounds."""

    profile: str
    cells: tuple[CellKey, ...]
    number: int
    again: str = ""


@dataclass
class Plan:
    """What is left of the `work`, given the `records` that it can use, by path.

    `untimed` are the records that have no time, each with the reason. `otherwise` counts those of another measurement,
    which stay: they are used again where the change that made them another one is undone.
    """

    work: Work
    records: dict[Path, dict[str, Any]] = field(default_factory=dict)
    untimed: dict[Path, str] = field(default_factory=dict)
    otherwise: int = 0
    # What each round took, by its path: that tried a cell, with set-up and check; and a profile's process to start.
    _case_seconds: dict[CellKey, dict[Path, float]] = field(default_factory=lambda: defaultdict(dict))
    _start_seconds: dict[str, dict[Path, float]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, record: dict[str, Any]) -> None:
        """Take a record in, or what it has become."""
        path = _path_of(record)
        self.records[path] = record
        self._start_seconds[record["id"]["profile"]][path] = record["start_seconds"]
        for cell, case in zip(_cells_of(record), record["cases"], strict=True):
            if self._is_as_now(cell, case["parameters"]):
                self._case_seconds[cell][path] = case["wall_seconds"]

    def _is_as_now(self, cell: CellKey, parameters: dict[str, Any]) -> bool:
        """Whether the cell would be measured with these parameters. The digest says so but for own cases."""
        experiment = self.work.papers[cell.paper].experiments[cell.experiment]
        every = experiment.smoke_cases if self.work.smoke else experiment.cases
        now = [case.parameters for case in every if (case.name, case.workload) == (cell.case, cell.workload)]
        return not (now and experiment.has_own_cases(cell.workload)) or now[0] == parameters

    def leave_out(self, profile: str) -> None:
        """From now on, nothing of the profile is left to measure."""
        cells, first, *spare = (
            tuple(one for one in of if one.profile != profile)
            for of in (self.work.cells, self.work.first, *self.work.spare)
        )
        self.work = replace(self.work, cells=cells, first=first, spare=tuple(spare))
        self.__dict__.pop("_unsettled", None)

    def attempts(self, cell: CellKey) -> int:
        """How many rounds tried a cell, clean or not."""
        return len(self._case_seconds.get(cell, ()))

    # What comes next.

    def next_turn(self) -> Turn | None:
        """The next turn; None if nothing is left that this configuration asks for, or that its time is enough for."""
        return self._first_table() or self._first_rounds() or self._again()

    @property
    def left_of_first_table(self) -> list[CellKey]:
        """What of the first table no round tried yet."""
        return [cell for cell in self.work.first if not self.attempts(cell)]

    def rounds_of(self, turn: Turn) -> dict[RoundId, tuple[Case, ...]]:
        """The rounds that a turn measures, and the cases of each."""
        rounds = {}
        for (paper, name), cells in by_experiment(turn.cells).items():
            experiment = self.work.papers[paper].experiments[name]
            wanted = {(cell.case, cell.workload) for cell in cells}
            every = experiment.smoke_cases if self.work.smoke else experiment.cases
            round_id = self.next_round(paper, name, turn.profile)
            rounds[round_id] = tuple(case for case in every if (case.name, case.workload) in wanted)
        return rounds

    def next_round(self, paper: str, experiment: str, profile: str) -> RoundId:
        """Its number is one that no record has, usable or not, of this machine or of another."""
        where = (self.work.machine, paper, experiment, profile)
        found = (RoundId(*where, index, self.work.smoke) for index in itertools.count(1))
        return next(one for one in found if not ((path := round_path(one)) in self.records or path.exists()))

    def _first_table(self) -> Turn | None:
        return self._turn(cells, 0) if (cells := self.left_of_first_table) else None

    def _first_rounds(self) -> Turn | None:
        """Round 1 of everything comes before round 2 of anything, but for what is spare. Profiles take turns in random
        order."""
        for cells in self.in_time():
            if (number := min(map(self.attempts, cells), default=math.inf)) < self.work.preset.rounds:
                return self._turn(cells, int(number))
        return None

    def in_time(self) -> list[Collection[CellKey]]:
        """What is measured as often as the preset says: first all that is not spare, then as much of that as has been
        begun, or fits the minutes."""
        spare, often = set(itertools.chain(*self.work.spare)), self.work.preset.rounds
        groups: list[Collection[CellKey]] = [[cell for cell in self.work.cells if cell not in spare]]
        seconds = self.spent_seconds() + self._seconds_to(dict.fromkeys(groups[0], often))
        for group in self.work.spare:
            more = self._seconds_to(dict.fromkeys(group, often))
            if any(map(self.attempts, group)) or seconds + more <= self.work.seconds:
                groups, seconds = [*groups, group], seconds + more
        return groups

    def _again(self) -> Turn | None:
        """What the look after the first rounds left unsettled, as long as there is time for one more turn of it; and
        what lacks an interval, also where it lost one since, as a later probe shows a round to have been disturbed."""
        if self.work.preset.most <= self.work.preset.rounds:
            return None
        seconds, without = self.work.seconds, self._without_interval()
        waiting = [cell for cell, why in self._unsettled.items() if why != NO_INTERVAL and cell not in without]
        return self._turn_again([*without, *waiting], seconds) or self._turn_again(list(without), OVERTIME * seconds)

    def _turn_again(self, cells: list[CellKey], seconds: float) -> Turn | None:
        waiting = [cell for cell in cells if self.attempts(cell) < self.work.preset.most]
        if not waiting:
            return None
        turn = self._turn(waiting, min(map(self.attempts, waiting)))
        if self.spent_seconds() + self.seconds_of(turn.cells) > seconds:
            return None
        whys = dict.fromkeys(self._unsettled.get(cell, NO_INTERVAL) for cell in turn.cells)
        return replace(turn, again=", ".join(whys))

    def _without_interval(self) -> dict[CellKey, int]:
        """The cells that were timed in too few rounds for an interval, and in how many: no time is looked at."""
        rounds = read_rounds(self.records.values())
        timed = rounds[rounds["status"] == "measured"]
        counts = timed.groupby(CELL)["step_seconds"].count()
        clean = dict(zip(map(CellKey._make, counts.index), counts.tolist(), strict=True))
        return {cell: clean[cell] for cell in self.work.cells if clean.get(cell, math.inf) < FEWEST_ROUNDS}

    @cached_property
    def _unsettled(self) -> dict[CellKey, str]:
        """Decided once, on the first rounds: a second look is the last one, when tables are made."""
        first = self.first_rounds()
        return choose_unsettled(first, self.work.seconds - first.spent_seconds())

    def first_rounds(self) -> "Plan":
        """What was known when everything had been measured as often as the preset says, and nothing more often."""
        known = Plan(self.work)
        for record in in_order(self.records.values()):
            if any(known.attempts(cell) < self.work.preset.rounds for cell in _cells_of(record)):
                known.add(record)
        return known

    def _turn(self, cells: Collection[CellKey], number: int) -> Turn:
        """The next round of those of the cells that `number` rounds tried, on one profile."""
        cells = [cell for cell in cells if self.attempts(cell) == number]
        profiles = {cell.profile for cell in cells}
        everyone = self._shuffled(self.work.profiles, f"{number + 1}/profiles")
        profile = next(name for name in everyone if name in profiles)
        mine = by_experiment([cell for cell in cells if cell.profile == profile])
        # All profiles have the same order of experiments: between two profiles' rounds of one lies one turn.
        order = self._shuffled(list(by_experiment(self.work.cells)), str(number + 1))
        return Turn(profile, tuple(cell for where in order for cell in mine.get(where, ())), number + 1)

    def _shuffled(self, items: list[Item], purpose: str) -> list[Item]:
        return random.Random(f"{self.work.seed}/{purpose}").sample(items, len(items))

    # How long it takes.

    @property
    def first_turns_left(self) -> int:
        """How many turns it takes to measure everything as often as the preset says."""
        left: dict[tuple[int, str], int] = defaultdict(int)
        for place, cells in enumerate(self.in_time()):
            for cell in cells:
                row = place, cell.profile
                left[row] = max(left[row], self.work.preset.rounds - self.attempts(cell))
        return len(self._begun_twice) + sum(left.values())

    @property
    def _begun_twice(self) -> set[str]:
        """The profiles whose first round takes two turns: that of the first table, and that of all else."""
        first = set(self.work.first)
        return {cell.profile for cell in self.left_of_first_table} & {
            cell.profile for cell in self.in_time()[0] if cell not in first
        }

    def seconds_left(self) -> float:
        """About how long all that is left takes.

        What is chosen to be measured again is not known before the look: taken for a quarter of all, as often as
        the minutes allow.
        """
        preset, cells = self.work.preset, list(itertools.chain(*self.in_time()))
        minutes_left = max(0.0, self.work.seconds - self.spent_seconds())
        if first := self._seconds_to(dict.fromkeys(cells, preset.rounds)):
            first += sum(map(self._start_of, self._begun_twice))
            more = (self._seconds_to(dict.fromkeys(cells, preset.most)) - first) / 4
            return first + min(more, max(0.0, minutes_left - first))
        turn, without = self._again(), self._without_interval()
        if turn is None:
            return 0.0
        goals = dict.fromkeys(self._unsettled, preset.most) | {
            cell: min(preset.most, self.attempts(cell) + FEWEST_ROUNDS - clean) for cell, clean in without.items()
        }
        return min(self._seconds_to(goals), max(minutes_left, self.seconds_of(turn.cells)))

    def _seconds_to(self, goals: Mapping[CellKey, int]) -> float:
        """To measure each of these cells so many times in all."""
        return sum(
            self.seconds_of([cell for cell, goal in goals.items() if self.attempts(cell) <= number < goal])
            for number in range(max(goals.values(), default=0))
        )

    def seconds_of(self, cells: Collection[CellKey]) -> float:
        """About how long it takes to measure these cells once: as earlier rounds, or as the paper's file guesses."""
        total = sum(map(self._start_of, {cell.profile for cell in cells}), start=0.0)
        for cell in cells:
            took = self._case_seconds.get(cell)
            total += statistics.median(took.values()) if took else self._guess(cell)
        return total

    def _start_of(self, profile: str) -> float:
        starts = self._start_seconds.get(profile)
        return statistics.median(starts.values()) if starts else START_SECONDS

    def _guess(self, cell: CellKey) -> float:
        experiment = self.work.papers[cell.paper].experiments[cell.experiment]
        return SMOKE_CASE_SECONDS if self.work.smoke else experiment.round_seconds / len(experiment.cases)

    def spent_seconds(self) -> float:
        """What all rounds took together."""
        return math.fsum(record["wall_seconds"] for record in self.records.values())

    # What else is asked of the records.

    def probes(self, profile: str, now: str) -> Probes:
        """The probes of the profile in the session that a turn beginning `now` (ISO 8601) belongs to: none of
        yesterday's, when the machine may have been faster."""
        current, numbered = self._sessions(now)
        return probes_of(
            record for session, record in numbered if (session, record["id"]["profile"]) == (current, profile)
        )

    def sessions_before(self, now: str) -> int:
        """How many sessions measured something, but for the one that goes on `now`."""
        current, numbered = self._sessions(now)
        return len({session for session, _ in numbered} - {current})

    def _sessions(self, now: str) -> tuple[int, list[tuple[int, dict[str, Any]]]]:
        """The number of the session that a turn beginning now belongs to, and of each record."""
        turn: dict[str, Any] = {"started": now, "wall_seconds": 0.0, "id": {"profile": ""}}
        numbered = number_sessions([*self.records.values(), turn])
        return next(session for session, record in numbered if record is turn), numbered

    def cells_without_interval(self) -> int:
        """How many cells rounds were measured of, but not enough clean ones."""
        return int(_lacks_interval(self.judge(read_rounds(self.records.values()))).sum())

    def judge(self, rounds: pd.DataFrame) -> pd.DataFrame:
        """The cells of the work that there are rounds of, in its order."""
        places = {cell: place for place, cell in enumerate(self.work.cells)}
        judged = judge_cells(rounds).assign(measured_in=lambda cells: cells["experiment"])
        judged["place"] = [places.get(key_of(cell), math.nan) for cell in rows_of(judged)]
        return judged.dropna(subset="place").sort_values("place").rename(columns={"step": "seconds"})


def choose_unsettled(plan: Plan, seconds_left: float) -> dict[CellKey, str]:
    """The cells to measure again, each with its reason, the most urgent first: as many as the time is enough for.

    First those without an interval; then those that an open claim is about; then rows that cannot be told apart from
    the fastest, each with the row that it is compared with; then those whose interval is wide. Claims and rows only
    where more rounds are likely to be enough. Only the first rounds of each cell are looked at: the same records give
    the same answer, and a run that was stopped goes on with its choice.
    """
    chosen: dict[CellKey, str] = {}
    for why, together in _unsettled(plan):
        wanted = chosen | dict.fromkeys(together - chosen.keys(), why)
        if why == NO_INTERVAL or WORTH_ROUNDS * plan.seconds_of(wanted) <= seconds_left:
            chosen = wanted
    return chosen


def _unsettled(plan: Plan) -> list[tuple[str, set[CellKey]]]:
    """Cells that are worth measuring again only together, and why."""
    rounds = first_rounds(read_rounds(plan.records.values()), plan.work.preset.rounds)
    judged = plan.judge(rounds)
    compared = compare_to_fastest_cpu(judged, Samples(rounds)).assign(without=_lacks_interval(judged))
    pairs = []
    # What is unproven lacks an interval, or is beside one that does: of the two that one alone is measured again.
    for cell in rows_of(compared[compared["verdict"] == "indistinguishable"]):
        key, needed = key_of(cell), _rounds_needed(cell)
        if needed <= plan.work.preset.most:
            pairs.append((needed, {key, key._replace(workload=cell.base_algorithm, profile=cell.base_profile)}))
    return [
        *((NO_INTERVAL, {key_of(cell)}) for cell in rows_of(compared[compared["without"]])),
        *((CLAIM_OPEN, claim) for claim in _of_open_claims(plan, rounds)),
        *((UNDECIDED, pair) for _, pair in sorted(pairs, key=lambda one: one[0])),
        *((WIDE, {key_of(cell)}) for cell in rows_of(compared[compared["status"] == "wide"])),
    ]


def _of_open_claims(plan: Plan, rounds: pd.DataFrame) -> list[set[CellKey]]:
    """The cells of each claim that more rounds are likely to settle, the nearest first."""
    work = plan.work
    samples = Samples(rounds)
    cells = add_totals(make_cells(rounds, work.papers, {}, {}, work.smoke), samples, work.papers, work.smoke)
    found = open_claims(cells, samples, work.papers)
    near = sorted((needed, sorted(keys & set(work.cells))) for needed, keys in found if needed <= work.preset.most)
    return [set(keys) for _, keys in near]


def _lacks_interval(judged: pd.DataFrame) -> "pd.Series[bool]":
    return (judged["status"] == "contaminated") | (judged["seconds"].notna() & judged["step_low"].isna())


def _rounds_needed(cell: Any) -> float:
    """About how many rounds would tell the two apart, if their ratio is what it seems."""
    apart = abs(math.log(cell.speedup))
    width = math.log(cell.speedup_high / cell.speedup_low)
    return float(cell.rounds * (width / 2 / apart) ** 2) if apart else math.inf


def read_plan(work: Work, digest: Digest | None = None) -> Plan:
    """The plan of a machine by what lies under its name. A record can be used if it is what would be measured now; what
    that is, `digest` says, by default of this machine."""
    digest = digest or current_digests(work.seed, work.papers)
    planned = {(cell.paper, cell.experiment, cell.profile) for cell in work.cells}
    plan = Plan(work)
    for record in read_records(work.smoke, work.machine):
        path = _path_of(record)
        paper, experiment, profile = path.parts[-4:-1]
        if (paper, experiment, profile) not in planned:
            continue
        # What could not run may be able to by now: a driver was mended, memory is free again. What was wrong stays so.
        if all(case["status"] in {"not-run", "failed"} for case in record["cases"]):
            plan.untimed[path] = record["cases"][0]["reason"]
        elif record["digest"] == digest(paper, experiment, profile, work.smoke):
            plan.add(record)
        else:
            plan.otherwise += 1
    return plan


def _path_of(record: dict[str, Any]) -> Path:
    return round_path(RoundId(**record["id"]))


def _cells_of(record: dict[str, Any]) -> list[CellKey]:
    where = record["id"]
    first = (where["machine"], where["paper"], where["experiment"])
    return [CellKey(*first, case["case"], case["workload"], where["profile"]) for case in record["cases"]]
