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
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

# Confidence of one look at a cell and at a ratio. Cells with wide intervals are measured again and looked at a second
# time, while narrow intervals stay, even if narrow by luck: both looks together have a confidence of 95 and 97 %.
CELL_LEVEL, RATIO_LEVEL = 0.96, 0.98
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
# The prior for the spread of a machine's speed between sessions, as a standard deviation of logarithms: pairs of runs
# on one machine, of docs/trust.md, differ by 3.4, 6 and 8 %, which is 4 % for each run (the root of the mean square,
# divided by the root of 2). The prior has these degrees of freedom; measured sessions add theirs.
SESSION_SPREAD, SESSION_FREEDOM = 0.04, 8

# The seconds of a cell's step in each of its rounds, by session.
Sessions = Mapping[int, Sequence[float] | np.ndarray]
# Cells that the same processes measured: for each cell's name, the seconds by process.
Rounds = Mapping[str, Mapping[Any, float]]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; `low` and `high` are None if there are too few rounds."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def margin(self) -> float | None:
        """Return the larger distance of an end from `value`, divided by `value`; None without an interval."""
        if self.low is None or self.high is None:
            return None
        return max(self.high / self.value - 1, 1 - self.low / self.value)

    def is_above(self, bound: float | None) -> bool:
        """Return whether the whole interval lies above `bound`."""
        return self.low is not None and bound is not None and self.low > bound

    def is_below(self, bound: float) -> bool:
        """Return whether the whole interval lies below `bound`."""
        return self.high is not None and self.high < bound

    def times(self, factor: float) -> "Estimate":
        """Return the estimate times `factor`, which is known exactly."""
        return Estimate(factor * self.value, *(end and factor * end for end in (self.low, self.high)))

    def over(self, number: float) -> "Estimate":
        """Return `number`, which is known exactly, divided by the estimate."""
        return Estimate(number / self.value, *(end and number / end for end in (self.high, self.low)))

    def columns(self, name: str) -> dict[str, float | None]:
        """Return the three columns of a table: <name>, <name>_low and <name>_high."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


class _Mean(NamedTuple):
    """A mean of logarithms, its variance, and the variance's degrees of freedom; NaN if the variance is unknown."""

    mean: float
    variance: float
    freedom: float


def estimate_cell(sessions: Sessions, level: float = CELL_LEVEL) -> Estimate:
    """Estimate the seconds of a cell from its rounds in all sessions.

    Parameters
    ----------
    sessions : the seconds of each round, by session
    level : confidence of the interval

    Returns
    -------
    Estimate
        exp of the mean over sessions, weighted by their rounds, of the trimmed means of logarithms. There is no
        interval with fewer than `FEWEST_ROUNDS` rounds, or if no session has two rounds.
    """
    rounds = [np.log(one) for one in sessions.values()]
    sizes = np.array([len(one) for one in rounds])
    found = _pool(rounds, sizes / sizes.sum())
    return _interval(found, level, _between([rounds], level), sizes.sum())


def estimate_values(values: Sequence[float] | np.ndarray, level: float = CELL_LEVEL) -> Estimate:
    """Estimate the location of values of one session, as `estimate_cell` does."""
    return estimate_cell({0: values}, level)


def estimate_cells(values: pd.Series, groups: pd.Series, sessions: pd.Series | None = None) -> pd.DataFrame:
    """Estimate each group of values as `estimate_cell` does.

    Returns
    -------
    DataFrame
        A row for each group, with `value`, `low` and `high`; NaN if there is no interval.
    """
    by_group: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    days = np.zeros(len(values)) if sessions is None else sessions
    for group, session, value in zip(groups, days, values, strict=True):
        by_group[group][session].append(value)
    found = [estimate_cell(by_group[group]) for group in sorted(by_group)]
    frame = pd.DataFrame([(one.value, one.low, one.high) for one in found], sorted(by_group), ["value", "low", "high"])
    return frame.astype(float)


def estimate_ratio(
    base: Sessions, row: Sessions, level: float = RATIO_LEVEL, *, one_machine: bool = True
) -> tuple[Estimate, bool]:
    """Estimate the seconds of `base` divided by the seconds of `row`.

    `base` and `row` are compared within each session that both share; by least squares, a session with m rounds of
    `base` and n of `row` has the weight m n / (m + n). Without shared sessions (two machines, or two days), or with too
    few rounds in them, all rounds are compared, and the interval also covers the spread between sessions.

    Parameters
    ----------
    base, row : the seconds of each round, by session
    level : confidence of the interval
    one_machine : whether `base` and `row` are of one machine; two machines share no session

    Returns
    -------
    Estimate, bool
        The ratio, by Welch's t on logarithms, and whether it is from shared sessions. There is no interval if `base` or
        `row` has fewer than `FEWEST_ROUNDS` rounds.
    """
    shared = [session for session in base if session in row and one_machine]
    ends = [[np.log(one[session]) for session in shared or one] for one in (base, row)]
    m, n = (np.array([len(one) for one in end]) for end in ends)
    if shared:
        weight = m * n / (m + n)
        weights = [weight / weight.sum()] * 2
    else:
        weights = [m / m.sum(), n / n.sum()]
    one, other = (_pool(end, weight) for end, weight in zip(ends, weights, strict=True))
    found = _Mean(one.mean - other.mean, one.variance + other.variance, _welch([one, other]))
    between = 0.0 if shared else _between(ends, level)
    ratio = _interval(found, level, between, min(m.sum(), n.sum()))
    if shared and ratio.margin is None and len(base.keys() | row.keys()) > 1:
        return estimate_ratio(base, row, level, one_machine=False)
    return ratio, bool(shared)


