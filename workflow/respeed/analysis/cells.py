"""results/tables/cells.csv: every case of every paper on every profile of every machine, measured or not."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import PurePath
from statistics import fmean, geometric_mean
from typing import Any, TypeVar

import pandas as pd

from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import (
    CELL_LEVEL,
    DEVICE_SPREAD,
    FULL_PRECISION,
    SESSION_SPREAD,
    Doubt,
    Estimate,
    Number,
    estimate_cell,
    half_of,
    largest,
    what_is_missing,
)
from respeed.analysis.expected import FREE_OF_PEAK, MAX_PEAK_SHARE, bound_seconds, explain
from respeed.analysis.rounds import JudgedRound, count_causes, every_case, settings_of
from respeed.analysis.tables import Cell, CellKey, Round, Status, group_by
from respeed.inputs.consent import why_denied
from respeed.inputs.machines import Profile, Profiles, other_library
from respeed.inputs.registry import backends_of, why_not_run
from respeed.model import ARCHITECTURES, Case, Experiment, Paper, Papers, PublishedRow, Unit, number_bytes
from respeed.paths import imported_folder
from respeed.records import Description, Row
from respeed.text import format_share, join_words

Value = TypeVar("Value")

# A quiet probe that is known less well settles no number of its row.
MOST_QUIET_ERROR = 0.05


def make_cells(
    rounds: pd.DataFrame,
    papers: Papers,
    profiles: Profiles,
    descriptions: Mapping[str, Description],
) -> list[Cell]:
    """Make a cell for every machine, case and profile: from its `rounds`, or with the reason why it has none."""
    ran = group_by(rows_of(rounds, JudgedRound), attrgetter("machine"))
    cells: list[Cell] = []
    for machine in sorted({*ran, *descriptions}):
        description = descriptions.get(machine)
        cells += _cells_of_machine(machine, ran[machine], papers, profiles, description)
    return cells


def judge_cells(rounds: pd.DataFrame, papers: Papers) -> dict[CellKey, Cell]:
    """Return the cells of the rows that have rounds, by their keys."""
    return {cell.key: cell for cell in make_cells(rounds, papers, {}, {})}


def _cells_of_machine(
    machine: str, rounds: Sequence[JudgedRound], papers: Papers, profiles: Profiles, description: Description | None
) -> Iterator[Cell]:
    """Yield the cell of every case of the papers on every row of a machine."""
    ran = group_by(rounds, attrgetter("key"))
    hardware = description.hardware.model_dump() if description else {}
    not_measurable = description.not_measurable if description else {}
    rows = _rows_of_machine(rounds, profiles, hardware)
    labels = tell_apart({row.name: row.label for row in rows})
    for paper, experiment, case in every_case(papers):
        names = machine, paper.name, experiment.name, case.name, case.workload
        algorithm = experiment.algorithms.get(case.workload)
        suffix = f", {algorithm.label}" if algorithm else ""
        denied = why_denied(case)
        for row in rows:
            if _has_row(experiment, case, row):
                key = CellKey(*names, row.name)
                unable = why_not_run(case.workload, row.backend, row.precision)
                cannot = unable or not_measurable.get(row.name) or denied
                yield _make_cell(key, paper, case, row, labels[row.name] + suffix, ran[key], cannot)


def _make_cell(
    key: CellKey,
    paper: Paper,
    case: Case,
    row: Row | Profile,
    label: str,
    ran: Sequence[JudgedRound],
    cannot: str | None,
) -> Cell:
    """Return the cell of a case on a row from its rounds; without rounds, `cannot` says why, if it is not due."""
    experiment = paper.experiments[key.experiment]
    steps = experiment.steps(case)
    step_flops = _last(judged.flops for judged in ran)
    step_bytes = _last(judged.traffic_bytes for judged in ran)
    flops = step_flops and steps * step_flops
    moved = step_bytes and steps * step_bytes
    width = number_bytes(FULL_PRECISION) / number_bytes(row.precision)
    moved_in_full = moved and width * moved
    published_row, published_seconds = published_beside(paper, key, row.architecture, flops, moved_in_full)
    cell = Cell(
        *key,
        architecture=row.architecture,
        package=row.package,
        precision=row.precision,
        label=label,
        is_cpu=row.is_cpu,
        device=row.device,
        work=describe_work(experiment, case),
        steps=steps,
        published_row=published_row,
        published_seconds=published_seconds,
        status="cannot-run" if cannot else "due",
        reason=cannot or "not measured yet",
        flops=flops,
        traffic_bytes=moved,
        amount=experiment.amount(case, flops, moved),
    )
    return _judge_cell(cell, ran) if ran else cell


def _judge_cell(cell: Cell, ran: Sequence[JudgedRound]) -> Cell:
    """Return the cell as its rounds judge it."""
    timed = [judged for judged in ran if judged.step_seconds]
    last = [*ran, *timed][-1]
    cell = replace(
        cell,
        rounds=len(timed),
        sessions=len(by_session(timed)),
        threads=last.threads,
        threads_ran=largest(judged.threads_ran for judged in ran),
        peak_gflops=last.peak_gflops,
        bandwidth_gbytes=last.bandwidth_gbytes,
    )
    cell = replace(cell, expected_seconds=bound_seconds(cell))
    time = estimate_rounds(timed).times(cell.steps) if timed else cell.time
    # A round that could not run, say for lack of memory at that moment, is only a missing round.
    failures: dict[str, str] = {judged.status: judged.reason for judged in ran if judged.status != "measured"}
    if untimed := _why_untimed(cell, time, ran, failures):
        status, reason = untimed
        return replace(cell, status=status, reason=reason)
    unsettled = _what_is_unsettled(cell, time, ran, doubt_of(timed), failures.values())
    cell = show_time(cell, time, unsettled)
    measured = geometric_mean(judged.step_seconds_measured or math.nan for judged in timed)
    slowness = geometric_mean(judged.slowness or math.nan for judged in timed)
    reason = explain(cell, _last(judged.slowed for judged in ran))
    return replace(cell, seconds_measured=cell.steps * measured, slowness=slowness, unexpected=reason)


def show_time(cell: Cell, time: Estimate, unsettled: str) -> Cell:
    """Return the cell with its time, and the status and rates that follow; `unsettled` is what it lacks."""
    status: Status = "wide" if unsettled else "settled"
    cell = replace(cell, seconds=time.value, seconds_low=time.low, seconds_high=time.high)
    gflops = cell.flops and cell.flops / time.value / 1e9
    share = gflops and cell.peak_gflops and gflops / cell.peak_gflops
    return replace(cell, status=status, reason=unsettled, gflops=gflops, peak_share=share)


def _last(values: Iterable[Value | None]) -> Value | None:
    """Return the last of the values that is not missing, 0 or empty."""
    return next(filter(None, reversed(list(values))), None)


def _why_untimed(
    cell: Cell, time: Estimate, ran: Sequence[JudgedRound], failures: Mapping[str, str]
) -> tuple[Status, str] | None:
    """Return the status of a cell that shows no time, and the reason for it; None if it shows one."""
    # One wrong result is enough: a program that is right most of the time is not right.
    if "wrong" in failures:
        return "failed", failures["wrong"]
    gflops = cell.peak_gflops or math.nan
    at_peak = (cell.flops or math.nan) / gflops / 1e9
    if time.is_below(at_peak / MAX_PEAK_SHARE) and cell.algorithm not in FREE_OF_PEAK:
        text = f"{at_peak / time.value:.0%} of the highest rate that any matrix product reached here"
        return "failed", f"{text}: the time or the FLOP count is wrong"
    if cell.rounds:
        return None
    if "failed" in failures:
        return "failed", failures["failed"]
    if "not-run" in failures:
        return "cannot-run", failures["not-run"]
    causes = sum((judged.cause_counts for judged in ran), Counter[str]())
    blocks = sum(judged.blocks for judged in ran)
    return "contaminated", f"no clean block of {blocks}: {count_causes(causes)}"


def _what_is_unsettled(
    cell: Cell, time: Estimate, ran: Sequence[JudgedRound], doubt: Doubt, failures: Iterable[str]
) -> str:
    """Return what a cell that has a time lacks to be settled; empty if it lacks nothing."""
    unsettled = sum(not judged.settled for judged in ran if judged.status == "measured")
    if 2 * unsettled > cell.rounds:
        return f"the step had not settled after warm-up in {unsettled} of {cell.rounds} rounds"
    if doubt.quiet > MOST_QUIET_ERROR:
        return f"this row was hardly ever quiet: its quiet probe is known to ±{format_share(doubt.quiet)}"
    return what_is_missing(time, cell.rounds, failures, cell.sessions, doubt.error)


def estimate_rounds(timed: Sequence[Round]) -> Estimate:
    """Estimate the seconds of a step from the rounds of a cell that have a time."""
    doubt = doubt_of(timed)
    estimate = estimate_cell(by_session(timed), doubt.between)
    return estimate.widened(half_of(doubt.error, CELL_LEVEL))


def by_session(timed: Iterable[Round]) -> dict[int, list[float]]:
    """Return the seconds of a step in each round, by session."""
    sessions: dict[int, list[float]] = defaultdict(list)
    for row in timed:
        sessions[row.session].append(row.step_seconds or math.nan)
    return sessions


def doubt_of(timed: Sequence[Round]) -> Doubt:
    """Return the errors of a cell that its `timed` rounds do not show.

    What a slope is off is the same in all rounds; each session has a quiet probe of its own.
    """
    first = timed[0]
    quiet: dict[int, float] = defaultdict(float)
    for row in timed:
        quiet[row.session] += (row.quiet_error or 0.0) / len(timed)
    slope = fmean(row.slope_error or 0.0 for row in timed)
    between = SESSION_SPREAD if first.is_cpu else DEVICE_SPREAD
    return Doubt(abs(slope), math.hypot(*quiet.values()), (first.machine, first.profile), between)


def _has_row(experiment: Experiment, case: Case, row: Row | Profile) -> bool:
    """Return whether a table shows a case on a row.

    The row's backend must run the case's algorithm or, if the table has no algorithms, any workload of the table.
    """
    if experiment.precision not in ("", row.precision) or experiment.ladder != row.ladder:
        return False
    cases = [case] if experiment.algorithms else experiment.cases
    backends = [backends_of(entry.workload) for entry in cases]
    return experiment.runs_on(case, row.architecture) and any(row.backend in names for names in backends)


def describe_work(experiment: Experiment, case: Case) -> str:
    """Describe in words the work that the seconds of a case are for."""
    batch = case.parameters.get("batch")
    step = f"a step of {batch:,} {experiment.unit.examples}" if batch else "a step"
    return _say_amount(experiment, case.examples) or step


def _say_amount(experiment: Experiment, examples: int | None = None) -> str:
    """Return how many `examples` or steps seconds are for, by default as many as the table's; empty if for one step."""
    if examples := examples or experiment.examples:
        return f"{examples:,} examples"
    return f"{experiment.repeats:,} steps" if experiment.repeats else ""


