"""Estimates and intervals over rounds that assume no distribution: signed-rank, rank-sum, and the bootstrap of a sum;
and what may be said of a ratio of two rows.

All work on logarithms: noise multiplies, and the interval of an inverse is then the inverse of the interval.
"""

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtrit

CONFIDENCE = 0.95
# What a look at a comparison may cost, so that two of them are wrong in at most 5 % together.
# Source: Pocock, Group sequential methods in the design and analysis of clinical trials, Biometrika 64 (1977), table 1.
TWO_LOOKS = 1 - 0.0294
RESAMPLES = 1000
# A cell whose interval reaches at most so far from its number, relative to it, is settled: that one of two such cells
# is 1.25 times as fast as the other is beyond doubt, and the tables are about factors of 2 to 70. The interval itself
# is printed beside every number.
SETTLED_MARGIN = 0.1
# The precision of what rows are compared with in tables. A row of another is compared, but is no base.
FULL_PRECISION = "fp32"
# A row this many times slower than the fastest is no rival for the first place: noise does not reach so far.
RIVAL = 1.5
# How far the speed of a machine moves from one session to another, as a standard deviation of logarithms, where it was
# not seen: pairs of runs on one machine, of docs/trust.md, differ by 3.4, 6 and 8 %, which is 4 % for one of two (the
# root of the mean square, over the root of 2). It counts like what so many sessions more than one would tell; those
# that there are add to it.
SESSION_SPREAD, SESSION_FREEDOM = 0.04, 8

# Cells that were measured together: of each, by name, the seconds by round.
Rounds = Mapping[str, Mapping[int, float]]
# Of one cell: the seconds a step of its rounds, by session.
Sessions = Mapping[int, Sequence[float] | np.ndarray]


