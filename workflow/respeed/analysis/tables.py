"""The tidy tables, results/tables/<name>.csv: each is a class, whose fields are the columns.

The text below a field says what the column has, its unit, and when it is empty. docs/tables.md is made of these texts:

    ./run python -m tests.known tests/docs
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple, TypeVar, get_type_hints

from respeed.analysis.estimates import Estimate, Number

# What became of a cell, and of a round.
Status = Literal["settled", "wide", "contaminated", "failed", "due", "cannot-run"]
RoundStatus = Literal["measured", "wrong", "failed", "not-run"]
# The dtype of a column by the type of its field. A missing number is NaN, a missing text "", a missing count NA.
DTYPES: dict[object, str] = {
    str: "str", Status: "str", RoundStatus: "str", float: "float64", Number: "float64", int: "int64",
    int | None: "Int64", bool: "bool",
}  # fmt: skip


class CellKey(NamedTuple):
    """One cell: a case measured by a program on a profile of a machine."""

    machine: str
    paper: str
    experiment: str
    case: str
    algorithm: str
    profile: str


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A row about a machine."""

    machine: str
    """The machine's name."""


@dataclass(frozen=True, slots=True)
class PaperRow(MachineRow):
    """A row about a paper."""

    paper: str
    """The paper's name, workflow/papers/<paper>."""


@dataclass(frozen=True, slots=True)
class CaseRow(PaperRow):
    """A row about one case."""

    experiment: str
    """One table of the paper."""
    case: str
    """One column of that table: a problem size."""


@dataclass(frozen=True, slots=True)
class CellRow(CaseRow):
    """A row about one cell."""

    algorithm: str
    """The workload that ran; where a table has several programs for a case, one of them."""
    profile: str
    """How it ran: the hardware profile, workflow/hardware/<profile>.yaml."""

    @property
    def key(self) -> CellKey:
        """Return the key of the cell."""
        return CellKey(self.machine, self.paper, self.experiment, self.case, self.algorithm, self.profile)


@dataclass(frozen=True, slots=True)
class Round(CellRow):
    """One case in one round, as one fresh process measured it. A case that several tables show has a row for each.

    Key: machine, paper, experiment, case, algorithm, profile, round.
    """

    round: int
    """Number of the round, from 1, in the order of time."""
    session: int
    """Number of the session, from 0: a stretch of measuring without a pause of half an hour. Only rounds of one
    session are compared."""
    started: str
    """When the round was begun, ISO 8601."""
    precision: str
    """Precision of the numbers: fp64, fp32, tf32x3, bf16x9, tf32, bf16 or fp16."""
    is_cpu: bool
    """Whether it ran on the CPU."""
    commit: str
    """Commit of the code that measured."""
    wall_seconds: float
    """Time that the process spent on the case: checks, warm-up and blocks, in s."""
    library: str
    """Version of the library that multiplied, as the process found it. Empty if the process never started."""
    threads: int
    """Number of threads asked for."""
    threads_ran: int | None
    """The most threads that ran in a block. Empty if there is no block, or they were not seen."""
    status: RoundStatus
    """`measured`, `wrong`, `failed` or `not-run`."""
    reason: str
    """Why it was not measured. Empty if it was measured."""
    step_seconds: Number
    """Time of a step at the quiet probe, the median over clean blocks, in s. Empty if no block is clean."""
    step_seconds_measured: Number
    """Mean time of a step over the clean blocks, in s. Empty if no block is clean."""
    slowness: Number
    """How many times a quiet one's time the reference probes took. Empty if no block is clean."""
    slope_error: Number
    """Standard deviation of the logarithm of `step_seconds`, since neighbours slow some steps less than the probe.
    Empty if no block is clean."""
    quiet_error: Number
    """Standard deviation of the logarithm of `step_seconds`, from the quiet probe of the row in that session. Empty
    if no clean block."""
    blocks: int
    """Number of blocks that were timed."""
    discarded: int
    """Number of blocks that do not count."""
    causes: str
    """Why blocks do not count: each cause with its number of blocks. Empty if all count."""
    settled: bool
    """Whether step times had settled after warm-up."""
    error: Number
    """Largest error of the checked step against float64, of any array, over the array's largest value. Empty if none
    was checked."""
    flops: Number
    """Operations of a step, in FLOP. Empty if they are not counted."""
    traffic_bytes: Number
    """The least that a step must read and write, in bytes. Empty if they are not counted."""
    peak_gflops: Number
    """Highest rate of any bare matrix product with the same library, threads, precision and CPUs, in GFLOP/s. Empty
    if none was timed."""
    bandwidth_gbytes: Number
    """Highest rate of a copy with the same library, threads, precision and CPUs, in GB/s. Empty if none was timed."""
    joules: Number
    """Energy of a step, in J. Empty: see `energy_reason`."""
    energy_of: str
    """The domains whose joules these are: CPU packages and devices. Empty: see `energy_reason`."""
    energy_reason: str
    """Why there is no energy. Empty if there is one."""
    record: str
    """The record, and after a colon the line in it, from 1."""