def _rows_of_machine(
    rounds: Sequence[JudgedRound], profiles: Profiles, hardware: Mapping[str, Any]
) -> list[Row | Profile]:
    """Return the rows of one machine as their profiles' files say, in order of architecture and name.

    If there is no file, or its settings differ from the records, the row is as it ran in the last of the `rounds`. So
    is a row of others: their words for it stay, whatever the files here say.
    """
    last = {row.profile: row for row in rounds}
    rows: dict[str, Row | Profile] = {name: row.profile_facts for name, row in last.items()}
    for name, profile in profiles.items():
        is_shown = not profile.optional
        if name in last:
            facts = last[name].profile_facts
            is_same = settings_of(facts, facts.threads) == settings_of(profile, profile.threads)
            folder = PurePath(last[name].record).parent.parent.parent
            is_shown = is_same and folder.name != imported_folder(smoke=False).name
        if is_shown and not other_library(profile, hardware):
            rows[name] = profile
    return sorted(rows.values(), key=lambda row: (ARCHITECTURES.index(row.architecture), row.name))


def rows_beside(paper: Paper, cell: CellKey | Cell, architecture: str) -> list[str]:
    """Return the names of the published rows that a cell is compared with.

    These rows name the `architecture` of the cell's row and, in a table of several algorithms, ran its algorithm.
    """
    experiment = paper.experiments[cell.experiment]
    names = [name for name, row in paper.rows.items() if architecture in row.beside]
    return [name for name in names if experiment.ran_in(cell.algorithm, name)]


