"""results/tables/cells.csv: every case of every paper on every profile of every machine, measured or not."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from respeed.analysis.columns import Fields, apply_dtypes, make_frame, rows_of
from respeed.analysis.estimates import (
    DEVICE_SPREAD,
    FULL_PRECISION,
    SESSION_SPREAD,
    Doubt,
    Estimate,
    estimate_cell,
    estimate_values,
    what_is_missing,
)
from respeed.analysis.expected import FREE_OF_PEAK, MAX_PEAK_SHARE, Count, add_expected
from respeed.analysis.rounds import CELL, CellKey, count_causes, every_case, key_of, settings_of
from respeed.inputs.consent import why_denied
from respeed.inputs.machines import Price, Profile, Profiles, other_library
from respeed.inputs.registry import backends_of, why_not_run
from respeed.model import ARCHITECTURES, Case, Experiment, Paper, Papers, PublishedRow, Unit, number_bytes
from respeed.records import Description, Row
from respeed.text import format_share, is_known

# A quiet probe that is known less well settles no number of its row.
MOST_QUIET_ERROR = 0.05
# The status of a cell that can be measured and is not measured yet, and the reason why it has no time.
DUE, NOT_YET = "due", "not measured yet"


def judge_cells(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return a row for every cell that has rounds: its status and its numbers.

    The columns are `CELL`, and

    status, reason        settled, wide, contaminated, failed or not-run; what is missing, or why there is no time
    step, step_low, step_high, step_measured
                          seconds of a step at the quiet probe, and as measured; NaN if no time may be shown
    slowness, doubt       the factor by which neighbours slowed the reference probe, over rounds; and the error of the
                          step that more rounds do not make smaller, as a standard deviation of its logarithm
    peak_share            the cell's rate divided by the highest rate of a plain matrix product on the profile
    rounds, sessions      the number of rounds with a clean block, and the number of sessions with such rounds
    flops, traffic_bytes, threads, precision, is_cpu
                          from the last round that has the value
    blocks, discarded, error
                          over all rounds: the numbers of timed and discarded blocks, and the largest error
    peak_gflops, bandwidth_gbytes
                          the ceilings of the profile
    causes, slowed        why blocks were discarded, and the low clock of the last round that had one; or empty
    """
    cells: dict[CellKey, list[Any]] = defaultdict(list)
    for row in rows_of(rounds):
        cells[key_of(row)].append(row)
    judged = [dict(zip(CELL, key, strict=True)) | _judge_cell(mine) for key, mine in cells.items()]
    frame = pd.DataFrame(judged, columns=[*CELL, *COUNTS_AND_WORDS, *NUMBERS])
    return frame.astype(dict.fromkeys(NUMBERS, float))


# The columns of `judge_cells` besides the key; a number may be missing.
COUNTS_AND_WORDS = [
    "status", "reason", "rounds", "sessions", "threads", "threads_ran", "precision", "is_cpu", "blocks", "discarded",
    "causes", "slowed", "energy_of", "energy_reason",
]  # fmt: skip
NUMBERS = [
    "step", "step_low", "step_high", "step_measured", "slowness", "doubt", "peak_share", "flops", "traffic_bytes",
    "error", "peak_gflops", "bandwidth_gbytes", "joules", "joules_low", "joules_high", "watts",
]  # fmt: skip


def _judge_cell(rounds: Sequence[Any]) -> Fields:
    """Return the columns of a cell, but for its key, from its rounds."""
    timed = [row for row in rounds if row.step_seconds]
    causes = count_causes(sum((row.cause_counts for row in rounds), Counter[str]()))
    blocks = sum(row.blocks for row in rounds)
    flops, peak_gflops = _last(rounds, "flops"), _last(timed, "peak_gflops")
    cell = {
        "rounds": len(timed),
        "sessions": len({row.session for row in timed}),
        "threads": rounds[-1].threads,
        "threads_ran": max((row.threads_ran or 0 for row in rounds), default=0) or None,
        "precision": rounds[-1].precision,
        "is_cpu": rounds[-1].is_cpu,
        "flops": flops,
        "traffic_bytes": _last(rounds, "traffic_bytes"),
        "peak_gflops": peak_gflops,
        "bandwidth_gbytes": _last(timed, "bandwidth_gbytes"),
        "blocks": blocks,
        "discarded": sum(row.discarded for row in rounds),
        "error": max((row.error for row in rounds if row.error is not None), default=math.nan),
        "causes": causes,
        "slowed": _last(rounds, "slowed", None),
        **_judge_energy(rounds),
    }
    # One wrong result is enough: a program that is right most of the time is not right. A round that could not run, say
    # for lack of memory at that moment, is only a missing round.
    failures = {row.status: row.reason for row in rounds if row.status != "measured"}
    if "wrong" in failures:
        return cell | {"status": "failed", "reason": failures["wrong"]}
    if timed:
        return cell | _judge_times(rounds, timed, flops / 1e9 / peak_gflops, failures.values())
    for status in ("failed", "not-run"):
        if status in failures:
            return cell | {"status": status, "reason": failures[status]}
    return cell | {"status": "contaminated", "reason": f"no clean block of {blocks}: {causes}"}


