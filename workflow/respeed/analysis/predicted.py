"""Predict a paper's claims for hardware that is not here, as ratios of bounds.

The GPU's rates are from a data sheet, the CPU's from a data sheet or from records. Predictions are not measured, are
written to no table, and are never shown with a measured number.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from respeed.analysis.claims import say_published, state_claim
from respeed.analysis.estimates import FULL_PRECISION, Estimate, estimate_mean
from respeed.analysis.expected import UNCOUNTED, Count, Counts, bound_seconds, has_bound
from respeed.analysis.rounds import every_case
from respeed.inputs.machines import Datasheet
from respeed.model import CPU_ARCHITECTURES, Claim, Paper

# Bytes of an array element, for a data sheet's GB/s. (Measured rates count at least 4, for the copy and the work.)
BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
# GFLOP/s of a matrix product by precision, and GB/s of the memory, for each architecture of published rows.
Rates = Mapping[str, tuple[Mapping[str, float], float]]


def rates_of(cpu: Datasheet) -> Rates:
    """Return the rates of one core of a CPU and of all its cores, both with the bandwidth of the entire CPU."""
    single, multi = CPU_ARCHITECTURES
    one_core = {precision: rate / cpu.cores for precision, rate in cpu.gflops.items()}
    return {single: (one_core, cpu.gbytes), multi: (cpu.gflops, cpu.gbytes)}


def measured_rates(cells: pd.DataFrame) -> Rates:
    """Return the highest rates of the CPU rows of a machine."""
    cpu_cells = cells[cells["is_cpu"] & cells["peak_gflops"].notna()]
    rates = {}
    for architecture, timed in cpu_cells.groupby("architecture"):
        gflops = timed.groupby("precision")["peak_gflops"].max()
        rates[str(architecture)] = dict(gflops), timed["bandwidth_gbytes"].max()
    return rates


def predict_claims(paper: Paper, rates: Rates, count: Count) -> Iterator[dict[str, Any]]:
    """Yield the predicted speedups of each claim of a paper.

    A speedup is the bound of the fastest base divided by the bound of the row. Each bound is for the precision and the
    algorithm of its published row. Only claims of a GPU over a CPU have a speedup. A mean needs all speedups of its
    claims.

    Yields
    ------
    dict
        `says`, the claim in words; `lowest` and `highest`, the range of speedups, or None; `cases` and `all_cases`, the
        number of cases with a speedup and of all cases; `published`, the published numbers as text.
    """
    counts = count([case for _, _, case in every_case({paper.name: paper})])
    for claim in paper.claims.values():
        speedups = _predict(claim, paper, rates, counts)
        numbers = [speedup for speedup in speedups if speedup > 0]
        yield {
            "says": claim.says, "lowest": min(numbers, default=None), "highest": max(numbers, default=None),
            "cases": len(numbers), "all_cases": len(speedups),
            "published": say_published(state_claim(claim, paper)),
        }  # fmt: skip


def _predict(claim: Claim, paper: Paper, rates: Rates, counts: Counts) -> list[float]:
    """Return the predicted speedups of a claim of a GPU over a CPU, by case; NaN for a case without a speedup."""
    if claim.of:
        speedups = []
        for name in claim.of:
            speedups += _predict(paper.claims[name], paper, rates, counts)
        return [estimate_mean([Estimate(speedup) for speedup in speedups], claim.mean).value]
    is_gpu_over_cpu = not paper.rows[claim.row].is_cpu and all(paper.rows[name].is_cpu for name in claim.over)
    speedups = []
    for stated in state_claim(claim, paper):
        names = claim.row, *claim.over
        row, *bases = (published_bound(paper, claim.experiment, stated.case, name, rates, counts) for name in names)
        speedups.append(min((base / row for base in bases if base > 0 and is_gpu_over_cpu), default=math.nan))
    return speedups


def published_bound(paper: Paper, experiment: str, case: str, name: str, rates: Rates, counts: Counts) -> float:
    """Return the least seconds of a published row in a case, at these rates; NaN if its work or a rate is not known.

    If the row may have run several algorithms, the lowest bound counts; a total is the sum over its cases.
    """
    row = paper.rows[name]
    table = paper.experiments[experiment]
    precision = row.precision or FULL_PRECISION
    gflops, gbytes = rates.get(row.beside[-1], ({}, math.nan))
    width = BYTES[precision] / BYTES[FULL_PRECISION]
    bounds = []
    for part in table.cases:
        if case in (part.name, table.total_case) and table.ran_in(part.workload, name):
            flops, moved = counts.get(part.key, UNCOUNTED)
            seconds = bound_seconds(flops, width * moved, gflops.get(precision), gbytes)
            if seconds is None or not has_bound(part.workload, flops):
                seconds = math.nan
            bounds.append(table.steps(part) * seconds)
    return math.fsum(bounds) if case == table.total_case else min(bounds, default=math.nan)
