"""Estimate seconds and ratios from rounds, with intervals: Student's and Welch's t on trimmed logarithms.

Noise multiplies, so means are of logarithms, and the interval of an inverse is the inverse of the interval. If a
session (one stretch of measuring) has 8 rounds or more, an eighth is trimmed from each end, since now and then a round
is slow for no visible reason. Rounds of one session share the machine's speed at that time: rounds are compared within
a session, and the spread between sessions is a component of variance of its own.

References
----------
Student, The probable error of a mean, Biometrika 6 (1908).
Welch, The generalization of "Student's" problem when several different population variances are involved, Biometrika 34
(1947).
Yuen, The two-sample trimmed t for unequal population variances, Biometrika 61 (1974).
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, TypeVar

import numpy as np
from scipy.special import ndtri, stdtrit

from respeed.text import counted, format_share

# Confidence of one look at a cell and at a ratio. Cells with wide intervals are measured again and looked at a second
# time, while narrow intervals stay, even if narrow by luck: both looks together have a confidence of 95 and 97 %.
CELL_LEVEL = 0.96
RATIO_LEVEL = 0.98
# If a session has this number of rounds or more, an eighth of them is trimmed from each end.
TRIM = 8
# Clean rounds that an interval needs.
FEWEST_ROUNDS = 3
# A cell is settled if its interval reaches at most this far from its number, relative to the number: then a factor of
# 1.25 between two such cells is beyond doubt, and the tables are about factors of 2 to 70. Every number is printed with
# its interval.
SETTLED_MARGIN = 0.1
# The precision of the rows that others are compared with, in tables that have no precision of their own.
FULL_PRECISION = "fp32"
# A row that takes more than this many times the fastest row's time is no rival for the first place: noise is smaller.
RIVAL = 1.5
# The prior for the spread of a CPU's speed between sessions, as a standard deviation of logarithms: pairs of runs on
# one machine, of docs/trust.md, differ by 3.4, 6 and 8 %, which is 4 % for each run (the root of the mean square,
# divided by the root of 2). The prior has these degrees of freedom; measured sessions add theirs.
SESSION_SPREAD = 0.04
SESSION_FREEDOM = 8
# The same for an accelerator, which no guest of its host slows. In two sessions of an H200 (docs/h200), four RBMs
# differ by 0.11, 0.26, 0.42 and 0.55 %, which is 0.26 % for each session, and below 0.63 % with a confidence of 95 %
# (chi squared). But that is one card within an hour.
DEVICE_SPREAD = 0.01

Size = TypeVar("Size", int, float)
# A number, or None where it is missing.
Number = float | None
# The seconds of a cell's step in each of its rounds, by session.
Sessions = Mapping[int, Sequence[float] | np.ndarray]
# Cells that the same processes measured: for each cell's name, the seconds by the moment at which a process began.
Rounds = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval.

    `half` is the half-width of the interval of its logarithm, NaN if there are too few rounds; `shared` is the part of
    it that all ratios of the same two rows have.
    """

    value: float
    half: float = math.nan
    shared: float = 0.0

    @classmethod
    def between(cls, value: Number, low: Number, high: Number) -> Self:
        """Return a number of a table with its interval; NaN if it is missing."""
        if not (value and low and high):
            return cls(value or math.nan)
        return cls(value, math.log(high / low) / 2)

    @property
    def low(self) -> Number:
        """Return the lower end of the interval; None without an interval."""
        return number_of(self.value * math.exp(-self.half))

    @property
    def high(self) -> Number:
        """Return the upper end of the interval; None without an interval."""
        return number_of(self.value * math.exp(self.half))

    @property
    def margin(self) -> Number:
        """Return the larger distance of an end from `value`, divided by `value`; None without an interval."""
        return number_of(math.expm1(self.half))

    def is_above(self, bound: Number) -> bool:
        """Return whether the whole interval lies above `bound`."""
        low = self.value * math.exp(-self.half)
        return bound is not None and low > bound

    def is_below(self, bound: float) -> bool:
        """Return whether the whole interval lies below `bound`."""
        return self.value * math.exp(self.half) < bound

    def times(self, factor: float) -> Self:
        """Return the estimate times `factor`, which is known exactly."""
        return replace(self, value=factor * self.value)

    def over(self, number: float) -> Self:
        """Return `number`, which is known exactly, divided by the estimate."""
        return replace(self, value=number / self.value)

    def widened(self, half: float) -> Self:
        """Return the estimate with an interval that is wider by an independent error of this half-width."""
        return replace(self, half=math.hypot(self.half, half))