@dataclass(frozen=True)
class Estimate:
    """A number and its interval; `low` and `high` are None where there are fewer rounds than it needs, which is
    `needs`."""

    value: float
    low: float | None = None
    high: float | None = None
    needs: int = field(default=6, kw_only=True)

    @property
    def margin(self) -> float | None:
        """How far the farther end of the interval lies from the number, relative to it: the ± that tables print. None
        where there is no interval."""
        if self.low is None or self.high is None:
            return None
        return max(self.high / self.value - 1, 1 - self.low / self.value)

    def is_above(self, bound: float | None) -> bool:
        """Whether all of the interval is."""
        return self.low is not None and bound is not None and self.low > bound

    def is_below(self, bound: float) -> bool:
        return self.high is not None and self.high < bound

    def times(self, factor: float) -> "Estimate":
        """The estimate times a number that is known exactly."""
        return Estimate(factor * self.value, *(end and factor * end for end in (self.low, self.high)), needs=self.needs)

    def over(self, number: float) -> "Estimate":
        """A number that is known exactly over the estimate."""
        return Estimate(number / self.value, *(end and number / end for end in (self.high, self.low)), needs=self.needs)

    def columns(self, name: str) -> dict[str, float | None]:
        """As tables have it: <name>, <name>_low and <name>_high."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


def estimate_location(values: Sequence[float]) -> Estimate:
    """exp of the Hodges-Lehmann estimate of the logarithms, the median of all (a + b) / 2, with its exact interval.

    The interval is made of two of these averages, as Wilcoxon's signed ranks have it: it is exact where the logarithms
    lie symmetrically about their median. Fewer than 6 values give no 95 % interval.
    Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition (2014), section 3.3.
    """
    return _estimate(_locations(np.log(values)[None])[0])


def estimate_locations(values: pd.Series, groups: pd.Series, sessions: pd.Series | None = None) -> pd.DataFrame:
    """`estimate_location` of the values of each group: a row a group, with `value`, `low` and `high`; NaN for None. An
    interval from several `sessions` holds beyond them."""
    names, numbers = np.unique(groups.to_numpy(), return_inverse=True)
    logs = np.log(values.to_numpy(dtype=float))[np.argsort(numbers, kind="stable")]
    sizes = np.bincount(numbers, minlength=len(names))
    starts = np.cumsum(sizes) - sizes
    found = np.full((len(names), 3), np.nan)
    for size in np.unique(sizes):
        alike = sizes == size
        found[alike] = _locations(logs[starts[alike][:, None] + np.arange(size)])
    measured: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for group, session, value in zip(numbers, sessions, values, strict=True) if sessions is not None else ():
        measured[group][session].append(value)
    for group, by_session in measured.items():
        if len(by_session) > 1 and not math.isnan(found[group, 1]):
            beyond = over_sessions(_estimate(found[group]), [by_session])
            found[group, 1:] = beyond.low, beyond.high
    return pd.DataFrame(found, index=names, columns=["value", "low", "high"])


def estimate_ratio(
    strata: Sequence[tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray]], confidence: float = TWO_LOOKS
) -> Estimate:
    """exp of the median of all log(a / b), a and b of the same stratum, with its exact interval.

    The interval is made of two of these differences, as the rank-sum statistic of Mann and Whitney has it, summed over
    strata. It is exact where a stratum's two samples differ by a factor alone.
    Source: Hollander, Wolfe and Chicken (2014), section 4.3; van Elteren (1960) for the sum over strata.
    """
    differences = np.sort(np.concatenate([np.subtract.outer(np.log(a), np.log(b)).ravel() for a, b in strata]))
    rank = _rank(_rank_sum_counts(tuple((len(a), len(b)) for a, b in strata)), confidence)
    found = _estimate(_with_interval(differences[None], rank)[0])
    return replace(found, needs=smallest_pair(confidence))


def _apart(sessions: Sessions) -> tuple[float, int, float]:
    """How far the sessions of a cell lie apart: squares of logarithms and their degrees of freedom; and the variance of
    its mean, in units of that of a session: 1 / K of K sessions, more where one of them has most of the rounds."""
    means = np.array([np.log(seconds).mean() for seconds in sessions.values()])
    sizes = np.array([len(seconds) for seconds in sessions.values()])
    return float(((means - means.mean()) ** 2).sum()), len(means) - 1, float((sizes**2).sum() / sizes.sum() ** 2)


def _session_variance(squares: Any, freedom: Any) -> Any:
    """Of one session, pooled from SESSION_SPREAD and from what was seen."""
    return (SESSION_FREEDOM * SESSION_SPREAD**2 + squares) / (SESSION_FREEDOM + freedom)


def over_sessions(estimate: Estimate, cells: Sequence[Sessions], confidence: float = CONFIDENCE) -> Estimate:
    """The estimate with the interval that holds beyond the sessions that were measured: the rounds' own and what
    sessions add, as squares of logarithms."""
    if estimate.low is None or estimate.high is None:
        return estimate
    squares, freedom, share = map(sum, zip(*map(_apart, cells), strict=True))
    critical = float(stdtrit(SESSION_FREEDOM + freedom, (1 + confidence) / 2))
    more = critical * math.sqrt(share * _session_variance(squares, freedom))
    low, high = (math.hypot(math.log(end / estimate.value), more) for end in (estimate.low, estimate.high))
    return Estimate(estimate.value, estimate.value * math.exp(-low), estimate.value * math.exp(high))


def estimate_sum(parts: Sequence[Rounds], over: Sequence[Rounds] = (), confidence: float = CONFIDENCE) -> Estimate:
    """The sum of the locations of several cells, with the interval of a bootstrap over rounds; over that of others, if
    any, the two drawn apart from one another.

    `parts` has groups of cells that were measured together, each a mapping of a name to seconds by round. The rounds of
    a group are drawn together, so that what made all of its cells slow in a round stays together. The percentiles are
    those further out that few rounds need.
    Source: Hesterberg, What teachers should know about the bootstrap, The American Statistician 69 (2015): expanded
    percentiles.
    """
    value, drawn = _sum_of(parts), _resampled_sums(parts, seed=0)
    if over:
        value, drawn = value / _sum_of(over), drawn / _resampled_sums(over, seed=1)
    fewest = min(len(cell) for group in (*parts, *over) for cell in group.values())
    if fewest < smallest_sample():
        return Estimate(value)
    tail = float(ndtr(math.sqrt(fewest / (fewest - 1)) * stdtrit(fewest - 1, (1 - confidence) / 2)))
    low, high = np.quantile(drawn, (tail, 1 - tail))
    return Estimate(value, float(low), float(high))


def smallest_sample(confidence: float = CONFIDENCE) -> int:
    """How many values an interval of one sample needs at the least: 2 / 2^n <= 1 - confidence."""
    return math.ceil(math.log2(2 / (1 - confidence)))


@functools.cache
def smallest_pair(confidence: float) -> int:
    """How many values an interval of a ratio needs of each of the two: 2 n! n! / (2n)! <= 1 - confidence."""
    return next(n for n in itertools.count(2) if 2 / math.comb(2 * n, n) <= 1 - confidence)


def what_is_missing(estimate: Estimate, rounds: int, failures: Iterable[str] = (), sessions: int = 1) -> str:
    """What an interval of ±10 % still needs; empty where it is there. `failures` say why rounds have no time."""
    if estimate.margin is None:
        clean = "1 clean round" if rounds == 1 else f"{rounds} clean rounds"
        return "; ".join([f"{clean}; an interval needs {estimate.needs}", *failures])
    if estimate.margin <= SETTLED_MARGIN:
        return ""
    count, what = (sessions, "session") if sessions > 1 else (rounds, "round")
    more = math.ceil(count * ((estimate.margin / SETTLED_MARGIN) ** 2 - 1))
    return f"about {more} more {what}{'s' if more > 1 else ''} for an interval of ±{100 * SETTLED_MARGIN:.0f} %"


def compare_rounds(base: Sessions, row: Sessions, confidence: float = TWO_LOOKS) -> tuple[Estimate, bool]:
    """t_base / t_row of two cells, from rounds of the same sessions, and True; of all rounds, and False, where the two
    share no session, or too few rounds of one for an interval that all of them would give."""
    strata = [(base[session], row[session]) for session in sorted(base.keys() & row.keys())]
    if strata:
        found = estimate_ratio(strata, confidence)
        if found.margin is not None or len(base.keys() | row.keys()) == 1:
            return found, True
    return compare_apart(base, row, confidence), False


def compare_apart(base: Sessions, row: Sessions, confidence: float = TWO_LOOKS) -> Estimate:
    """t_base / t_row from all rounds of one with all of the other: of two machines, or of two days. The interval has
    what a machine's sessions differ by in it."""
    found = estimate_ratio([(np.concatenate(list(base.values())), np.concatenate(list(row.values())))], confidence)
    return over_sessions(found, (base, row), confidence)


