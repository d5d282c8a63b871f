"""What a speedup is made of.

factors.csv: where the paper's CPU rows run another algorithm than its accelerator's, its speedup is a product of two:

    t(CPU, its algorithm) / t(device, the device's algorithm)
        = t(CPU, its algorithm) / t(CPU, the device's algorithm)     the algorithm's factor
        * t(CPU, the device's algorithm) / t(device, ...)            the hardware's factor

both CPU times those of the profile that is fastest with the CPU's algorithm, of those that run the device's as well.
Each is estimated from rounds, so that they multiply only up to what such estimates differ by.

why.csv: every speedup, theirs and ours, as factors that multiply to it, of which those are given that apply:

    t(base) / t(row) = peaks * algorithm * shares * rest

    peaks      the highest rate of the row's hardware over that of the base's
    algorithm  where the two run different ones: seconds of the base's over those of the row's, both on one CPU row here
    shares     where both do the same arithmetic: the share of its peak that the row reached over the base's
    rest       all else, where they do not

The speedup has an interval where our rounds give one; the factors are point estimates, and the last of them is what the
others leave. A speedup over a row of the same machine is estimated from pairs of rounds: there `shares` is the ratio of
the two shares up to what that estimate and the ratio of two means differ by. In a table that tells algorithms apart, a
speedup of ours over our CPU is the paper's kind, each side with its own algorithm, as in factors.csv. Over a row of the
paper, the algorithm's factor is what theirs takes over ours on our row; what is left then also has their language and
precision in it.
"""

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.estimates import FULL_PRECISION, Sessions, compare_rounds
from respeed.analysis.labels import across_precisions, label_row
from respeed.analysis.rounds import CellKey, key_of, seconds_by_session
from respeed.analysis.speedups import COLUMN, published_speedup_of
from respeed.model.paper import Experiment, Paper
from respeed.numbers import format_number, format_share

# The row and the base of each comparison of why.csv, as people say it; theirs first.
COMPARISONS = {
    "theirs": ("GPU there", "CPU there"),
    "ours": ("GPU here", "CPU here"),
    "cpu over their cpu": ("CPU here", "CPU there"),
    "cpu over their gpu": ("CPU here", "GPU there"),
    "gpu over their gpu": ("GPU here", "GPU there"),
}
Place = tuple[str, ...]


def algorithms_of(experiment: Experiment, rows: Collection[str]) -> set[str]:
    """The algorithms whose numbers the paper prints in any of these rows."""
    return {name for name, one in experiment.algorithms.items() if set(one.published_for) & set(rows)}


def fastest_cell(cells: Iterable[Any]) -> Any:
    """Of those with a time the one with the shortest; of equals the first. None if there is none."""
    return min((cell for cell in cells if cell.seconds), key=lambda cell: cell.seconds, default=None)