@dataclass(frozen=True, slots=True)
class Cell(CellRow):
    """A cell: one case by one program on one profile of a machine, measured or not.

    Key: machine, paper, experiment, case, algorithm, profile.
    """

    architecture: str
    """`single-cpu`, `multi-cpu`, `gpu` or `tpu`."""
    package: str
    """The software that multiplies, by its name in tables."""
    precision: str
    """Precision of the numbers: fp64, fp32, tf32x3, bf16x9, tf32, bf16 or fp16."""
    label: str
    """The row's name in tables and figures, made of its profile and, where a table has several algorithms, of its
    algorithm."""
    is_cpu: bool
    """Whether it ran on the CPU."""
    device: str
    """The device that it runs on: cpu, cuda, cuda:1 and so on."""
    work: str
    """The work whose time is `seconds`."""
    steps: float
    """Number of steps in `work`."""
    published_row: str
    """The fastest of the paper's rows that it is compared with. Empty if the paper prints none."""
    published_seconds: Number
    """Time that `published_row` took for `work`, in s. Empty if the paper prints none."""
    status: Status
    """`settled`, `wide` (its interval), `contaminated` (no clean block), `failed`, `due` (not measured yet) or
    `cannot-run`."""
    reason: str
    """The reason for the status or verdict, or for a missing number. Empty if there is nothing to explain."""
    rounds: int = 0
    """Number of rounds with a clean block."""
    sessions: int = 0
    """Number of sessions in which its rounds were measured."""
    seconds: Number = None
    """Time of `work` at the quiet probe, the trimmed mean of logarithms over rounds, in s. Empty if no time may be
    shown: see `status` and `reason`."""
    seconds_low: Number = None
    """Lower end of the 95 % interval of `seconds`; if `sessions` is 2 or more, it holds for the long run, or else for
    the session, in s. Empty if there are too few clean rounds."""
    seconds_high: Number = None
    """Upper end of the 95 % interval of `seconds`, likewise, in s. Empty if there are too few clean rounds."""
    seconds_measured: Number = None
    """Time of `work` as measured, the geometric mean over rounds, in s. Empty if no time may be shown: see `status`
    and `reason`."""
    slowness: Number = None
    """How many times a quiet one's time the reference probes took, over rounds. Empty if no time, or a total."""
    flops: Number = None
    """Operations of `work`, in FLOP. Empty if they are not counted, or never measured."""
    traffic_bytes: Number = None
    """The least that `work` must read and write, in bytes. Empty if they are not counted, or never measured."""
    amount: Number = None
    """The amount of `work`, as the paper's unit counts it, in examples, FLOP or bytes. Empty if the unit is a time,
    or the amount is not known."""
    gflops: Number = None
    """Rate of the operations, in GFLOP/s. Empty if no time, or the operations are not counted."""
    peak_gflops: Number = None
    """Highest rate of a bare product with its library, threads, precision and CPUs, in GFLOP/s. Empty if no round, or
    none was timed."""
    peak_share: Number = None
    """`gflops` over `peak_gflops`. Empty if no time, or no such rate."""
    bandwidth_gbytes: Number = None
    """Rate of a copy on the profile, in GB/s. Empty if no round, or none was timed."""
    expected_seconds: Number = None
    """Bound on `seconds`: the larger of `flops` over `peak_gflops` and `traffic_bytes` over `bandwidth_gbytes`, in s.
    Empty if not measured, if a count or rate is not known, or a program of products has no count of FLOP."""
    unexpected: str = ""
    """Why `seconds` lies below `expected_seconds`, or above three times it, beyond its interval: the likeliest reason
    that records give. Empty if it does not, or there is no bound or no interval."""
    threads: int | None = None
    """Number of threads asked for. Empty if never measured."""
    threads_ran: int | None = None
    """The most threads that ran in a block. Empty if never measured, not seen, or a total."""

    @property
    def time(self) -> Estimate:
        """Return `seconds` with its interval; NaN without a time."""
        return Estimate.between(self.seconds, self.seconds_low, self.seconds_high)


