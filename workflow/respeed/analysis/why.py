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
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from respeed.analysis.cells import PAPER, across_precisions, label_row
from respeed.analysis.estimates import FULL_PRECISION, Estimate, Number, largest
from respeed.analysis.speedups import Samples, case_of, published_speedup
from respeed.analysis.tables import Cell, Factors, group_by
from respeed.model import Experiment, Paper, Papers

# The row and the base of each comparison of why.csv, in words; the paper's own comparison is first.
COMPARISONS = {
    "theirs": ("the paper's GPU", "the paper's CPU"),
    "ours": ("GPU here", "CPU here"),
    "cpu over their cpu": ("CPU here", "the paper's CPU"),
    "cpu over their gpu": ("CPU here", "the paper's GPU"),
    "gpu over their gpu": ("GPU here", "the paper's GPU"),
}
# Those over the paper's GPU.
OVER_THEIR_GPU = ("cpu over their gpu", "gpu over their gpu")

# Cells that have a time.
Cells = Sequence[Cell]


def _fastest(cells: Iterable[Cell]) -> Cell | None:
    """Return the fastest of the cells, which all have a time; the first if several are equal, None without cells."""
    return min(cells, key=attrgetter("seconds"), default=None)


class _Printed(NamedTuple):
    """A published row in one case, with the fields by which it is compared with our cells."""

    name: str
    label: str
    is_cpu: bool
    seconds: float
    peak_gflops: Number
    precision: str
    machine: str = PAPER


class _Problem(NamedTuple):
    """One case of a table, with the FLOP and bytes of its work; None if they are not known, or differ by algorithm."""

    paper: Paper
    experiment: Experiment
    case: str
    flops: Number = None
    traffic_bytes: Number = None


def make_why(cells: Cells, samples: Samples, papers: Papers) -> list[Factors]:
    """Break speedups into factors, for each case of tables with printed numbers: the paper's, then each machine's."""
    full = [cell for cell in cells if cell.seconds and cell.precision == FULL_PRECISION]
    timed: list[Cell] = []
    # A machine's CPU is one hardware, whichever library reached its highest rate.
    for hardware in group_by(full, attrgetter("machine", "is_cpu")).values():
        peak = largest(cell.peak_gflops for cell in hardware)
        timed += [replace(cell, peak_gflops=peak) for cell in hardware]
    measured = group_by(timed, case_of)
    rows: list[Factors] = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            for case in experiment.case_names() if experiment.published else ():
                in_case = measured.get((paper.name, experiment.name, case), [])
                rows += _compare_case(_Problem(paper, experiment, case), in_case, samples)
    return rows


def _compare_case(problem: _Problem, cells: Cells, samples: Samples) -> Iterator[Factors]:
    """Yield the paper's speedup in a case, and those of each machine with its cells."""
    paper = problem.paper
    if not problem.experiment.algorithms:
        flops = next((cell.flops for cell in cells if cell.flops), None)
        traffic_bytes = next((cell.traffic_bytes for cell in cells if cell.traffic_bytes), None)
        problem = problem._replace(flops=flops, traffic_bytes=traffic_bytes)
    cpu = _printed(problem, paper.cpu_rows)
    gpu = _printed(problem, paper.device_rows)
    if gpu and cpu:
        printed = published_speedup(paper, problem.experiment, problem.case, gpu.name)
        speedup = Estimate(cpu.seconds / gpu.seconds)
        yield compare(problem, "theirs", gpu, cpu, speedup, printed=printed.text if printed else "")
    base = gpu or cpu
    for of_machine in group_by(cells, attrgetter("machine")).values():
        our_cpu = _fastest(cell for cell in of_machine if cell.is_cpu)
        our_gpu = _fastest(cell for cell in of_machine if not cell.is_cpu)
        if our_gpu and our_cpu:
            yield _over_our_cpu(problem, of_machine, our_gpu, our_cpu, samples)
        row = our_gpu if our_gpu and gpu else our_cpu
        if row and base:
            yield _over_theirs(problem, of_machine, row, base)


