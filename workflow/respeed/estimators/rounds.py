"""What each round says about each cell: step times from its clean blocks."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from respeed.estimators.energy import CellEnergy, energy_of_round
from respeed.estimators.latest import latest_measurement
from respeed.estimators.round_time import RoundTime, time_of_round
from respeed.estimators.sessions import number_sessions
from respeed.protocol import REAL, SMOKE, Block, contamination, quiet_probe


class CellKey(NamedTuple):
    """One cell: a case measured by a program on a profile of a machine."""

    machine: str
    paper: str
    experiment: str
    case: str
    workload: str
    profile: str


@dataclass
class CellRounds:
    """All rounds of one cell. `times` has those with clean blocks, by number; `failures` the reasons of those without.

    `parameters` are those of the workload as it was measured in rounds, `whole_parameters` as it was run whole, to tell
    a case that has changed since; None if there are none. `flops` and `traffic_bytes` are those of a step: the
    operations, and the bytes that must be read and written if nothing stays in a cache. `threads` is how many were
    asked for, `attempts` counts the rounds that were tried.

    `causes` counts why blocks were discarded; `error` is the largest of any array of a checked step against float64,
    over the array's largest value. `energy` is of rounds with clean blocks alone.
    """

    profile: dict[str, Any]
    parameters: dict[str, Any] | None = None
    whole_parameters: dict[str, Any] | None = None
    flops: float | None = None
    traffic_bytes: float | None = None
    threads: int | None = None
    times: dict[int, RoundTime] = field(default_factory=dict)
    whole_seconds: float | None = None
    failures: dict[str, str] = field(default_factory=dict)
    attempts: int = 0
    blocks: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    discarded: int = 0
    unsettled: int = 0
    error: float | None = None
    energy: CellEnergy = field(default_factory=CellEnergy)

    @property
    def means(self) -> list[float]:
        """Seconds a step of each round, for totals."""
        return [time.mean for time in self.times.values()]

    def medians(self, session: int | None = None) -> list[float]:
        """Seconds a step of each round, of one session or of all, for speeds."""
        return [time.median for time in self.times.values() if session in (None, time.session)]


def collect_rounds(records: Iterable[dict[str, Any]], first: int | None = None) -> dict[CellKey, CellRounds]:
    """Sort records into cells. Of a cell measured in several ways (a size added, other threads), the latest counts.

    With `first`, each cell has only its first so many rounds: what a look at them saw.
    """
    cells: dict[CellKey, CellRounds] = {}
    for latest in _by_machine(latest_measurement(records)):
        numbered = number_sessions(latest)
        quiet, ceilings = quiet_probes(numbered), _ceilings(numbered)
        for session, record in numbered:
            round_id = record["id"]
            row = _row(session, record)
            for case in record["cases"]:
                where = (round_id["machine"], round_id["paper"], round_id["experiment"])
                key = CellKey(*where, case["case"], case["workload"], round_id["profile"])
                cell = cells.setdefault(key, CellRounds(record["profile"]))
                if first is None or cell.attempts < first or round_id["whole"]:
                    _add(cell, record, case, session, quiet.get(row, math.inf), ceilings[row])
    return cells


def _by_machine(records: list[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    machines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        machines[record["id"]["machine"]].append(record)
    return machines.values()


Numbered = Iterable[tuple[int, dict[str, Any]]]
# A profile with so many threads, of one version of its library, in one session.
ProbedRow = tuple[int, str, int, str]


def _row(session: int, record: dict[str, Any]) -> ProbedRow:
    """Whose probes and products may be compared."""
    package = record["provenance"].get("backend", {}).get("package", "")
    return session, record["id"]["profile"], record["threads"], package


def quiet_probes(numbered: Numbered) -> dict[ProbedRow, float]:
    """The probe of the undisturbed machine for each profile and session, from all of its cases and experiments."""
    return {row: quiet_probe(found) for row, found in probes_by_row(numbered).items() if found}


def probes_by_row(numbered: Numbered) -> dict[ProbedRow, list[float]]:
    """Seconds of all probes of each profile and session."""
    probes: dict[ProbedRow, list[float]] = defaultdict(list)
    for session, record in numbered:
        for case in record["cases"]:
            probes[_row(session, record)] += [seconds for block in case["blocks"] for seconds in block["probe_seconds"]]
    return probes


class Ceilings(NamedTuple):
    """The highest rates that any round of a profile and session saw: of a bare product, FLOP/s, and of a copy, bytes/s.
    None where nothing was seen."""

    peak: float | None = None
    bandwidth: float | None = None


def _ceilings(numbered: Numbered) -> dict[ProbedRow, Ceilings]:
    ceilings: dict[ProbedRow, Ceilings] = defaultdict(Ceilings)
    for session, record in numbered:
        row, measured = _row(session, record), record["ceilings"] or {}
        rates = [ceilings[row].peak or 0.0, measured.get("flops_per_second", 0.0)]
        copies = (ceilings[row].bandwidth or 0.0, measured.get("bytes_per_second", 0.0))
        for case in record["cases"]:
            if case["workload"] == "matmul":  # the ladder's squares may be larger than what each round can afford
                rates += [
                    case["flops"] * block["sample_steps"] / min(block["sample_seconds"]) for block in case["blocks"]
                ]
        ceilings[row] = Ceilings(max(rates) or None, max(copies) or None)
    return ceilings


def _add(
    cell: CellRounds,
    record: dict[str, Any],
    case: dict[str, Any],
    session: int,
    quiet_probe_seconds: float,
    ceilings: Ceilings,
) -> None:
    whole = record["id"]["whole"]
    cell.flops = case["flops"] or cell.flops
    cell.threads = record["threads"]
    cell.traffic_bytes = case["traffic_bytes"] or cell.traffic_bytes
    errors = [error for error in case["errors"].values() if error is not None]
    cell.error = max([*errors, *([] if cell.error is None else [cell.error])], default=None)
    if whole:
        cell.whole_parameters = case["parameters"]
    else:
        cell.parameters = case["parameters"]
        cell.attempts += 1
    if case["status"] != "measured":
        if not whole or case["status"] == "wrong":
            cell.failures[case["status"]] = case["reason"]
        return
    blocks = [Block(**block) for block in case["blocks"]]
    if whole:
        cell.whole_seconds = sum(block.seconds for block in blocks)
        return
    clean = judge_blocks(blocks, record["threads"], quiet_probe_seconds, record["id"]["smoke"], cell.causes)
    cell.blocks += len(blocks)
    cell.discarded += len(blocks) - len(clean)
    cell.unsettled += not case["warmup"]["settled"]
    if clean:
        index, weights = record["id"]["index"], case.get("parts") or {}
        cell.times[index] = time_of_round(clean, weights, session, *ceilings)
        told = record["provenance"].get("energy")
        cell.energy.add(index, energy_of_round(clean, weights, told, case.get("energy_run")))


def judge_blocks(
    blocks: list[Block], threads: int, quiet_probe_seconds: float, smoke: bool, causes: Counter[str]
) -> list[Block]:
    """The clean ones; why the others are not is counted in `causes`.

    The thresholds are those of today, not of the day of the record: a better judgement needs no new measurement.
    """
    protocol, clean = SMOKE if smoke else REAL, []
    for block in blocks:
        found = contamination(block, threads, quiet_probe_seconds, protocol)
        causes.update(found)
        if not found:
            clean.append(block)
    return clean