def number_of(value: float) -> Number:
    """Return the value; None if it is NaN."""
    return None if math.isnan(value) else value


class Doubt(NamedTuple):
    """Errors that the spread of rounds does not show, as standard deviations of logarithms.

    `slope` is of how a cell's steps feel neighbours, `quiet` of its row's quiet probe, which all cells of the `row`
    share. `between` is the prior for the spread of its device's speed between sessions.
    """

    slope: float
    quiet: float
    row: tuple[str, str]
    between: float = SESSION_SPREAD

    def over(self, base: "Doubt") -> float:
        """Return the standard deviation of a ratio of two cells."""
        return math.hypot(self.slope, base.slope, self.shared(base))

    def shared(self, base: "Doubt") -> float:
        """Return the part that all ratios of the two rows share; within a row, the quiet probe cancels."""
        return 0.0 if self.row == base.row else math.hypot(self.quiet, base.quiet)

    @property
    def error(self) -> float:
        """Return the standard deviation of the cell itself."""
        return math.hypot(self.slope, self.quiet)


class _Mean(NamedTuple):
    """A mean of logarithms, its variance, and the variance's degrees of freedom; NaN if there are too few rounds."""

    mean: float
    variance: float
    freedom: float


def estimate_cell(sessions: Sessions, spread: float = SESSION_SPREAD) -> Estimate:
    """Estimate the seconds of a cell from its rounds in all sessions.

    Parameters
    ----------
    sessions : the seconds of each round, by session
    spread : the prior for the spread between sessions

    Returns
    -------
    Estimate
        exp of the mean over sessions, weighted by their rounds, of the trimmed means of logarithms. There is no
        interval with fewer than `FEWEST_ROUNDS` rounds, or if no session has two rounds.
    """
    rounds = [np.log(seconds) for seconds in sessions.values()]
    estimate = _interval(_pool(rounds, _sizes(rounds)), CELL_LEVEL)
    return estimate.widened(half_between([sessions], CELL_LEVEL, [spread]))


def estimate_ratio(
    base: Sessions,
    row: Sessions,
    level: float = RATIO_LEVEL,
    spreads: tuple[float, float] = (SESSION_SPREAD, SESSION_SPREAD),
) -> tuple[Estimate, bool]:
    """Estimate the seconds of `base` divided by the seconds of `row`.

    `base` and `row` are compared within each session that both share; by least squares, a session with m rounds of
    `base` and n of `row` has the weight m n / (m + n). Without shared sessions (measured on two days), or with too
    few rounds in them, all rounds are compared, and the interval also covers the spread between sessions.

    Parameters
    ----------
    base, row : the seconds of each round, by session
    level : confidence of the interval
    spreads : the priors for the spread between sessions, of `base` and `row`

    Returns
    -------
    Estimate, bool
        The ratio, by Welch's t on logarithms, and whether it is from shared sessions. There is no interval if `base` or
        `row` has fewer than `FEWEST_ROUNDS` rounds.
    """
    if shared := [session for session in base if session in row]:
        a = [np.log(base[session]) for session in shared]
        b = [np.log(row[session]) for session in shared]
        m = _sizes(a)
        n = _sizes(b)
        weights = m * n / (m + n)
        together = _interval(_difference(_pool(a, weights), _pool(b, weights)), level)
        if together.margin is not None or len(base.keys() | row.keys()) == 1:
            return together, True
    a = [np.log(seconds) for seconds in base.values()]
    b = [np.log(seconds) for seconds in row.values()]
    difference = _difference(_pool(a, _sizes(a)), _pool(b, _sizes(b)))
    return _interval(difference, level).widened(half_between([base, row], level, spreads)), False


