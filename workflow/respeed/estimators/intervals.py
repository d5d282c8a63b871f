"""Intervals over rounds that assume no distribution: signed-rank, rank-sum, and the bootstrap of a sum.

All work on logarithms: noise multiplies, and the interval of an inverse is then the inverse of the interval.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

CONFIDENCE = 0.95
# What a look at a comparison may cost, so that two of them are wrong in at most 5 % together.
# Source: Pocock, Group sequential methods in the design and analysis of clinical trials, Biometrika 64 (1977), table 1.
TWO_LOOKS = 1 - 0.0294
RESAMPLES = 1000

# Cells that were measured together: of each, by name, the seconds by round.
Rounds = dict[str, dict[int, float]]


@dataclass(frozen=True)
class Estimate:
    """A number and its interval; `low` and `high` are None where there are too few rounds for one."""

    value: float
    low: float | None
    high: float | None

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def margin(self) -> float | None:
        """How far the farther end of the interval lies from the number, relative to it: the ± that tables print. None
        where there is no interval."""
        if self.low is None or self.high is None:
            return None
        return max(self.high / self.value - 1, 1 - self.low / self.value)


def estimate_location(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """exp of the Hodges-Lehmann estimate of the logarithms, the median of all (a + b) / 2, with its exact interval.

    The interval is made of two of these averages, as Wilcoxon's signed ranks have it: it is exact where the logarithms
    lie symmetrically about their median. Fewer than 6 values give no 95 % interval.
    Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition (2014), section 3.3.
    """
    logs = np.log(values)
    first, second = _pairs(len(logs))
    averages = np.sort((logs[first] + logs[second]) / 2)
    return _from_logs(averages, _rank(_signed_rank_counts(len(logs)), confidence))


def estimate_ratio(
    strata: Sequence[tuple[Sequence[float], Sequence[float]]], confidence: float = TWO_LOOKS
) -> Estimate:
    """exp of the median of all log(a / b), a and b of the same stratum, with its exact interval.

    The interval is made of two of these differences, as the rank-sum statistic of Mann and Whitney has it, summed over
    strata. It is exact where a stratum's two samples differ by a factor alone.
    Source: Hollander, Wolfe and Chicken (2014), section 4.3; van Elteren (1960) for the sum over strata.
    """
    differences = np.sort(np.concatenate([np.subtract.outer(np.log(a), np.log(b)).ravel() for a, b in strata]))
    return _from_logs(differences, _rank(_rank_sum_counts(tuple((len(a), len(b)) for a, b in strata)), confidence))


def estimate_sum(parts: Sequence[Rounds], confidence: float = CONFIDENCE) -> Estimate:
    """The sum of the locations of several cells, with the interval of a bootstrap over rounds.

    `parts` has groups of cells that were measured together, each a mapping of a name to seconds by round. The rounds of
    a group are drawn together, so that what made all of its cells slow in a round stays together. The percentiles are
    those further out that few rounds need.
    Source: Hesterberg, What teachers should know about the bootstrap, The American Statistician 69 (2015): expanded
    percentiles.
    """
    return _from_resampled(_sum_of(parts), _resampled_sums(parts, 0), _fewest(parts), confidence)


def estimate_sum_ratio(parts: Sequence[Rounds], others: Sequence[Rounds], confidence: float = CONFIDENCE) -> Estimate:
    """The sum of `parts` over that of `others`, each as in `estimate_sum`, the two drawn apart from one another."""
    value = _sum_of(parts) / _sum_of(others)
    resampled = _resampled_sums(parts, 0) / _resampled_sums(others, 1)
    return _from_resampled(value, resampled, min(_fewest(parts), _fewest(others)), confidence)


def _sum_of(parts: Sequence[Rounds]) -> float:
    return sum(estimate_location(list(cell.values())).value for group in parts for cell in group.values())


def _fewest(parts: Sequence[Rounds]) -> int:
    return min(len(cell) for group in parts for cell in group.values())


def _from_resampled(value: float, resampled: np.ndarray, fewest: int, confidence: float) -> Estimate:
    if fewest < smallest_sample(confidence):
        return Estimate(value, None, None)
    tail = float(ndtr(math.sqrt(fewest / (fewest - 1)) * stdtrit(fewest - 1, (1 - confidence) / 2)))
    low, high = np.quantile(resampled, (tail, 1 - tail))
    return Estimate(value, float(low), float(high))


def _resampled_sums(parts: Sequence[Rounds], seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    sums = np.zeros(RESAMPLES)
    for group in parts:
        rounds = sorted(set().union(*group.values()))
        drawn = random.integers(0, len(rounds), (RESAMPLES, len(rounds)))
        for cell in group.values():
            logs = np.log(list(cell.values()))
            place = {number: index for index, number in enumerate(cell)}
            # A round in which this cell has no clean block is drawn as one of those in which it has.
            where = np.array([place.get(number, -1) for number in rounds])[drawn]
            where = np.where(where < 0, random.integers(0, len(logs), where.shape), where)
            first, second = _pairs(where.shape[1])
            resampled = logs[where]
            sums += np.exp(np.median((resampled[:, first] + resampled[:, second]) / 2, axis=1))
    return sums


def smallest_sample(confidence: float = CONFIDENCE) -> int:
    """How many values an interval of one sample needs at the least: 2 / 2^n <= 1 - confidence."""
    return math.ceil(math.log2(2 / (1 - confidence)))


def _from_logs(ordered: np.ndarray, rank: int) -> Estimate:
    value = math.exp(float(np.median(ordered)))
    if not rank:
        return Estimate(value, None, None)
    return Estimate(value, math.exp(ordered[rank - 1]), math.exp(ordered[-rank]))


def _rank(counts: np.ndarray, confidence: float) -> int:
    """The largest k with 2 P(statistic < k) <= 1 - confidence; 0 where even the first value comes too often."""
    below = np.cumsum(counts) / counts.sum()
    return int(np.searchsorted(2 * below, 1 - confidence, side="right"))


@functools.cache
def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(n)
    return first, second


@functools.cache
def _signed_rank_counts(n: int) -> np.ndarray:
    """Of the 2^n signs of the ranks 1 ... n: how many have positive ranks that sum to 0, 1, 2, ..."""
    counts = np.ones(1)
    for rank in range(1, n + 1):
        counts = np.convolve(counts, [1.0, *[0.0] * (rank - 1), 1.0])
    return counts


@functools.cache
def _rank_sum_counts(sizes: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Of all ways in which the values of two samples may lie among one another, in each stratum: how many have 0, 1, 2,
    ... pairs in which the second is the larger."""
    counts = np.ones(1)
    for m, n in sizes:
        counts = np.convolve(counts, _pairs_that_exceed(m, n))
    return counts


def _pairs_that_exceed(m: int, n: int) -> np.ndarray:
    """The Gaussian binomial coefficients of m + n over n, by Pascal's rule: [m, n] = [m - 1, n] + q^m [m, n - 1]."""
    row = [np.ones(1) for _ in range(n + 1)]  # of no values: one way
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            longer = np.zeros(i * j + 1)
            longer[: (i - 1) * j + 1] += row[j]
            longer[i : i + i * (j - 1) + 1] += row[j - 1]
            row[j] = longer
    return row[n]
