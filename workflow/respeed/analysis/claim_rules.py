"""What measured numbers say of a claim: the rules behind its verdict.

Each rule takes cases in which ours were compared, each a number with its interval, and says a verdict and the reason
for it. A number settles nothing that its interval leaves open.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from respeed.analysis.estimates import RATIO_LEVEL, SETTLED_MARGIN, Estimate, what_is_missing
from respeed.model.paper import Claim
from respeed.text import format_share, join_words

REPRODUCED = "reproduced"
LARGER = "larger"
SMALLER = "smaller"
ANOTHER_SHAPE = "another shape"
NOT_SETTLED = "not settled"
NOT_TESTABLE = "not testable here"

# What a case is without that the smoke preset, say, has not.
NOT_MEASURED = "nothing of the paper's sizes was measured"
# A program that moves so much of what a plain copy of the same session does is bound by memory. A copy is timed on
# another number of arrays, and its best time counts: sums of long vectors were seen at 0.84 to 1.2.
NEAR_COPY = 0.8
# So near the ideal, the number of threads say, nobody would speak of a limit.
NEAR_IDEAL = 0.95

UNMEASURED = Estimate(math.nan)
# A verdict and the reason for it.
Verdict = tuple[str, str]


@dataclass(frozen=True)
class Compared:
    """One case of a claim; of a total, the whole table.

    `column` is the printed one that the case answers, `text` what is printed there, and `rounding` how far that may be
    off, relative to it; a claim that names no number has none. `row` and `base` are our cells (of a total one of each
    column), `here` their ratio and `rounds` those of the one that has fewer. Without a ratio `here` is NaN, `missing`
    says why, and `may_come` if that is only disturbed or not measured yet. `ideal` is what a claim about a limit is
    held against.
    """

    case: str
    column: str = ""
    published: float | None = None
    text: str = ""
    rounding: float = 0.0
    row: Any = None
    base: Any = None
    here: Estimate = UNMEASURED
    rounds: int = 0
    missing: str = ""
    may_come: bool = False
    ideal: float = 1.0

    @property
    def is_measured(self) -> bool:
        return not math.isnan(self.here.value)

    @property
    def open(self) -> str:
        """What its interval still needs to be settled; empty where it is."""
        return what_is_missing(self.here, self.rounds)


def confidence_for(cases: int) -> float:
    """The confidence of each case's interval, so that a claim about so many is falsely refused in at most 5 %
    (Bonferroni)."""
    return 1 - (1 - RATIO_LEVEL) / max(1, cases)


def judge_claim(claim: Claim, compared: Sequence[Compared]) -> Verdict:
    """From all of its cases; those that have no time are named in the reason."""
    absent = [one for one in compared if not one.is_measured]
    fewest = min((one.rounds for one in compared if one.is_measured), default=0)
    measured = [replace(one, rounds=fewest) for one in compared if one.is_measured]
    if not measured:
        return _untested(absent), "; ".join(dict.fromkeys(one.missing for one in absent)) or NOT_MEASURED
    # Between which sizes a crossover lies, the ends decide.
    ends = [one for one in (compared[0], compared[-1]) if claim.test == "crossover" and not one.is_measured]
    if ends:
        return _untested(ends[:1]), f"{ends[0].case}: {ends[0].missing}"
    singles = {one.case: judge_case(claim, one) for one in compared if one.is_measured}
    if claim.test == "largest":
        top = max(compared, key=lambda one: one.published or 0.0)
        kind, why = judge_value(replace(top, here=largest(measured), rounds=fewest))
    elif claim.test in TOGETHER:
        kind, why = TOGETHER[claim.test](measured)
    else:
        kind, why = _judge_columns(measured, singles)
    # A case without a time may yet make the claim fail, and the largest of all may be the one that is missing. Of
    # several cases that answer one printed column, one that is reproduced is enough.
    reproduced = {one.column for one in measured if singles[one.case][0] == REPRODUCED}
    absent = [one for one in absent if claim.test != "each" or one.column not in reproduced]
    if (
        absent and kind != LARGER if claim.test == "largest"
        else kind != ANOTHER_SHAPE and any(one.may_come for one in absent)
    ):  # fmt: skip
        kind, why = NOT_SETTLED, why if kind == NOT_SETTLED else ""
    unmeasured = dict.fromkeys(": ".join(filter(None, [one.case, one.missing])) for one in absent)
    return kind, "; ".join(filter(None, [why, *unmeasured]))


def judge_case(claim: Claim, one: Compared) -> Verdict:
    """Of one case, what it alone says."""
    if not one.is_measured:
        return _untested([one]), one.missing
    if claim.test == "limited":
        return judge_limited([one])
    if claim.test == "crossover":
        return judge_side(one)
    # Without a printed number, its part of a claim about all cases: on which side of 1 it is.
    return judge_faster([one]) if one.published is None else judge_value(one)


def _untested(absent: Sequence[Compared]) -> str:
    return NOT_SETTLED if any(one.may_come for one in absent) else NOT_TESTABLE


def _judge_columns(measured: Sequence[Compared], singles: dict[str, Verdict]) -> Verdict:
    """Of several cases that answer one printed column one was run, and nobody knows which."""
    columns: dict[str, list[Verdict]] = {}
    for one in measured:
        columns.setdefault(one.column, []).append(singles[one.case])
    kind, why = judge_each({column: judge_alternatives(found) for column, found in columns.items()})
    return kind, would_show(measured) if kind == REPRODUCED else why


def judge_value(one: Compared) -> Verdict:
    """A number beside the published one, which may have been rounded when it was printed. An interval so wide that it
    would meet anything near proves nothing."""
    published = one.published or 0.0
    if one.here.is_above(published * (1 + one.rounding)):
        return LARGER, ""
    if one.here.is_below(published * (1 - one.rounding)):
        return SMALLER, ""
    return (NOT_SETTLED, one.open) if one.open else (REPRODUCED, would_show([one]))


def would_show(measured: Sequence[Compared]) -> str:
    """How far numbers that agree with the published ones could tell a difference: twice the widest margin, as the two
    may lie at opposite ends."""
    return f"a difference of {format_share(2 * max(one.here.margin or 0.0 for one in measured))} would show"


def judge_each(verdicts: dict[str, Verdict]) -> Verdict:
    """A claim about several cases, of which each has its verdict.

    What is larger in some and smaller in others has another shape; that is so whatever the unsettled ones turn out to
    be. Of what is left, one unsettled case leaves the claim unsettled.
    """
    larger, smaller, unsettled = (
        [case for case, verdict in verdicts.items() if verdict[0] == kind] for kind in (LARGER, SMALLER, NOT_SETTLED)
    )
    if larger and smaller:
        return ANOTHER_SHAPE, f"larger at {join_words(larger)}, smaller at {join_words(smaller)}"
    if unsettled:
        return NOT_SETTLED, _by_reason({case: verdicts[case][1] for case in unsettled})
    if not (some := larger or smaller):
        return REPRODUCED, ""
    where = "" if len(some) == len(verdicts) else f"at {join_words(some)}; the others agree"
    return (LARGER if larger else SMALLER), where


def judge_alternatives(verdicts: Sequence[Verdict]) -> Verdict:
    """Cases of which one was published, and it is not known which: one that is reproduced is enough."""
    for kind in (REPRODUCED, NOT_SETTLED):
        if found := next((one for one in verdicts if one[0] == kind), None):
            return found
    if len({kind for kind, _ in verdicts}) > 1:
        return NOT_SETTLED, "larger if one was run, smaller if another, and it is not known which"
    return verdicts[0]


def judge_growth(measured: Sequence[Compared]) -> Verdict:
    """Whether a number grows from case to case, as the published one does.

    It grows if the last interval lies above the first, and each step is known: up, or level. Level are two settled
    numbers of which the second is at most 10 % below the first. It has another shape if one is further below any
    before it, and its interval below that one's; or if the last cannot be told from the first and is at most 10 % above
    it, both settled. Of one case nothing can be said.
    """
    first, last = measured[0], measured[-1]
    if first is last:
        return NOT_SETTLED, f"only {first.case} was measured; growth needs two cases"
    grows = last.here.is_above(first.here.high)
    for before, after in itertools.combinations(measured, 2):
        if before.here.is_above(after.here.high) and after.here.value < before.here.value * (1 - SETTLED_MARGIN):
            in_all = f"larger at {last.case} than at {first.case}, but " if grows else ""
            return ANOTHER_SHAPE, f"{in_all}it falls from {before.case} to {after.case}"
    if not grows and not (first.open or last.open) and last.here.value <= first.here.value * (1 + SETTLED_MARGIN):
        return ANOTHER_SHAPE, f"no larger at {last.case} than at {first.case}"
    for before, after in [(first, last), *itertools.pairwise(measured)]:
        if after.here.is_above(before.here.high):
            continue
        if why := before.open or after.open:
            return NOT_SETTLED, f"{before.case} and {after.case} cannot be told apart yet: {why}"
        if after.here.value < before.here.value * (1 - SETTLED_MARGIN):
            return NOT_SETTLED, f"it may fall from {before.case} to {after.case}: the intervals leave it open"
    return (REPRODUCED, "") if grows else (NOT_SETTLED, f"whether {last.case} lies above {first.case} is left open")


def judge_faster(measured: Sequence[Compared]) -> Verdict:
    """Whether every speedup is above 1."""
    slower = [one.case for one in measured if one.here.is_below(1.0)]
    if slower:
        return SMALLER, f"slower at {join_words(slower)}"
    return _left_open([one for one in measured if not one.here.is_above(1.0)]) or (REPRODUCED, "")


def judge_side(one: Compared) -> Verdict:
    """On which side of 1 one of the cases of a crossover lies."""
    if one.here.is_above(1.0):
        return "faster here", ""
    return ("slower here", "") if one.here.is_below(1.0) else (NOT_SETTLED, one.open or "near 1")


def judge_crossover(measured: Sequence[Compared]) -> Verdict:
    """Whether speedups begin below 1 and end above it; they are larger, or smaller, if both ends lie on one side."""
    first, last = measured[0], measured[-1]
    if unknown := _left_open([one for one in (first, last) if not (one.here.is_above(1.0) or one.here.is_below(1.0))]):
        return unknown
    if first.here.is_above(1.0) and last.here.is_above(1.0):
        return LARGER, f"faster already at {first.case}"
    if first.here.is_above(1.0):
        return ANOTHER_SHAPE, f"faster at {first.case}, slower at {last.case}"
    if last.here.is_below(1.0):
        return SMALLER, f"slower even at {last.case}"
    slower = itertools.takewhile(lambda one: one.here.is_above(1.0), reversed(measured))
    return REPRODUCED, f"faster from {list(slower)[-1].case} on"


def judge_limited(measured: Sequence[Compared]) -> Verdict:
    """Whether each speedup is above 1 and clearly below its ideal; the reason says which share of it is reached."""
    slower = [one.case for one in measured if one.here.is_below(1.0)]
    if slower:
        return SMALLER, f"no faster at {join_words(slower)}"
    shares = [100 * one.here.value / one.ideal for one in measured]
    efficiency = "efficiency " + " to ".join(dict.fromkeys(f"{share:.0f} %" for share in (min(shares), max(shares))))
    near = [one for one in measured if one.here.is_above(NEAR_IDEAL * one.ideal)]
    if len(near) == len(measured):
        return LARGER, f"{efficiency}: nearly no limit shows"
    limited = [one for one in measured if one in near or one.here.is_below(one.ideal)]
    known = [one for one in limited if one.here.is_above(1.0)]
    return _left_open([one for one in measured if one not in known]) or (REPRODUCED, efficiency)


def judge_memory(measured: Sequence[Compared]) -> Verdict:
    """Whether a program moves its bytes nearly as fast as a copy; the number is its share of the copy's rate."""
    (one,) = measured
    if one.here.is_above(NEAR_COPY):
        return REPRODUCED, ""
    if one.here.is_below(NEAR_COPY):
        return SMALLER, "something else than the memory limits it"
    return NOT_SETTLED, one.open or f"its interval reaches {100 * NEAR_COPY:.0f} %"


