"""What has been measured already, as far as it is what would be measured now."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from respeed.analysis.rounds import CellKey, probes_by_row
from respeed.analysis.sessions import in_order, number_sessions
from respeed.paths import RoundId, round_path
from respeed.records.store import MachineRecords, read_machine
from respeed.schedule.selection import Work

# A smoke round is mostly the start of its process.
SMOKE_CASE_SECONDS = 0.2
# Until a profile was measured: what its process takes before its first case.
START_SECONDS = 3.0

# Of paper, experiment, profile, whether whole, and whether smoke: what a record must have been made of.
Digest = Callable[[str, str, str, bool, bool], str]


@dataclass
class History:
    """The usable records of a machine, and what follows from them for what comes next.

    `attempts` counts the rounds that tried a cell, clean or not. `case_seconds` has what each of them took, with set-up
    and check; `start_seconds` what a profile's process takes before its first case. `made_on` is all that
    lies under the machine's name, by the machine that it was made on. `otherwise` counts the records of another
    measurement, which stay: they are used again where the change that made them another one is undone.
    """

    work: Work
    records: dict[Path, dict[str, Any]] = field(default_factory=dict)
    made_on: MachineRecords = field(default_factory=MachineRecords)
    otherwise: int = 0
    attempts: Counter[CellKey] = field(default_factory=Counter)
    case_seconds: dict[CellKey, list[float]] = field(default_factory=lambda: defaultdict(list))
    start_seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, path: Path, record: dict[str, Any]) -> None:
        """Take a record in, or what it has become."""
        known = path in self.records
        self.records[path] = record
        if known or record["id"]["whole"]:
            return
        self.start_seconds[record["id"]["profile"]].append(record["start_seconds"])
        for cell, case in zip(_cells_of(record), record["cases"], strict=True):
            self.attempts[cell] += 1
            self.case_seconds[cell].append(case["wall_seconds"])

    def first_rounds(self) -> "History":
        """What was known when everything had been measured as often as the preset says, and nothing more often."""
        known = History(self.work)
        paths = {id(record): path for path, record in self.records.items()}
        for record in in_order(self.records.values()):
            cells = [cell for cell in _cells_of(record) if known.attempts[cell] < self.work.preset.rounds]
            if cells and not record["id"]["whole"]:
                known.add(paths[id(record)], record)
        return known

    def next_index(self, paper: str, experiment: str, profile: str, *, whole: bool = False) -> int:
        """The number of the next round: one that no record has, usable or not, of this machine or of another."""
        machine, smoke, index = self.work.machine, self.work.smoke, 1
        while True:
            path = round_path(RoundId(machine, paper, experiment, profile, index, whole, smoke))
            if path not in self.records and not path.exists():
                return index
            index += 1

    def has_whole(self, paper: str, experiment: str, profile: str) -> bool:
        return any(
            record["id"]["whole"]
            and (record["id"]["paper"], record["id"]["experiment"], record["id"]["profile"])
            == (paper, experiment, profile)
            for record in self.records.values()
        )

    def seconds_of(self, cells: Collection[CellKey]) -> float:
        """About how long it takes to measure these cells once: as earlier rounds, or as the paper's file guesses."""
        total = 0.0
        for profile in {cell.profile for cell in cells}:
            starts = self.start_seconds.get(profile)
            total += statistics.median(starts) if starts else START_SECONDS
        for cell in cells:
            took = self.case_seconds.get(cell)
            total += statistics.median(took) if took else self._guess(cell)
        return total

    def _guess(self, cell: CellKey) -> float:
        experiment = self.work.experiment(cell)
        return SMOKE_CASE_SECONDS if self.work.smoke else experiment.round_seconds / len(experiment.cases)

    def spent_seconds(self) -> float:
        """What all rounds took together."""
        return math.fsum(record["wall_seconds"] for record in self.records.values() if not record["id"]["whole"])

    def session_probes(self, profile: str, now: str, clock: Mapping[str, Any] | None = None) -> list[float]:
        """The reference probes of the profile in the session that a turn beginning `now` (ISO 8601; by the clock that
        nobody can set, `clock`) belongs to: none of yesterday's, when the machine may have been faster."""
        turn: dict[str, Any] = {
            "started": now, "clock": clock, "wall_seconds": 0.0, "id": {"profile": profile}, "cases": [], "threads": 0,
            "provenance": {},
        }  # fmt: skip
        numbered = number_sessions([*self.records.values(), turn])
        current = next(session for session, record in numbered if record is turn)
        return [
            seconds
            for (session, name, _, _), found in probes_by_row(numbered).items()
            if (session, name) == (current, profile)
            for seconds in found
        ]


def happened_meanwhile(known: Iterable[Path], made: Iterable[Mapping[str, Any]]) -> list[str]:
    """What whoever measures should know of the records that were there (`known`) and of those that were `made` since:
    that some were removed, or that the code changed between two of them. Empty if all is well."""
    told = []
    if removed := sum(not path.exists() for path in known):
        were = "1 record was" if removed == 1 else f"{removed} records were"
        told.append(f"{were} removed meanwhile, and will be measured again")
    commits = list(dict.fromkeys(record["provenance"]["commit"] for record in made))
    if len(commits) > 1:
        told.append(f"the code changed meanwhile: rounds were made of {', '.join(commits[:-1])} and {commits[-1]}")
    return told


def read_history(work: Work, digest: Digest) -> tuple[History, dict[Path, str]]:
    """The machine's records that this work can use, and those of its tables that nothing can use, with the reason."""
    mine = read_machine(work.smoke, work.machine)
    history, unusable = History(work, made_on=mine), dict[Path, str]()
    planned = {(cell.paper, cell.experiment, cell.profile) for cell in work.cells} | set(work.wholes)
    unusable |= {path: line for path, line in mine.damaged.items() if path.parts[-4:-1] in planned}
    for path, record in mine.records.items():
        paper, experiment, profile = path.parts[-4:-1]
        if (paper, experiment, profile) not in planned:
            continue
        if reason := _why_unusable(record):
            unusable[path] = f"{path}: {reason}"
        elif record["digest"] == digest(paper, experiment, profile, record["id"]["whole"], work.smoke):
            history.add(path, record)
        else:
            history.otherwise += 1
    return history, unusable


def _why_unusable(record: dict[str, Any]) -> str | None:
    # What could not run may be able to by now: a driver was mended, memory is free again. What was wrong stays wrong.
    if all(case["status"] in {"not-run", "failed"} for case in record["cases"]):
        return f"has no time: {record['cases'][0]['reason']}"
    return None


def _cells_of(record: dict[str, Any]) -> list[CellKey]:
    where = record["id"]
    first = (where["machine"], where["paper"], where["experiment"])
    return [CellKey(*first, case["case"], case["workload"], where["profile"]) for case in record["cases"]]