def is_beside(paper: Paper, cell: Cell, names: Collection[str]) -> bool:
    """Return whether a cell is compared with any of the published rows `names`."""
    return not set(names).isdisjoint(rows_beside(paper, cell, cell.architecture))


def published_beside(paper: Paper, cell: CellKey, architecture: str, *work: Number) -> tuple[str, Number]:
    """Return the best of the published rows that a cell is compared with, and its seconds; "" and None without any.

    `work` is the cell's FLOP and bytes, at 4 bytes per array element: they turn a printed rate into seconds.
    """
    table = paper.experiments[cell.experiment]
    row = table.fastest(cell.case, rows_beside(paper, cell, architecture))
    return row, table.seconds(cell.case, row, *work)


# The name of the machine in the paper's own rows, in tables that have the paper's rows and ours.
PAPER = "paper"


def reference(paper: Paper) -> str:
    """Name a paper in a few words, such as "Raina, Madhavan and Ng (ICML 2009)"."""
    names = [name.strip("{}") if name.startswith("{") else name.split()[-1] for name in paper.authors]
    if len(names) > 3:
        names = [names[0], "others"]
    return f"{join_words(names)} ({paper.venue} {paper.year})"


def label_row(paper: Paper, row: PublishedRow) -> str:
    """Name a published row; add its algorithm, device and precision if another row has the same label and package."""
    names = [(published.label, published.package) for published in paper.rows.values()]
    if names.count((row.label, row.package)) == 1:
        return row.label
    return ", ".join(filter(None, [row.label, row.algorithm, row.device, row.precision]))