def make_factors(cells: pd.DataFrame, rounds: pd.DataFrame, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """A row for every measured cell of the accelerator's algorithm, in tables that tell algorithms apart. The base is
    the fastest CPU row with the CPU's algorithm; the device's algorithm is compared on it, too."""
    seconds, columns = seconds_by_session(rounds), defaultdict[Place, list[Any]](list)
    for cell in rows_of(cells[cells["seconds"].notna()]):
        if papers[cell.paper].experiments[cell.experiment].algorithms:
            columns[cell.machine, cell.paper, cell.experiment, cell.case].append(cell)
    found = [_factors(column, seconds, papers[column[0].paper]) for column in columns.values()]
    return make_frame(itertools.chain.from_iterable(found), "factors")


def _factors(column: list[Any], seconds: Mapping[CellKey, Sessions], paper: Paper) -> Iterator[dict[str, Any]]:
    experiment = paper.experiments[column[0].experiment]
    slow, fast = algorithms_of(experiment, paper.cpu_rows), algorithms_of(experiment, paper.device_rows)
    both = {cell.profile for cell in column if cell.algorithm in fast}
    base = fastest_cell(
        cell
        for cell in column
        if cell.profile in both and cell.is_cpu and cell.precision == FULL_PRECISION and cell.algorithm in slow
    )
    same = next((cell for cell in column if base and cell.profile == base.profile and cell.algorithm in fast), None)
    if base is None or same is None or slow == fast:
        return
    for cell in column:
        if cell.algorithm in fast:
            row = cell._asdict() | {"base_profile": base.profile, "label": f"{cell.label} (CPU: {base.profile})"}
            for number, ends, one, other in (
                ("speedup", "speedup", base, cell),
                ("algorithm_factor", "algorithm", base, same),
                ("hardware_factor", "hardware", same, cell),
            ):
                estimate, _ = compare_rounds(seconds[key_of(one)], seconds[key_of(other)])
                row |= {number: estimate.value, f"{ends}_low": estimate.low, f"{ends}_high": estimate.high}
            yield row | {"published": published_speedup_of(cell, paper)[0]}


@dataclass(frozen=True)
class Side:
    """The row or the base of a comparison; `work` in FLOP and `peak` in GFLOP/s, in the side's `precision`, are None
    where they are not known."""

    label: str
    seconds: float
    work: float | None
    peak: float | None
    precision: str = ""

    @property
    def gflops(self) -> float | None:
        return self.work / self.seconds / 1e9 if self.work else None

    @property
    def share(self) -> float | None:
        """Of its peak."""
        return self.gflops / self.peak if self.gflops and self.peak else None


@dataclass(frozen=True)
class Ratio:
    """A speedup with its interval, and the algorithm's factor in it where two algorithms are compared.

    `same_work`: but for that factor, both sides do the same arithmetic.
    """

    speedup: float
    low: float | None = None
    high: float | None = None
    algorithm: float | None = None
    same_work: bool = True


@dataclass(frozen=True)
class _Column:
    """One case of one machine, or of the paper: the measured cells in fp32, and the FLOP and bytes of its seconds."""

    machine: str
    paper: Paper
    experiment: Experiment
    case: str
    cells: list[Any]
    work: float | None
    traffic: float | None

    @property
    def where(self) -> Place:
        return self.machine, self.paper.name, self.experiment.name, self.case

    def fastest(self, *, cpu: bool) -> Any:
        return fastest_cell(cell for cell in self.cells if cell.is_cpu == cpu)

    def side(self, cell: Any) -> Side:
        return Side(cell.label, cell.seconds, self.work, cell.peak_gflops, cell.precision)

    def printed(self, rows: Collection[str]) -> tuple[str, Side] | None:
        """The paper's fastest row of these for the case, and its name."""
        row = self.paper.fastest(self.experiment.name, self.case, rows)
        where = (self.experiment.name, self.case)
        seconds = self.paper.seconds(*where, row.name, self.work, self.traffic) if row else None
        if not (row and seconds):
            return None
        peak = row.hardware.flops_per_second / 1e9 if row.hardware else None
        return row.name, Side(label_row(self.paper, row), seconds, self.work, peak, row.precision)


def make_why(
    cells: pd.DataFrame, speedups: pd.DataFrame, factors: pd.DataFrame, papers: Mapping[str, Paper], smoke: bool
) -> pd.DataFrame:
    """For every table with printed seconds and every case: the paper's own speedup, then each machine's rows."""
    measured: dict[Place, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for cell in rows_of(cells[cells["seconds"].notna() & (cells["precision"] == FULL_PRECISION)]):
        measured[cell.paper, cell.experiment, cell.case][cell.machine].append(cell)
    over_base = {_place(row, row.algorithm): row for row in rows_of(speedups)}
    in_factors = {_place(row): row for row in rows_of(factors)}
    found: list[dict[str, Any]] = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            for case in experiment.case_names(smoke) if paper.prints(experiment.name) else ():
                machines = measured[paper.name, experiment.name, case]
                every = [cell for mine in machines.values() for cell in mine]
                amounts: list[float | None] = [None, None]
                if not experiment.algorithms:  # these differ in theirs
                    amounts = [
                        next((getattr(cell, name) for cell in every if getattr(cell, name)), None)
                        for name in ("flops", "traffic_bytes")
                    ]
                found += _theirs(_Column("paper", paper, experiment, case, [], *amounts))
                for machine, mine in machines.items():
                    column = _Column(machine, paper, experiment, case, mine, *amounts)
                    found += _over_our_cpu(column, over_base, in_factors)
                    found += _over_theirs(column)
    return make_frame(found, "why")


def _place(row: Any, *more: str) -> Place:
    return row.machine, row.paper, row.experiment, row.case, row.profile, *more


def _theirs(column: _Column) -> Iterator[dict[str, Any]]:
    gpu, cpu = column.printed(column.paper.device_rows), column.printed(column.paper.cpu_rows)
    if gpu and cpu:
        printed = column.paper.printed_speedup(column.experiment.name, column.case, gpu[0])
        ratio = Ratio(cpu[1].seconds / gpu[1].seconds, same_work=not column.experiment.algorithms)
        yield break_down(column.where, "theirs", gpu[1], cpu[1], ratio, printed.text if printed else "")


def _over_our_cpu(
    column: _Column, over_base: Mapping[Place, Any], in_factors: Mapping[Place, Any]
) -> Iterator[dict[str, Any]]:
    gpu = column.fastest(cpu=False)
    if gpu is None:
        return
    factors, speedup = in_factors.get(_place(gpu)), over_base.get(_place(gpu, gpu.algorithm))
    if factors and gpu.algorithm in algorithms_of(column.experiment, column.paper.device_rows):
        algorithms, profile = algorithms_of(column.experiment, column.paper.cpu_rows), factors.base_profile
        ratio = Ratio(factors.speedup, factors.speedup_low, factors.speedup_high, factors.algorithm_factor)
    elif speedup and speedup.speedup:
        algorithms, profile = {speedup.base_algorithm}, speedup.base_profile
        same = speedup.base_algorithm == gpu.algorithm
        ratio = Ratio(speedup.speedup, speedup.speedup_low, speedup.speedup_high, same_work=same)
    else:
        return
    base = fastest_cell(cell for cell in column.cells if cell.profile == profile and cell.algorithm in algorithms)
    if base:
        yield break_down(column.where, "ours", column.side(gpu), column.side(base), ratio)


def _over_theirs(column: _Column) -> Iterator[dict[str, Any]]:
    cpu, gpu = column.fastest(cpu=True), column.fastest(cpu=False)
    for name, cell, rows in (
        ("cpu over their cpu", cpu, column.paper.cpu_rows),
        ("cpu over their gpu", cpu, column.paper.device_rows),
        ("gpu over their gpu", gpu, column.paper.device_rows),
    ):
        theirs = column.printed(rows)
        if cell and theirs:
            ratio = _over_printed(column, cell, theirs[0], theirs[1].seconds)
            yield break_down(column.where, name, column.side(cell), theirs[1], ratio)


def _over_printed(column: _Column, cell: Any, row: str, printed: float) -> Ratio:
    """Ours over a row of the paper; the interval is that of our seconds."""
    algorithms = algorithms_of(column.experiment, (row,))
    same = fastest_cell(one for one in column.cells if one.profile == cell.profile and one.algorithm in algorithms)
    return Ratio(
        printed / cell.seconds,
        printed / cell.seconds_high if cell.seconds_high else None,
        printed / cell.seconds_low if cell.seconds_low else None,
        same.seconds / cell.seconds if same and cell.algorithm not in algorithms else None,
        same_work=not column.experiment.algorithms,
    )


def break_down(where: Place, comparison: str, row: Side, base: Side, ratio: Ratio, printed: str = "") -> dict[str, Any]:
    """A row of why.csv: the factors of a speedup; `where` are machine, paper, experiment and case."""
    peaks = row.peak / base.peak if row.peak and base.peak else None
    left = ratio.speedup / peaks / (ratio.algorithm or 1.0) if peaks else None
    unknown = [side.label for side in (row, base) if not side.peak]
    reason = "" if row.work and base.work else "no FLOP count, so no share of a peak is known"
    return {
        **dict(zip(COLUMN, where, strict=True)),
        "comparison": comparison,
        "row": row.label,
        "base": base.label,
        "speedup": ratio.speedup,
        "speedup_low": ratio.low,
        "speedup_high": ratio.high,
        "printed": printed,
        "peaks": peaks,
        "algorithm": ratio.algorithm,
        "shares" if ratio.same_work else "rest": left,
        "precisions": across_precisions(row.precision, [base.precision]),
        "reason": f"no peak is known of {' and '.join(unknown)}" if unknown else reason,
        **{
            f"{whose}{name}": value
            for whose, side in (("", row), ("base_", base))
            for name, value in {
                "seconds": side.seconds, "gflops": side.gflops, "peak_gflops": side.peak, "share": side.share
            }.items()
        },
    }  # fmt: skip


def explain(one: Any) -> str:
    """A row of why.csv in words:

    72.6 = 12.3 of hardware (622 over 50.6 GFLOP/s) times 5.91 of use (42 % of its peak against 7 %)
    """
    number = one.printed or format_number(one.speedup)
    whole = f"{number} ({one.precisions})" if one.precisions else number
    if not (one.peaks and one.peak_gflops and one.base_peak_gflops):
        return f"{whole}: {one.reason}"
    rates = f"{format_number(one.peak_gflops)} over {format_number(one.base_peak_gflops)} GFLOP/s"
    factors = [f"{format_number(one.peaks)} of hardware ({rates})"]
    if one.algorithm:
        factors.append(f"{format_number(one.algorithm)} of the algorithm")
    if one.shares:
        reached = ""
        if one.share and one.base_share:
            reached = f" ({format_share(one.share)} of its peak against {format_share(one.base_share)})"
        factors.append(f"{format_number(one.shares)} of use{reached}")
    if one.rest:
        factors.append(f"{format_number(one.rest)} of all else")
    return f"{whole} = {' times '.join(factors)}"
