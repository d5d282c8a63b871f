"""What measured numbers say of a claim: the rules behind its verdict.

Each rule takes numbers with their intervals (one a case) and says a verdict and the reason for it. A number settles
nothing that its interval leaves open.
"""

import itertools
from collections.abc import Sequence

from respeed.analysis.estimates import TWO_LOOKS, Estimate, what_is_missing
from respeed.numbers import format_share
from respeed.text import join_words

REPRODUCED = "reproduced"
LARGER = "larger"
SMALLER = "smaller"
ANOTHER_SHAPE = "another shape"
NOT_SETTLED = "not settled"
NOT_TESTABLE = "not testable here"

# A program that moves so much of what a plain copy of the same session does is bound by memory. A copy is timed on
# another number of arrays, and its best time counts: sums of long vectors were seen at 0.84 to 1.2.
NEAR_COPY = 0.8
# So near the ideal, the number of threads say, nobody would speak of a limit.
NEAR_IDEAL = 0.95

# A verdict and the reason for it.
Verdict = tuple[str, str]


def confidence_for(cases: int) -> float:
    """The confidence of each case's interval, so that a claim about so many is falsely refused in at most 5 %
    (Bonferroni)."""
    return 1 - (1 - TWO_LOOKS) / max(1, cases)


def judge_value(published: float, here: Estimate, rounds: int, rounding: float = 0.0) -> Verdict:
    """A number beside the published one, which was rounded by up to the share `rounding` when it was printed. An
    interval so wide that it would meet anything near proves nothing."""
    if _above(here, published * (1 + rounding)):
        return LARGER, ""
    if _below(here, published * (1 - rounding)):
        return SMALLER, ""
    missing = what_is_missing(here, rounds)
    if missing or here.margin is None:
        return NOT_SETTLED, missing
    return REPRODUCED, would_show([here])


def would_show(here: Sequence[Estimate]) -> str:
    """How far numbers that agree with the published ones could tell a difference: twice the widest margin, as the two
    may lie at opposite ends."""
    return f"a difference of {format_share(2 * max(one.margin or 0.0 for one in here))} would show"


def judge_each(cases: Sequence[str], verdicts: Sequence[Verdict]) -> Verdict:
    """A claim about several cases, of which each has its verdict.

    What is larger in some and smaller in others has another shape; that is so whatever the unsettled ones turn out to
    be. Of what is left, one unsettled case leaves the claim unsettled.
    """
    larger, smaller, unsettled = (
        [case for case, verdict in zip(cases, verdicts, strict=True) if verdict[0] == kind]
        for kind in (LARGER, SMALLER, NOT_SETTLED)
    )
    if larger and smaller:
        return ANOTHER_SHAPE, f"larger at {join_words(larger)}, smaller at {join_words(smaller)}"
    if unsettled:
        why = dict.fromkeys(reason for kind, reason in verdicts if kind == NOT_SETTLED)
        # A total is one case without a name.
        return NOT_SETTLED, ": ".join(filter(None, [join_words(unsettled), "; ".join(why)]))
    if not (some := larger or smaller):
        return REPRODUCED, ""
    where = "" if len(some) == len(cases) else f"at {join_words(some)}; the others agree"
    return (LARGER if larger else SMALLER), where


def judge_alternatives(verdicts: Sequence[Verdict]) -> Verdict:
    """Cases of which one was published, and it is not known which: one that is reproduced is enough."""
    for kind in (REPRODUCED, NOT_SETTLED):
        if found := next((one for one in verdicts if one[0] == kind), None):
            return found
    if len({kind for kind, _ in verdicts}) > 1:
        return NOT_SETTLED, "larger if one was run, smaller if another, and it is not known which"
    return verdicts[0]