# The rules of tests that look at all cases together, by the test.
TOGETHER: dict[str, Callable[[Sequence[Compared]], Verdict]] = {
    "growth": judge_growth,
    "faster": judge_faster,
    "crossover": judge_crossover,
    "limited": judge_limited,
    "memory": judge_memory,
}


def largest(measured: Sequence[Compared]) -> Estimate:
    """The largest of several numbers; its interval holds if all of theirs do."""
    value = max(one.here.value for one in measured)
    lows, highs = [one.here.low for one in measured], [one.here.high for one in measured]
    if None in lows or None in highs:
        return Estimate(value)
    return Estimate(value, max(low or 0.0 for low in lows), max(high or 0.0 for high in highs))


def _left_open(unknown: Sequence[Compared]) -> Verdict | None:
    """Not settled where an interval leaves open on which side a number lies; None if none does."""
    if not unknown:
        return None
    return NOT_SETTLED, _by_reason({one.case: one.open or "its interval leaves it open" for one in unknown})


def _by_reason(whys: dict[str, str]) -> str:
    """Each reason once, behind the cases that it is of. A total is one case without a name."""
    of = {why: join_words([case for case in whys if whys[case] == why]) for why in whys.values()}
    return "; ".join(f"{cases}: {why}" if cases else why for why, cases in of.items())
