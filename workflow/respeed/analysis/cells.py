"""results/tables/cells.csv: every case of every paper on every profile of every machine, measured or not."""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import PurePath
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import (
    DEVICE_SPREAD,
    FULL_PRECISION,
    SESSION_SPREAD,
    Doubt,
    Estimate,
    Number,
    estimate_cell,
    estimate_values,
    largest,
    what_is_missing,
)
from respeed.analysis.expected import FREE_OF_PEAK, MAX_PEAK_SHARE, add_expected
from respeed.analysis.rounds import JudgedRound, count_causes, every_case, settings_of
from respeed.analysis.tables import Cell, CellKey, CellRow, Round, Status, group_by
from respeed.inputs.consent import why_denied
from respeed.inputs.machines import Profile, Profiles, other_library
from respeed.inputs.registry import backends_of, why_not_run
from respeed.model import ARCHITECTURES, Case, Experiment, Paper, Papers, PublishedRow, Unit, number_bytes
from respeed.paths import imported_folder
from respeed.records import Description, Row
from respeed.text import format_share, is_known

Value = TypeVar("Value")

# A quiet probe that is known less well settles no number of its row.
MOST_QUIET_ERROR = 0.05


@dataclass(frozen=True, slots=True)
class Energy:
    """The joules of a step and the watts, or the reason why no round has them; `domains` are what was metered."""

    joules: Estimate | None = None
    watts: Number = None
    domains: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class JudgedCell(CellRow):
    """A cell, judged by its rounds; without rounds, its status alone. Numbers are of one step.

    Attributes
    ----------
    status, reason : what became of the cell; what is missing, or why there is no time
    precision, is_cpu : from the last round
    rounds : the number of rounds with a clean block
    ran : all rounds
    step : seconds at the quiet probe; None if no time may be shown
    slowness : the factor by which neighbours slowed the reference probe, over rounds
    doubt : the error of the step that more rounds do not make smaller, as a standard deviation of its logarithm
    peak_share : the cell's rate divided by the highest rate of a plain matrix product on the row
    """

    status: Status
    reason: str
    precision: str = ""
    is_cpu: bool = False
    rounds: int = 0
    ran: Sequence[JudgedRound] = ()
    step: Estimate | None = None
    slowness: Number = None
    doubt: float = 0.0
    peak_share: Number = None

    @property
    def seconds(self) -> Number:
        """Return the seconds of a step; None if no time may be shown."""
        return self.step.value if self.step else None


def judge_cells(rounds: pd.DataFrame) -> dict[CellKey, JudgedCell]:
    """Judge every cell that has rounds."""
    cells: dict[CellKey, list[JudgedRound]] = group_by(rows_of(rounds, JudgedRound), attrgetter("key"))
    return {key: _judge_cell(key, of_cell) for key, of_cell in cells.items()}


def _judge_cell(key: CellKey, rounds: Sequence[JudgedRound]) -> JudgedCell:
    timed = _timed(rounds)
    flops = _last(row.flops for row in rounds)
    peak_gflops = _last(row.peak_gflops for row in timed)
    step = estimate_rounds(timed) if timed else None
    share = step.over(flops / 1e9 / peak_gflops) if step and flops and peak_gflops else None
    status, reason = _judge_status(rounds, timed, step, share)
    cell = JudgedCell(*key, status, reason, rounds[-1].precision, rounds[-1].is_cpu, len(timed), rounds)
    if status not in ("settled", "wide"):
        return cell
    return replace(
        cell,
        step=step,
        slowness=_mean(row.slowness for row in timed),
        doubt=doubt_of(timed).error,
        peak_share=share.value if share else None,
    )


def _timed(rounds: Iterable[JudgedRound]) -> list[JudgedRound]:
    """Return the rounds that have a clean block."""
    return [row for row in rounds if row.step_seconds]


def _last(values: Iterable[Value | None]) -> Value | None:
    """Return the last of the values that is not missing, 0 or empty."""
    return next(filter(None, reversed(list(values))), None)


def _mean(values: Iterable[Number]) -> float:
    return statistics.geometric_mean(filter(None, values))


