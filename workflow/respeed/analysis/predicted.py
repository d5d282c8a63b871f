"""Predict a paper's claims for hardware that is not here, as ratios of bounds.

The GPU's rates are from a data sheet, the CPU's from a data sheet or from records. Predictions are not measured, are
written to no table, and are never shown with a measured number.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from respeed.analysis.claims import compare_claim, say_published
from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.estimates import FULL_PRECISION, Estimate, estimate_mean
from respeed.analysis.expected import UNCOUNTED, Count, Counts, bound_seconds, has_bound
from respeed.analysis.speedups import Samples
from respeed.inputs.machines import Datasheet
from respeed.model import CPU_ARCHITECTURES, Claim, Paper
from respeed.records import case_key

# Bytes of an array element, for a data sheet's GB/s. (Measured rates count at least 4, for the copy and the work.)
BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
# GFLOP/s of a matrix product by precision, and GB/s of the memory, for each architecture of published rows.
Rates = Mapping[str, tuple[Mapping[str, float], float]]
UNMEASURED = Samples(make_frame([], "rounds"))


def rates_of(cpu: Datasheet) -> Rates:
    """Return the rates of one core of a CPU and of all its cores, both with the bandwidth of the entire CPU."""
    one = {precision: rate / cpu.cores for precision, rate in cpu.gflops.items()}
    return dict(zip(CPU_ARCHITECTURES, ((one, cpu.gbytes), (cpu.gflops, cpu.gbytes)), strict=True))


def measured_rates(cells: pd.DataFrame) -> Rates:
    """Return the highest rates of the CPU rows of a machine."""
    known = cells[cells["is_cpu"] & cells["peak_gflops"].notna()]
    return {
        str(name): ({str(row.precision): row.peak_gflops for row in rows_of(mine)}, mine["bandwidth_gbytes"].max())
        for name, mine in known.sort_values("peak_gflops").groupby("architecture")
    }


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
    counts = count([case for one in paper.experiments.values() for case in one.cases])
    for claim in paper.claims.values():
        found = _predict(claim, paper, rates, counts)
        known = [one for one in found if one > 0]
        yield {
            "says": claim.says, "lowest": min(known, default=None), "highest": max(known, default=None),
            "cases": len(known), "all_cases": len(found),
            "published": say_published(compare_claim(claim, paper, {}, UNMEASURED)),
        }  # fmt: skip


def _predict(claim: Claim, paper: Paper, rates: Rates, counts: Counts) -> list[float]:
    """Return the predicted speedups of a claim of a GPU over a CPU, by case; NaN for a case without a speedup."""
    if claim.of:
        every = [one for name in claim.of for one in _predict(paper.claims[name], paper, rates, counts)]
        return [estimate_mean([Estimate(one) for one in every], claim.mean).value]
    found = []
    for one in compare_claim(claim, paper, {}, UNMEASURED):
        names = claim.row, *claim.over
        row, *bases = (published_bound(paper, claim.experiment, one.case, name, rates, counts) for name in names)
        is_gpu_over_cpu = not paper.rows[claim.row].is_cpu and all(paper.rows[name].is_cpu for name in claim.over)
        found.append(min((base / row for base in bases if base > 0 and is_gpu_over_cpu), default=math.nan))
    return found


def published_bound(paper: Paper, experiment: str, case: str, name: str, rates: Rates, counts: Counts) -> float:
    """Return the least seconds of a published row in a case, at these rates; NaN if its work or a rate is not known.

    If the row may have run several algorithms, the lowest bound counts; a total is the sum over its cases.
    """
    row, table = paper.rows[name], paper.experiments[experiment]
    precision, (gflops, gbytes) = row.precision or FULL_PRECISION, rates.get(row.beside[-1], ({}, math.nan))
    width = BYTES[precision] / BYTES[FULL_PRECISION]
    found = []
    for one in table.cases:
        if case in (one.name, table.total_case) and table.ran_in(one.workload, name):
            flops, moved = counts.get(case_key(one.workload, one.parameters), UNCOUNTED)
            seconds = bound_seconds(flops, width * moved, gflops.get(precision, math.nan), gbytes)
            found.append(table.steps(one) * seconds if has_bound(one.workload, flops) else math.nan)
    return math.fsum(found) if case == table.total_case else min(found, default=math.nan)
