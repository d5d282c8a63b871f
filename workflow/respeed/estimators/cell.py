"""One cell: seconds a step over its rounds, and how far that can be believed."""

import math
from dataclasses import dataclass

import numpy as np

from respeed.estimators.intervals import Estimate, estimate_location, smallest_sample
from respeed.estimators.rounds import CellRounds

# A cell whose interval reaches at most so far from its number, relative to it, is settled: that one of two such cells
# is 1.25 times as fast as the other is beyond doubt, and the tables are about factors of 2 to 70. The interval itself
# is printed beside every number.
SETTLED_MARGIN = 0.1

# No program is faster than the product it is made of, but for the noise of both.
MAX_PEAK_SHARE = 1.05


@dataclass(frozen=True)
class Judged:
    """`status` is settled, wide, contaminated, failed or not-run; `reason` says what is missing, or why it has no time.

    `step` are the seconds of a step, for totals; None where no time may be shown. `peak_share` is the rate over the
    highest that a bare product reached on the same profile in the same session, the median over rounds.
    """

    status: str
    reason: str
    step: Estimate | None = None
    peak_share: float | None = None


def judge_cell(rounds: CellRounds) -> Judged:
    """What may be said of a cell that records tell of."""
    # One wrong result is enough: a program that is right most of the time is not right. A round that could not run,
    # for want of memory at that moment, say, is a missing round and no more.
    if "wrong" in rounds.failures:
        return Judged("failed", rounds.failures["wrong"])
    if not rounds.times:
        return _without_time(rounds)
    shares = _peak_shares(rounds)
    share = float(np.median(shares)) if shares else None
    if share and share > MAX_PEAK_SHARE:
        return _too_fast(share, shares)
    step = estimate_location(rounds.means)
    if 2 * rounds.unsettled > len(rounds.times):
        text = f"the step had not settled after warm-up in {rounds.unsettled} of {len(rounds.times)} rounds"
        return Judged("wide", text, step, share)
    missing = what_is_missing(step, len(rounds.times), rounds.failures)
    return Judged("wide" if missing else "settled", missing, step, share)


def what_is_missing(estimate: Estimate, rounds: int, failures: dict[str, str] | None = None) -> str:
    """What an interval of ±10 % still needs; empty where it is there."""
    if estimate.margin is None:
        return "; ".join([f"{rounds} clean rounds; an interval needs {smallest_sample()}", *(failures or {}).values()])
    if estimate.margin <= SETTLED_MARGIN:
        return ""
    more = math.ceil(rounds * ((estimate.margin / SETTLED_MARGIN) ** 2 - 1))
    return f"about {more} more round{'s' if more > 1 else ''} for an interval of ±{100 * SETTLED_MARGIN:.0f} %"


def _without_time(rounds: CellRounds) -> Judged:
    for status in ("failed", "not-run"):
        if status in rounds.failures:
            return Judged(status, rounds.failures[status])
    if not rounds.blocks:
        return Judged("not-run", "only run whole, in no round yet")
    causes = ", ".join(f"{cause} in {count}" for cause, count in rounds.causes.most_common())
    return Judged("contaminated", f"no clean block of {rounds.blocks}: {causes}")


def _peak_shares(rounds: CellRounds) -> list[float]:
    return [rounds.flops / time.mean / time.peak for time in rounds.times.values() if rounds.flops and time.peak]


def _too_fast(share: float, shares: list[float]) -> Judged:
    """No time is shown. That it is wrong is said only where noise is ruled out: a neighbour may have slowed the bare
    products of a round and not the step."""
    text = f"{share:.0%} of the highest rate that a bare product reached here"
    low = estimate_location(shares).low
    if low and low > MAX_PEAK_SHARE:
        return Judged("failed", f"{text}: the time or the FLOP count is wrong")
    rounds = f"{len(shares)} round{'s' if len(shares) > 1 else ''}"
    return Judged("contaminated", f"{text}; {rounds} cannot tell whether that is noise or a mistake")
