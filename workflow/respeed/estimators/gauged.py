"""What the passes of a hardware sheet say: seconds of each case, one a pass, and how far they lie apart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from respeed.estimators.cell import Judged, judge_cell
from respeed.estimators.intervals import CONFIDENCE, estimate_location, estimate_ratio, smallest_sample
from respeed.estimators.rounds import CellKey, CellRounds, collect_rounds

INTERVAL, RANGE = "95 % interval", "range"


@dataclass(frozen=True)
class Gauged:
    """One case in one setting. `seconds` has the median step of the clean blocks of each pass that has such; where none
    has, `reason` says why, and `is_disturbed` whether another time may do better. `library` is what multiplied, and
    `accelerator` what it ran on, as its process found them; empty where none started."""

    profile: dict[str, Any]
    library: str
    threads: int
    case: str
    workload: str
    parameters: dict[str, Any]
    flops: float | None
    traffic_bytes: float | None
    seconds: dict[int, float]
    reason: str
    is_disturbed: bool = False
    accelerator: str = ""


@dataclass(frozen=True)
class Spread:
    """A number over passes, and how far these lie apart: `ends` says whether `low` and `high` are those of an interval
    or, of too few passes for one, the lowest and the highest. One pass alone has neither."""

    value: float
    low: float | None
    high: float | None
    ends: str


def collect_gauged(sheet: dict[str, Any]) -> list[Gauged]:
    """Every case of a sheet in every setting, measured or not; of blocks, the clean ones count, as in any record."""
    records = sheet["rounds"]
    backends = {one["id"]["profile"]: one["provenance"].get("backend", {}) for one in records}
    fewer = _with_fewer_threads(records)
    found = [
        _gauged(cell, key, backends[key.profile], key.profile in fewer) for key, cell in collect_rounds(records).items()
    ]
    absent = [
        Gauged(
            one["profile"], "", one["threads"], case["name"], case["workload"], case["parameters"], None, None, {},
            one["reason"],
        )
        for one in sheet["absent"]
        for case in one["cases"]
    ]  # fmt: skip
    return [*found, *absent]


def _gauged(cell: CellRounds, key: CellKey, backend: dict[str, Any], fewer: bool) -> Gauged:
    judged = judge_cell(cell)
    seconds = {index: time.median for index, time in sorted(cell.times.items())} if judged.step else {}
    return Gauged(
        cell.profile, str(backend.get("library", "")), cell.threads or 0, key.case, key.workload,
        cell.parameters or {}, cell.flops, cell.traffic_bytes, seconds, "" if seconds else judged.reason,
        _is_disturbed(judged, fewer), str(backend.get("accelerator", "")),
    )  # fmt: skip


def disturbed_profiles(records: Iterable[dict[str, Any]]) -> set[str]:
    """Those of which something has no clean block yet: another time may do better."""
    records = list(records)
    fewer = _with_fewer_threads(records)
    cells = collect_rounds(records).items()
    return {key.profile for key, cell in cells if _is_disturbed(judge_cell(cell), key.profile in fewer)}


def _with_fewer_threads(records: Iterable[dict[str, Any]]) -> set[str]:
    """The profiles of which a process had fewer cores to run on than threads: others ran there."""
    return {
        one["id"]["profile"]
        for one in records
        if 0 < ((one["provenance"].get("threads_proof") or {}).get("threads_ran") or 0) < one["threads"]
    }


def _is_disturbed(judged: Judged, fewer: bool) -> bool:
    return judged.status == "contaminated" or (judged.status == "not-run" and fewer)


def is_lost(sheet: dict[str, Any]) -> bool:
    """Whether nothing can be said of more threads because all that was measured of some number was disturbed."""
    steps = [one for one in collect_gauged(sheet) if one.workload == "rbm"]
    counts = {one.threads for one in steps}
    clean = {one.threads for one in steps if one.seconds}
    return not {min(counts, default=0), max(counts, default=0)} <= clean and any(one.is_disturbed for one in steps)


def spread_of(values: Sequence[float]) -> Spread:
    """The Hodges-Lehmann estimate with its interval; of too few values the median, the lowest and the highest."""
    if len(values) >= smallest_sample():
        found = estimate_location(values)
        return Spread(found.value, found.low, found.high, INTERVAL)
    return _range(estimate_location(values).value, values)


def spread_of_ratio(above: Sequence[float], below: Sequence[float]) -> Spread:
    """The same of above / below, over all pairs."""
    found = estimate_ratio([(above, below)], CONFIDENCE)
    if min(len(above), len(below)) >= smallest_sample():
        return Spread(found.value, found.low, found.high, INTERVAL)
    ends = [min(above) / max(below), max(above) / min(below)]
    return _range(found.value, ends if len(above) + len(below) > 2 else ends[:1])


def _range(value: float, values: Sequence[float]) -> Spread:
    if len(values) < 2:
        return Spread(value, None, None, "")
    return Spread(value, min(values), max(values), RANGE)