def _last(rounds: Sequence[Any], name: str, missing: Any = math.nan) -> Any:
    """Return the value of the last round that has one."""
    return next((value for row in reversed(rounds) if (value := getattr(row, name))), missing)


def _judge_times(rounds: Sequence[Any], timed: Sequence[Any], peak_seconds: float, failures: Collection[str]) -> Fields:
    """Return the status of a cell that has `timed` rounds, the reason, and its times if they can be true.

    `peak_seconds` is the time that a step would take at the highest rate of a plain matrix product.
    """
    step, doubt = estimate_rounds(timed), doubt_of(timed)
    share = step.over(peak_seconds)
    if share.is_above(MAX_PEAK_SHARE) and timed[0].algorithm not in FREE_OF_PEAK:
        text = f"{share.value:.0%} of the highest rate that any matrix product reached here"
        return {"status": "failed", "reason": f"{text}: the time or the FLOP count is wrong"}
    times = {
        **step.columns("step"),
        "step_measured": statistics.geometric_mean(row.step_seconds_measured for row in timed),
        "slowness": statistics.geometric_mean(row.slowness for row in timed),
        "doubt": doubt.error,
        "peak_share": share.value,
    }
    unsettled = sum(row.status == "measured" and not row.settled for row in rounds)
    if 2 * unsettled > len(timed):
        why = f"the step had not settled after warm-up in {unsettled} of {len(timed)} rounds"
    elif doubt.quiet > MOST_QUIET_ERROR:
        why = f"this row was hardly ever quiet: its quiet probe is known to ±{format_share(doubt.quiet)}"
    else:
        why = what_is_missing(step, len(timed), failures, len({row.session for row in timed}), doubt.error)
    return {**times, "status": "wide" if why else "settled", "reason": why}


def estimate_rounds(timed: Sequence[Any]) -> Estimate:
    """Estimate the seconds of a step from the rounds of a cell that have a time."""
    sessions: dict[int, list[float]] = defaultdict(list)
    for row in timed:
        sessions[row.session].append(row.step_seconds)
    return estimate_cell(sessions, doubt=doubt_of(timed))


def doubt_of(timed: Sequence[Any]) -> Doubt:
    """Return the errors of a cell that its `timed` rounds do not show.

    What a slope is off is the same in all rounds; each session has a quiet probe of its own.
    """
    sessions = Counter(row.session for row in timed)
    quiet = {row.session: row.quiet_error * sessions[row.session] for row in timed}
    slope = abs(statistics.fmean(row.slope_error for row in timed))
    between = SESSION_SPREAD if timed[0].is_cpu else DEVICE_SPREAD
    return Doubt(slope, math.hypot(*quiet.values()) / len(timed), (timed[0].machine, timed[0].profile), between)


def _judge_energy(rounds: Sequence[Any]) -> Fields:
    """Return a cell's joules per step and watts, or `energy_reason`, why no round has joules.

    Only rounds that metered the same domains as the cell's last round with joules count.
    """
    metered = [row for row in rounds if row.joules is not None]
    if not metered:
        return {"energy_reason": _last(rounds, "energy_reason", "")}
    domains = metered[-1].energy_of
    alike = [row for row in metered if row.energy_of == domains]
    joules = estimate_values([row.joules for row in alike])
    return {
        **joules.columns("joules"),
        "watts": statistics.median(row.watts for row in alike),
        "energy_of": domains,
        "energy_reason": "",
    }


