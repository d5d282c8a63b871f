"""What work costs on several machines: the cheapest row, and how sure it is that others cost more."""

from collections.abc import Mapping

from respeed.estimators.intervals import TWO_LOOKS, Estimate
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import (
    FULL_PRECISION,
    RIVAL,
    Comparison,
    compare_apart,
    compare_rounds,
    confidence_among,
    verdict_of,
)

CHEAPEST = "cheapest"
# Of a ratio of what a unit of money buys, what is said of a ratio of speeds.
WORDS = {"faster": "cheaper", "slower": "dearer"}


def compare_costs(
    costs: Mapping[CellKey, float], prices: Mapping[str, float], rounds: Mapping[CellKey, CellRounds]
) -> dict[CellKey, Comparison]:
    """Every row of one case over the cheapest in full precision: how many times as much of the work a unit of money
    buys. `costs` are of the same work, in one currency; `prices` are of an hour, by machine, and exact.

    As with speedups, the cheapest of several is the luckiest: its rivals are compared with more confidence.
    """
    full = {key: cost for key, cost in costs.items() if rounds[key].profile["precision"] == FULL_PRECISION}
    if not full:
        return {}
    base = min(full, key=lambda key: full[key])
    rivals = {key for key, cost in full.items() if cost <= RIVAL * full[base]}
    among = confidence_among(len(rivals))
    return {key: _compare(base, key, prices, rounds, among if key in rivals else TWO_LOOKS) for key in costs}


def _compare(
    base: CellKey, key: CellKey, prices: Mapping[str, float], rounds: Mapping[CellKey, CellRounds], confidence: float
) -> Comparison:
    if key == base:
        return Comparison(base, Estimate(1.0, None, None), confidence, CHEAPEST, "")
    compare = compare_rounds if key.machine == base.machine else compare_apart
    estimate = times(compare(rounds[base], rounds[key], confidence), prices[base.machine] / prices[key.machine])
    verdict, reason = verdict_of(estimate)
    return Comparison(base, estimate, confidence, WORDS.get(verdict, verdict), reason)


def times(estimate: Estimate, factor: float) -> Estimate:
    """A number that is known exactly times one that is estimated."""
    low, high = (None if end is None else factor * end for end in (estimate.low, estimate.high))
    return Estimate(factor * estimate.value, low, high)
