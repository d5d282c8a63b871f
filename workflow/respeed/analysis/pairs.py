"""Our two rows behind a number of a claim: which rows they are, and whether the number says what it seems to.

A number is in doubt if its row or its base is far above the least time that its FLOP and bytes need, or if the base is
not the best that the machine's CPU can do.
"""

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import attrgetter

from respeed.analysis.cells import is_beside
from respeed.analysis.estimates import FULL_PRECISION, RIVAL, Estimate
from respeed.analysis.tables import Cell
from respeed.model import Claim, Names, Paper
from respeed.text import format_number, format_speedup

# A cell above this many times its bound is weak: its speedup says more of the program than of the hardware.
WEAK = 2.0
# The reason for a case that has no cells, as in a smoke run.
NOT_MEASURED = "nothing of the paper's sizes was measured"

Cells = Sequence[Cell]


@dataclass(eq=False)
class Untimed(Exception):
    """Why a case has no ratio here; it `is_due` if a cell is only disturbed or not measured yet."""

    reason: str
    is_due: bool = False


def choose_rows(claim: Claim, paper: Paper, case: str, cells: Cells) -> tuple[Cell, Cell]:
    """Return our fastest row for the claim's `row` in a case, and its base.

    If the claim has an `over_case`, the base is the same row in that case; if it has `over`, our fastest row for
    `over`; otherwise, the row itself.

    Only our rows that are compared with the published row count. They run the published row's algorithm, in the
    published row's precision if such rows were measured, or else in fp32. The base of a CPU row has the same package,
    so that the claim is about cores and not about libraries.
    """
    if case not in {cell.case for cell in cells}:
        raise Untimed(NOT_MEASURED)
    fast = _candidates(claim, paper, (claim.row,), claim.threads, case, cells)
    may_be_base = cells
    if not claim.over:
        labels = {cell.label for cell in fast}  # a label names the algorithm, too
        may_be_base = [cell for cell in cells if cell.label in labels]
    over = claim.over or (claim.row,)
    threads = 1 if claim.threads and claim.over else claim.threads
    slow = _candidates(claim, paper, over, threads, claim.over_case or case, may_be_base)
    if claim.over and fast[0] in slow:  # a published row is not in fp32, and our fp32 row would replace it
        precisions = _precisions(paper, (claim.row, *over)) - {FULL_PRECISION}
        raise Untimed(f"no row in {' or '.join(sorted(precisions))} was measured; name a hardware profile in it")
    for row, base in itertools.product(fast, slow):
        is_alike = not row.is_cpu or row.package == base.package
        if not claim.over:
            is_alike = row.label == base.label
        if is_alike:
            return row, base
    raise Untimed(f"no row of {fast[0].package} is compared with {' or '.join(over)}")


def _precisions(paper: Paper, names: Collection[str]) -> set[str]:
    """Return the precisions of published rows; fp32 if one is not known."""
    return {paper.rows[name].precision or FULL_PRECISION for name in names}


def _candidates(claim: Claim, paper: Paper, names: Names, threads: int | None, case: str, cells: Cells) -> list[Cell]:
    """Return the timed cells of a case, on `threads` if given, compared with published rows `names`, fastest first."""
    in_case = [cell for cell in cells if cell.case == case]
    compared = [cell for cell in in_case if is_beside(paper, cell, names)]
    if not compared and case == claim.over_case:
        raise Untimed(f"{case} does not run on the same row")
    alike = [cell for cell in compared if cell.precision in _precisions(paper, names)]
    full = [cell for cell in compared if cell.precision == FULL_PRECISION]
    untimed = full or alike
    if not untimed:
        raise Untimed(f"no hardware profile here is compared with the paper's row {' or '.join(names)}")
    timed = _timed(alike) or _timed(full)
    if not timed:
        absent = next(filter(is_due, untimed), untimed[-1])
        prefix = f"{case}: " if case == claim.over_case else ""
        raise Untimed(prefix + absent.reason, is_due(absent))
    fitting = [cell for cell in timed if threads in (None, cell.threads)]
    if not fitting:
        raise Untimed(f"no row of {threads} threads was measured; add a hardware profile with threads: {threads}")
    return fitting


def _timed(cells: Cells) -> list[Cell]:
    """Return the cells that have a time, fastest first."""
    return sorted((cell for cell in cells if cell.seconds), key=attrgetter("seconds"))


def is_due(cell: Cell) -> bool:
    """Return whether the cell has no time only because it was disturbed or is not measured yet."""
    return cell.status in ("contaminated", "due")


def share_of_copy(row: Cell) -> Estimate:
    """Return the bytes per second that a cell moves, divided by the bytes per second of a copy on the same row."""
    if not (row.bandwidth_gbytes and row.traffic_bytes):
        raise Untimed("no copy was timed")
    share = row.traffic_bytes / row.bandwidth_gbytes / 1e9
    return row.time.over(share)


def times_least(cell: Cell) -> float:
    """Return a cell's seconds divided by its bound; NaN without a bound."""
    return cell.time.value / cell.expected_seconds if cell.expected_seconds else math.nan


def say_least(cell: Cell) -> str:
    """Name a cell and say how far it is above its bound: "GPU at 576x1024: 6.2 times the least it needs"."""
    times = format_number(times_least(cell), 2)
    return f"{cell.label} at {cell.case}: {times} times the least it needs"


def why_unfair(row: Cell, base: Cell, cells: Cells) -> str:
    """Return why a speedup of a row over a base says more of the base than of the row; empty if the base is fair.

    A base is not fair if it is weak, if it ran on fewer cores than its row has, or if another CPU row in its case, of
    the `cells` of its table, is `RIVAL` times as fast in the same precision. The base of a CPU row is compared only
    with rows of its architecture. A row that is its own base, as in a claim about memory, is fair.
    """
    if row is base:
        return ""
    reasons = []
    if times_least(base) > WEAK:
        reasons.append(say_least(base))
    if base.threads and base.threads_ran and base.threads_ran < base.threads:
        reasons.append(f"{base.label} ran on {base.threads_ran} of {base.threads} cores")
    in_case = [cell for cell in cells if cell.case == base.case]
    rivals = [cell for cell in in_case if cell.is_cpu and cell.precision == base.precision]
    if row.is_cpu:
        rivals = [cell for cell in rivals if cell.architecture == base.architecture]
    if base.is_cpu:
        fastest = _timed(rivals)[0]
        over_fastest = base.time.value / fastest.time.value
        if over_fastest > RIVAL:
            reasons.append(f"{fastest.label} is {format_speedup(over_fastest)} as fast as {base.label}")
    return "; ".join(reasons)
