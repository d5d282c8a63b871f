"""What a machine can say of a claim that it cannot test, in a sentence made from what was measured in fp32.

A CPU row stands in for the accelerator, each time with the algorithm of the published row that it is set beside.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from respeed.analysis.cells import PAPER, is_beside, label_row, words_of_unit
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.speedups import fastest_by
from respeed.model.paper import Claim, Paper, PublishedRow
from respeed.text import format_duration, format_number

# Rows of the frame of cells, or of that of totals.
Cells = Sequence[Any]


def claim_fallback(claim: Claim, paper: Paper, cells: Cells, totals: Cells) -> str:
    """The sentence, from the cells of the claim's table on the machine; empty where nothing can be said."""
    experiment, said = paper.experiments[claim.experiment], ""
    # Of the paper's sizes alone: a smoke run says nothing.
    cases = experiment.case_names()
    cells = [
        one for one in cells if one.case in cases and one.is_cpu and one.precision == FULL_PRECISION and one.seconds
    ]
    if claim.test == "total":
        return _fallback_of_total(claim, paper, cells, totals)
    if claim.threads:
        return _fallback_of_cores(claim, paper, cells)
    if claim.test == "growth":
        said = _fallback_of_growth(claim, paper, cells)
    elif claim.test in ("each", "largest"):
        said = _fallback_of_speedup(claim, paper, cells)
    if said or paper.prints(claim.experiment):
        return said
    fastest = fastest_by(cells, "case").values()
    values = [value for cell in fastest if (value := experiment.unit.value(cell.seconds, cell.amount))]
    return f"The fastest CPU program here: {_span(values)} {words_of_unit(experiment)}." if values else ""


def _fallback_of_speedup(claim: Claim, paper: Paper, cells: Cells) -> str:
    """The fastest CPU row here beside the two published rows that the claim is about."""
    experiment = paper.experiments[claim.experiment]
    there, base = paper.row(claim.row), _fastest_published(claim, paper)
    fast = [seconds / cell.seconds for cell, seconds in _beside(cells, paper, claim, there)]
    slow = [seconds / cell.seconds for cell, seconds in _beside(cells, paper, claim, base)]
    if not (fast and slow and base):
        return ""
    with_what = ", each time with the algorithm that ran there" if experiment.algorithms else ""
    return (
        f"The CPU here is {_span(fast)} times as fast as the paper's {label_row(paper, there)} "
        f"({_hardware(there)}) and {_span(slow)} times as fast as its CPU ({_hardware(base)}){with_what}."
    )


def _fallback_of_growth(claim: Claim, paper: Paper, cells: Cells) -> str:
    """How the CPU changes from case to case: an accelerator gains where the CPU loses."""
    fastest = _beside(cells, paper, claim, _fastest_published(claim, paper))
    if len(fastest) < 2:
        return ""
    if all(cell.flops for cell, _ in fastest):
        ours = [cell.flops / cell.seconds / 1e9 for cell, _ in fastest]
        theirs = [cell.flops / printed / 1e9 for cell, printed in fastest]
        return f"Over these cases the CPU here does {_span(ours)} GFLOP/s, the paper's CPU {_span(theirs)}."
    (cell, printed), *_, (last_cell, last_printed) = fastest
    grows = [format_number(one) for one in (last_cell.seconds / cell.seconds, last_printed / printed)]
    columns = paper.experiments[claim.experiment].columns
    first, last = (columns.get(case, case) for case in (cell.case, last_cell.case))
    return (
        f"With the algorithm of the paper's CPU, {last} takes {grows[0]} times as long as {first} here; "
        f"on the paper's CPU {grows[1]} times as long."
    )


def _fallback_of_cores(claim: Claim, paper: Paper, cells: Cells) -> str:
    """What all cores bring, where they are not as many as the claim is about."""
    program = attrgetter("case", "package", "algorithm")
    single = {program(cell): cell for cell in cells if is_beside(paper, cell, claim.over) and cell.threads == 1}
    several = [cell for cell in cells if is_beside(paper, cell, (claim.row,)) and program(cell) in single]
    if not several:
        return ""
    counts = " or ".join(map(str, sorted({cell.threads or 0 for cell in several})))
    speedups = [single[program(cell)].seconds / cell.seconds for cell in several]
    return f"{counts} threads are {_span(speedups)} times as fast as one."


def _fallback_of_total(claim: Claim, paper: Paper, cells: Cells, totals: Cells) -> str:
    mine = [
        one for one in totals
        if (one.paper, one.experiment) == (paper.name, claim.experiment) and one.headline_seconds
    ]  # fmt: skip
    theirs = {one.profile: one.headline_seconds for one in mine if one.machine == PAPER}
    here = {(cell.machine, cell.profile) for cell in cells}
    ours = [one for one in mine if (one.machine, one.profile) in here]
    slow = [theirs[name] for name in claim.over if name in theirs]
    if not (ours and slow and claim.row in theirs):
        return ""
    best = min(ours, key=attrgetter("headline_seconds"))
    return (
        f"What the paper's GPU does in a day, and its CPU in {format_duration(min(slow))}, at the rates printed, takes "
        f"{format_duration(best.headline_seconds)} here ({best.label}): "
        f"{_span([theirs[claim.row] / best.headline_seconds])} times as fast as that GPU."
    )


def _beside(cells: Cells, paper: Paper, claim: Claim, there: PublishedRow | None) -> list[tuple[Any, float]]:
    """In each case the fastest row here that runs what the published row ran, and the seconds printed there."""
    if there is None:
        return []
    table = paper.experiments[claim.experiment]
    fastest = fastest_by((cell for cell in cells if table.ran_in(cell.algorithm, there.name)), "case").values()
    # In fp32, so that its traffic is that of the printed number.
    work = ((cell, (cell.case, there.name, cell.flops, cell.traffic_bytes)) for cell in fastest)
    return [(cell, seconds) for cell, of in work if (seconds := paper.seconds(claim.experiment, *of))]


def _fastest_published(claim: Claim, paper: Paper) -> PublishedRow | None:
    """Of the rows that the claim compares with, the one that is fastest in most of the printed columns."""
    cases = paper.experiments[claim.experiment].case_names()
    names = [row.name for case in cases if (row := paper.fastest(claim.experiment, case, claim.over))]
    return paper.row(max(names, key=names.count)) if names else None


def _hardware(row: PublishedRow) -> str:
    label = row.hardware.label if row.hardware else row.device or row.label
    return label if row.precision in {"", FULL_PRECISION} else f"{label}, {row.precision}"


def _span(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(format_number(one, 2) for one in (min(values), max(values))))
