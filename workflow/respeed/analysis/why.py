"""The factors of a speedup.

why.csv has speedups, the paper's and ours, each as the product of the factors that apply:

    t(base) / t(row) = peaks * algorithm * shares * rest

    peaks      the peak rate of the row's hardware divided by the peak rate of the base's hardware
    algorithm  if row and base run different algorithms: the seconds of the base's algorithm divided by the seconds of
               the row's algorithm, both on one row here
    shares     if row and base do the same arithmetic: the share of its peak that the row reached divided by the
               share that the base reached
    rest       if row and base do different arithmetic: all else

The speedup has an interval if our rounds give one; the factors are point estimates, and the last factor is the speedup
divided by the others. A speedup over a row of the same machine is estimated from rounds of shared sessions, so that
`shares` may differ slightly from the ratio of the two shares. If the paper's CPU rows and accelerator rows run
different algorithms, so do our two rows: the base is the fastest CPU row with the paper's CPU algorithm, of the CPU
rows that also run the accelerator's algorithm. For our speedup over a row of the paper, the factor `algorithm` is the
time of the paper's algorithm divided by the time of ours, both on our row; `rest` then also contains the paper's
language and precision.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd

from respeed.analysis.cells import PAPER, across_precisions, label_row
from respeed.analysis.columns import apply_dtypes, make_frame, rows_of
from respeed.analysis.estimates import FULL_PRECISION, Estimate
from respeed.analysis.speedups import COLUMN, Samples
from respeed.model import Experiment, Paper

# The row and the base of each comparison of why.csv, in words; the paper's own comparison is first.
COMPARISONS = {
    "theirs": ("the paper's GPU", "the paper's CPU"),
    "ours": ("GPU here", "CPU here"),
    "cpu over their cpu": ("CPU here", "the paper's CPU"),
    "cpu over their gpu": ("CPU here", "the paper's GPU"),
    "gpu over their gpu": ("GPU here", "the paper's GPU"),
}
_row = attrgetter(*COLUMN, "profile")


def _fastest(cells: Iterable[Any]) -> Any:
    """Return the fastest of the cells, which all have a time; the first if several are equal, None without cells."""
    return min(cells, key=attrgetter("seconds"), default=None)


class _Printed(NamedTuple):
    """A published row in one case, with the fields by which it is compared with our cells."""

    name: str
    label: str
    seconds: float
    peak_gflops: float | None
    precision: str


def make_why(
    cells: pd.DataFrame, samples: Samples, speedups: pd.DataFrame, papers: Mapping[str, Paper]
) -> pd.DataFrame:
    """Break speedups into factors, for each case of tables with printed numbers: the paper's, then each machine's."""
    measured: dict[tuple[str, ...], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for cell in rows_of(cells[cells["seconds"].notna() & (cells["precision"] == FULL_PRECISION)]):
        measured[cell.paper, cell.experiment, cell.case][cell.machine].append(cell)
    over_cpu = {(*_row(row), row.algorithm): row for row in rows_of(speedups)}
    found: list[dict[str, Any]] = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            for case in experiment.case_names() if paper.prints(experiment.name) else ():
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
                    rows += _over_our_cpu(paper, experiment, mine, over_cpu, samples)
                    rows += _over_theirs(experiment, mine, cpu, gpu)
                place = {"paper": paper.name, "experiment": experiment.name, "case": case, "work": work}
                found += [place | row for row in rows]
    return break_down(found)


def _printed(
    paper: Paper, experiment: str, case: str, rows: Collection[str], work: float | None, traffic: float | None
) -> _Printed | None:
    """Return the fastest of the published rows `rows` in the case; None if its seconds are not known."""
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
    paper: Paper, experiment: Experiment, mine: list[Any], over_cpu: Mapping[Any, Any], samples: Samples
) -> Iterator[dict[str, Any]]:
    """Yield the speedup of the fastest accelerator row over a CPU row here, if possible with the paper's algorithms."""
    gpu = _fastest(cell for cell in mine if not cell.is_cpu)
    if gpu is None:
        return
    slow, fast = experiment.algorithms_in(paper.cpu_rows), experiment.algorithms_in(paper.device_rows)
    if gpu.algorithm in fast and slow != fast:
        same = {cell.profile: cell for cell in mine if cell.is_cpu and cell.algorithm == gpu.algorithm}
        both = {cell.profile for cell in mine if cell.algorithm in fast}
        base = _fastest(cell for cell in mine if cell.is_cpu and cell.profile in both and cell.algorithm in slow)
        if base and base.profile in same:
            algorithm = samples.ratio(base, same[base.profile])[0].value
            yield compare(gpu.machine, "ours", gpu, base, samples.ratio(base, gpu)[0], algorithm)
            return
    over = over_cpu.get((*_row(gpu), gpu.algorithm))
    if not (over and over.speedup):
        return
    place = over.base_profile, over.base_algorithm
    base = next((cell for cell in mine if (cell.profile, cell.algorithm) == place), None)
    if base:
        speedup = Estimate(over.speedup, over.speedup_low, over.speedup_high)
        yield compare(gpu.machine, "ours", gpu, base, speedup, same_work=base.algorithm == gpu.algorithm)


def _over_theirs(
    experiment: Experiment, mine: list[Any], cpu: _Printed | None, gpu: _Printed | None
) -> Iterator[dict[str, Any]]:
    """Yield our rows' speedups over the paper's rows; their intervals come from our times alone."""
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
    """Return a row of why.csv, without its factors, for two cells or published rows.

    `algorithm` is the factor between the two algorithms, if they differ; `same_work` is true if row and base otherwise
    do the same arithmetic.
    """
    return {
        "machine": machine, "comparison": comparison, "algorithm": algorithm, "same_work": same_work,
        "row": row.label, "seconds": row.seconds, "peak_gflops": row.peak_gflops, "row_precision": row.precision,
        "base": base.label, "base_seconds": base.seconds, "base_peak_gflops": base.peak_gflops,
        "base_precision": base.precision, "printed": "",
    } | speedup.columns("speedup")  # fmt: skip


def break_down(compared: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Break every speedup into factors: the table why.csv.

    Besides the fields of `compare`, each row of `compared` has its paper, experiment and case, and `work`, the FLOP of
    row and base alike.
    """
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