def _printed(problem: _Problem, names: Collection[str]) -> _Printed | None:
    """Return the fastest of the published rows `names` in a case; None if its seconds are not known."""
    paper, experiment, case, *work = problem
    fastest = experiment.fastest(case, names)
    seconds = experiment.seconds(case, fastest, *work)
    if seconds is None:
        return None
    row = paper.rows[fastest]
    label = label_row(paper, row)
    peak = row.hardware.flops_per_second / 1e9 if row.hardware else None
    return _Printed(row.name, label, row.is_cpu, seconds, peak, row.precision)


def _over_our_cpu(problem: _Problem, cells: Cells, gpu: Cell, base: Cell, samples: Samples) -> Factors:
    """Return the speedup of an accelerator row over a CPU row here, if possible with the paper's algorithms."""
    algorithm = None
    slow = problem.experiment.algorithms_in(problem.paper.cpu_rows)
    fast = problem.experiment.algorithms_in(problem.paper.device_rows)
    if gpu.algorithm in fast and slow != fast:
        same = {cell.profile: cell for cell in cells if cell.is_cpu and cell.algorithm == gpu.algorithm}
        as_published = _fastest(cell for cell in cells if cell.profile in same and cell.algorithm in slow)
        if as_published:
            base = as_published
            algorithm = samples.ratio(base, same[base.profile])[0].value
    speedup, _ = samples.ratio(base, gpu)
    same_work = algorithm is not None or base.algorithm == gpu.algorithm
    return compare(problem, "ours", gpu, base, speedup, algorithm, same_work=same_work)


def _over_theirs(problem: _Problem, cells: Cells, row: Cell, base: _Printed) -> Factors:
    """Return the speedup of a row here over a published row."""
    algorithm = None
    published = problem.experiment.algorithms_in((base.name,))
    same_row = [cell for cell in cells if cell.profile == row.profile]
    as_published = _fastest(cell for cell in same_row if cell.algorithm in published)
    if as_published and row.algorithm not in published:
        algorithm = as_published.time.value / row.time.value
    kinds = ["cpu" if side.is_cpu else "gpu" for side in (row, base)]
    speedup = row.time.over(base.seconds)
    return compare(problem, " over their ".join(kinds), row, base, speedup, algorithm)


def compare(
    problem: _Problem,
    comparison: str,
    row: Cell | _Printed,
    base: Cell | _Printed,
    speedup: Estimate,
    algorithm: Number = None,
    *,
    same_work: bool = False,
    printed: str = "",
) -> Factors:
    """Break the speedup of one cell or published row over another into factors; NaN is a factor that is not known.

    `algorithm` is the factor between their algorithms if they differ; `same_work` is true if they otherwise do the
    same arithmetic, as they do in every table without algorithms. `printed` is the paper's own speedup as text.
    """
    peak = row.peak_gflops or math.nan
    base_peak = base.peak_gflops or math.nan
    work = (problem.flops or math.nan) / 1e9
    seconds = row.seconds or math.nan
    base_seconds = base.seconds or math.nan
    peaks = peak / base_peak
    last = speedup.value / peaks / (algorithm or 1.0)
    is_share = same_work or not problem.experiment.algorithms
    return Factors(
        row.machine,
        problem.paper.name,
        problem.experiment.name,
        problem.case,
        comparison=comparison,
        row=row.label,
        base=base.label,
        speedup=speedup.value,
        speedup_low=speedup.low,
        speedup_high=speedup.high,
        printed=printed,
        peaks=peaks,
        algorithm=algorithm,
        shares=last if is_share else None,
        rest=None if is_share else last,
        seconds=seconds,
        base_seconds=base_seconds,
        peak_gflops=peak,
        base_peak_gflops=base_peak,
        share=work / seconds / peak,
        base_share=work / base_seconds / base_peak,
        precisions=across_precisions(row.precision, base.precision),
    )
