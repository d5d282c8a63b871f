"""A logarithmic axis of numbers: its ends and its ticks."""

import math
from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullFormatter, NullLocator

from respeed.model.paper import Experiment
from respeed.tables.cells import Cell

# Two cases nearer than this factor would lie on one another.
APART = 1.15
# An axis shows at least such a factor: what noise does to equal numbers is no picture.
LEAST = 1.5
MOST_TICKS = 7


def ends_of(values: Sequence[float]) -> tuple[float, float]:
    """From where to where an axis goes that shows all the values."""
    low, high = min(values), max(values)
    widen = max(1.0, math.sqrt(LEAST * low / high))
    room = (widen * widen * high / low) ** 0.06
    return low / widen / room, high * widen * room


def ticks_of(low: float, high: float) -> list[float]:
    """Round numbers: 1, 2 and 5 in each decade, fewer where there are many decades, evenly where there is not one."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
        if 3 <= len(ticks) <= MOST_TICKS:
            return ticks
    if len(ticks) > MOST_TICKS:
        return ticks[:: math.ceil(len(ticks) / MOST_TICKS)]
    even = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(tick) for tick in even if low <= tick <= high]


def write_ticks(axis: Axis, ends: tuple[float, float], suffix: str, ticks: Sequence[float] = ()) -> list[str]:
    """Put the ticks on a logarithmic axis, these or round ones; their texts."""
    ticks = ticks or ticks_of(*ends)
    texts = [f"{tick:,.12g}{suffix}" for tick in ticks]
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter(texts))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    return texts


def place_cases(experiment: Experiment, cells: list[Cell], smoke: bool) -> tuple[dict[str, float], bool]:
    """Where each case lies along the logarithmic axis, and whether lines may join them.

    At its arithmetic work; where that is not known (sparsities, which are ordered) or hardly tells two cases apart
    (which are not), one after another at equal distances.
    """
    cases = experiment.case_names(smoke)
    work = {cell.case: cell.work for cell in cells if cell.work}
    if all(case in work for case in cases):
        placed = {case: work[case] for case in sorted(cases, key=lambda case: work[case])}
        if all(right > APART * left for left, right in pairwise(placed.values())):
            return placed, True
    return {case: 2.0**position for position, case in enumerate(cases)}, not work and _are_alike(experiment, smoke)


def _are_alike(experiment: Experiment, smoke: bool) -> bool:
    """Whether the cases are one program's at several sizes: those of other networks or directions have no order."""
    kinds: dict[str, set[tuple[str, ...]]] = {}
    for case in experiment.smoke_cases if smoke else experiment.cases:
        texts = (str(value) for value in case.parameters.values() if isinstance(value, str))
        kinds.setdefault(case.name, set()).add((case.workload, *texts))
    return len({frozenset(kind) for kind in kinds.values()}) == 1
