"""Controls: steps of one matrix product, once and several times, whose times must have the ratio of their work.

If two matrix products do not take twice as long as one, or if the same product takes another time when it is
measured again, the times depend on something else than the work. Then no time of that machine can be trusted.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import attrgetter

from respeed.analysis.estimates import estimate_ratio, level_of_each, what_is_missing
from respeed.analysis.rounds import CONTROL
from respeed.analysis.speedups import Samples
from respeed.analysis.tables import Cell, group_by
from respeed.text import format_speedup, measured_value

# How far the ratio of times may be from the ratio of work, relative to the ratio of work. Besides its matrix products,
# a step has a cost that is the same in each case.
NEAR = 0.01
AGREES = "agree"
OPEN = "too noisy to tell"
FAILED = "failed"


def judge_controls(cells: Iterable[Cell], samples: Samples) -> Iterator[tuple[str, str]]:
    """Yield the verdict on every control that has a time, and a text with its name, ratio of times, and ratio of work.

    A control is compared with the first case of its table on the same row. It fails if the interval of the ratio of
    times lies outside work (1 ± `NEAR`), with work the ratio of FLOP; otherwise it agrees if the interval is at most
    ±10 %, or else is open. On a machine without fault, at most 5 % of reports have a failed control (Bonferroni).
    """
    timed = [cell for cell in cells if cell.algorithm == CONTROL and cell.seconds]
    for of_machine in group_by(timed, attrgetter("machine")).values():
        rows = group_by(of_machine, attrgetter("experiment", "profile")).values()
        level = level_of_each(len(of_machine) - len(rows))
        for first, *repeats in rows:
            for cell in repeats:
                yield _judge_control(cell, first, samples, level)


def _judge_control(cell: Cell, first: Cell, samples: Samples, level: float) -> tuple[str, str]:
    # Both are the same product on the same row: what is not known of its quiet probe, and of how it feels neighbours,
    # cancels.
    ratio, _ = estimate_ratio(samples.by_session(cell), samples.by_session(first), level)
    work = (cell.flops or 0.0) / (first.flops or math.nan)
    took = measured_value(ratio.value, ratio.low, ratio.high, unit="x")
    text = f"{cell.case} on {cell.profile} of {cell.machine} took {took.text} {took.interval}"
    if ratio.is_above(work * (1 + NEAR)) or ratio.is_below(work * (1 - NEAR)):
        return FAILED, f"{text}, not {format_speedup(work)}"
    is_open = what_is_missing(ratio, min(first.rounds, cell.rounds))
    return (OPEN if is_open else AGREES), text


def say_failed(cells: Iterable[Cell], samples: Samples) -> str:
    """Describe the first control that failed, with its machine and ratio, and count the others; empty if none."""
    failed = [text for verdict, text in judge_controls(cells, samples) if verdict == FAILED]
    if not failed:
        return ""
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"Trust no number: a control failed ({failed[0]}{more})."


def count_controls(cells: Iterable[Cell], samples: Samples) -> str:
    """Return a sentence with the numbers of controls that agree, are open, and failed; empty without controls."""
    counts = Counter(verdict for verdict, _ in judge_controls(cells, samples))
    numbers = [f"{counts[verdict]} {verdict}" for verdict in (AGREES, OPEN, FAILED) if verdict in counts]
    return f"Controls (twice the work takes twice the time): {', '.join(numbers)}." if numbers else ""
