"""What each round says about each cell: step times from its clean blocks."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from respeed.model.block import Block, contamination, quiet_probe
from respeed.model.timing import REAL, SMOKE


class CellKey(NamedTuple):
    """One cell: a case measured by a program on a profile of a machine."""

    machine: str
    paper: str
    experiment: str
    case: str
    workload: str
    profile: str


@dataclass(frozen=True)
class RoundTime:
    """Seconds a step in one round, over its clean blocks: the median for speeds, the mean for totals.

    `started` is when the round began: rounds are pairs only if they lie close together. `parts` has the mean seconds of
    each part of a step that is timed in parts, as often as it counts in a step.
    """

    median: float
    mean: float
    started: datetime
    parts: dict[str, float] = field(default_factory=dict)


@dataclass
class CellRounds:
    """All rounds of one cell. `times` has those with clean blocks; `failures` the reasons of those without a time.

    `parameters` are those of the workload as it was measured in rounds, `whole_parameters` as it was run whole, to tell
    a case that has changed since; None if there are none.

    `causes` counts why blocks were discarded; `peak` is the highest product rate seen on the profile, FLOP/s; `error`
    the largest of any array of a checked step against float64, over the array's largest value.
    """

    profile: dict[str, Any]
    parameters: dict[str, float] | None = None
    whole_parameters: dict[str, float] | None = None
    flops: float | None = None
    times: dict[int, RoundTime] = field(default_factory=dict)
    whole_seconds: float | None = None
    failures: dict[str, str] = field(default_factory=dict)
    blocks: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    discarded: int = 0
    unsettled: int = 0
    peak: float | None = None
    error: float | None = None

    @property
    def medians(self) -> list[float]:
        return [time.median for time in self.times.values()]


def collect_rounds(records: Iterable[dict[str, Any]]) -> dict[CellKey, CellRounds]:
    """Sort records into cells. Of a cell measured in several ways (a size added, other threads), the latest counts."""
    cells: dict[CellKey, CellRounds] = {}
    latest = _latest_measurement(records)
    quiet, peaks = _quiet_probes(latest), _peaks(latest)
    for record in latest:
        round_id = record["id"]
        for case in record["cases"]:
            where = (round_id["machine"], round_id["paper"], round_id["experiment"])
            key = CellKey(*where, case["case"], case["workload"], round_id["profile"])
            fresh = CellRounds(record["profile"], peak=peaks.get(_row(record)))
            cell = cells.setdefault(key, fresh)
            _add(cell, record, case, quiet.get(_row(record), math.inf))
    return cells


def _latest_measurement(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, ...], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        round_id = record["id"]
        where = (
            round_id["machine"],
            round_id["paper"],
            round_id["experiment"],
            round_id["profile"],
            str(round_id["whole"]),
        )
        # Another version of the library is another measurement: its rounds are not drawn from the same distribution.
        version = record["provenance"].get("backend", {}).get("package", "")
        groups[where][f"{record['digest']} {version}"].append(record)
    latest = []
    for by_digest in groups.values():
        # A process that never started cannot say its version: it is a missing round of the measurement it was for.
        for key in [key for key in by_digest if key.endswith(" ")]:
            named = [other for other in by_digest if other.startswith(key) and other != key]
            if named:
                by_digest[named[-1]] += by_digest.pop(key)
        latest += max(by_digest.values(), key=lambda group: max(record["started"] for record in group))
    return latest


Row = tuple[str, str, int, str]


def _row(record: dict[str, Any]) -> Row:
    """Whose probes and products may be compared: a machine's profile, with so many threads, of one library version."""
    package = record["provenance"].get("backend", {}).get("package", "")
    return record["id"]["machine"], record["id"]["profile"], record["threads"], package


def _quiet_probes(records: list[dict[str, Any]]) -> dict[Row, float]:
    """The probe of the undisturbed machine for each machine and profile, from all its rounds of all experiments."""
    probes: dict[Row, list[float]] = defaultdict(list)
    for record in records:
        for case in record["cases"]:
            probes[_row(record)] += [seconds for block in case["blocks"] for seconds in block["probe_seconds"]]
    return {row: quiet_probe(found) for row, found in probes.items() if found}


def _peaks(records: list[dict[str, Any]]) -> dict[Row, float]:
    """The highest rate of a bare product that any round of a machine and profile saw: the ceiling, FLOP/s."""
    peaks: dict[Row, float] = defaultdict(float)
    for record in records:
        rates = [peaks[_row(record)], (record["ceilings"] or {}).get("flops_per_second", 0.0)]
        for case in record["cases"]:
            if case["workload"] == "matmul":  # the ladder's squares may be larger than what each round can afford
                rates += [
                    case["flops"] * block["sample_steps"] / min(block["sample_seconds"]) for block in case["blocks"]
                ]
        peaks[_row(record)] = max(rates)
    return {row: peak for row, peak in peaks.items() if peak}


def _add(cell: CellRounds, record: dict[str, Any], case: dict[str, Any], quiet_probe_seconds: float) -> None:
    whole = record["id"]["whole"]
    cell.flops = case["flops"] or cell.flops
    errors = [error for error in case["errors"].values() if error is not None]
    cell.error = max([*errors, *([] if cell.error is None else [cell.error])], default=None)
    if whole:
        cell.whole_parameters = case["parameters"]
    else:
        cell.parameters = case["parameters"]
    if case["status"] != "measured":
        if not whole or case["status"] == "wrong":
            cell.failures[case["status"]] = case["reason"]
        return
    blocks = [Block(**block) for block in case["blocks"]]
    if whole:
        cell.whole_seconds = sum(block.seconds for block in blocks)
        return
    # The thresholds of today, not of the day of the record: a better judgement needs no new measurement.
    protocol, clean = SMOKE if record["id"]["smoke"] else REAL, []
    for block in blocks:
        causes = contamination(block, record["threads"], quiet_probe_seconds, protocol)
        cell.causes.update(causes)
        if not causes:
            clean.append(block)
    cell.blocks += len(blocks)
    cell.discarded += len(blocks) - len(clean)
    cell.unsettled += not case["warmup"]["settled"]
    if clean:
        started = datetime.fromisoformat(record["started"])
        cell.times[record["id"]["index"]] = _round_time(clean, case.get("parts") or {}, started)


def _round_time(blocks: list[Block], weights: dict[str, float], started: datetime) -> RoundTime:
    steps = sum(block.steps for block in blocks)
    if not weights:
        seconds = sum(block.seconds for block in blocks)
        samples = [time / block.sample_steps for block in blocks for time in block.sample_seconds]
        return RoundTime(statistics.median(samples), seconds / steps, started)
    parts = {
        name: weight * sum(math.fsum(block.part_seconds[index]) for block in blocks) / steps
        for index, (name, weight) in enumerate(weights.items())
    }
    samples = [
        sum(weight * seconds for weight, seconds in zip(weights.values(), sample, strict=True)) / block.sample_steps
        for block in blocks
        for sample in zip(*block.part_seconds, strict=True)
    ]
    return RoundTime(statistics.median(samples), math.fsum(parts.values()), started, parts)