def estimate_sum(parts: Rounds, over: Rounds | None = None, level: float = CELL_LEVEL) -> Estimate:
    """Estimate the sum of the seconds of several cells, divided by the sum of the cells in `over` if there are any.

    In each round, one process measures all cells of a row, and whatever slows the round slows all these cells. So the
    variance is computed over rounds, even if a round has only some of the cells. Two rows are independent.

    Parameters
    ----------
    parts, over : the seconds of each cell by process; the cells of a row
    level : confidence of the interval

    Returns
    -------
    Estimate
        The sum (or ratio of sums) of the cells' own locations. There is no interval if a cell has fewer than
        `FEWEST_ROUNDS` rounds.

    References
    ----------
    Liang and Zeger, Longitudinal data analysis using generalized linear models, Biometrika 73 (1986), for the variance
    over clusters.
    """
    logarithm = _log_of_sum(parts)
    if over:
        logarithm = _difference(logarithm, _log_of_sum(over))
    return _interval(logarithm, level)


def estimate_mean(values: Sequence[Estimate]) -> Estimate:
    """Estimate the geometric mean of ratios of several cells, as if they were independent but for what they share.

    With h the half-width of a ratio's interval, g what it shares with the others (the quiet probes of two rows) and H
    the half-width of the mean's interval, all of logarithms::

        H^2 = 1/n^2 sum of (h^2 - g^2) + (mean of g)^2

    Each h comes from a t distribution with its own degrees of freedom, so that H is a little too wide.

    Parameters
    ----------
    values : ratios

    Returns
    -------
    Estimate
        There is no interval if one of the ratios has none.
    """
    mean = statistics.geometric_mean(ratio.value for ratio in values)
    shared = np.array([ratio.shared for ratio in values])
    squares = np.square([ratio.half for ratio in values])
    unshared = np.sqrt(np.maximum(0.0, squares - shared**2))  # rounding may leave a little below 0
    half = math.hypot(shared.mean(), *(unshared / len(values)))
    return Estimate(mean, half)


def half_of(error: float, level: float) -> float:
    """Return the half-width of the interval of a value that is normal, with this standard deviation."""
    return float(ndtri((1 + level) / 2)) * error


def half_between(cells: Sequence[Sessions], level: float, spreads: Sequence[float]) -> float:
    """Return the half-width of the interval that is due to the spread between sessions; 0 for one session.

    Spreads are pooled in units of their priors, `spreads`, one for each cell.
    """
    if sum(map(len, cells)) == 1:
        return 0.0
    squares = freedom = SESSION_FREEDOM
    share = 0.0
    for sessions, spread in zip(cells, spreads, strict=True):
        means = [np.log(seconds).mean() for seconds in sessions.values()]
        sizes = _sizes(sessions.values())
        weights = sizes / sizes.sum()
        share += spread**2 * (weights @ weights)
        squares += len(means) * np.var(means) / spread**2
        freedom += len(means) - 1
    return _half_width(share * squares / freedom, freedom, level)


def what_is_missing(
    estimate: Estimate, rounds: int, failures: Iterable[str] = (), sessions: int = 1, error: float = 0.0
) -> str:
    """Return what is missing for an interval of ±10 %, or "".

    `failures` are the reasons of rounds without a time; `error` is what more rounds do not make smaller (`Doubt`).
    """
    if estimate.margin is None:
        return "; ".join([f"{counted(rounds, 'clean round')}; an interval needs {FEWEST_ROUNDS}", *failures])
    if estimate.margin <= SETTLED_MARGIN:
        return ""
    noun = "more round"
    if sessions > 1:
        noun = "more session"
        rounds = sessions
    needed = rounds_missing(estimate, rounds, error)
    if math.isinf(needed):
        return f"beside these neighbours it is known to ±{format_share(half_of(error, CELL_LEVEL))} at best"
    return f"about {counted(math.ceil(needed), noun)} for an interval of ±{format_share(SETTLED_MARGIN)}"


def rounds_missing(estimate: Estimate, rounds: int, error: float = 0.0) -> float:
    """Return about how many more rounds (or sessions) an interval needs to be ±10 %, if it is of so many `rounds`.

    This is infinite if the `error` that rounds do not make smaller is as large.
    """
    least = half_of(error, CELL_LEVEL)
    if least >= SETTLED_MARGIN:
        return math.inf
    margin = estimate.margin or 0.0
    excess = margin**2 - SETTLED_MARGIN**2
    return rounds * excess / (SETTLED_MARGIN**2 - least**2)