def _judge_status(
    rounds: Sequence[JudgedRound], timed: Sequence[JudgedRound], step: Estimate | None, peak_share: Estimate | None
) -> tuple[Status, str]:
    """Return the status of a cell and the reason for it; its `step` is estimated from the rounds that are `timed`."""
    # One wrong result is enough: a program that is right most of the time is not right. A round that could not run, say
    # for lack of memory at that moment, is only a missing round.
    failures = {row.status: row.reason for row in rounds if row.status != "measured"}
    if "wrong" in failures:
        return "failed", failures["wrong"]
    if step is None:
        if "failed" in failures:
            return "failed", failures["failed"]
        if "not-run" in failures:
            return "cannot-run", failures["not-run"]
        causes = sum((row.cause_counts for row in rounds), Counter[str]())
        return "contaminated", f"no clean block of {sum(row.blocks for row in rounds)}: {count_causes(causes)}"
    if peak_share and peak_share.is_above(MAX_PEAK_SHARE) and timed[0].algorithm not in FREE_OF_PEAK:
        text = f"{peak_share.value:.0%} of the highest rate that any matrix product reached here"
        return "failed", f"{text}: the time or the FLOP count is wrong"
    unsettled = _what_is_unsettled(rounds, timed, step, failures.values())
    return "wide" if unsettled else "settled", unsettled


def _what_is_unsettled(
    rounds: Sequence[JudgedRound], timed: Sequence[JudgedRound], step: Estimate, failures: Collection[str]
) -> str:
    """Return what a cell that has a time lacks to be settled; empty if it lacks nothing."""
    doubt = doubt_of(timed)
    unsettled = sum(row.status == "measured" and not row.settled for row in rounds)
    if 2 * unsettled > len(timed):
        return f"the step had not settled after warm-up in {unsettled} of {len(timed)} rounds"
    if doubt.quiet > MOST_QUIET_ERROR:
        return f"this row was hardly ever quiet: its quiet probe is known to ±{format_share(doubt.quiet)}"
    return what_is_missing(step, len(timed), failures, len({row.session for row in timed}), doubt.error)


def estimate_rounds(timed: Sequence[Round]) -> Estimate:
    """Estimate the seconds of a step from the rounds of a cell that have a time."""
    return estimate_cell(by_session(timed), doubt=doubt_of(timed))


def by_session(timed: Iterable[Round]) -> dict[int, list[float]]:
    """Return the seconds of a step in each round, by session."""
    sessions: dict[int, list[Round]] = group_by(timed, attrgetter("session"))
    return {number: [row.step_seconds or math.nan for row in rounds] for number, rounds in sessions.items()}


def doubt_of(timed: Sequence[Round]) -> Doubt:
    """Return the errors of a cell that its `timed` rounds do not show.

    What a slope is off is the same in all rounds; each session has a quiet probe of its own.
    """
    sessions = Counter(row.session for row in timed)
    quiet = {row.session: (row.quiet_error or 0.0) * sessions[row.session] for row in timed}
    slope = abs(statistics.fmean(row.slope_error or 0.0 for row in timed))
    between = SESSION_SPREAD if timed[0].is_cpu else DEVICE_SPREAD
    return Doubt(slope, math.hypot(*quiet.values()) / len(timed), (timed[0].machine, timed[0].profile), between)


def _judge_energy(rounds: Sequence[JudgedRound]) -> Energy:
    """Return the energy of a step, from the rounds that metered the same domains as the last round with joules."""
    metered = [row for row in rounds if row.joules is not None]
    if not metered:
        return Energy(reason=_last(row.energy_reason for row in rounds) or "")
    domains = metered[-1].energy_of
    alike = [row for row in metered if row.energy_of == domains]
    joules = estimate_values([row.joules or math.nan for row in alike])
    return Energy(joules, statistics.median(row.watts or math.nan for row in alike), domains)


