"""The factors of a speedup.

why.csv has, of each case with printed numbers, the paper's speedup and the one of ours that says most, each as the
product of the factors that apply:

    t(base) / t(row) = peaks * algorithm * shares * rest

    peaks      the peak rate of the row's hardware divided by the peak rate of the base's hardware
    algorithm  if row and base run different algorithms: the seconds of the base's algorithm divided by the seconds of
               the row's algorithm, both on one row here
    shares     if row and base do the same arithmetic: the share of its peak that the row reached divided by the
               share that the base reached
    rest       if row and base do different arithmetic: all else

Ours is an accelerator here over a CPU here. Beside it stands the fastest row here, an accelerator if there is one, over
the paper's accelerator; or, if the paper has none, the fastest CPU row here over the paper's.

The speedup has an interval if our rounds give one; the factors are point estimates, and the last factor is the speedup
divided by the others. A speedup over a row of the same machine is estimated from rounds of shared sessions, so that
`shares` may differ slightly from the ratio of the two shares. If the paper's CPU rows and accelerator rows run
different algorithms, so do our two rows: the base is the fastest CPU row with the paper's CPU algorithm, of the CPU
rows that also run the accelerator's algorithm. For our speedup over a row of the paper, the factor `algorithm` is the
time of the paper's algorithm divided by the time of ours, both on our row; `rest` then also contains the paper's
language and precision.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import pandas as pd

from respeed.analysis.cells import PAPER, across_precisions, label_row
from respeed.analysis.columns import Fields, make_frame
from respeed.analysis.estimates import FULL_PRECISION, Estimate
from respeed.analysis.speedups import Samples, published_text
from respeed.analysis.tables import Cell
from respeed.model import Experiment, Paper, Papers

# The row and the base of each comparison of why.csv, in words; the paper's own comparison is first.
COMPARISONS = {
    "theirs": ("the paper's GPU", "the paper's CPU"),
    "ours": ("GPU here", "CPU here"),
    "cpu over their cpu": ("CPU here", "the paper's CPU"),
    "cpu over their gpu": ("CPU here", "the paper's GPU"),
    "gpu over their gpu": ("GPU here", "the paper's GPU"),
}


# Cells that have a time.
Cells = Sequence[Cell]


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
    machine: str = PAPER


def make_why(cells: Cells, samples: Samples, papers: Papers) -> pd.DataFrame:
    """Break speedups into factors, for each case of tables with printed numbers: the paper's, then each machine's."""
    measured: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    full = [cell for cell in cells if cell.seconds and cell.precision == FULL_PRECISION]
    # A machine's CPU is one hardware, whichever library reached its highest rate.
    peaks: dict[tuple[str, bool], float] = defaultdict(float)
    for cell in full:
        hardware = cell.machine, cell.is_cpu
        peaks[hardware] = max(peaks[hardware], cell.peak_gflops or 0.0)
    for cell in full:
        peak = peaks[cell.machine, cell.is_cpu] or None
        measured[cell.paper, cell.experiment, cell.case].append(replace(cell, peak_gflops=peak))
    rows: list[Fields] = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            for case in experiment.case_names() if paper.prints(experiment.name) else ():
                place = {"paper": paper.name, "experiment": experiment.name, "case": case}
                compared = _compare_case(paper, experiment, case, measured[*place.values()], samples)
                rows += [place | row for row in compared]
    return make_frame(rows, "why")


def _compare_case(paper: Paper, experiment: Experiment, case: str, cells: Cells, samples: Samples) -> Iterator[Fields]:
    """Yield the paper's speedup in a case, and those of each machine with its cells."""
    counted = () if experiment.algorithms else cells  # algorithms do not do the same work
    work = next((cell.flops for cell in counted if cell.flops), None)
    traffic = next((cell.traffic_bytes for cell in counted if cell.traffic_bytes), None)
    cpu = _printed(paper, experiment.name, case, paper.cpu_rows, work, traffic)
    gpu = _printed(paper, experiment.name, case, paper.device_rows, work, traffic)
    same_work = not experiment.algorithms
    if gpu and cpu:
        text = published_text(paper, experiment.name, case, gpu.name)
        speedup = Estimate(cpu.seconds / gpu.seconds)
        yield compare("theirs", gpu, cpu, speedup, work, same_work=same_work) | {"printed": text}
    for _, group in groupby(cells, attrgetter("machine")):  # cells are in the order of machines
        on_machine = list(group)
        our_cpu = _fastest(cell for cell in on_machine if cell.is_cpu)
        our_gpu = _fastest(cell for cell in on_machine if not cell.is_cpu)
        if our_gpu and our_cpu:
            yield _over_our_cpu(paper, experiment, on_machine, our_gpu, our_cpu, samples, work)
        row, base = (our_gpu or our_cpu, gpu) if gpu else (our_cpu, cpu)
        if row and base:
            sides = "cpu" if row.is_cpu else "gpu", "gpu" if gpu else "cpu"
            algorithms = experiment.algorithms_in((base.name,))
            same = [cell for cell in on_machine if cell.profile == row.profile and cell.algorithm in algorithms]
            published = _fastest(same)
            algorithm = None
            if published and row.algorithm not in algorithms:
                algorithm = published.time.value / row.time.value
            speedup = row.time.over(base.seconds)
            yield compare(" over their ".join(sides), row, base, speedup, work, algorithm, same_work=same_work)


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


def _over_our_cpu(
    paper: Paper, experiment: Experiment, cells: Cells, gpu: Cell, base: Cell, samples: Samples, work: float | None
) -> Fields:
    """Return the speedup of an accelerator row over a CPU row here, if possible with the paper's algorithms."""
    algorithm = None
    slow, fast = experiment.algorithms_in(paper.cpu_rows), experiment.algorithms_in(paper.device_rows)
    if gpu.algorithm in fast and slow != fast:
        same = {cell.profile: cell for cell in cells if cell.is_cpu and cell.algorithm == gpu.algorithm}
        as_published = _fastest(cell for cell in cells if cell.profile in same and cell.algorithm in slow)
        if as_published:
            base = as_published
            algorithm = samples.ratio(base, same[base.profile])[0].value
    same_work = algorithm is not None or base.algorithm == gpu.algorithm
    return compare("ours", gpu, base, samples.ratio(base, gpu)[0], work, algorithm, same_work=same_work)


def compare(
    comparison: str,
    row: Cell | _Printed,
    base: Cell | _Printed,
    speedup: Estimate,
    work: float | None,
    algorithm: float | None = None,
    *,
    same_work: bool,
) -> Fields:
    """Break the speedup of one cell or published row over another into factors; NaN is a factor that is not known.

    `work` is the FLOP of both, `algorithm` the factor between their algorithms if they differ; `same_work` is true if
    they otherwise do the same arithmetic.
    """
    peak, base_peak = row.peak_gflops or math.nan, base.peak_gflops or math.nan
    flops = (work or math.nan) / 1e9
    left = speedup.value / (peak / base_peak) / (algorithm or 1.0)
    return {
        "machine": row.machine, "comparison": comparison, **speedup.columns("speedup"),
        "peaks": peak / base_peak, "algorithm": algorithm, "shares" if same_work else "rest": left,
        "row": row.label, "seconds": row.seconds, "peak_gflops": peak,
        "share": flops / (row.seconds or math.nan) / peak,
        "base": base.label, "base_seconds": base.seconds, "base_peak_gflops": base_peak,
        "base_share": flops / (base.seconds or math.nan) / base_peak,
        "precisions": across_precisions(row.precision, [base.precision]),
    }  # fmt: skip
