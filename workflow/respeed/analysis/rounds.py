"""Make the frame of rounds from records: a row for each round of each case that a table shows.

A result belongs to every table that asks for its workload and parameters. Blocks are judged one by one, by today's
thresholds and not by the thresholds at the time of the record: a better judgement needs no new measurement.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from respeed.analysis.columns import TABLES, apply_dtypes
from respeed.model import Paper
from respeed.protocol import REAL, REASONS, SMOKE, Block, contamination, quiet_probe, reasons_of, steady_reasons
from respeed.records import Record, Result, case_key, in_order
from respeed.text import join_words

# The columns that identify a cell in the frame of rounds.
CELL = ["machine", "paper", "experiment", "case", "algorithm", "profile"]
# Columns of the frame that are not in rounds.csv: how many blocks were discarded for each cause, the profile as it ran,
# and what made steps slow without a discarded block.
INSIDE = ["cause_counts", "profile_facts", "slowed"]

# The workload of one dense matrix product: its rate is the highest that the row's hardware and library reach.
BARE_PRODUCT = "matmul"
# Seconds. After such a pause, a machine may have other neighbours, clocks and temperatures.
PAUSE = 30 * 60.0
# A device whose clock is below this share of its highest clock is slow for that reason.
LOW_CLOCK = 0.8

# Session, profile, threads and library: probes and matrix products are compared only if all four are the same.
ProbedRow = tuple[int, str, int, str]
# Seconds of all reference probes of a row in a session, by the group in which they are compared (`probed_as`).
Probes = dict[str, list[float]]
# What tells several measurements of a case apart; only the latest measurement counts.
Measurement = tuple[Any, ...]


class CellKey(NamedTuple):
    """One cell: a case measured by a program on a profile of a machine."""

    machine: str
    paper: str
    experiment: str
    case: str
    workload: str
    profile: str


def key_of(cell: Any) -> CellKey:
    """Return the key of a row of the table of cells."""
    return CellKey(cell.machine, cell.paper, cell.experiment, cell.case, cell.algorithm, cell.profile)


def read_rounds(records: Iterable[Record], papers: Mapping[str, Paper]) -> pd.DataFrame:
    """Return the rounds of each machine in order of time, with the columns of `columns.toml` and `INSIDE`.

    If a case was measured in several ways (other threads, another version of its library), only the latest way
    counts. Rounds are numbered within each cell. `step_seconds` and `step_seconds_median` are NaN if no block is clean.
    """
    machines: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        machines[record.machine].append(record)
    homes: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for paper in papers.values():
        for experiment in paper.experiments.values():
            for case in experiment.cases:
                homes[case_key(case.workload, case.parameters)].append((paper.name, experiment.name, case.name))
    rows = [row for mine in machines.values() for row in _rows(number_sessions(mine), homes, papers)]
    frame = pd.DataFrame(rows, columns=[*TABLES["rounds"].columns, *INSIDE], dtype=object)
    frame["round"] = frame.groupby(CELL).cumcount() + 1
    return apply_dtypes(frame, "rounds").join(frame[INSIDE])


def seconds_by_process(rounds: pd.DataFrame) -> dict[CellKey, dict[str, float]]:
    """Return the mean seconds of a step in each round of each cell, by the start time of the round's process.

    Round numbers do not show which rounds of two cells are from the same process, as a process may lack one of the
    cells.
    """
    timed = rounds[rounds["step_seconds"].notna()]
    columns = (timed[name].tolist() for name in [*CELL, "started", "step_seconds"])
    found: dict[CellKey, dict[str, float]] = defaultdict(dict)
    for *cell, started, seconds in zip(*columns, strict=True):
        found[CellKey(*cell)][started] = seconds
    return found


def probes_of(records: Iterable[Record]) -> Probes:
    """Collect the times of the reference probes in records of one row and session."""
    probes: Probes = defaultdict(list)
    for record in records:
        for result in record.results:
            found = probes[probed_as(result.key, is_cpu=record.start.profile.is_cpu)]
            found += [one for block in result.blocks for one in block.probe_seconds]
    return dict(probes)


def probed_as(key: str, *, is_cpu: bool) -> str:
    """Return the group in which the probes of a case are compared.

    A CPU row has one group for all cases. A device row has a group for each case: the work just before a probe decides
    the device's clock, so that all probes after heavy work are slow.
    """
    return "" if is_cpu else key


def _probed(session: int, record: Record) -> ProbedRow:
    return session, record.profile, record.start.threads, record.library


def _ceilings_by_row(numbered: Iterable[tuple[int, Record]]) -> dict[tuple[Any, ...], dict[str, float]]:
    """Return the highest rates of a plain matrix product and of a copy, by profile, threads and library.

    First, for each matrix product (or copy) and session, the median over rounds of the best rate in a round is taken: a
    maximum would rise with the number of rounds. Then the highest median of all products and sessions is the rate.
    """
    rates: dict[ProbedRow, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for session, record in numbered:
        found = rates[_probed(session, record)]
        for name, rate in record.start.ceilings.items():
            found[name].append(rate)
        # Matrix products that are cases may be larger than the ones that every process times at its start.
        for result in record.results:
            if result.workload == BARE_PRODUCT and result.blocks and result.flops:
                seconds = min(min(block.sample_seconds) / block.sample_steps for block in result.blocks)
                found[result.key].append(result.flops / seconds)
    ceilings: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for (_, *row), found in rates.items():
        highest = ceilings[tuple(row)]
        for name, seen in found.items():
            ceiling = "bandwidth_gbytes" if name == "bytes_per_second" else "peak_gflops"
            highest[ceiling] = max(highest.get(ceiling, 0.0), statistics.median(seen) / 1e9)
    return ceilings


def _rows(
    numbered: Sequence[tuple[int, Record]],
    homes: Mapping[str, Sequence[tuple[str, str, str]]],
    papers: Mapping[str, Paper],
) -> Iterator[dict[str, Any]]:
    """Yield the rounds of one machine, each with the ceilings of its row."""
    rows: dict[ProbedRow, list[Record]] = defaultdict(list)
    for session, record in numbered:
        rows[_probed(session, record)].append(record)
    quiet = {
        (row, compared): quiet_probe(found)
        for row, mine in rows.items()
        for compared, found in probes_of(mine).items()
        if found
    }
    timed: dict[tuple[ProbedRow, str], list[tuple[Block, ...]]] = defaultdict(list)
    for row, mine in rows.items():
        for record in mine:
            for result in record.results if not record.start.profile.is_cpu else ():
                timed[row, result.key].append(result.blocks)
    steady = {of: steady_reasons(found) for of, found in timed.items()}
    ceilings, latest = _ceilings_by_row(numbered), _latest(record for _, record in numbered)
    for session, record in numbered:
        row = _probed(session, record)
        for file, result in record.places().items():
            places = homes.get(result.key, ())
            if not places or not _is_of(latest[record.profile, result.key], record, result):
                continue
            of = row, probed_as(result.key, is_cpu=record.start.profile.is_cpu)
            made = _round(record, result, quiet.get(of, math.inf), steady.get((row, result.key), 0))
            for paper, experiment, case in places:
                if papers[paper].experiments[experiment].ladder == record.start.profile.ladder:
                    place = {"paper": paper, "experiment": experiment, "case": case}
                    where = {"machine": record.machine, "session": session, "record": file}
                    yield where | place | ceilings[row[1:]] | made


def _measurement(record: Record, result: Result) -> Measurement:
    """Return what tells measurements of a case apart: threads, the row's settings, and an outside program's source."""
    row = record.start.profile
    program = result.source if "program" in result.parameters else ""
    return record.start.threads, row.backend, row.device, row.precision, row.cpus or None, program


def _latest(records: Iterable[Record]) -> dict[tuple[str, str], tuple[Measurement, str, str]]:
    """Return the latest measurement of each case on a row, with its library's version and its workload's source."""
    latest: dict[tuple[str, str], tuple[Measurement, str, str]] = {}
    for record in records:
        for result in record.results:
            place = record.profile, result.key
            library = record.library or latest.get(place, ("", "", ""))[1]
            latest[place] = _measurement(record, result), library, result.source
    return latest


def _is_of(latest: tuple[Measurement, str, str], record: Record, result: Result) -> bool:
    """Return whether a result belongs to the latest measurement.

    With another version of the library, rounds have another distribution and belong to another measurement. A process
    that ended before its first case has no version, and counts as a missing round. A result that is not measured, such
    as a failed or wrong result, counts only if its workload's source is the same as in the last result.
    """
    measurement, library, source = latest
    is_same = _measurement(record, result) == measurement and record.library in ("", library)
    return is_same and (result.status == "measured" or result.source == source)


def _round(record: Record, result: Result, quiet_probe_seconds: float, steady: int) -> dict[str, Any]:
    """Return the columns of a round that follow from one result, after judging its blocks.

    `quiet_probe_seconds` is the time of the reference probe on the undisturbed machine, `steady` the bits of the
    reasons that a device reports throughout the session.
    """
    start, blocks = record.start, result.blocks
    is_timed = result.status == "measured"
    protocol, clean, causes = SMOKE if start.smoke else REAL, list[Block](), Counter[str]()
    for block in blocks if is_timed else ():
        found = contamination(block, start.threads, quiet_probe_seconds, protocol, steady)
        causes.update(found)
        if not found:
            clean.append(block)
    errors = [error for error in result.errors.values() if error is not None]
    return {
        "profile": record.profile,
        "algorithm": result.workload,
        "precision": start.profile.precision,
        "is_cpu": start.profile.is_cpu,
        "started": start.started,
        "commit": start.commit,
        "wall_seconds": result.wall_seconds,
        "library": record.library,
        "threads": start.threads,
        "status": result.status,
        "reason": result.reason,
        "blocks": len(blocks) if is_timed else 0,
        "discarded": len(blocks) - len(clean) if is_timed else 0,
        "causes": count_causes(causes),
        "settled": bool(result.warmup and result.warmup.settled),
        "error": max(errors, default=math.nan),
        "flops": result.flops or math.nan,
        "traffic_bytes": result.traffic_bytes or math.nan,
        "cause_counts": causes,
        "profile_facts": start.profile.model_dump(),
        "slowed": low_clock(clean),
        **step_seconds(clean, result.parts),
        **(step_energy(clean, result.parts, start.energy.get("reason")) if clean else {}),
    }


def low_clock(blocks: Iterable[Block]) -> str:
    """Return at which share of its highest clock a device ran, and why; empty if that is at least `LOW_CLOCK`."""
    readings = [one for block in blocks for one in block.device[-1:] if {"sm_mhz", "highest_sm_mhz"} <= {*one}]
    share = statistics.median([one["sm_mhz"] / one["highest_sm_mhz"] for one in readings]) if readings else 1.0
    whys = [name for bits, name in REASONS.items() if any(reasons_of(one) & bits for one in readings)]
    return f"clock: {share:.0%} of its highest{f', {join_words(whys)}' * bool(whys)}" if share < LOW_CLOCK else ""


def count_causes(causes: Mapping[str, int]) -> str:
    """List why blocks were discarded, most frequent cause first, such as "page faults in 3, clocks throttled in 1"."""
    return ", ".join(f"{cause} in {count}" for cause, count in Counter(causes).most_common())


def step_seconds(clean: Sequence[Block], weights: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of a step in one round, over its clean blocks: the mean for totals, the median for speeds.

    If a step is timed in parts, `weights` are how often each part counts in a step.
    """
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
    """Return the joules of a step, over all domains, and the watts; or why the `clean` blocks have no joules.

    `weights` are how often each part counts in a step; `why_not` is the record's reason why no counter could be read.
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


def split_sessions(records: Iterable[Record]) -> list[list[Record]]:
    """Split the records of one machine, in order of time, into sessions.

    A session ends when nothing is measured for longer than `PAUSE`.
    """
    sessions: list[list[Record]] = []
    until = -math.inf
    for record in in_order(records):
        if record.began - until > PAUSE:
            sessions.append([])
        sessions[-1].append(record)
        until = max(until, record.began + record.wall_seconds)
    return sessions


def number_sessions(records: Iterable[Record]) -> list[tuple[int, Record]]:
    """Return the records of one machine in order of time, each with the number of its session, from 0."""
    return [(number, record) for number, mine in enumerate(split_sessions(records)) for record in mine]


def current_session(records: Iterable[Record], now: str) -> tuple[list[Record], int]:
    """Return the records of the session that `now` (ISO 8601) belongs to, and the number of earlier sessions."""
    sessions = split_sessions(records)
    ended = max((one.began + one.wall_seconds for one in sessions[-1]), default=-math.inf) if sessions else -math.inf
    mine = sessions.pop() if datetime.fromisoformat(now).timestamp() - ended <= PAUSE else []
    return mine, len(sessions)