def confidence_among(rivals: int) -> float:
    """The confidence at which one of so many rows may be said to be slower than the one that came out fastest.

    A row is falsely called slower only if one of the others beats it by luck: by Bonferroni's inequality at most half
    of 1 - confidence for each of them.
    """
    return 1 - (1 - TWO_LOOKS) * min(1.0, 2 / max(1, rivals - 1))


def verdict_of(estimate: Estimate) -> tuple[str, str]:
    """What may be said of a ratio, and why not more: "faster" only of an interval that excludes 1."""
    if estimate.margin is None:
        return "unproven", "too few rounds for an interval"
    if estimate.is_above(1):
        return "faster", ""
    return ("slower", "") if estimate.is_below(1) else ("indistinguishable", "the interval includes 1")


def place_machines(machines: Sequence[pd.DataFrame]) -> list[int]:
    """The place of each machine; machines that cannot be told apart share one. A frame a machine: `speed`, the
    logarithm of a round's, with its `case`, the `turn` that measured it and the `session`.

    One machine is proven to be faster than another if Welch's t of their mean speeds says so, with the confidence that
    so many rivals need. One process measures all cases of a turn, and what slows it slows all of them: so turns are
    what varies, not the times of cases. Sessions add what a machine's speed moves by between them.
    Source: Liang and Zeger, Longitudinal data analysis using generalized linear models, Biometrika 73 (1986), for the
    variance over clusters.
    """
    means, variances, freedoms, apart = [], [], [], []
    for rounds in machines:
        by_case = rounds.groupby("case")["speed"]
        off = rounds["speed"] - by_case.transform("mean")
        weight = 1 / by_case.transform("size") / by_case.ngroups
        of_turns = (weight * off).groupby(rounds["turn"]).sum()
        count = len(of_turns)
        means.append(by_case.mean().mean())
        variances.append(count / (count - 1) * float((of_turns**2).sum()) if count > 1 else math.inf)
        freedoms.append(max(1, count - 1))
        apart.append(_apart({session: np.exp(one) for session, one in off.groupby(rounds["session"])}))
    squares, of_sessions, share = (np.add.outer(one, one) for one in map(np.array, zip(*apart, strict=True)))
    variance = np.add.outer(variances, variances) + share * _session_variance(squares, of_sessions)
    freedom = np.minimum(np.minimum.outer(freedoms, freedoms), SESSION_FREEDOM + of_sessions)
    critical = stdtrit(freedom, 1 - (1 - confidence_among(len(machines))) / 2)
    ahead = np.subtract.outer(means, means) > critical * np.sqrt(variance)
    return [int(place) for place in 1 + ahead.sum(axis=0)]


def _locations(logs: np.ndarray) -> np.ndarray:
    """Of each row of `logs` (n, size): value, low, high (n, 3)."""
    size = logs.shape[1]
    first, second = _pairs(size)
    averages = np.sort((logs[:, first] + logs[:, second]) / 2, axis=1)
    return _with_interval(averages, _rank(_signed_rank_counts(size), CONFIDENCE))


def _with_interval(ordered: np.ndarray, rank: int) -> np.ndarray:
    """Of each row of sorted logarithms: exp of the median, and of the values `rank` from either end; NaN if it is 0."""
    ends = (ordered[:, rank - 1], ordered[:, -rank]) if rank else [np.full(len(ordered), np.nan)] * 2
    found: np.ndarray = np.exp(np.stack([np.median(ordered, axis=1), *ends], axis=1))
    return found


def _estimate(found: np.ndarray) -> Estimate:
    value, low, high = found.tolist()
    return Estimate(value) if math.isnan(low) else Estimate(value, low, high)


def _sum_of(parts: Sequence[Rounds]) -> float:
    return sum(estimate_location(list(cell.values())).value for group in parts for cell in group.values())


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