def estimate_sum(parts: Sequence[Rounds], over: Sequence[Rounds] = (), level: float = CELL_LEVEL) -> Estimate:
    """Estimate the sum of the seconds of several cells, divided by the sum of the cells in `over` if there are any.

    In each round, one process measures all cells of a group, and whatever slows the round slows all these cells. So a
    group's variance is computed over its rounds, even if a round has only some of the cells. Groups are independent.

    Parameters
    ----------
    parts, over : groups of cells; each maps the name of a cell to its seconds by process
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
    sums = [_sum(groups) for groups in (parts, over) if groups]
    value = sums[0][0] / (sums[1][0] if over else 1.0)
    means = [mean for _, groups in sums for mean in groups]
    fewest = min(len(cell) for group in (*parts, *over) for cell in group.values())
    variance = sum(one.variance for one in means)
    return _interval(_Mean(math.log(value), variance, _welch(means)), level, 0.0, fewest)


def estimate_mean(values: Sequence[Estimate], kind: str | None) -> Estimate:
    """Estimate the mean of ratios of different cells, as if the ratios were independent.

    With h the half-width of a ratio's interval and H the half-width of the mean's, both of logarithms::

        geometric     m = exp(1/n sum of log v)    w = 1 / n
        arithmetic    m = 1/n sum of v             w = v / sum of v    (the delta method)
        H^2 = sum of (w h)^2

    Each h comes from a t distribution with its own degrees of freedom, so that H is a little too wide. H does not cover
    a disturbance that changes all ratios of a session alike.

    Parameters
    ----------
    values : ratios
    kind : geometric or arithmetic

    Returns
    -------
    Estimate
        There is no interval if one of the ratios has none.
    """
    v = np.array([one.value for one in values])
    mean = float(np.exp(np.log(v).mean()) if kind == "geometric" else v.mean())
    if any(one.low is None for one in values):
        return Estimate(mean)
    weights = np.full(len(v), 1 / len(v)) if kind == "geometric" else v / v.sum()
    half = np.log(np.array([(one.high or math.nan) / (one.low or math.nan) for one in values])) / 2
    return Estimate(mean, *(mean * math.exp(sign * float(np.linalg.norm(weights * half))) for sign in (-1, 1)))


def add_sessions(estimate: Estimate, cells: Sequence[Sessions], level: float) -> Estimate:
    """Widen the interval of an estimate by the spread between the sessions of these cells."""
    if estimate.low is None or estimate.high is None:
        return estimate
    between = _between([[np.log(one) for one in cell.values()] for cell in cells], level)
    low, high = (math.hypot(math.log(end / estimate.value), between) for end in (estimate.low, estimate.high))
    return Estimate(estimate.value, estimate.value * math.exp(-low), estimate.value * math.exp(high))


def what_is_missing(estimate: Estimate, rounds: int, failures: Iterable[str] = (), sessions: int = 1) -> str:
    """Return what is missing for an interval of ±10 %, or "". `failures` are the reasons of rounds without a time."""
    if estimate.margin is None:
        clean = "1 clean round" if rounds == 1 else f"{rounds} clean rounds"
        return "; ".join([f"{clean}; an interval needs {FEWEST_ROUNDS}", *failures])
    if estimate.margin <= SETTLED_MARGIN:
        return ""
    count, what = (sessions, "session") if sessions > 1 else (rounds, "round")
    more = rounds_missing(estimate, count)
    return f"about {more} more {what}{'s' if more > 1 else ''} for an interval of ±{100 * SETTLED_MARGIN:.0f} %"


def rounds_missing(estimate: Estimate, rounds: int) -> int:
    """Return about how many more rounds (or sessions) an interval needs to be ±10 %, if it is of so many `rounds`."""
    return math.ceil(rounds * (((estimate.margin or 0.0) / SETTLED_MARGIN) ** 2 - 1))


def level_among(rivals: int) -> float:
    """Return the confidence at which one of several rival rows may be called slower than the fastest of them.

    A row is falsely called slower only if another rival beats it by luck. Each other rival does so with a probability
    of at most (1 - confidence) / 2, and any rival with at most their sum (Bonferroni's inequality).
    """
    return 1 - (1 - RATIO_LEVEL) * min(1.0, 2 / max(1, rivals - 1))


def level_of_each(tests: int) -> float:
    """Return a confidence for each of several intervals: at most 5 % of reports have one that misses the truth.

    By Bonferroni's inequality, the confidence is 1 - (1 - `RATIO_LEVEL`) / `tests`.
    """
    return 1 - (1 - RATIO_LEVEL) / max(1, tests)


def verdict_of(estimate: Estimate) -> tuple[str, str]:
    """Return the verdict on a ratio and its reason: "faster" or "slower" only if the interval excludes 1."""
    if estimate.margin is None:
        return "unproven", "too few rounds for an interval"
    if estimate.is_above(1):
        return "faster", ""
    return ("slower", "") if estimate.is_below(1) else ("indistinguishable", "the interval includes 1")


def _trimmed_mean(logs: np.ndarray) -> _Mean:
    """Return the mean without an eighth from each end, and its variance from the winsorised variance (Yuen 1974)."""
    x, n = np.sort(logs), len(logs)
    if n < 2:
        return _Mean(float(x.mean()), math.nan, math.nan)
    cut = n // TRIM
    left = n - 2 * cut
    winsorised = np.clip(x, x[cut], x[n - cut - 1])
    variance = winsorised.var(ddof=1) * (n - 1) / (left * (left - 1))
    return _Mean(float(x[cut : n - cut].mean()), float(variance), left - 1)


def _pool(sessions: Sequence[np.ndarray], weights: np.ndarray) -> _Mean:
    """Return the weighted mean over sessions; its variance is from the spread of rounds within each session."""
    found = [_trimmed_mean(one) for one in sessions]
    means, variances, freedoms = (np.array(column) for column in zip(*found, strict=True))
    sizes = np.array([len(one) for one in sessions])
    has_spread = sizes > 1  # a session of one round has no spread of its own
    if not has_spread.any():
        return _Mean(float(weights @ means), math.nan, math.nan)
    freedom = freedoms[has_spread].sum()
    spread = (freedoms * sizes * variances)[has_spread].sum() / freedom
    return _Mean(float(weights @ means), float((weights**2 / sizes).sum() * spread), float(freedom))


def _welch(means: Sequence[_Mean]) -> float:
    """Return the degrees of freedom of the variance of a sum or difference of means (Welch 1947)."""
    squares = sum(one.variance**2 / one.freedom for one in means)
    return sum(one.variance for one in means) ** 2 / squares if squares else min(one.freedom for one in means)


def _between(cells: Sequence[Sequence[np.ndarray]], level: float) -> float:
    """Return the half-width due to the spread between sessions, 0 for one session; a cell is a list of sessions."""
    if sum(map(len, cells)) == 1:
        return 0.0
    squares, freedom, share = 0.0, SESSION_FREEDOM, 0.0
    for sessions in cells:
        means = np.array([one.mean() for one in sessions])
        sizes = np.array([len(one) for one in sessions])
        squares += float(((means - means.mean()) ** 2).sum())
        freedom += len(means) - 1
        share += float((sizes**2).sum() / sizes.sum() ** 2)
    spread = (SESSION_FREEDOM * SESSION_SPREAD**2 + squares) / freedom
    return float(stdtrit(freedom, (1 + level) / 2)) * math.sqrt(share * spread)


def _interval(found: _Mean, level: float, between: float, rounds: int) -> Estimate:
    value = math.exp(found.mean)
    if rounds < FEWEST_ROUNDS or math.isnan(found.variance):
        return Estimate(value)
    half = math.hypot(float(stdtrit(found.freedom, (1 + level) / 2)) * math.sqrt(found.variance), between)
    return Estimate(value, math.exp(found.mean - half), math.exp(found.mean + half))


def _sum(groups: Sequence[Rounds]) -> tuple[float, list[_Mean]]:
    """Return the sum of all cells' locations, and for each group its share of the sum, with the share's variance.

    With n the rounds of a cell, w the cell's share of the sum, and d the logarithm of a round minus the cell's mean, a
    group of R rounds has the variance R / (R - 1) sum over rounds of (sum over cells of w d / n)^2.
    """
    values = [{name: estimate_values([*cell.values()]).value for name, cell in group.items()} for group in groups]
    total = sum(sum(group.values()) for group in values)
    means = []
    for group, locations in zip(groups, values, strict=True):
        off: dict[Any, float] = defaultdict(float)
        for name, cell in group.items():
            logs = np.log([*cell.values()])
            for number, one in zip(cell, logs - logs.mean(), strict=True):
                off[number] += locations[name] / total * one / len(cell)
        fewest = min(map(len, group.values()))
        freedom = fewest - 1 if fewest > 1 else math.nan
        variance = len(off) / (len(off) - 1) * sum(one**2 for one in off.values()) if fewest > 1 else math.nan
        means.append(_Mean(sum(locations.values()) / total, variance, freedom))
    return total, means