def level_of_each(tests: float) -> float:
    """Return a confidence for each of several intervals: at most 5 % of reports have one that misses the truth.

    By Bonferroni's inequality, the confidence is 1 - (1 - `RATIO_LEVEL`) / `tests`.
    """
    return 1 - (1 - RATIO_LEVEL) / max(1, tests)


def largest(values: Iterable[Size | None]) -> Size | None:
    """Return the largest of the values that are not missing; None if all are."""
    return max((value for value in values if value is not None), default=None)


def verdict_of(estimate: Estimate) -> tuple[str, str]:
    """Return the verdict on a ratio and its reason: "faster" or "slower" only if the interval excludes 1."""
    if estimate.margin is None:
        return "unproven", "too few rounds for an interval"
    if estimate.is_above(1):
        return "faster", ""
    return ("slower", "") if estimate.is_below(1) else ("indistinguishable", "the interval includes 1")


def _sizes(sessions: Iterable[Sequence[float] | np.ndarray]) -> np.ndarray:
    """Return the number of rounds of each session."""
    return np.array([len(logs) for logs in sessions])


def _trim(logs: np.ndarray) -> tuple[float, float, int]:
    """Return the mean without an eighth from each end, and the variance of a round, times its degrees of freedom.

    The variance follows from the winsorised variance (Yuen 1974). The third number is its degrees of freedom, 0 for a
    single round.
    """
    x = np.sort(logs)
    n = len(logs)
    cut = n // TRIM
    middle = x[cut : n - cut]
    winsorised = np.clip(x, middle[0], middle[-1])
    squares = n**2 * winsorised.var() / len(middle)
    return middle.mean(), squares, len(middle) - 1


def _pool(sessions: Sequence[np.ndarray], weights: np.ndarray) -> _Mean:
    """Return the weighted mean over sessions; its variance is from the spread of rounds within each session."""
    means, squares, freedoms = np.array([_trim(logs) for logs in sessions]).T
    sizes = _sizes(sessions)
    shares = weights / weights.sum()
    mean = shares @ means
    freedom = freedoms.sum()
    if sizes.sum() < FEWEST_ROUNDS or not freedom:
        return _Mean(mean, math.nan, math.nan)
    variance = squares.sum() / freedom
    return _Mean(mean, variance * (shares**2 / sizes).sum(), freedom)


def _difference(a: _Mean, b: _Mean) -> _Mean:
    """Return the difference of two means, with the degrees of freedom of its variance (Welch 1947)."""
    variance = a.variance + b.variance
    squares = a.variance**2 / a.freedom + b.variance**2 / b.freedom
    freedom = variance**2 / squares if squares else a.freedom
    return _Mean(a.mean - b.mean, variance, freedom)


def _half_width(variance: float, freedom: float, level: float) -> float:
    """Return the half-width of the interval of a mean with this variance, by Student's t."""
    t = float(stdtrit(freedom, (1 + level) / 2))
    return t * math.sqrt(variance)


def _interval(mean: _Mean, level: float) -> Estimate:
    return Estimate(math.exp(mean.mean), _half_width(mean.variance, mean.freedom, level))


def _log_of_sum(cells: Rounds) -> _Mean:
    """Return the logarithm of the sum of the locations of a row's cells.

    With n the rounds of a cell, v its location, and d the logarithm of a round minus the cell's mean, R rounds have the
    variance R / (R - 1) sum over rounds of (sum over cells of v d / n)^2.
    """
    total = 0.0
    off = Counter[str]()
    for seconds in cells.values():
        logs = np.log([*seconds.values()])
        location = math.exp(_trim(logs)[0])
        total += location
        deviations = location * (logs - logs.mean()) / len(logs)
        off.update(dict(zip(seconds, deviations, strict=True)))
    fewest = min(map(len, cells.values()))
    if fewest < FEWEST_ROUNDS:
        return _Mean(math.log(total), math.nan, math.nan)
    squares = math.fsum(deviation**2 for deviation in off.values())
    variance = squares * len(off) / (len(off) - 1)
    return _Mean(math.log(total), variance / total**2, fewest - 1)
