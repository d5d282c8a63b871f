"""Verdicts on claims that name no number: that something is faster, from some size on, less than ideal, or bound by
memory."""

from collections.abc import Sequence

from respeed.estimators.cell import what_is_missing
from respeed.estimators.intervals import Estimate
from respeed.estimators.verdicts import ANOTHER_SHAPE, LARGER, NOT_SETTLED, REPRODUCED, SMALLER, Verdict, listed

# A program that moves so much of what a plain copy of the same session does is bound by memory. A copy is timed on
# another number of arrays, and its best time counts: sums of long vectors were seen at 0.84 to 1.2.
NEAR_COPY = 0.8
# So near the ideal, the number of threads say, nobody would speak of a limit.
NEAR_IDEAL = 0.95


def judge_faster(cases: Sequence[str], here: Sequence[Estimate], rounds: int) -> Verdict:
    """Whether every speedup is above 1."""
    slower = [case for case, one in zip(cases, here, strict=True) if _below(one, 1.0)]
    if slower:
        return SMALLER, f"slower at {listed(slower)}"
    return _all_known(cases, here, rounds, [_above(one, 1.0) for one in here]) or (REPRODUCED, "")


def judge_side(one: Estimate, rounds: int) -> Verdict:
    """On which side of 1 one of the cases of a crossover lies."""
    if _above(one, 1.0):
        return "faster here", ""
    return ("slower here", "") if _below(one, 1.0) else (NOT_SETTLED, what_is_missing(one, rounds) or "near 1")


def judge_crossover(cases: Sequence[str], here: Sequence[Estimate], rounds: int) -> Verdict:
    """Whether speedups begin below 1 and end above it."""
    if _above(here[0], 1.0):
        return ANOTHER_SHAPE, f"faster already at {cases[0]}"
    if _below(here[-1], 1.0):
        return ANOTHER_SHAPE, f"slower even at {cases[-1]}"
    ends, known = [cases[0], cases[-1]], [_below(here[0], 1.0), _above(here[-1], 1.0)]
    if unknown := _all_known(ends, [here[0], here[-1]], rounds, known):
        return unknown
    first = next(index for index in range(len(here)) if all(_above(one, 1.0) for one in here[index:]))
    return REPRODUCED, f"faster from {cases[first]} on"


def judge_limited(cases: Sequence[str], here: Sequence[Estimate], ideals: Sequence[float], rounds: int) -> Verdict:
    """Whether each speedup is above 1 and clearly below its ideal; the reason says which share of it is reached."""
    slower = [case for case, one in zip(cases, here, strict=True) if _below(one, 1.0)]
    if slower:
        return SMALLER, f"no faster at {listed(slower)}"
    shares = [one.value / ideal for one, ideal in zip(here, ideals, strict=True)]
    efficiency = f"efficiency {_span(shares)}"
    near = [_above(one, NEAR_IDEAL * ideal) for one, ideal in zip(here, ideals, strict=True)]
    if all(near):
        return LARGER, f"{efficiency}: nearly no limit shows"
    known = [
        _above(one, 1.0) and (is_near or _below(one, ideal))
        for one, ideal, is_near in zip(here, ideals, near, strict=True)
    ]
    return _all_known(cases, here, rounds, known) or (REPRODUCED, efficiency)


def judge_memory(share: Estimate, rounds: int) -> Verdict:
    """Whether a program moves its bytes nearly as fast as a copy; `share` is of the copy's rate."""
    if _above(share, NEAR_COPY):
        return REPRODUCED, ""
    if _below(share, NEAR_COPY):
        return SMALLER, "something else than the memory limits it"
    return NOT_SETTLED, what_is_missing(share, rounds) or f"its interval reaches {100 * NEAR_COPY:.0f} %"


def _all_known(cases: Sequence[str], here: Sequence[Estimate], rounds: int, known: Sequence[bool]) -> Verdict | None:
    """Not settled where an interval leaves open on which side a number lies; None if all are known."""
    open_ones = [(case, one) for case, one, is_known in zip(cases, here, known, strict=True) if not is_known]
    if not open_ones:
        return None
    why = dict.fromkeys(what_is_missing(one, rounds) or "its interval leaves it open" for _, one in open_ones)
    return NOT_SETTLED, f"{listed([case for case, _ in open_ones])}: {'; '.join(why)}"


def _above(one: Estimate, bound: float) -> bool:
    return one.low is not None and one.low > bound


def _below(one: Estimate, bound: float) -> bool:
    return one.high is not None and one.high < bound


def _span(shares: Sequence[float]) -> str:
    low, high = f"{100 * min(shares):.0f} %", f"{100 * max(shares):.0f} %"
    return low if low == high else f"{low} to {high}"
