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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import pandas as pd

from respeed.analysis.cells import PAPER, across_precisions, label_row
from respeed.analysis.columns import Fields, apply_dtypes, make_frame
from respeed.analysis.estimates import FULL_PRECISION, Estimate
from respeed.analysis.speedups import Samples
from respeed.analysis.tables import Cell, CellKey, Speedup
from respeed.model import Experiment, Paper, Papers

# The row and the base of each comparison of why.csv, in words; the paper's own comparison is first.
COMPARISONS = {
    "theirs": ("the paper's GPU", "the paper's CPU"),
    "ours": ("GPU here", "CPU here"),
    "cpu over their cpu": ("CPU here", "the paper's CPU"),
    "cpu over their gpu": ("CPU here", "the paper's GPU"),
    "gpu over their gpu": ("GPU here", "the paper's GPU"),
}
NO_WORK = "no FLOP count, so no share of a peak is known"


def _fastest(cells: Iterable[Cell]) -> Cell | None:
    """Return the fastest of the cells, which all have a time; the first if several are equal, None without cells."""
    return min(cells, key=attrgetter("seconds"), default=None)


class _Printed(NamedTuple):
    """A published row in one case, with the fields by which it is compared with our cells."""

    name: str
    label: str
    seconds: float
    peak_gflops: float | None
    precision: str


def make_why(cells: Sequence[Cell], samples: Samples, speedups: Iterable[Speedup], papers: Papers) -> pd.DataFrame:
    """Break speedups into factors, for each case of tables with printed numbers: the paper's, then each machine's."""
    measured: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    full = [cell for cell in cells if cell.seconds and cell.precision == FULL_PRECISION]
    # A machine's CPU is one hardware, whichever library reached its highest rate.
    peaks: dict[tuple[str, bool], float | None] = {}
    for cell in full:
        hardware = cell.machine, cell.is_cpu
        peaks[hardware] = max(filter(None, [cell.peak_gflops, peaks.get(hardware)]), default=None)
    for cell in full:
        own = replace(cell, peak_gflops=peaks[cell.machine, cell.is_cpu])
        measured[cell.paper, cell.experiment, cell.case].append(own)
    over_cpu = {row.key: row for row in speedups}
    rows: list[Fields] = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            for case in experiment.case_names() if paper.prints(experiment.name) else ():
                in_case = measured[paper.name, experiment.name, case]
                counted = () if experiment.algorithms else in_case  # algorithms do not do the same work
                work = next((cell.flops for cell in counted if cell.flops), None)
                traffic = next((cell.traffic_bytes for cell in counted if cell.traffic_bytes), None)
                cpu = _printed(paper, experiment.name, case, paper.cpu_rows, work, traffic)
                gpu = _printed(paper, experiment.name, case, paper.device_rows, work, traffic)
                compared = [_theirs(paper, experiment, case, gpu, cpu)] if gpu and cpu else []
                for _, group in groupby(in_case, attrgetter("machine")):  # cells are in the order of machines
                    on_machine = list(group)
                    compared += _over_our_cpu(paper, experiment, on_machine, over_cpu, samples)
                    compared += _over_theirs(experiment, on_machine, cpu, gpu)
                facts = {"paper": paper.name, "experiment": experiment.name, "case": case, "work": work}
                rows += [facts | row for row in compared]
    return break_down(rows)


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


def _theirs(paper: Paper, experiment: Experiment, case: str, gpu: _Printed, cpu: _Printed) -> Fields:
    printed = paper.printed_speedup(experiment.name, case, gpu.name)
    text = printed.text if printed else ""
    speedup = Estimate(cpu.seconds / gpu.seconds)
    return compare(PAPER, "theirs", gpu, cpu, speedup, same_work=not experiment.algorithms, printed=text)