@dataclass(frozen=True, slots=True)
class Speedup(CellRow):
    """A cell over the fastest CPU row of its machine and case in the precision of the table, fp32 if it has none.

    Key: machine, paper, experiment, case, algorithm, profile.
    """

    verdict: str
    """`faster`, `slower`, `indistinguishable`, `base`, `unproven` or `none`."""
    reason: str
    """The reason for the status or verdict, or for a missing number. Empty if there is nothing to explain."""
    base_algorithm: str = ""
    """Algorithm of the base, the row that this one is compared with. Empty if there is no base."""
    base_profile: str = ""
    """Profile of the base. Empty if there is no base."""
    speedup: Number = None
    """Seconds of the base over seconds of the cell, the difference of trimmed means of logarithms. Empty: see
    `reason`."""
    speedup_low: Number = None
    """Lower end of the interval of `speedup`. Empty if it is the base itself, or there are too few rounds."""
    speedup_high: Number = None
    """Upper end of the interval of `speedup`. Empty if it is the base itself, or there are too few rounds."""
    confidence: Number = None
    """Confidence of the interval; it is higher for rivals of the fastest row. Empty if no speedup."""
    published: Number = None
    """The paper's own speedup of the published row that the cell is compared with. Empty if the paper has none."""

    @property
    def base_key(self) -> CellKey:
        """Return the key of the base."""
        return self.key._replace(algorithm=self.base_algorithm, profile=self.base_profile)


@dataclass(frozen=True, slots=True)
class ClaimRow(PaperRow):
    """A claim of a paper on a machine: the claim as a whole, or one of its cases.

    Key: machine, paper, claim, case.
    """

    claim: str
    """The claim's name."""
    case: str
    """One case of the claim. Empty if it is the claim as a whole."""
    published_low: Number
    """Lowest of the published numbers. Empty if the claim names no number."""
    published_high: Number
    """Highest of the published numbers. Empty if the claim names no number."""
    speedup: Number
    """Our number: a speedup, or for a claim about memory the share of a copy's rate. Empty if not measured, or
    several cases."""
    speedup_low: Number
    """Lower end of the interval of `speedup`: of 98 %, and of k cases 1 - 0.02 / k each, so that all hold together; or
    the lowest of several cases. Empty if no interval."""
    speedup_high: Number
    """Upper end of the interval of `speedup`, likewise. Empty if no interval."""
    doubt: str
    """Why the numbers say less than they seem to: the row farthest above twice the least that its FLOP and bytes need;
    and the base of the largest number, if that is not fair. Empty if there is no doubt."""
    verdict: str
    """`reproduced`, `weakly reproduced`, `larger`, `smaller`, `trend not reproduced`, `not fair here`,
    `not settled` or `not testable here`; of one case of a crossover, `faster here` or `slower here`."""
    reason: str
    """The reason for the status or verdict, or for a missing number. Empty if there is nothing to explain."""
    profile: str
    """Profile of our row. Empty if not measured."""
    base_profile: str
    """Profile of the row that it is compared with. Empty if not measured."""
    says: str
    """The claim in words."""
    published: str
    """The published numbers in words. Empty if the claim names no number."""
    here: str
    """Our numbers in words. Empty if not measured."""

    @property
    def is_one_number(self) -> bool:
        """Return whether the row is about one published number, or about none."""
        return self.published_low == self.published_high