def make_cells(
    rounds: pd.DataFrame,
    papers: Papers,
    profiles: Profiles,
    descriptions: Mapping[str, Description],
    prices: Mapping[str, Price] | None = None,
    count: Count | None = None,
) -> pd.DataFrame:
    """Make a cell for every machine, case and profile: from its `rounds`, or with the reason why it has none.

    The cost is the seconds times the price of an hour of the entire machine, divided by 3600. The expected time of a
    case that is not measured yet follows from its work, which `count` counts.
    """
    asked = pd.DataFrame(_asked(rounds, papers, profiles, descriptions))
    if asked.empty:
        return make_frame([], "cells")
    judged = judge_cells(rounds).drop(columns=["precision", "is_cpu"])
    cells = asked.merge(judged, how="left", on=CELL)
    cells["status"] = cells["status"].fillna(cells["why"].map({NOT_YET: DUE})).fillna("not-run")
    cells["reason"] = cells["reason"].fillna(cells["why"])
    cells["gflops"] = cells["flops"] / cells["step"] / 1e9
    for end in ("", "_low", "_high", "_measured"):
        cells[f"seconds{end}"] = cells["steps"] * cells[f"step{end}"]
    for what in ("flops", "traffic_bytes", "joules", "joules_low", "joules_high"):
        cells[what] *= cells["steps"]
    known = prices or {}
    per_hour = cells["machine"].map({machine: price.per_hour for machine, price in known.items()}).astype(float)
    cells["cost"] = cells["seconds"] * per_hour / 3600
    cells["currency"] = cells["machine"].map({machine: price.currency for machine, price in known.items()})
    published = pd.DataFrame([_beside(papers[cell.paper], cell) for cell in rows_of(cells)])
    cells = add_expected(cells.join(published), cells["status"] == DUE, count)
    return apply_dtypes(cells, "cells")


def _asked(
    rounds: pd.DataFrame,
    papers: Papers,
    profiles: Profiles,
    descriptions: Mapping[str, Description],
) -> Iterator[Fields]:
    """Yield every case of the papers on every row of each machine; `why` is the reason if the case has no rounds."""
    latest = rounds.drop_duplicates(["machine", "profile"], keep="last")
    ran: dict[str, dict[str, Row]] = {machine: {} for machine in descriptions}
    for machine, profile, row in zip(latest["machine"], latest["profile"], latest["profile_facts"], strict=True):
        ran.setdefault(machine, {})[profile] = row
    for machine in sorted(ran):
        description = descriptions.get(machine)
        hardware = description.hardware.model_dump() if description else {}
        not_measurable = description.not_measurable if description else {}
        rows = _rows_of_machine(ran[machine], profiles, hardware)
        labels = tell_apart({row.name: row.label for row in rows})
        for paper, experiment, case in every_case(papers):
            algorithm = experiment.algorithms.get(case.workload)
            for row in rows:
                if not _has_row(experiment, case, row):
                    continue
                cannot = why_not_run(case.workload, row.backend, row.precision)
                label = labels[row.name]
                yield {
                    "machine": machine,
                    "paper": paper.name,
                    "experiment": experiment.name,
                    "case": case.name,
                    "algorithm": case.workload,
                    "profile": row.name,
                    "label": f"{label}, {algorithm.label}" if algorithm else label,
                    "package": row.package,
                    "architecture": row.architecture,
                    "device": row.device,
                    "is_cpu": row.is_cpu,
                    "precision": row.precision,
                    "work": describe_work(experiment, case),
                    "steps": experiment.steps(case),
                    "of": case,
                    "why": cannot or not_measurable.get(row.name) or why_denied(case) or NOT_YET,
                }


def _has_row(experiment: Experiment, case: Case, row: Row | Profile) -> bool:
    """Return whether a table shows a case on a row.

    The row's backend must run the case's algorithm or, if the table has no algorithms, any workload of the table.
    """
    workloads = {case.workload} if experiment.algorithms else {other.workload for other in experiment.cases}
    return (
        any(row.backend in backends_of(workload) for workload in workloads)
        and experiment.runs_on(case, row.architecture)
        and experiment.precision in {"", row.precision}
        and experiment.ladder == row.ladder
    )


def describe_work(experiment: Experiment, case: Case) -> str:
    """Describe in words the work that the seconds of a case are for."""
    examples = case.examples or experiment.examples
    if examples or experiment.repeats:
        return f"{examples:,} examples" if examples else f"{experiment.repeats:,} steps"
    batch = case.parameters.get("batch")
    return f"a step of {batch:,} {experiment.unit.examples}" if batch else "a step"


def _rows_of_machine(ran: Mapping[str, Row], profiles: Profiles, hardware: Mapping[str, Any]) -> list[Row | Profile]:
    """Return the rows of one machine as their profiles' files say, in order of architecture and name.

    If the file is gone, or its settings differ from the records, the row is as it `ran`.
    """
    rows: dict[str, Row | Profile] = dict(ran)
    for name, profile in profiles.items():
        row = ran.get(name)
        if row is None:
            is_shown = not profile.optional
        else:
            is_shown = settings_of(row) == settings_of(profile) and row.threads == profile.threads
        if is_shown and not other_library(profile, hardware):
            rows[name] = profile
    return sorted(rows.values(), key=lambda row: (ARCHITECTURES.index(row.architecture), row.name))


