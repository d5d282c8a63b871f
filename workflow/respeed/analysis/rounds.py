"""Make the frame of rounds from records: a row for each round of each case that a table shows.

A result belongs to every table that asks for its workload and parameters. Blocks are judged one by one, by today's
thresholds and not by the thresholds at the time of the record: a better judgement needs no new measurement.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from respeed.analysis.columns import TABLES, apply_dtypes
from respeed.model import Paper
from respeed.protocol import REAL, REASONS, SMOKE, Block, contamination, quiet_probe, reasons_of, steady_reasons
from respeed.records import Record, Result, case_key
from respeed.sessions import number_sessions, probed_as, probes_of
from respeed.text import join_words

# The columns that identify a cell in the frame of rounds.
CELL = ["machine", "paper", "experiment", "case", "algorithm", "profile"]
# Columns of the frame that are not in rounds.csv: how many blocks were discarded for each cause, the profile as it ran,
# and what made steps slow without a discarded block.
INSIDE = ["cause_counts", "profile_facts", "slowed"]

# The workload of all controls.
CONTROL = "repeated_product"
# Workloads whose steps are dense matrix products and nothing else.
BARE_PRODUCTS = ("matmul", CONTROL, "cd1_products")
# The columns of the rates that every process measures at its start.
CEILINGS = {"flops_per_second": "peak_gflops", "bytes_per_second": "bandwidth_gbytes"}
# A device whose clock is below this share of its highest clock is slow for that reason.
LOW_CLOCK = 0.8

# Session, profile, threads and library: probes and matrix products are compared only if all four are the same.
ProbedRow = tuple[int, str, int, str]
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


def _probed(session: int, record: Record) -> ProbedRow:
    return session, record.profile, record.start.threads, record.library


def _ceilings_by_row(records: Iterable[Record]) -> dict[tuple[str, int, str], dict[str, float]]:
    """Return the highest rates that matrix products and copies have reached, by profile, threads and library.

    A ceiling is a bound, and so the highest rate of any sample in any session: of the product and the copy that every
    process times at its start, and of the cases that are bare products.
    """
    rates: dict[tuple[str, int, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        of_row = rates[record.profile, record.start.threads, record.library]
        for name, rate in record.start.ceilings.items():
            of_row[CEILINGS[name]].append(rate)
        for result in record.results:
            if result.workload in BARE_PRODUCTS and result.flops and result.blocks:
                fastest = min(min(block.sample_seconds) / block.sample_steps for block in result.blocks)
                of_row["peak_gflops"].append(result.flops / fastest)
    return {row: {name: max(seen) / 1e9 for name, seen in of_row.items()} for row, of_row in rates.items()}


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
    records = [record for _, record in numbered]
    ceilings, latest = _ceilings_by_row(records), _latest(records)
    for session, record in numbered:
        row = _probed(session, record)
        for file, result in record.places().items():
            places = homes.get(result.key, ())
            if not places or not _is_of(latest[record.profile, result.key], record, result):
                continue
            of = row, probed_as(result.key, is_cpu=record.start.profile.is_cpu)
            made = judge_round(record, result, quiet.get(of, math.inf), steady.get((row, result.key), 0))
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


def judge_round(record: Record, result: Result, quiet_probe_seconds: float, steady: int = 0) -> dict[str, Any]:
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
