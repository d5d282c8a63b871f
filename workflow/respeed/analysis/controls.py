"""Controls: steps of the same product, once and several times, whose times must have the ratio of their work.

Where two products do not take twice as long as one, or the same product another time when it is measured again,
something else than the work decides what is timed. Then no time of that machine can be trusted.
"""

from collections import Counter
from collections.abc import Iterator

import pandas as pd

from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import level_of_each, what_is_missing
from respeed.analysis.speedups import Samples
from respeed.text import format_share, format_speedup

# The workload of all controls.
CONTROL = "repeated_product"
# So near the ratio of the work the ratio of times must be, relative to it. A step costs something beside its products,
# and as much in each case.
NEAR = 0.01
AGREES, OPEN, FAILED = "agree", "open", "failed"


def judge_controls(cells: pd.DataFrame, samples: Samples) -> Iterator[tuple[str, str]]:
    """Yield the verdict on every control that has a time, and which one took how many times as long as the first case.

    A control is compared with the first case of its table on the same row. An interval outside of work (1 ± `NEAR`)
    fails; one that is not, and no wider than ±10 %, agrees. Intervals are such that of a machine without fault one
    control fails in at most 5 % of reports (Bonferroni).
    """
    controls = cells[(cells["algorithm"] == CONTROL) & (cells["seconds"] > 0)]
    for machine, mine in controls.groupby("machine", sort=False):
        tables = [list(rows_of(table)) for _, table in mine.groupby(["experiment", "profile"], sort=False)]
        level = level_of_each(len(mine) - len(tables))
        for first, *others in tables:
            for cell in others:
                here, work = samples.ratio(cell, first, level)[0], cell.flops / first.flops
                is_off = here.is_above(work * (1 + NEAR)) or here.is_below(work * (1 - NEAR))
                is_open = what_is_missing(here, min(first.rounds, cell.rounds))
                took = f"{format_speedup(here.value)} ±{format_share(here.margin or 0.0)}, not {format_speedup(work)}"
                verdict = FAILED if is_off else OPEN if is_open else AGREES
                yield verdict, f"{cell.case} on {cell.profile} of {machine} took {took}"


def say_failed(cells: pd.DataFrame, samples: Samples) -> str:
    """Say which control failed on which machine, and what came out; empty where none did. One of many is enough."""
    failed = [text for verdict, text in judge_controls(cells, samples) if verdict == FAILED]
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"Trust no number: a control failed ({failed[0]}{more})." if failed else ""


def count_controls(cells: pd.DataFrame, samples: Samples) -> str:
    """Count how many controls agree with their work, which are open, and which failed; empty without any."""
    counts = Counter(verdict for verdict, _ in judge_controls(cells, samples))
    found = ", ".join(f"{counts[verdict]} {verdict}" for verdict in (AGREES, OPEN, FAILED) if counts[verdict])
    return f"Controls (twice the work, twice the time; the same work, the same time): {found}." if found else ""
