"""Make the frame of rounds from records: a row for each round of each case that a table shows.

A result belongs to every table that asks for its workload and parameters. Blocks are judged one by one, by today's
thresholds and not by the thresholds at the time of the record: a better judgement needs no new measurement.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pandas as pd

from respeed.analysis.columns import make_frame
from respeed.analysis.estimates import Number, largest
from respeed.analysis.neighbours import (
    KNOWN_PROCESSES,
    QUIET_MODE,
    Quiet,
    Slope,
    find_quiet,
    quiet_on_device,
    slope_of,
)
from respeed.analysis.tables import CellKey, Round, group_by
from respeed.inputs.machines import Profile
from respeed.model import Case, Experiment, Paper, Papers
from respeed.protocol import REAL, REASONS, SMOKE, Block, contamination, lasting_causes, reasons_of
from respeed.records import Record, Records, Result, Row
from respeed.sessions import split_sessions

# The columns that identify a cell in a frame.
CELL = [*CellKey._fields]

# The workload of all controls.
CONTROL = "repeated_product"
# Workloads whose steps are dense matrix products and nothing else.
BARE_PRODUCTS = ("matmul", CONTROL, "cd1_products")
# A laptop lowers its clock after about half a minute of work.
SETTLING_SECONDS = 60.0
# A device whose clock is below this share of its highest clock is slow for that reason.
LOW_CLOCK = 0.8

# Why a round has no energy.
NO_ENERGY_OF_PARTS = "some parts of a step count more often than others, and the energy of each part is not known"
NO_COUNTER = "in no block do the counters tell: set back, gone round unseen, or of one device of several"
NOT_QUIET = "in no block was the machine quiet, and the neighbours' energy would count"

# Backend, device, precision, CPUs and threads decide how a row runs: rounds of different settings are never combined.
Settings = tuple[str, str, str, str, int | str]
# Device, precision, CPUs, threads and library: rates of matrix products are compared only if all are the same.
Product = tuple[str, str, str, int | str, str]
# By the key of a case, and whether a ladder of threads is asked for: the paper, table and case that show it.
Home = tuple[Paper, Experiment, Case]
Homes = dict[tuple[str, bool], list[Home]]


@dataclass(frozen=True, slots=True)
class JudgedRound(Round):
    """A round, and what rounds.csv does not have of it.

    `cause_counts` has how many blocks were discarded for each cause, `profile_facts` the profile as it ran, and
    `slowed` the share of its highest clock at which a device ran, with a reason; None if it was not low.
    """

    cause_counts: Counter[str]
    profile_facts: Row
    slowed: tuple[float, str] | None


def read_rounds(records: Records, papers: Papers) -> pd.DataFrame:
    """Return the rounds of each machine in order of time, with the columns of `JudgedRound`.

    If a case was measured in several ways (other threads, another version of its library), only the latest way
    counts. Rounds are numbered within each cell. `step_seconds` is NaN if no block is clean.
    """
    homes = group_by(every_case(papers), lambda home: (home[2].key, home[1].ladder))
    rows: list[JudgedRound] = []
    for of_machine in group_by(records, attrgetter("machine")).values():
        rows += _rounds_of_machine(of_machine, homes)
    frame = make_frame(rows, JudgedRound)
    return frame.assign(round=frame.groupby(CELL).cumcount() + 1)


def settings_of(row: Profile | Row, threads: int | str) -> Settings:
    """Return the settings of a profile, or of a row as it ran, on so many threads."""
    return row.backend, row.device, row.precision, str(row.cpus or None), threads


def every_case(papers: Papers) -> Iterator[Home]:
    """Yield each case of every table of the papers, with its paper and its table."""
    for paper in papers.values():
        for experiment in paper.experiments.values():
            for case in experiment.cases:
                yield paper, experiment, case


def _rounds_of_machine(records: Records, homes: Homes) -> Iterator[JudgedRound]:
    """Yield the rounds of one machine in order of time, each with the ceilings of its row."""
    sessions = split_sessions(records)
    in_order = [*chain(*sessions)]
    products = group_by(in_order, _product_of)
    ceilings = {product: _ceilings(ran) for product, ran in products.items()}
    latest = _latest(in_order)
    for number, session in enumerate(sessions):
        conditions = Conditions(sessions, number)
        for record in session:
            peak, bandwidth = ceilings[_product_of(record)]
            for file, result in record.places().items():
                shown_in = homes.get((result.key, record.start.profile.ladder))
                if shown_in and _counts(record, result, latest[record.profile, result.key]):
                    judged = conditions.judge(record, result)
                    judged = replace(judged, record=file, peak_gflops=peak, bandwidth_gbytes=bandwidth)
                    for paper, table, case in shown_in:
                        yield replace(judged, paper=paper.name, experiment=table.name, case=case.name)


def _product_of(record: Record) -> Product:
    """Return what the time of a matrix product of a given size depends on."""
    settings = settings_of(record.start.profile, record.start.threads)
    return *settings[1:], record.library


def _ceilings(records: Records) -> tuple[Number, Number]:
    """Return the highest GFLOP/s of matrix products and GB/s of copies on a row; None for what was not timed.

    A ceiling is a bound, and so the highest rate of any sample in any session: of the product and the copy that every
    process times at its start, and of the cases that are bare products.
    """
    products = []
    copies = []
    for record in records:
        products.append(record.start.ceilings.get("flops_per_second", 0.0))
        copies.append(record.start.ceilings.get("bytes_per_second", 0.0))
        for result in record.results:
            if result.workload in BARE_PRODUCTS and result.flops:
                steps = (min(block.sample_seconds) / block.sample_steps for block in result.blocks)
                products += [result.flops / seconds for seconds in steps]
    peak = max(products) / 1e9
    bandwidth = max(copies) / 1e9
    return peak or None, bandwidth or None


class Conditions:
    """The conditions of a session, of the `sessions` of a machine: its quiet probes, and what always slows the machine.

    If the processes with the same probe are few, those of the session before tell as well. A laptop is fastest in a
    session's first minute, and does not come back to that clock: processes that began so early tell only if no others
    do.
    """

    def __init__(self, sessions: Sequence[Sequence[Record]], number: int) -> None:
        self._session = sessions[number]
        self._before = sessions[number - 1] if number else ()
        self._number = number
        self._quiet: dict[Product, Quiet] = {}
        self._of_case: dict[tuple[str, str], list[tuple[Block, ...]]] = defaultdict(list)
        for record in self._session:
            for result in record.results:
                self._of_case[record.profile, result.key].append(result.blocks)

    def quiet(self, record: Record) -> Quiet:
        """Return the quiet probe of a process on a CPU, which has timed probes."""
        product = _product_of(record)
        if product not in self._quiet:
            telling = _telling(self._session, product)
            if len(telling) < KNOWN_PROCESSES:
                telling = _telling(self._before, product) + telling
            self._quiet[product] = find_quiet(process.probes for process in telling)
        return self._quiet[product]

    def judge(self, record: Record, result: Result) -> JudgedRound:
        """Judge the blocks of a result, and return its round, which is of no table yet and has no ceilings."""
        start = record.start
        profile = start.profile
        rounds = self._of_case[record.profile, result.key]
        quiet = self.quiet(record) if profile.is_cpu and record.probes else quiet_on_device(rounds)
        slope = slope_of(record, result)
        blocks = result.blocks if result.status == "measured" else ()
        limit = math.inf if profile.is_cpu else quiet.seconds
        protocol = SMOKE if start.smoke else REAL
        lasting = lasting_causes(rounds, REAL)
        judge_block = partial(
            contamination, threads=start.threads, protocol=protocol, lasting=lasting, quiet_probe_seconds=limit,
            may_wait=slope.b > 0,
        )  # fmt: skip
        disturbed = list(map(judge_block, blocks))
        clean = [block for block, by in zip(blocks, disturbed, strict=True) if not by]
        causes = Counter(chain(*disturbed))
        times = Times()
        energy = Joules()
        if clean:
            times = step_times(clean, result.parts, quiet, slope)
            beside = quiet if slope.b else None
            energy = step_energy(clean, result.parts, start.energy.get("reason"), beside)
        return JudgedRound(
            record.machine,
            paper="",
            experiment="",
            case="",
            algorithm=result.workload,
            profile=record.profile,
            round=0,
            session=self._number,
            started=start.started,
            precision=profile.precision,
            is_cpu=profile.is_cpu,
            commit=start.commit,
            wall_seconds=result.wall_seconds,
            library=record.library,
            threads=start.threads,
            threads_ran=largest(block.threads_ran for block in blocks) or None,
            status=result.status,
            reason=result.reason or "",
            blocks=len(blocks),
            discarded=len(blocks) - len(clean),
            causes=count_causes(causes),
            settled=bool(result.warmup and result.warmup.settled),
            error=largest(result.errors.values()),
            flops=result.flops or None,
            traffic_bytes=result.traffic_bytes or None,
            peak_gflops=None,
            bandwidth_gbytes=None,
            record="",
            cause_counts=causes,
            profile_facts=profile,
            slowed=low_clock(clean),
            **times._asdict(),
            **energy._asdict(),
        )


def _telling(session: Sequence[Record], product: Product) -> list[Record]:
    """Return the records of a session that tell what a quiet probe of the product takes (see `Conditions`)."""
    alike = [record for record in session if _product_of(record) == product and record.probes]
    settled = [record for record in alike if record.began > session[0].began + SETTLING_SECONDS]
    return settled or alike


class _Way(NamedTuple):
    """A way to measure a case.

    `equipment` names the library, and the accelerator with its multiprocessors; `source` is the checksum of the case's
    source.
    """

    settings: Settings
    equipment: str
    source: str

    def completed(self, earlier: "_Way") -> "_Way":
        """Return the way with the equipment of an earlier one, if its process ended before it could tell."""
        return self._replace(equipment=self.equipment or earlier.equipment)


def _way_of(record: Record, result: Result) -> _Way:
    start = record.start
    backend = start.backend
    equipment = f"{record.library} on {backend.accelerator} {backend.multiprocessors}" if backend else ""
    return _Way(settings_of(start.profile, start.threads), equipment, result.source)


def _latest(records: Records) -> dict[tuple[str, str], _Way]:
    """Return the latest way in which each case was measured on a profile; its library is the last that is known."""
    latest: dict[tuple[str, str], _Way] = {}
    for record in records:
        for result in record.results:
            way = _way_of(record, result)
            cell = record.profile, result.key
            latest[cell] = way.completed(latest.get(cell, way))
    return latest


def _counts(record: Record, result: Result, latest: _Way) -> bool:
    """Return whether a result was measured in the latest way.

    On another card, or with another version of the library, rounds have another distribution and belong to another
    measurement. A process that ended before its first case has no card and no version, and counts as a missing round.
    The source must be the same as in the last result if it is an outside program's, or if there is no time: a workload
    that was wrong or failed may have been mended.
    """
    way = _way_of(record, result).completed(latest)
    if result.status == "measured" and not result.program:
        way = way._replace(source=latest.source)
    return way == latest


def low_clock(blocks: Iterable[Block]) -> tuple[float, str] | None:
    """Return at which share of its highest clock a device ran, and that in words; None if it is `LOW_CLOCK` or more."""
    readings = [block.device[-1] for block in blocks if block.device]
    clocked = [reading for reading in readings if "sm_mhz" in reading and reading.get("highest_sm_mhz")]
    shares = [reading["sm_mhz"] / reading["highest_sm_mhz"] for reading in clocked]
    share = statistics.median(shares or [1.0])
    if share >= LOW_CLOCK:
        return None
    bits = 0
    for reading in clocked:
        bits |= reasons_of(reading)
    reasons = [name for reason, name in REASONS.items() if bits & reason]
    return share, ", ".join([f"clock: {share:.0%} of its highest", *reasons])


def count_causes(causes: Counter[str]) -> str:
    """List why blocks were discarded, most frequent cause first, such as "page faults in 3, clocks throttled in 1"."""
    texts = [f"{cause} in {count}" for cause, count in causes.most_common()]
    return ", ".join(texts)


class Times(NamedTuple):
    """The columns of a round that have the times of its steps and their errors; None without a clean block."""

    step_seconds: Number = None
    step_seconds_measured: Number = None
    slowness: Number = None
    slope_error: Number = None
    quiet_error: Number = None


class Joules(NamedTuple):
    """The columns of a round that have the energy of a step, or the reason why it is not known."""

    joules: Number = None
    energy_of: str = ""
    energy_reason: str = ""


def step_times(clean: Sequence[Block], weights: Mapping[str, float], quiet: Quiet, slope: Slope) -> Times:
    """Return the seconds of a step in one round at the quiet probe, and as measured.

    With t the mean seconds of a step in a block of T seconds, in which threads waited for a core for w seconds in all,
    p the probes around the block and q the quiet probe::

        x = mean of log(p / q)      step = median over blocks of t (1 - w / T) e^(-b x)     measured = mean of t

    If a step is timed in parts, t is their sum, and `weights` are how often each part counts in a step.
    """
    x = waited = np.zeros(len(clean))
    if slope.b:
        x = np.array([quiet.slowness(block) for block in clean])
        waited = np.array([(block.run_delay_seconds or 0.0) / block.seconds for block in clean])
    measured = np.array([_mean_step(block, weights) for block in clean])
    slowness = float(x.mean())
    return Times(
        step_seconds=float(np.median(measured * (1 - waited) * np.exp(-slope.b * x))),
        step_seconds_measured=float(measured.mean()),
        slowness=math.exp(slowness),
        slope_error=slope.error * slowness,
        quiet_error=slope.b * quiet.error,
    )


def _mean_step(block: Block, weights: Mapping[str, float]) -> float:
    if not weights:
        return block.seconds / block.steps
    parts = zip(weights.values(), block.part_seconds, strict=True)
    return math.fsum(weight * math.fsum(times) for weight, times in parts) / block.steps


def step_energy(
    clean: Sequence[Block], weights: Mapping[str, float], why_not: str | None, quiet: Quiet | None = None
) -> Joules:
    """Return the joules of a step, over all domains; or why the `clean` blocks have no joules.

    `weights` are how often each part counts in a step; `why_not` is the record's reason why no counter could be read.
    With a `quiet` probe, only blocks beside quiet probes count: the others have the joules of neighbours.
    """
    if why_not:
        return Joules(energy_reason=why_not)
    if any(weight != 1 for weight in weights.values()):
        return Joules(energy_reason=NO_ENERGY_OF_PARTS)
    counted = [block for block in clean if block.joules]
    if not counted:
        return Joules(energy_reason=NO_COUNTER)
    most = math.log(QUIET_MODE)
    metered = [block for block in counted if not quiet or quiet.slowness(block) <= most]
    if not metered:
        return Joules(energy_reason=NOT_QUIET)
    joules = math.fsum(math.fsum(block.joules.values()) for block in metered)
    if not joules:
        return Joules(energy_reason="the counters stood still")
    steps = sum(block.steps for block in metered)
    return Joules(joules / steps, " + ".join(metered[0].joules))