@dataclass(frozen=True, slots=True)
class Factors(CaseRow):
    """A speedup as the product of its factors: peaks, algorithm, and shares or rest.

    Key: machine, paper, experiment, case, comparison.
    """

    machine: str
    """The machine's name, or "paper" for the paper's own speedup."""
    comparison: str
    """The paper's rows (theirs), rows measured here (ours), or the fastest of ours over the fastest of theirs."""
    row: str
    """Label of the row."""
    base: str
    """Label of the base, which the row is compared with."""
    speedup: float
    """Seconds of the base over seconds of the row."""
    speedup_low: Number
    """Lower end of the interval of `speedup`, of 97 % for ours, of 95 % over theirs. Empty if theirs, or too few
    rounds."""
    speedup_high: Number
    """Upper end of the interval of `speedup`, likewise. Empty if theirs, or too few rounds."""
    printed: str
    """The paper's speedup as text, with ~ if it was inferred. Empty if it is ours."""
    peaks: Number
    """Peak of the row's hardware over the peak of the base's. Empty if a peak is not known."""
    algorithm: Number
    """Seconds of the base's algorithm over seconds of the row's, on one CPU row. Empty if both run the same."""
    shares: Number
    """Share of its peak that the row reached, over the share that the base reached. Empty if not known, or `rest` has
    it."""
    rest: Number
    """All else, if the two do different work. Empty if not known, or `shares` has it."""
    seconds: float
    """Seconds of the row, in s."""
    base_seconds: float
    """Seconds of the base, in s."""
    peak_gflops: Number
    """Peak of the row, in GFLOP/s: of the paper's by data sheets; of ours as measured, of a CPU the highest of all its
    fp32 rows, and so of all cores. Empty if not known."""
    base_peak_gflops: Number
    """Peak of the base, likewise, in GFLOP/s. Empty if not known."""
    share: Number
    """Share of its peak that the row reached. Empty if not known."""
    base_share: Number
    """Share of its peak that the base reached. Empty if not known."""
    precisions: str
    """The precisions of the two. Empty if both are the same, or not known."""


@dataclass(frozen=True, slots=True)
class Fact(MachineRow):
    """A fact of a machine, or of the software of its rounds, as the report shows it, with all values that occurred.

    Key: machine, part, fact.
    """

    part: str
    """Which part of the facts: summary (all in a line), hardware, rounds, software, measured, or profiles (the
    software of each)."""
    fact: str
    """Name of the fact."""
    value: str
    """Its value in words."""


TABLES: dict[str, type[MachineRow]] = {
    "rounds": Round, "cells": Cell, "speedups": Speedup, "claims": ClaimRow, "why": Factors, "facts": Fact,
}  # fmt: skip

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> defaultdict[Key, list[Item]]:
    """Return lists of the items that have the same key, by this key; keys and items keep their order."""
    groups: defaultdict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def dtypes_of(row_type: type[MachineRow]) -> dict[str, str]:
    """Return the dtype of each field of a row, in order: "object" for what is no column of a table."""
    types = get_type_hints(row_type)
    return {field.name: DTYPES.get(types[field.name], "object") for field in fields(row_type)}