def _over_our_cpu(
    paper: Paper, experiment: Experiment, cells: Sequence[Cell], over_cpu: Mapping[CellKey, Speedup], samples: Samples
) -> Iterator[Fields]:
    """Yield the speedup of the fastest accelerator row over a CPU row here, if possible with the paper's algorithms."""
    gpu = _fastest(cell for cell in cells if not cell.is_cpu)
    if gpu is None:
        return
    over = over_cpu[gpu.key]
    base_key = gpu.key._replace(workload=over.base_algorithm, profile=over.base_profile)
    base = next((cell for cell in cells if cell.key == base_key), None)
    algorithm = None
    slow, fast = experiment.algorithms_in(paper.cpu_rows), experiment.algorithms_in(paper.device_rows)
    if gpu.algorithm in fast and slow != fast:
        same = {cell.profile: cell for cell in cells if cell.is_cpu and cell.algorithm == gpu.algorithm}
        as_published = _fastest(cell for cell in cells if cell.profile in same and cell.algorithm in slow)
        if as_published:
            base = as_published
            algorithm = samples.ratio(base, same[base.profile])[0].value
    if base:
        same_work = algorithm is not None or base.algorithm == gpu.algorithm
        yield compare(gpu.machine, "ours", gpu, base, samples.ratio(base, gpu)[0], algorithm, same_work=same_work)


def _over_theirs(
    experiment: Experiment, cells: Sequence[Cell], cpu: _Printed | None, gpu: _Printed | None
) -> Iterator[Fields]:
    """Yield our rows' speedups over the paper's rows; their intervals come from our times alone."""
    our_cpu = _fastest(cell for cell in cells if cell.is_cpu)
    our_gpu = _fastest(cell for cell in cells if not cell.is_cpu)
    for name, cell, base in (
        ("cpu over their cpu", our_cpu, cpu),
        ("cpu over their gpu", our_cpu, gpu),
        ("gpu over their gpu", our_gpu, gpu),
    ):
        if cell and base:
            algorithms = experiment.algorithms_in((base.name,))
            same = _fastest(other for other in cells if other.profile == cell.profile and other.algorithm in algorithms)
            algorithm = same.time.value / cell.time.value if same and cell.algorithm not in algorithms else None
            speedup = cell.time.over(base.seconds)
            yield compare(cell.machine, name, cell, base, speedup, algorithm, same_work=not experiment.algorithms)


def compare(
    machine: str,
    comparison: str,
    row: Cell | _Printed,
    base: Cell | _Printed,
    speedup: Estimate,
    algorithm: float | None = None,
    *,
    same_work: bool = True,
    printed: str = "",
) -> Fields:
    """Return a row of why.csv, without its factors, for two cells or published rows.

    `algorithm` is the factor between the two algorithms, if they differ; `same_work` is true if row and base otherwise
    do the same arithmetic.
    """
    unknown = [side.label for side in (row, base) if not side.peak_gflops]
    return {
        "machine": machine, "comparison": comparison, "algorithm": algorithm, "same_work": same_work,
        "row": row.label, "seconds": row.seconds, "peak_gflops": row.peak_gflops,
        "base": base.label, "base_seconds": base.seconds, "base_peak_gflops": base.peak_gflops,
        "precisions": across_precisions(row.precision, [base.precision]), "printed": printed,
        "reason": f"no peak is known of {' and '.join(unknown)}" if unknown else "",
    } | speedup.columns("speedup")  # fmt: skip


def break_down(compared: list[Fields]) -> pd.DataFrame:
    """Break every speedup into factors: the table why.csv.

    Besides the fields of `compare`, each row of `compared` has its paper, experiment and case, and `work`, the FLOP of
    row and base alike.
    """
    why = pd.DataFrame(compared)
    if why.empty:
        return make_frame([], "why")
    numbers = ["work", "algorithm", "peak_gflops", "base_peak_gflops"]
    why[numbers] = why[numbers].astype(float)
    for side in ("", "base_"):
        why[f"{side}gflops"] = why["work"] / why[f"{side}seconds"] / 1e9
        why[f"{side}share"] = why[f"{side}gflops"] / why[f"{side}peak_gflops"]
    why["peaks"] = why["peak_gflops"] / why["base_peak_gflops"]
    left = why["speedup"] / why["peaks"] / why["algorithm"].fillna(1.0)
    why["shares"] = left.where(why["same_work"])
    why["rest"] = left.mask(why["same_work"])
    why["reason"] = why["reason"].mask(why["work"].isna() & (why["reason"] == ""), NO_WORK)
    return apply_dtypes(why, "why")
