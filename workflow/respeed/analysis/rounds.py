"""Rounds: a frame with a row for each round and case of it, made from records, judged block by block.

The thresholds of blocks are those of today, not of the day of the record: a better judgement needs no new measurement.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from respeed.analysis.columns import TABLES, apply_dtypes
from respeed.analysis.sessions import latest_measurement, library_of, number_sessions
from respeed.machine.energy import FEWEST_UPDATES
from respeed.protocol import REAL, SMOKE, Block, contamination, quiet_probe

# What tells cells apart in the frame of rounds.
CELL = ["machine", "paper", "experiment", "case", "algorithm", "profile"]
# Columns of the frame that rounds.csv has not: the workload's parameters, the mean seconds of each part of a step that
# is timed in parts, as often as it counts in a step, how many blocks were discarded by each cause, and the profile.
INSIDE = ["parameters", "parts", "cause_counts", "profile_facts"]

Numbered = Iterable[tuple[int, dict[str, Any]]]
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


def read_rounds(records: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """The rounds of each machine in the order of their time; columns as `columns.toml` has them, and INSIDE.

    Of a cell measured in several ways (a size added, other threads), the latest counts. `seconds` and `seconds_median`
    are NaN where no block is clean, and of whole runs.
    """
    machines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in latest_measurement(records):
        machines[record["id"]["machine"]].append(record)
    rows = [row for mine in machines.values() for row in _rows(number_sessions(mine))]
    frame = pd.DataFrame(rows, columns=[*TABLES["rounds"].columns, *INSIDE], dtype=object)
    return apply_dtypes(frame, "rounds").join(frame[INSIDE])


def first_rounds(rounds: pd.DataFrame, number: int) -> pd.DataFrame:
    """Of each cell its first so many rounds, and its whole run: what a look at them saw."""
    return rounds[rounds["whole"] | (rounds.groupby([*CELL, "whole"]).cumcount() < number)]


def seconds_by_session(rounds: pd.DataFrame) -> dict[CellKey, dict[int, np.ndarray]]:
    """Of each cell the median seconds a step of its rounds, by session: for speeds."""
    timed = rounds[rounds["seconds"].notna()]
    found: dict[CellKey, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    columns = (timed[name].to_numpy(dtype=object) for name in [*CELL, "session", "seconds_median"])
    for *cell, session, seconds in zip(*columns, strict=True):
        found[CellKey(*cell)][session].append(seconds)
    return {cell: {session: np.array(mine) for session, mine in by.items()} for cell, by in found.items()}


def seconds_by_round(rounds: pd.DataFrame, of: str = "seconds") -> dict[CellKey, dict[int, float]]:
    """Of each cell the mean seconds a step of its rounds, or their median, by number of the round: for totals."""
    timed = rounds[rounds["seconds"].notna()]
    found: dict[CellKey, dict[int, float]] = defaultdict(dict)
    columns = (timed[name].to_numpy(dtype=object) for name in [*CELL, "round", of])
    for *cell, number, seconds in zip(*columns, strict=True):
        found[CellKey(*cell)][number] = seconds
    return found


def probes_by_row(numbered: Numbered) -> dict[ProbedRow, list[float]]:
    """Seconds of all reference probes of each profile and session, from all of its cases and experiments."""
    probes: dict[ProbedRow, list[float]] = defaultdict(list)
    for session, record in numbered:
        for case in record["cases"]:
            probes[_probed(session, record)] += [one for block in case["blocks"] for one in block["probe_seconds"]]
    return probes


def _probed(session: int, record: Mapping[str, Any]) -> ProbedRow:
    return session, record["id"]["profile"], record["threads"], library_of(record)


def _rows(numbered: Sequence[tuple[int, dict[str, Any]]]) -> Iterable[dict[str, Any]]:
    """Those of one machine."""
    quiet = {row: quiet_probe(found) for row, found in probes_by_row(numbered).items() if found}
    # The highest rates that any round of a profile and session saw: of a bare product, and of a copy.
    peaks: dict[ProbedRow, float] = defaultdict(float)
    copies: dict[ProbedRow, float] = defaultdict(float)
    for session, record in numbered:
        row, measured = _probed(session, record), record["ceilings"] or {}
        copies[row] = max(copies[row], measured.get("bytes_per_second", 0.0))
        # The squares of the matmul ladder may be larger than what each round can afford.
        squares = [case for case in record["cases"] if case["workload"] == "matmul"]
        rates = [
            case["flops"] * one["sample_steps"] / min(one["sample_seconds"])
            for case in squares
            for one in case["blocks"]
        ]
        peaks[row] = max([peaks[row], measured.get("flops_per_second", 0.0), *rates])
    for session, record in numbered:
        row = _probed(session, record)
        ceilings = {
            "session": session,
            "peak_gflops": peaks[row] / 1e9 or math.nan,
            "bandwidth_gbytes": copies[row] / 1e9 or math.nan,
        }
        for case in record["cases"]:
            yield _round(record, case, quiet.get(row, math.inf)) | ceilings


def _round(record: dict[str, Any], case: dict[str, Any], quiet_probe_seconds: float) -> dict[str, Any]:
    """One case of a round. `quiet_probe_seconds` is the reference probe of the undisturbed machine."""
    where, blocks = record["id"], [Block(**block) for block in case["blocks"]]
    is_timed = case["status"] == "measured" and not where["whole"]
    protocol, clean, causes = SMOKE if where["smoke"] else REAL, list[Block](), Counter[str]()
    for block in blocks if is_timed else ():
        found = contamination(block, record["threads"], quiet_probe_seconds, protocol)
        causes.update(found)
        if not found:
            clean.append(block)
    weights = case.get("parts") or {}
    errors = [error for error in case["errors"].values() if error is not None]
    is_whole_run = where["whole"] and case["status"] == "measured"
    return {
        **{name: where[name] for name in ("machine", "paper", "experiment", "profile", "whole")},
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
        "whole_seconds": sum(block.seconds for block in blocks) if is_whole_run else math.nan,
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
        **(step_energy(clean, weights, record["provenance"].get("energy"), case.get("energy_run")) if clean else {}),
    }


def count_causes(causes: Mapping[str, int]) -> str:
    """Why blocks were discarded, the most frequent first: page faults in 3, the machine slept in 1."""
    return ", ".join(f"{cause} in {count}" for cause, count in Counter(causes).most_common())


def step_seconds(clean: Sequence[Block], weights: Mapping[str, float]) -> dict[str, Any]:
    """Seconds a step in one round over its clean blocks: the mean for totals, the median for speeds. `weights` say how
    often each part of a step that is timed in parts counts in it; `parts` has the mean seconds of each."""
    if not clean:
        return {"parts": {}}
    steps = sum(block.steps for block in clean)
    if not weights:
        samples = [time / block.sample_steps for block in clean for time in block.sample_seconds]
        mean = sum(block.seconds for block in clean) / steps
        return {"seconds": mean, "seconds_median": statistics.median(samples), "parts": {}}
    parts = {
        name: weight * sum(math.fsum(block.part_seconds[index]) for block in clean) / steps
        for index, (name, weight) in enumerate(weights.items())
    }
    times = [np.array(list(weights.values())) @ np.array(block.part_seconds) / block.sample_steps for block in clean]
    return {
        "seconds": math.fsum(parts.values()),
        "seconds_median": float(np.median(np.concatenate(times))),
        "parts": parts,
    }


def step_energy(
    clean: Sequence[Block],
    weights: Mapping[str, float],
    told: Mapping[str, Any] | None,
    run: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Joules a step, of all domains together, and the watts that they are over the time of the steps; or why the clean
    blocks of a round say nothing.

    `told` is what the record says of its counters, `weights` how often each part of a step counts in one. Where blocks
    are too short for the counters, the `run` after them speaks, if the case had one.
    """
    if told is None:
        return {"energy_reason": "the records were made before energy was read"}
    if told["reason"]:
        return {"energy_reason": str(told["reason"])}
    if any(weight != 1 for weight in weights.values()):
        why = "some parts of a step count more often than others, and the energy of each part is not known"
        return {"energy_reason": why}
    slowest = max(told["update_seconds"], key=lambda domain: told["update_seconds"][domain])
    least = FEWEST_UPDATES * told["update_seconds"][slowest]
    blocks = [block for block in clean if block.seconds >= least]
    if not blocks and run and run["seconds"] >= least:
        return _energy(run["joules"], run["steps"], run["seconds"])
    if not blocks:
        return {"energy_reason": f"blocks are shorter than {FEWEST_UPDATES} updates of the counter of {slowest}"}
    counted = [block for block in blocks if block.joules]
    if not counted:
        why = "in no block do the counters tell: set back, gone round unseen, or of one device of several"
        return {"energy_reason": why}
    joules = {name: math.fsum(block.joules[name] for block in counted) for name in counted[0].joules}
    return _energy(joules, sum(block.steps for block in counted), math.fsum(block.seconds for block in counted))


def _energy(by_domain: Mapping[str, float], steps: int, seconds: float) -> dict[str, Any]:
    joules = math.fsum(by_domain.values())
    if not joules:
        return {"energy_reason": "the counters stood still"}
    return {"joules": joules / steps, "watts": joules / seconds, "energy_of": " + ".join(by_domain)}
