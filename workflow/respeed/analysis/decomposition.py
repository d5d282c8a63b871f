"""What a speedup is made of.

factors.csv: where the paper's CPU rows run another algorithm than its accelerator's, its speedup is a product of two:

    t(CPU, its algorithm) / t(device, the device's algorithm)
        = t(CPU, its algorithm) / t(CPU, the device's algorithm)     the algorithm's factor
        * t(CPU, the device's algorithm) / t(device, ...)            the hardware's factor

both CPU times those of the profile that is fastest with the CPU's algorithm, of those that run the device's as well.
Each is estimated from rounds, so that they multiply only up to what such estimates differ by.

iterations.csv: of two algorithms that iterate, on one row, the ratio of seconds is a sum over the parts of a step:

    t / t(base) = share * iterations * iteration    what iterates: iterations of an example, and seconds of an iteration
                  + (1 - share) * others            the other parts

`share` is that of the base's seconds in which it iterates.

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

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd

from respeed.analysis.cells import PAPER, across_precisions, label_row
from respeed.analysis.columns import apply_dtypes, make_frame, rows_of
from respeed.analysis.estimates import FULL_PRECISION, Estimate, estimate_location
from respeed.analysis.rounds import CELL, CellKey, key_of
from respeed.analysis.speedups import COLUMN, Samples, published_speedup_of
from respeed.model.paper import Experiment, Paper
from respeed.text import format_number, format_share

# The row and the base of each comparison of why.csv, as people say it; theirs first.
COMPARISONS = {
    "theirs": ("the paper's GPU", "the paper's CPU"),
    "ours": ("GPU here", "CPU here"),
    "cpu over their cpu": ("CPU here", "the paper's CPU"),
    "cpu over their gpu": ("CPU here", "the paper's GPU"),
    "gpu over their gpu": ("GPU here", "the paper's GPU"),
}
_column, _row = attrgetter(*COLUMN), attrgetter(*COLUMN, "profile")


def _fastest(cells: Iterable[Any]) -> Any:
    """Of cells that all have a time; of equals the first. None if there is none."""
    return min(cells, key=attrgetter("seconds"), default=None)


def make_factors(cells: pd.DataFrame, samples: Samples, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """A row for every measured cell of the accelerator's algorithm, in tables that tell algorithms apart. The base is
    the fastest CPU row with the CPU's algorithm; the device's algorithm is compared on it, too."""
    columns = _of_several(cells, papers, _column)
    found = [row for column in columns for row in _factors(column, samples, papers[column[0].paper])]
    return make_frame(found, "factors")


def _of_several(
    cells: pd.DataFrame, papers: Mapping[str, Paper], place: Callable[[Any], tuple[str, ...]]
) -> Iterable[list[Any]]:
    """The measured cells of tables that tell algorithms apart, those of a `place` together."""
    found: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for cell in rows_of(cells[cells["seconds"].notna()]):
        if papers[cell.paper].experiments[cell.experiment].algorithms:
            found[place(cell)].append(cell)
    return found.values()


def _factors(column: list[Any], samples: Samples, paper: Paper) -> Iterator[dict[str, Any]]:
    experiment = paper.experiments[column[0].experiment]
    slow, fast = experiment.algorithms_in(paper.cpu_rows), experiment.algorithms_in(paper.device_rows)
    both = {cell.profile for cell in column if cell.algorithm in fast}
    full = (cell for cell in column if cell.profile in both and cell.is_cpu and cell.precision == FULL_PRECISION)
    base = _fastest(cell for cell in full if cell.algorithm in slow)
    if base is None or slow == fast:
        return
    on_base = {cell.algorithm: cell for cell in column if cell.profile == base.profile}
    for cell in column:
        if cell.algorithm in fast and (same := on_base.get(cell.algorithm)):
            row = cell._asdict() | {"base_profile": base.profile, "label": f"{cell.label} (over {base.label})"}
            row |= samples.ratio(base, cell)[0].columns("speedup")
            for name, one, other in (("algorithm", base, same), ("hardware", same, cell)):
                ratio, _ = samples.ratio(one, other)
                row |= ratio.columns(name) | {f"{name}_factor": ratio.value}
            yield row | {"algorithm": cell.algorithm, "published": published_speedup_of(cell, paper)[0]}


def make_iterations(cells: pd.DataFrame, samples: Samples, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """A row for every measured cell with iterations beside one of the same row and case by another algorithm, the first
    of its table that has them."""
    timed = samples.timed[samples.timed["iterations"].notna()]
    told = {
        CellKey._make(cell): [
            estimate_location(mine[name].tolist()).value for name in ("iterations", "iterating_seconds", "seconds")
        ]
        for cell, mine in timed.groupby(CELL, sort=False)
    }
    found: list[dict[str, Any]] = []
    for row in _of_several(cells, papers, _row):
        base, *others = [cell for cell in row if key_of(cell) in told] or [None]
        for cell in others:
            ratio, _ = samples.ratio(cell, base)
            (times, seconds, whole), (base_times, base_seconds, base_whole) = told[key_of(cell)], told[key_of(base)]
            factor, base_rest = times / base_times, base_whole - base_seconds
            found.append(cell._asdict() | ratio.columns("ratio") | {
                "base_algorithm": base.algorithm, "iterations": times, "base_iterations": base_times,
                "iterations_factor": factor, "iteration_factor": seconds / base_seconds / factor,
                "others_factor": (whole - seconds) / base_rest if base_rest > 0 else None,
                "iterating_share": base_seconds / base_whole,
            })  # fmt: skip
    return make_frame(found, "iterations")


class _Printed(NamedTuple):
    """A published row in one case, with the fields of a cell of ours that it is compared by."""

    name: str
    label: str
    seconds: float
    peak_gflops: float | None
    precision: str


def make_why(
    cells: pd.DataFrame, speedups: pd.DataFrame, factors: pd.DataFrame, papers: Mapping[str, Paper], smoke: bool
) -> pd.DataFrame:
    """For every table with printed seconds and every case: the paper's own speedup, then each machine's rows."""
    measured: dict[tuple[str, ...], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for cell in rows_of(cells[cells["seconds"].notna() & (cells["precision"] == FULL_PRECISION)]):
        measured[cell.paper, cell.experiment, cell.case][cell.machine].append(cell)
    over_cpu = {(*_row(row), row.algorithm): row for row in rows_of(speedups)}
    by_algorithm = {(*_row(row), row.algorithm): row for row in rows_of(factors)}
    found: list[dict[str, Any]] = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            for case in experiment.case_names(smoke) if paper.prints(experiment.name) else ():
                machines = measured[paper.name, experiment.name, case]
                every = [] if experiment.algorithms else [cell for mine in machines.values() for cell in mine]
                work, traffic = (
                    next((amount for cell in every if (amount := getattr(cell, name))), None)
                    for name in ("flops", "traffic_bytes")
                )
                cpu, gpu = (
                    _printed(paper, experiment.name, case, rows, work, traffic)
                    for rows in (paper.cpu_rows, paper.device_rows)
                )
                rows = [_theirs(paper, experiment, case, gpu, cpu)] if gpu and cpu else []
                for mine in machines.values():
                    rows += _over_our_cpu(paper, experiment, mine, over_cpu, by_algorithm)
                    rows += _over_theirs(experiment, mine, cpu, gpu)
                place = {"paper": paper.name, "experiment": experiment.name, "case": case, "work": work}
                found += [place | row for row in rows]
    return break_down(found)


def _printed(
    paper: Paper, experiment: str, case: str, rows: Collection[str], work: float | None, traffic: float | None
) -> _Printed | None:
    """The fastest of these published rows for the case."""
    row = paper.fastest(experiment, case, rows)
    seconds = paper.seconds(experiment, case, row.name, work, traffic) if row else None
    if not (row and seconds):
        return None
    peak = row.hardware.flops_per_second / 1e9 if row.hardware else None
    return _Printed(row.name, label_row(paper, row), seconds, peak, row.precision)


def _theirs(paper: Paper, experiment: Experiment, case: str, gpu: _Printed, cpu: _Printed) -> dict[str, Any]:
    printed = paper.printed_speedup(experiment.name, case, gpu.name)
    speedup = Estimate(cpu.seconds / gpu.seconds)
    row = compare(PAPER, "theirs", gpu, cpu, speedup, same_work=not experiment.algorithms)
    return row | {"printed": printed.text if printed else ""}


def _over_our_cpu(
    paper: Paper, experiment: Experiment, mine: list[Any], over_cpu: Mapping[Any, Any], by_algorithm: Mapping[Any, Any]
) -> Iterator[dict[str, Any]]:
    gpu = _fastest(cell for cell in mine if not cell.is_cpu)
    if gpu is None:
        return
    found, algorithm = by_algorithm.get((*_row(gpu), gpu.algorithm)), None
    algorithms = experiment.algorithms_in(paper.cpu_rows)
    if found and gpu.algorithm in experiment.algorithms_in(paper.device_rows):
        algorithm, same_work = found.algorithm_factor, True
    else:
        found = over_cpu.get((*_row(gpu), gpu.algorithm))
        if not (found and found.speedup):
            return
        algorithms, same_work = {found.base_algorithm}, found.base_algorithm == gpu.algorithm
    base = _fastest(cell for cell in mine if cell.profile == found.base_profile and cell.algorithm in algorithms)
    if base:
        speedup = Estimate(found.speedup, found.speedup_low, found.speedup_high)
        yield compare(gpu.machine, "ours", gpu, base, speedup, algorithm, same_work=same_work)


def _over_theirs(
    experiment: Experiment, mine: list[Any], cpu: _Printed | None, gpu: _Printed | None
) -> Iterator[dict[str, Any]]:
    """Ours over a row of the paper; the interval is that of our seconds."""
    our_cpu, our_gpu = (_fastest(cell for cell in mine if cell.is_cpu == is_cpu) for is_cpu in (True, False))
    for name, cell, there in (
        ("cpu over their cpu", our_cpu, cpu),
        ("cpu over their gpu", our_cpu, gpu),
        ("gpu over their gpu", our_gpu, gpu),
    ):
        if cell and there:
            algorithms = experiment.algorithms_in((there.name,))
            same = _fastest(one for one in mine if one.profile == cell.profile and one.algorithm in algorithms)
            algorithm = same.seconds / cell.seconds if same and cell.algorithm not in algorithms else None
            speedup = Estimate(cell.seconds, cell.seconds_low, cell.seconds_high).over(there.seconds)
            yield compare(cell.machine, name, cell, there, speedup, algorithm, same_work=not experiment.algorithms)


def compare(
    machine: str, comparison: str, row: Any, base: Any, speedup: Estimate, algorithm: float | None = None,
    *, same_work: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """Two cells or published rows to break down. `algorithm` is its factor, where two are compared; `same_work` says
    that, but for that factor, both sides do the same arithmetic."""
    return {
        "machine": machine, "comparison": comparison, "algorithm": algorithm, "same_work": same_work,
        "row": row.label, "seconds": row.seconds, "peak_gflops": row.peak_gflops, "row_precision": row.precision,
        "base": base.label, "base_seconds": base.seconds, "base_peak_gflops": base.peak_gflops,
        "base_precision": base.precision, "printed": "",
    } | speedup.columns("speedup")  # fmt: skip


def break_down(compared: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """why.csv: the factors of every speedup. Besides what `compare` says, a row has its paper, experiment and case, and
    `work`, the FLOP of both sides."""
    why = pd.DataFrame(list(compared))
    if why.empty:
        return make_frame([], "why")
    numbers = ["work", "algorithm", "peak_gflops", "base_peak_gflops"]
    why[numbers] = why[numbers].astype(float)
    for side in ("", "base_"):
        why[f"{side}gflops"] = why["work"] / why[f"{side}seconds"] / 1e9
        why[f"{side}share"] = why[f"{side}gflops"] / why[f"{side}peak_gflops"]
    why["peaks"] = why["peak_gflops"] / why["base_peak_gflops"]
    left = why["speedup"] / why["peaks"] / why["algorithm"].fillna(1.0)
    why["shares"], why["rest"] = left.where(why["same_work"]), left.mask(why["same_work"])
    sides = zip(why["row_precision"], why["base_precision"], strict=True)
    why["precisions"] = [across_precisions(row, [base]) for row, base in sides]
    why["reason"] = [_unknown(row) for row in rows_of(why)]
    return apply_dtypes(why, "why")


def _unknown(one: Any) -> str:
    labels = [label for label, peak in ((one.row, one.peak_gflops), (one.base, one.base_peak_gflops)) if not peak]
    if labels:
        return f"no peak is known of {' and '.join(labels)}"
    return "" if one.work else "no FLOP count, so no share of a peak is known"


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
