"""What a measured number says of a published one: the rules behind the verdict on a claim."""

from collections.abc import Sequence

from respeed.estimators.cell import SETTLED_MARGIN, what_is_missing
from respeed.estimators.intervals import TWO_LOOKS, Estimate

REPRODUCED = "reproduced"
LARGER = "larger"
SMALLER = "smaller"
ANOTHER_SHAPE = "another shape"
NOT_SETTLED = "not settled"
NOT_TESTABLE = "not testable here"

# A verdict and the reason for it.
Verdict = tuple[str, str]


def confidence_for(cases: int) -> float:
    """The confidence of each case's interval, so that a claim about so many is falsely refused in at most 5 %
    (Bonferroni)."""
    return 1 - (1 - TWO_LOOKS) / max(1, cases)


def judge_value(published: float, here: Estimate, rounds: int) -> Verdict:
    """A number beside the published one. An interval so wide that it would meet anything near proves nothing."""
    if here.low is None or here.high is None:
        return NOT_SETTLED, what_is_missing(here, rounds)
    if here.low > published:
        return LARGER, ""
    if here.high < published:
        return SMALLER, ""
    if (here.margin or 0.0) > SETTLED_MARGIN:
        return NOT_SETTLED, what_is_missing(here, rounds)
    return REPRODUCED, ""


def judge_each(cases: Sequence[str], verdicts: Sequence[Verdict]) -> Verdict:
    """A claim about several cases, of which each has its verdict.

    What is larger in some and smaller in others has another shape; that is so whatever the unsettled ones turn out to
    be. Of what is left, one unsettled case leaves the claim unsettled.
    """
    by_kind = {
        kind: [case for case, verdict in zip(cases, verdicts, strict=True) if verdict[0] == kind]
        for kind in (LARGER, SMALLER, NOT_SETTLED)
    }
    if by_kind[LARGER] and by_kind[SMALLER]:
        return ANOTHER_SHAPE, f"larger at {listed(by_kind[LARGER])}, smaller at {listed(by_kind[SMALLER])}"
    if by_kind[NOT_SETTLED]:
        why = dict.fromkeys(reason for kind, reason in verdicts if kind == NOT_SETTLED)
        named = listed(by_kind[NOT_SETTLED])
        # A total is one case without a name.
        return NOT_SETTLED, ": ".join(filter(None, [named, "; ".join(why)]))
    for kind in (LARGER, SMALLER):
        if by_kind[kind]:
            return kind, "" if len(by_kind[kind]) == len(cases) else f"at {listed(by_kind[kind])}; the others agree"
    return REPRODUCED, ""


def judge_alternatives(verdicts: Sequence[Verdict]) -> Verdict:
    """Cases of which one was published, and it is not known which: one that is reproduced is enough."""
    for kind in (REPRODUCED, NOT_SETTLED):
        found = next((one for one in verdicts if one[0] == kind), None)
        if found:
            return found
    if len({kind for kind, _ in verdicts}) > 1:
        return NOT_SETTLED, "larger if one was run, smaller if another, and it is not known which"
    return verdicts[0]


def judge_growth(cases: Sequence[str], here: Sequence[Estimate], rounds: int) -> Verdict:
    """Whether a number grows from case to case, as the published one does.

    It grows if the last interval lies above the first, and none below the one before it. It has another shape if one
    does, or if first and last cannot be told apart although both are settled. Of one case nothing can be said.
    """
    if len(here) < 2:
        return NOT_SETTLED, f"only {listed(cases)} was measured; growth needs two cases"
    for case, one in zip(cases, here, strict=True):
        if one.low is None:
            return NOT_SETTLED, f"{case}: {what_is_missing(one, rounds)}"
    for index in range(1, len(here)):
        if _above(here[index - 1], here[index]):
            return ANOTHER_SHAPE, f"it falls from {cases[index - 1]} to {cases[index]}"
    if _above(here[-1], here[0]):
        return REPRODUCED, ""
    widest = max(here[0], here[-1], key=lambda one: one.margin or 0.0)
    if missing := what_is_missing(widest, rounds):
        return NOT_SETTLED, f"{cases[0]} and {cases[-1]} cannot be told apart yet: {missing}"
    return ANOTHER_SHAPE, f"{cases[0]} and {cases[-1]} cannot be told apart"


def largest(here: Sequence[Estimate]) -> Estimate:
    """The largest of several numbers; its interval holds if all of theirs do."""
    value = max(one.value for one in here)
    if any(one.low is None or one.high is None for one in here):
        return Estimate(value, None, None)
    return Estimate(value, max(one.low or 0.0 for one in here), max(one.high or 0.0 for one in here))


def _above(one: Estimate, other: Estimate) -> bool:
    return one.low is not None and other.high is not None and one.low > other.high


def listed(cases: Sequence[str]) -> str:
    """Cases for a sentence: a, b and c."""
    return " and ".join(filter(None, [", ".join(cases[:-1]), cases[-1]]))