def rows_beside(paper: Paper, experiment: str, architecture: str, algorithm: str) -> tuple[PublishedRow, ...]:
    """Return the published rows that a row of ours is compared with.

    These rows name our row's `architecture` and, in a table of several algorithms, ran our row's `algorithm`.
    """
    ran_in = paper.experiments[experiment].ran_in
    return tuple(row for row in paper.rows.values() if architecture in row.beside and ran_in(algorithm, row.name))


def is_beside(paper: Paper, cell: Any, names: Collection[str]) -> bool:
    """Return whether a cell is compared with any of the published rows `names`."""
    beside = rows_beside(paper, cell.experiment, cell.architecture, cell.algorithm)
    return any(row.name in names for row in beside)


def published_beside(
    paper: Paper, experiment: str, case: str, architecture: str, algorithm: str, *work: float | None
) -> Fields:
    """Return `published_row`, the best of the published rows that a cell is compared with, and `published_seconds`.

    `work` is the cell's FLOP and bytes, at 4 bytes per array element: they turn a printed rate into seconds.
    """
    beside = rows_beside(paper, experiment, architecture, algorithm)
    row = paper.fastest(experiment, case, [one.name for one in beside])
    seconds = paper.seconds(experiment, case, row.name, *work) if row else None
    return {"published_row": row.name if row else "", "published_seconds": seconds or np.nan}


def _beside(paper: Paper, cell: Any) -> Fields:
    """Return what a cell is compared with, and the amount of its work in what the table's unit counts."""
    width = number_bytes(FULL_PRECISION) / number_bytes(cell.precision)
    moved = cell.traffic_bytes and cell.traffic_bytes * width
    amount = paper.experiments[cell.experiment].amount(cell.of, cell.flops, cell.traffic_bytes)
    key = cell.experiment, cell.case, cell.architecture, cell.algorithm
    return {"amount": amount, **published_beside(paper, *key, cell.flops, moved)}


# The name of the machine in the paper's own rows, in tables that have the paper's rows and ours.
PAPER = "paper"


def reference(paper: Paper) -> str:
    """Name a paper in a few words, such as "Raina, Madhavan and Ng (ICML 2009)"."""
    names = [name.strip("{}") if name.startswith("{") else name.split()[-1] for name in paper.authors]
    if len(names) > 3:
        names = [names[0], "others"]
    return f"{' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))} ({paper.venue} {paper.year})"


def label_row(paper: Paper, row: PublishedRow) -> str:
    """Name a published row; add its algorithm, device and precision if another row has the same label and package."""
    alike = [other for other in paper.rows.values() if (other.label, other.package) == (row.label, row.package)]
    if len(alike) == 1:
        return row.label
    return ", ".join(filter(None, [row.label, row.algorithm, row.device, row.precision]))


def tell_apart(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of profiles by name; a label that several profiles have is followed by the profile's name."""
    seen = Counter(labels.values())
    return {name: f"{label} ({name})" if seen[label] > 1 else label for name, label in labels.items()}


def across_precisions(row: str, base: Collection[str]) -> str:
    """Return the two precisions of a ratio, such as "fp32 over fp64"; empty if they are equal, or one is not known."""
    others = [one for one in base if one and row and one != row]
    return f"{row} over {' and '.join(others)}" if others else ""


def in_unit(cell: Any, unit: Unit) -> tuple[float | None, float | None, float | None]:
    """Return a cell's time and its interval in a table's unit. For a rate, the ends of the interval are swapped."""
    value, low, high = (
        unit.value(seconds, cell.amount) if is_known(seconds) and seconds else None
        for seconds in (cell.seconds, cell.seconds_low, cell.seconds_high)
    )
    return (value, high, low) if unit.counted else (value, low, high)


def words_of_unit(experiment: Experiment) -> str:
    """Describe a table's unit, such as "seconds for 1,000,000 examples", "milliseconds a step", "examples a second"."""
    name = experiment.unit.name
    if experiment.unit.counted:
        return name
    if any(case.examples for case in experiment.cases):
        return f"{name} for a whole run of each case"
    if experiment.repeats:
        return f"{name} for {experiment.repeats:,} steps"
    return f"{name} for {experiment.examples:,} examples" if experiment.examples else f"{name} a step"
