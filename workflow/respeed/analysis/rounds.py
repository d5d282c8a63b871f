"""Rounds: a frame with a row for each round and case of it, made from records, judged block by block.

The thresholds of blocks are those of today, not of the day of the record: a better judgement needs no new measurement.

The records of a machine are in the order of their time. When one was begun is told by two clocks: the date, and the
seconds since the machine was started, which nobody can set. Where a record has the second, it orders the records of one
start, so that a date that jumps changes nothing.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from respeed.analysis.columns import TABLES, apply_dtypes
from respeed.protocol import REAL, SMOKE, Block, Probes, contamination, probed_as, quiet_probe, steady_reasons

# What tells cells apart in the frame of rounds.
CELL = ["machine", "paper", "experiment", "case", "algorithm", "profile"]
# Columns of the frame that rounds.csv has not: the workload's parameters, how many blocks were discarded by each cause,
# and the profile.
INSIDE = ["parameters", "cause_counts", "profile_facts"]

# The workload that is one dense product: what it reaches is what the row's hardware and library can.
BARE_PRODUCT = "matmul"
# Seconds. A machine that nothing was measured on for so long may be another by then: other neighbours, clocks, heat.
PAUSE = 30 * 60.0

Record = dict[str, Any]
# A record with the number of its session.
Numbered = Iterable[tuple[int, Record]]
# A profile with so many threads, of one version of its library, in one session: its probes and products compare.
ProbedRow = tuple[int, str, int, str]


class CellKey(NamedTuple):
    """One cell: a case measured by a program on a profile of a machine."""

    machine: str
    paper: str
    experiment: str
    case: str
    workload: str
    profile: str


def key_of(cell: Any) -> CellKey:
    """Where the rounds of a row of the table of cells are found."""
    return CellKey(cell.machine, cell.paper, cell.measured_in, cell.case, cell.algorithm, cell.profile)


def read_rounds(records: Iterable[Record]) -> pd.DataFrame:
    """The rounds of each machine in the order of their time; columns as `columns.toml` has them, and INSIDE.

    Of a cell measured in several ways (a size added, other threads), the latest counts. `step_seconds` and
    `step_seconds_median` are NaN where no block is clean.
    """
    machines: dict[str, list[Record]] = defaultdict(list)
    for record in latest_measurement(records):
        machines[record["id"]["machine"]].append(record)
    rows = [row for mine in machines.values() for row in _rows(number_sessions(mine))]
    frame = pd.DataFrame(rows, columns=[*TABLES["rounds"].columns, *INSIDE], dtype=object)
    return apply_dtypes(frame, "rounds").join(frame[INSIDE])


def first_rounds(rounds: pd.DataFrame, number: int) -> pd.DataFrame:
    """Of each cell its first so many rounds: what a look at them saw."""
    return rounds[rounds.groupby(CELL).cumcount() < number]


def seconds_by_round(rounds: pd.DataFrame, of: str = "step_seconds") -> dict[CellKey, dict[int, float]]:
    """Of each cell the mean seconds a step of its rounds, or their median, by number of the round."""
    timed = rounds[rounds["step_seconds"].notna()]
    found: dict[CellKey, dict[int, float]] = defaultdict(dict)
    for *cell, number, seconds in zip(*(timed[name].tolist() for name in [*CELL, "round", of]), strict=True):
        found[CellKey(*cell)][number] = seconds
    return found


def probes_of(records: Iterable[Record]) -> Probes:
    """Collect the reference probes of records of one profile and session, of all cases and experiments."""
    probes: Probes = {}
    for record in records:
        for case in record["cases"]:
            found = probes.setdefault(compared_as(record, case), [])
            found += [one for block in case["blocks"] for one in block["probe_seconds"]]
    return probes


def compared_as(record: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    """With what the probes of a case are compared."""
    return probed_as(record["id"], case["case"], case["workload"], is_cpu=record["profile"]["device"] == "cpu")


def _probed(session: int, record: Mapping[str, Any]) -> ProbedRow:
    return session, record["id"]["profile"], record["threads"], library_of(record)


def _ceilings_by_row(numbered: Numbered) -> dict[tuple[Any, ...], dict[str, float]]:
    """Return the highest rate of a bare product and that of a copy, of each profile with its threads and library.

    Of a product it is the median over the rounds of a session of its best in a round, as the highest of all rises with
    their number; then the highest of all products and sessions.
    """
    rates: dict[ProbedRow, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for session, record in numbered:
        found = rates[_probed(session, record)]
        for name, rate in (record["ceilings"] or {}).items():
            found[name].append(rate)
        # The squares of the matmul ladder may be larger than what each round can afford.
        for case in record["cases"]:
            if case["workload"] == BARE_PRODUCT and case["blocks"]:
                seconds = min(min(block["sample_seconds"]) / block["sample_steps"] for block in case["blocks"])
                found[record["id"]["experiment"], case["case"]].append(case["flops"] / seconds)
    ceilings: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for (_, *row), found in rates.items():
        highest = ceilings[tuple(row)]
        for name, seen in found.items():
            ceiling = "bandwidth_gbytes" if name == "bytes_per_second" else "peak_gflops"
            highest[ceiling] = max(highest.get(ceiling, 0.0), statistics.median(seen) / 1e9)
    return ceilings


def _rows(numbered: Sequence[tuple[int, Record]]) -> Iterable[dict[str, Any]]:
    """Yield those of one machine; each with the ceilings of its profile."""
    rows: dict[ProbedRow, list[Record]] = defaultdict(list)
    for session, record in numbered:
        rows[_probed(session, record)].append(record)
    quiet = {
        (row, compared): quiet_probe(found)
        for row, mine in rows.items()
        for compared, found in probes_of(mine).items()
        if found
    }
    timed: dict[tuple[ProbedRow, str], list[list[Block]]] = defaultdict(list)
    for row, mine in rows.items():
        for record in mine:
            for case in record["cases"] if record["profile"]["device"] != "cpu" else ():
                timed[row, compared_as(record, case)].append([Block(**block) for block in case["blocks"]])
    steady = {of: steady_reasons(found) for of, found in timed.items()}
    ceilings = _ceilings_by_row(numbered)
    for session, record in numbered:
        row = _probed(session, record)
        for case in record["cases"]:
            of = row, compared_as(record, case)
            judged = quiet.get(of, math.inf), steady.get(of, 0)
            yield {"session": session} | ceilings[row[1:]] | _round(record, case, *judged)


def _round(record: Record, case: dict[str, Any], quiet_probe_seconds: float, steady: int) -> dict[str, Any]:
    """Return one case of a round. `quiet_probe_seconds` is the reference probe of the undisturbed machine, `steady`
    what a device told of the case throughout the session."""
    where, blocks = record["id"], [Block(**block) for block in case["blocks"]]
    is_timed = case["status"] == "measured"
    protocol, clean, causes = SMOKE if where["smoke"] else REAL, list[Block](), Counter[str]()
    for block in blocks if is_timed else ():
        found = contamination(block, record["threads"], quiet_probe_seconds, protocol, steady)
        causes.update(found)
        if not found:
            clean.append(block)
    weights = case.get("parts") or {}
    errors = [error for error in case["errors"].values() if error is not None]
    return {
        **{name: where[name] for name in ("machine", "paper", "experiment", "profile")},
        "round": where["index"],
        "case": case["case"],
        "algorithm": case["workload"],
        "precision": record["profile"]["precision"],
        "is_cpu": record["profile"]["device"] == "cpu",
        "started": record["started"],
        "commit": record["provenance"].get("commit", ""),
        "library": library_of(record),
        "threads": record["threads"],
        "status": case["status"],
        "reason": case["reason"],
        "blocks": len(blocks) if is_timed else 0,
        "discarded": len(blocks) - len(clean) if is_timed else 0,
        "causes": count_causes(causes),
        "settled": bool(case["warmup"] and case["warmup"]["settled"]),
        "error": max(errors, default=math.nan),
        "flops": case["flops"] or math.nan,
        "traffic_bytes": case["traffic_bytes"] or math.nan,
        "parameters": case["parameters"],
        "cause_counts": causes,
        "profile_facts": record["profile"],
        **step_seconds(clean, weights),
        **(step_energy(clean, weights, record["provenance"].get("energy", {}).get("reason")) if clean else {}),
    }


def count_causes(causes: Mapping[str, int]) -> str:
    """Why blocks were discarded, the most frequent first: page faults in 3, clocks throttled in 1."""
    return ", ".join(f"{cause} in {count}" for cause, count in Counter(causes).most_common())


def step_seconds(clean: Sequence[Block], weights: Mapping[str, float]) -> dict[str, float]:
    """Seconds a step in one round over its clean blocks: the mean for totals, the median for speeds. `weights` say how
    often each part of a step that is timed in parts counts in it."""
    if not clean:
        return {}
    steps = sum(block.steps for block in clean)
    if not weights:
        samples = [time / block.sample_steps for block in clean for time in block.sample_seconds]
        mean = sum(block.seconds for block in clean) / steps
        return {"step_seconds": mean, "step_seconds_median": statistics.median(samples)}
    parts = [
        weight * sum(math.fsum(block.part_seconds[index]) for block in clean) / steps
        for index, weight in enumerate(weights.values())
    ]
    times = [np.array(list(weights.values())) @ np.array(block.part_seconds) / block.sample_steps for block in clean]
    return {
        "step_seconds": math.fsum(parts),
        "step_seconds_median": statistics.median(np.concatenate(times).tolist()),
    }


def step_energy(clean: Sequence[Block], weights: Mapping[str, float], why_not: str | None) -> dict[str, Any]:
    """Return the joules of a step, of all domains together, and the watts that they are over the time of the steps; or
    why the `clean` blocks of a round say nothing.

    `weights` is how often each part of a step counts in one, `why_not` what the record says of absent counters.
    """
    if why_not:
        return {"energy_reason": why_not}
    if any(weight != 1 for weight in weights.values()):
        why = "some parts of a step count more often than others, and the energy of each part is not known"
        return {"energy_reason": why}
    counted = [block for block in clean if block.joules]
    if not counted:
        why = "in no block do the counters tell: set back, gone round unseen, or of one device of several"
        return {"energy_reason": why}
    joules = math.fsum(used for block in counted for used in block.joules.values())
    if not joules:
        return {"energy_reason": "the counters stood still"}
    return {
        "joules": joules / sum(block.steps for block in counted),
        "watts": joules / math.fsum(block.seconds for block in counted),
        "energy_of": " + ".join(counted[0].joules),
    }


def in_order(records: Iterable[Record]) -> list[Record]:
    """Sort the records by when they were begun."""
    return sorted(records, key=lambda record: (_begun(record), record["id"]["profile"]))


def number_sessions(records: Iterable[Record]) -> list[tuple[int, Record]]:
    """Return the records of one machine in the order of their time, each with the number of its session, from 0.

    A session ends where nothing is measured for longer than PAUSE.
    """
    numbered: list[tuple[int, Record]] = []
    session, until = -1, -math.inf
    for record in in_order(records):
        session += _begun(record) - until > PAUSE
        until = max(until, _begun(record) + record["wall_seconds"])
        numbered.append((session, record))
    return numbered


def _begun(record: Record) -> float:
    """Return when the record was begun, in seconds since 1970."""
    return datetime.fromisoformat(record["started"]).timestamp()


def latest_measurement(records: Iterable[Record]) -> list[Record]:
    """Of each table and profile of a machine the records that are of one measurement, the one that was gone on with
    last: of the same digest and the same version of the library."""
    groups: dict[tuple[Any, ...], dict[tuple[str, str], list[Record]]] = defaultdict(lambda: defaultdict(list))
    records = list(records)
    for record in records:
        where = tuple(record["id"][name] for name in ("machine", "paper", "experiment", "profile"))
        # Another version of the library is another measurement: its rounds are not drawn from the same distribution.
        groups[where][record["digest"], library_of(record)].append(record)
    places = {id(record): place for place, record in enumerate(in_order(records))}
    latest = []
    for measurements in groups.values():
        # A process that never started cannot say its version: it is a missing round of the measurement it was for.
        for digest, version in list(measurements):
            named = [other for other in measurements if other[0] == digest and other[1]]
            if named and not version:
                measurements[named[-1]] += measurements.pop((digest, version))
        latest += max(measurements.values(), key=lambda mine: max(places[id(record)] for record in mine))
    return latest


def library_of(record: Mapping[str, Any]) -> str:
    """The version of what multiplied, as the measuring process found it; empty where it never started."""
    return str(record["provenance"].get("backend", {}).get("package", ""))
