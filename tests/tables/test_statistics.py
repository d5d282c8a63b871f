"""Intervals: laws, and coverage by simulation."""

import random
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap

from respeed.tables.statistics import CONFIDENCE, Estimate, estimate_median, ratio_of_medians, smallest_sample

POSITIVE = st.floats(1e-6, 1e6)


@given(st.lists(POSITIVE, min_size=1, max_size=40))
def test_the_interval_is_made_of_values_and_holds_the_median(values: list[float]) -> None:
    estimate = estimate_median(values)
    assert estimate.value == statistics.median(values)
    if len(values) >= smallest_sample():
        assert estimate.low in values
        assert estimate.high in values
        assert estimate.low <= estimate.value <= estimate.high
    else:
        assert estimate.low is estimate.high is None


@given(st.lists(POSITIVE, min_size=6, max_size=40), st.floats(0.01, 100))
def test_another_unit_scales_the_interval(values: list[float], factor: float) -> None:
    one, other = estimate_median(values), estimate_median([factor * value for value in values])
    assert (other.low, other.high) == (pytest.approx(factor * one.low), pytest.approx(factor * one.high))


@pytest.mark.parametrize(("n", "k"), [(6, 1), (7, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8)])
def test_the_ranks_are_those_of_the_binomial_table(n: int, k: int) -> None:
    estimate = estimate_median(list(range(1, n + 1)))
    assert (estimate.low, estimate.high) == (k, n + 1 - k)


@pytest.mark.parametrize("n", [6, 7, 12, 20])
def test_the_interval_covers_the_median_of_a_skewed_distribution_in_at_least_95_percent(n: int) -> None:
    draw = random.Random(2009)
    hits = 0
    for _ in range(4000):
        estimate = estimate_median([draw.lognormvariate(0, 1) for _ in range(n)])
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= 1.0 <= estimate.high
    assert hits / 4000 >= 0.945  # 0.95 less two standard errors of 4000 draws


def test_of_200_comparisons_of_a_thing_with_itself_at_most_5_percent_claim_a_difference() -> None:
    draw = random.Random(2009)
    claims = 0
    for _ in range(200):
        logs = [draw.gauss(0, 0.05) - draw.gauss(0, 0.05) for _ in range(7)]
        estimate = estimate_median(logs)
        assert estimate.low is not None
        assert estimate.high is not None
        claims += not estimate.low <= 0 <= estimate.high
    assert claims <= 10


def test_a_wide_interval_or_none_is_not_converged() -> None:
    assert Estimate(100, 98.5, 101).converged
    assert not Estimate(100, 97, 102).converged
    assert not Estimate(100, None, None).converged


@pytest.mark.parametrize(("first", "second"), [(7, 7), (7, 20), (12, 8)])
def test_the_interval_of_a_ratio_is_that_of_the_usual_bootstrap(first: int, second: int) -> None:
    draw = np.random.default_rng(2009)
    base, times = (np.exp(draw.normal(0, 0.1, size)) for size in (first, second))
    usual = bootstrap(
        (base, times), lambda a, b, axis: np.median(a, axis=axis) / np.median(b, axis=axis), n_resamples=20000,
        confidence_level=CONFIDENCE, method="percentile", rng=draw,
    ).confidence_interval  # fmt: skip
    ours = ratio_of_medians(list(base), list(times))
    assert ours.value == pytest.approx(np.median(base) / np.median(times))
    assert (ours.low, ours.high) == pytest.approx((usual.low, usual.high), rel=0.02)


def test_the_ratio_of_too_few_values_has_no_interval() -> None:
    assert ratio_of_medians([2.0] * 5, [1.0] * 7) == Estimate(2.0, None, None)