def tell_apart(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of profiles by name; a label that several profiles have is followed by the profile's name."""
    seen = Counter(labels.values())
    return {name: label if seen[label] == 1 else f"{label} ({name})" for name, label in labels.items()}


def across_precisions(row: str, base: str) -> str:
    """Return the two precisions of a ratio, such as "fp32 over fp64"; empty if they are equal, or one is not known."""
    return f"{row} over {base}" if row and base and row != base else ""


def in_unit(cell: Cell, unit: Unit) -> tuple[Number, Number, Number]:
    """Return a cell's time and its interval in a table's unit. For a rate, the ends of the interval are swapped."""
    times = (cell.seconds, cell.seconds_low, cell.seconds_high)
    value, low, high = (seconds and unit.value(seconds, cell.amount) for seconds in times)
    return (value, high, low) if unit.counted else (value, low, high)


def words_of_unit(experiment: Experiment) -> str:
    """Describe a table's unit, such as "seconds for 1,000,000 examples", "milliseconds a step", "examples a second"."""
    name = experiment.unit.name
    if experiment.unit.counted:
        return name
    if any(case.examples for case in experiment.cases):
        return f"{name} for a whole run of each case"
    amount = _say_amount(experiment)
    return f"{name} for {amount}" if amount else f"{name} a step"