def make_cells(
    rounds: pd.DataFrame,
    papers: Papers,
    profiles: Profiles,
    descriptions: Mapping[str, Description],
) -> list[Cell]:
    """Make a cell for every machine, case and profile: from its `rounds`, or with the reason why it has none."""
    judged = judge_cells(rounds)
    slots = {slot.key: slot for slot in _find_slots(rounds, papers, profiles, descriptions)}
    cells = []
    for key, slot in slots.items():
        unmeasured = JudgedCell(*key, "cannot-run" if slot.cannot else "due", slot.cannot or "not measured yet")
        cells.append(_make_cell(slot, judged.get(key, unmeasured)))
    clocks = {key: _last(row.slowed for row in cell.ran) for key, cell in judged.items()}
    return add_expected(cells, clocks)


class _Slot(NamedTuple):
    """A case of a table on a row of a machine; `cannot` is why it cannot be measured there, or None."""

    machine: str
    paper: Paper
    experiment: Experiment
    case: Case
    row: Row | Profile
    label: str
    cannot: str | None

    @property
    def key(self) -> CellKey:
        """Return the key of the slot's cell."""
        names = self.machine, self.paper.name, self.experiment.name, self.case.name
        return CellKey(*names, self.case.workload, self.row.name)


def _find_slots(
    rounds: pd.DataFrame,
    papers: Papers,
    profiles: Profiles,
    descriptions: Mapping[str, Description],
) -> Iterator[_Slot]:
    """Yield every case of the papers on every row of each machine."""
    ran: dict[str, dict[str, Row]] = {machine: {} for machine in descriptions}
    imported = set[tuple[str, str]]()
    for last in rows_of(rounds.drop_duplicates(["machine", "profile"], keep="last"), JudgedRound):
        ran.setdefault(last.machine, {})[last.profile] = last.profile_facts
        if PurePath(last.record).parts[-4:-3] == (imported_folder(smoke=False).name,):
            imported.add((last.machine, last.profile))
    for machine in sorted(ran):
        description = descriptions.get(machine)
        hardware = description.hardware.model_dump() if description else {}
        not_measurable = description.not_measurable if description else {}
        # The words of others for their rows stay, whatever the files here say.
        files = {name: profile for name, profile in profiles.items() if (machine, name) not in imported}
        rows = _rows_of_machine(ran[machine], files, hardware)
        labels = tell_apart({row.name: row.label for row in rows})
        for paper, experiment, case in every_case(papers):
            algorithm = experiment.algorithms.get(case.workload)
            for row in rows:
                if not _has_row(experiment, case, row):
                    continue
                label = f"{labels[row.name]}, {algorithm.label}" if algorithm else labels[row.name]
                cannot = why_not_run(case.workload, row.backend, row.precision) or not_measurable.get(row.name)
                yield _Slot(machine, paper, experiment, case, row, label, cannot or why_denied(case))


def _make_cell(slot: _Slot, judged: JudgedCell) -> Cell:
    """Return the cell of a slot."""
    row = slot.row
    steps = slot.experiment.steps(slot.case)
    ran = judged.ran
    timed = _timed(ran)
    seconds = judged.step.times(steps) if judged.step else Estimate(math.nan)
    energy = _judge_energy(ran)
    joules = energy.joules.times(steps) if energy.joules else Estimate(math.nan)
    flops = _product(steps, _last(once.flops for once in ran))
    moved = _product(steps, _last(once.traffic_bytes for once in ran))
    published_row, published_seconds = published_beside(
        slot.paper,
        slot.experiment.name,
        slot.case.name,
        row.architecture,
        slot.case.workload,
        flops,
        _product(moved, number_bytes(FULL_PRECISION) / number_bytes(row.precision)),
    )
    return Cell(
        *slot.key,
        architecture=row.architecture,
        package=row.package,
        precision=row.precision,
        seconds=_known(seconds.value),
        seconds_low=seconds.low,
        seconds_high=seconds.high,
        rounds=judged.rounds,
        discarded=sum(once.discarded for once in ran),
        status=judged.status,
        reason=judged.reason,
        gflops=_known((flops or math.nan) / seconds.value / 1e9),
        peak_share=judged.peak_share,
        error=largest(once.error for once in ran),
        published_seconds=published_seconds,
        published_row=published_row,
        seconds_measured=steps * _mean(once.step_seconds_measured for once in timed) if judged.step else None,
        slowness=judged.slowness,
        sessions=len({once.session for once in timed}),
        work=describe_work(slot.experiment, slot.case),
        label=slot.label,
        is_cpu=row.is_cpu,
        flops=flops,
        traffic_bytes=moved,
        amount=slot.experiment.amount(slot.case, flops, moved),
        steps=steps,
        device=row.device,
        threads=_last(once.threads for once in ran),
        threads_ran=max((once.threads_ran for once in ran if once.threads_ran), default=None),
        peak_gflops=_last(once.peak_gflops for once in timed),
        bandwidth_gbytes=_last(once.bandwidth_gbytes for once in timed),
        expected_seconds=None,
        unexpected="",
        joules=_known(joules.value),
        joules_low=joules.low,
        joules_high=joules.high,
        watts=energy.watts,
        energy_of=energy.domains,
        energy_reason=energy.reason,
    )