def judge_growth(cases: Sequence[str], here: Sequence[Estimate], rounds: int) -> Verdict:
    """Whether a number grows from case to case, as the published one does.

    It grows if the last interval lies above the first, and each step is known: up, or level as far as two settled
    numbers tell. It has another shape if one interval lies below any before it, or if first and last cannot be told
    apart although both are settled. Of one case nothing can be said.
    """
    if len(here) < 2:
        return NOT_SETTLED, f"only {join_words(list(cases))} was measured; growth needs two cases"
    places = range(len(here))
    for before, after in itertools.combinations(places, 2):
        if _above(here[before], here[after].high):
            return ANOTHER_SHAPE, f"it falls from {cases[before]} to {cases[after]}"
    missing = [what_is_missing(one, rounds) for one in here]
    grows = _above(here[-1], here[0].high)
    if not grows and not (missing[0] or missing[-1]):
        return ANOTHER_SHAPE, f"{cases[0]} and {cases[-1]} cannot be told apart"
    for before, after in [(0, -1), *itertools.pairwise(places)]:
        why = missing[before] or missing[after]
        if why and not _above(here[after], here[before].high):
            return NOT_SETTLED, f"{cases[before]} and {cases[after]} cannot be told apart yet: {why}"
    return REPRODUCED, ""


def judge_faster(cases: Sequence[str], here: Sequence[Estimate], rounds: int) -> Verdict:
    """Whether every speedup is above 1."""
    slower = [case for case, one in zip(cases, here, strict=True) if _below(one, 1.0)]
    if slower:
        return SMALLER, f"slower at {join_words(slower)}"
    return _left_open(cases, here, rounds, [_above(one, 1.0) for one in here]) or (REPRODUCED, "")


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
    known = [_below(here[0], 1.0), _above(here[-1], 1.0)]
    if unknown := _left_open([cases[0], cases[-1]], [here[0], here[-1]], rounds, known):
        return unknown
    first = next(index for index in range(len(here)) if all(_above(one, 1.0) for one in here[index:]))
    return REPRODUCED, f"faster from {cases[first]} on"


def judge_limited(cases: Sequence[str], here: Sequence[Estimate], ideals: Sequence[float], rounds: int) -> Verdict:
    """Whether each speedup is above 1 and clearly below its ideal; the reason says which share of it is reached."""
    slower = [case for case, one in zip(cases, here, strict=True) if _below(one, 1.0)]
    if slower:
        return SMALLER, f"no faster at {join_words(slower)}"
    shares = [100 * one.value / ideal for one, ideal in zip(here, ideals, strict=True)]
    efficiency = "efficiency " + " to ".join(dict.fromkeys(f"{share:.0f} %" for share in (min(shares), max(shares))))
    near = [_above(one, NEAR_IDEAL * ideal) for one, ideal in zip(here, ideals, strict=True)]
    if all(near):
        return LARGER, f"{efficiency}: nearly no limit shows"
    limited = [is_near or _below(one, ideal) for one, ideal, is_near in zip(here, ideals, near, strict=True)]
    known = [_above(one, 1.0) and is_limited for one, is_limited in zip(here, limited, strict=True)]
    return _left_open(cases, here, rounds, known) or (REPRODUCED, efficiency)


def judge_memory(share: Estimate, rounds: int) -> Verdict:
    """Whether a program moves its bytes nearly as fast as a copy; `share` is of the copy's rate."""
    if _above(share, NEAR_COPY):
        return REPRODUCED, ""
    if _below(share, NEAR_COPY):
        return SMALLER, "something else than the memory limits it"
    return NOT_SETTLED, what_is_missing(share, rounds) or f"its interval reaches {100 * NEAR_COPY:.0f} %"


def largest(here: Sequence[Estimate]) -> Estimate:
    """The largest of several numbers; its interval holds if all of theirs do."""
    value = max(one.value for one in here)
    if any(one.low is None or one.high is None for one in here):
        return Estimate(value, None, None)
    return Estimate(value, max(one.low or 0.0 for one in here), max(one.high or 0.0 for one in here))


def _left_open(cases: Sequence[str], here: Sequence[Estimate], rounds: int, known: Sequence[bool]) -> Verdict | None:
    """Not settled where an interval leaves open on which side a number lies; None if all are known."""
    left = [(case, one) for case, one, is_known in zip(cases, here, known, strict=True) if not is_known]
    if not left:
        return None
    why = dict.fromkeys(what_is_missing(one, rounds) or "its interval leaves it open" for _, one in left)
    return NOT_SETTLED, f"{join_words([case for case, _ in left])}: {'; '.join(why)}"


def _above(one: Estimate, bound: float | None) -> bool:
    return one.low is not None and bound is not None and one.low > bound


def _below(one: Estimate, bound: float) -> bool:
    return one.high is not None and one.high < bound
