"""Nonparametric intervals over rounds."""

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 2000
# A cell whose interval is wider than this, half of it relative to the estimate, is marked as unconverged.
CONVERGED_HALF_WIDTH = 0.02


@dataclass(frozen=True)
class Estimate:
    """A median and its interval; `low` and `high` are None where there are too few values for one."""

    value: float
    low: float | None
    high: float | None

    @property
    def converged(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.high - self.low <= 2 * CONVERGED_HALF_WIDTH * self.value


def estimate_median(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The median with its order-statistic interval [x_(k), x_(n+1-k)], the narrowest that covers at least `confidence`.

    The interval misses the true median only if fewer than k of n independent values lie on one side of it:
    coverage 1 - 2 P(Binomial(n, 1/2) < k). No distribution is assumed. Fewer than 6 values give no 95 % interval.
    Source: Hoefler and Belli, Scientific benchmarking of parallel computing systems, SC 2015, rule 6.
    """
    ordered, n = sorted(values), len(values)
    median = statistics.median(ordered)
    k = 0
    while k < n // 2 and 2 * _binomial_cdf(k, n) <= 1 - confidence:
        k += 1
    return Estimate(median, ordered[k - 1], ordered[n - k]) if k else Estimate(median, None, None)


def ratio_of_medians(base: Sequence[float], times: Sequence[float], seed: int = 0) -> Estimate:
    """median(base) / median(times), with the percentile interval of a bootstrap over processes.

    For rounds that cannot be paired, on two machines or in two sessions: those of each are resampled by themselves.
    """
    value = statistics.median(base) / statistics.median(times)
    if min(len(base), len(times)) < smallest_sample():
        return Estimate(value, None, None)
    drawn = _resample_ranks(len(base), len(times), seed)
    above, below = (np.sort(sample)[ranks] for sample, ranks in zip((base, times), drawn, strict=True))
    low, high = np.percentile(above.mean(axis=1) / below.mean(axis=1), (50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)))
    return Estimate(value, float(low), float(high))


@functools.cache
def _resample_ranks(base: int, times: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of `RESAMPLES` resamples of two samples of these sizes: the ranks of the values whose mean is the median.

    Which value of a resample is its median depends on ranks alone: one draw serves all samples of the same sizes, and
    a comparison of thousands of machines draws once.
    """
    draw = np.random.default_rng(seed)
    ordered = [np.sort(draw.integers(0, size, (RESAMPLES, size))) for size in (base, times)]
    first, second = (ranks[:, [(ranks.shape[1] - 1) // 2, ranks.shape[1] // 2]] for ranks in ordered)
    return first, second  # (RESAMPLES, 2) each


def smallest_sample(confidence: float = CONFIDENCE) -> int:
    """How many values an interval needs at the least: 2 / 2^n <= 1 - confidence."""
    return math.ceil(math.log2(2 / (1 - confidence)))


def _binomial_cdf(k: int, n: int) -> float:
    return float(sum(math.comb(n, i) for i in range(k + 1)) / 2**n)