def _known(value: float) -> Number:
    return None if math.isnan(value) else value


def _product(first: Number, second: Number) -> Number:
    """Return the product of two numbers; None if one is not known."""
    return None if first is None or second is None else first * second


def _has_row(experiment: Experiment, case: Case, row: Row | Profile) -> bool:
    """Return whether a table shows a case on a row.

    The row's backend must run the case's algorithm or, if the table has no algorithms, any workload of the table.
    """
    workloads = {case.workload} if experiment.algorithms else {entry.workload for entry in experiment.cases}
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

    If there is no file, or its settings differ from the records, the row is as it `ran`.
    """
    rows: dict[str, Row | Profile] = dict(ran)
    for name, profile in profiles.items():
        row = ran.get(name)
        if row is None:
            is_shown = not profile.optional
        else:
            is_shown = settings_of(row, row.threads) == settings_of(profile, profile.threads)
        if is_shown and not other_library(profile, hardware):
            rows[name] = profile
    return sorted(rows.values(), key=lambda row: (ARCHITECTURES.index(row.architecture), row.name))


def rows_beside(paper: Paper, experiment: str, architecture: str, algorithm: str) -> tuple[PublishedRow, ...]:
    """Return the published rows that a row of ours is compared with.

    These rows name our row's `architecture` and, in a table of several algorithms, ran our row's `algorithm`.
    """
    ran_in = paper.experiments[experiment].ran_in
    return tuple(row for row in paper.rows.values() if architecture in row.beside and ran_in(algorithm, row.name))


def is_beside(paper: Paper, cell: Cell, names: Collection[str]) -> bool:
    """Return whether a cell is compared with any of the published rows `names`."""
    beside = rows_beside(paper, cell.experiment, cell.architecture, cell.algorithm)
    return any(row.name in names for row in beside)


def published_beside(
    paper: Paper, experiment: str, case: str, architecture: str, algorithm: str, *work: Number
) -> tuple[str, Number]:
    """Return the best of the published rows that a cell is compared with, and its seconds; "" and None without any.

    `work` is the cell's FLOP and bytes, at 4 bytes per array element: they turn a printed rate into seconds.
    """
    beside = rows_beside(paper, experiment, architecture, algorithm)
    row = paper.fastest(experiment, case, [published.name for published in beside])
    return (row.name, paper.seconds(experiment, case, row.name, *work)) if row else ("", None)


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
    alike = [
        published
        for published in paper.rows.values()
        if (published.label, published.package) == (row.label, row.package)
    ]
    if len(alike) == 1:
        return row.label
    return ", ".join(filter(None, [row.label, row.algorithm, row.device, row.precision]))


def tell_apart(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of profiles by name; a label that several profiles have is followed by the profile's name."""
    seen = Counter(labels.values())
    return {name: f"{label} ({name})" if seen[label] > 1 else label for name, label in labels.items()}


def across_precisions(row: str, base: Collection[str]) -> str:
    """Return the two precisions of a ratio, such as "fp32 over fp64"; empty if they are equal, or one is not known."""
    precisions = [precision for precision in base if precision and row and precision != row]
    return f"{row} over {' and '.join(precisions)}" if precisions else ""


def in_unit(cell: Cell, unit: Unit) -> tuple[Number, Number, Number]:
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
