"""The verdict on a claim, from the comparison of its cases."""

from collections.abc import Sequence
from dataclasses import dataclass

from respeed.estimators import unnumbered, verdicts
from respeed.estimators.intervals import Estimate
from respeed.model.claim import Claim
from respeed.tables.claimed_rows import NOT_MEASURED
from respeed.tables.compared import Compared


@dataclass(frozen=True)
class Judged:
    """`published` are the numbers that the claim is about, `shown` ours; `singles` has the verdict of each case."""

    verdict: str
    reason: str
    published: tuple[Compared, ...]
    shown: tuple[Estimate, ...]
    singles: dict[str, verdicts.Verdict]


def judge_claim(claim: Claim, compared: Sequence[Compared]) -> Judged:
    """By the rules of estimators.verdicts; cases that have no time here are named in the reason."""
    measured = [one for one in compared if one.here]
    here = [one.here for one in measured if one.here]
    singles = {one.case: _judge_case(claim, one) for one in compared}
    top = max(compared, key=lambda one: one.published or 0.0, default=None)
    published = (top,) if claim.test == "largest" and top else tuple(compared)
    if not here:
        missing = dict.fromkeys(one.rows.missing for one in compared)
        may_come = any(one.rows.may_come for one in compared)
        kind = verdicts.NOT_SETTLED if may_come else verdicts.NOT_TESTABLE
        return Judged(kind, "; ".join(missing) or NOT_MEASURED, published, (), singles)
    if claim.test == "crossover" and (end := next((one for one in (compared[0], compared[-1]) if not one.here), None)):
        # Between which sizes it lies, the ends decide.
        kind = verdicts.NOT_SETTLED if end.rows.may_come else verdicts.NOT_TESTABLE
        return Judged(kind, f"{end.case}: {end.rows.missing}", (), tuple(here), singles)
    fewest = min(one.rounds for one in measured)
    shown = (verdicts.largest(here),) if claim.test == "largest" else tuple(here)
    verdict = _judge_together(claim, measured, shown, published, singles, fewest)
    if _is_open(claim, compared, verdict[0]):
        verdict = (verdicts.NOT_SETTLED, verdict[1] if verdict[0] == verdicts.NOT_SETTLED else "")
    absent = [f"{one.case}: {one.rows.missing}" if one.case else one.rows.missing for one in compared if not one.here]
    reason = "; ".join(filter(None, [verdict[1], *dict.fromkeys(absent)]))
    return Judged(verdict[0], reason, published, shown, singles)


def _judge_together(
    claim: Claim,
    measured: Sequence[Compared],
    shown: Sequence[Estimate],
    published: Sequence[Compared],
    singles: dict[str, verdicts.Verdict],
    fewest: int,
) -> verdicts.Verdict:
    cases = [one.case for one in measured]
    match claim.test:
        case "largest":
            return verdicts.judge_value(published[0].published or 0.0, shown[0], fewest)
        case "growth":
            return verdicts.judge_growth(cases, shown, fewest)
        case "faster":
            return unnumbered.judge_faster(cases, shown, fewest)
        case "crossover":
            return unnumbered.judge_crossover(cases, shown, fewest)
        case "limited":
            return unnumbered.judge_limited(cases, shown, [one.ideal for one in measured], fewest)
        case "memory":
            return unnumbered.judge_memory(shown[0], fewest)
        case _:
            return _judge_columns(measured, singles)


def _judge_case(claim: Claim, one: Compared) -> verdicts.Verdict:
    if one.here is None:
        return verdicts.NOT_SETTLED if one.rows.may_come else verdicts.NOT_TESTABLE, one.rows.missing
    if claim.test == "limited":
        return unnumbered.judge_limited([one.case], [one.here], [one.ideal], one.rounds)
    if claim.test == "crossover":
        return unnumbered.judge_side(one.here, one.rounds)
    if one.published is None:  # its part of a claim about all cases: on which side of 1 it is
        return unnumbered.judge_faster([one.case], [one.here], one.rounds)
    return verdicts.judge_value(one.published, one.here, one.rounds)


def _judge_columns(measured: Sequence[Compared], singles: dict[str, verdicts.Verdict]) -> verdicts.Verdict:
    """Of several cases that answer one printed column one was run, and nobody knows which."""
    columns: dict[str, list[verdicts.Verdict]] = {}
    for one in measured:
        columns.setdefault(one.column, []).append(singles[one.case])
    return verdicts.judge_each(list(columns), [verdicts.judge_alternatives(found) for found in columns.values()])


def _is_open(claim: Claim, compared: Sequence[Compared], verdict: str) -> bool:
    """Whether a case without a time may yet change the verdict of those that have one: one that may come may make a
    claim fail, and the largest of all may be the one that is missing."""
    absent = [one for one in compared if not one.here]
    if claim.test == "largest":
        return verdict != verdicts.LARGER and bool(absent)
    return verdict != verdicts.ANOTHER_SHAPE and any(one.rows.may_come for one in absent)
