"""Rows of one machine and case beside its fastest CPU row: speedups, their intervals, and what may be said of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from respeed.estimators.intervals import TWO_LOOKS, Estimate, estimate_ratio
from respeed.estimators.rounds import CellKey, CellRounds

# The precision of what rows are compared with in tables. A row of another is compared, but is no base.
FULL_PRECISION = "fp32"
# A row this many times slower than the fastest is no rival for the first place: noise does not reach so far.
RIVAL = 1.5


@dataclass(frozen=True)
class Comparison:
    """A row over its base. `verdict` is faster, slower, indistinguishable, base or unproven; the interval is one of
    `confidence`."""

    base: CellKey
    estimate: Estimate
    confidence: float
    verdict: str
    reason: str


def compare_rounds(base: CellRounds, cell: CellRounds, confidence: float = TWO_LOOKS) -> Estimate:
    """t_base / t of two cells, from rounds of the same sessions; of all rounds where these are too few."""
    within = _within_sessions(base, cell, confidence)
    return within or compare_apart(base, cell, confidence)


def compare_apart(base: CellRounds, cell: CellRounds, confidence: float) -> Estimate:
    """t_base / t from all rounds of one with all of the other: of two machines, or of two days."""
    return estimate_ratio([(base.medians(), cell.medians())], confidence)


def _within_sessions(base: CellRounds, cell: CellRounds, confidence: float) -> Estimate | None:
    """None where the two share no session, or too few rounds of one for an interval that all of them would give."""
    sessions, others = ({time.session for time in one.times.values()} for one in (base, cell))
    strata = [(base.medians(session), cell.medians(session)) for session in sorted(sessions & others)]
    found = estimate_ratio(strata, confidence) if strata else None
    return found if found and (found.has_interval or len(sessions | others) == 1) else None


def compare_column(seconds: Mapping[CellKey, float], rounds: Mapping[CellKey, CellRounds]) -> dict[CellKey, Comparison]:
    """Every row of one machine and case over the fastest CPU row in fp32; nothing where there is none.

    `seconds` are those of the rows that show a time. The fastest of several rows that are equally fast is the luckiest:
    its rivals are compared with more confidence, so that each is falsely called slower in at most 5 %.
    """
    cpu = {
        key: value
        for key, value in seconds.items()
        if rounds[key].profile["device"] == "cpu" and rounds[key].profile["precision"] == FULL_PRECISION
    }
    if not cpu:
        return {}
    base = min(cpu, key=lambda key: cpu[key])
    rivals = {key for key, value in cpu.items() if value <= RIVAL * cpu[base]}
    among = confidence_among(len(rivals))
    return {key: _compare(base, key, rounds, among if key in rivals else TWO_LOOKS) for key in seconds}


def confidence_among(rivals: int) -> float:
    """The confidence at which one of so many rows may be said to be slower than the one that came out fastest.

    A row is falsely called slower only if one of the others beats it by luck: by Bonferroni's inequality at most half
    of 1 - confidence for each of them.
    """
    return 1 - (1 - TWO_LOOKS) * min(1.0, 2 / max(1, rivals - 1))


def _compare(base: CellKey, key: CellKey, rounds: Mapping[CellKey, CellRounds], confidence: float) -> Comparison:
    if key == base:
        return Comparison(base, Estimate(1.0, None, None), confidence, "base", "")
    estimate = compare_rounds(rounds[base], rounds[key], confidence)
    verdict, reason = verdict_of(estimate)
    if _within_sessions(rounds[base], rounds[key], confidence) is None:
        reason = "; ".join(filter(None, [reason, "compared with rounds of another session"]))
    return Comparison(base, estimate, confidence, verdict, reason)


def verdict_of(estimate: Estimate) -> tuple[str, str]:
    """What may be said of a ratio, and why not more: "faster" only of an interval that excludes 1."""
    if estimate.low is None or estimate.high is None:
        return "unproven", "too few rounds for an interval"
    if estimate.low > 1:
        return "faster", ""
    if estimate.high < 1:
        return "slower", ""
    return "indistinguishable", "the interval includes 1"
