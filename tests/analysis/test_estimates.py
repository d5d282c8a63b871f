"""Intervals: laws, other people's implementations, and coverage by simulation."""

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, wilcoxon

from respeed.analysis.claim_rules import confidence_for
from respeed.analysis.estimates import (
    CONFIDENCE,
    TWO_LOOKS,
    Estimate,
    confidence_among,
    estimate_location,
    estimate_locations,
    estimate_ratio,
    estimate_sum,
    smallest_sample,
    what_is_missing,
)

POSITIVE = st.floats(1e-6, 1e6)


@given(st.lists(POSITIVE, min_size=1, max_size=25))
def test_the_interval_holds_the_number_and_lies_within_the_values(values: list[float]) -> None:
    found = estimate_location(values)
    within = (min(values) * (1 - 1e-12), max(values) * (1 + 1e-12))
    assert within[0] <= found.value <= within[1]
    assert (found.low is not None) == (len(values) >= smallest_sample())
    if found.low is not None and found.high is not None:
        assert within[0] <= found.low <= found.value * (1 + 1e-12)
        assert found.value * (1 - 1e-12) <= found.high <= within[1]


@given(st.lists(st.tuples(st.integers(0, 5), POSITIVE), max_size=40))
def test_each_of_many_groups_has_the_estimate_of_its_own_values(drawn: list[tuple[int, float]]) -> None:
    frame = pd.DataFrame(drawn, columns=["group", "value"]).astype({"group": int, "value": float})
    found = estimate_locations(frame["value"], frame["group"])
    assert set(found.index) == set(frame["group"])
    for group, row in found.iterrows():
        one = estimate_location(list(frame["value"][frame["group"] == group]))
        expected = [np.nan if number is None else number for number in (one.value, one.low, one.high)]
        assert list(row) == pytest.approx(expected, nan_ok=True)


@given(st.lists(POSITIVE, min_size=6, max_size=25), st.floats(0.01, 100))
def test_another_unit_scales_the_interval(values: list[float], factor: float) -> None:
    one, other = estimate_location(values), estimate_location([factor * value for value in values])
    assert (other.low, other.value, other.high) == pytest.approx(
        (factor * one.low, factor * one.value, factor * one.high)
    )


@given(st.lists(POSITIVE, min_size=6, max_size=12), st.lists(POSITIVE, min_size=6, max_size=12))
def test_a_ratio_and_its_inverse_multiply_to_one(one: list[float], other: list[float]) -> None:
    forth, back = estimate_ratio([(one, other)]), estimate_ratio([(other, one)])
    assert forth.value * back.value == pytest.approx(1)
    assert forth.low * back.high == pytest.approx(1)


def of_one(one: np.ndarray, _: np.ndarray) -> tuple[Estimate, float]:
    return estimate_location(list(one)), CONFIDENCE


def of_ratio(one: np.ndarray, other: np.ndarray) -> tuple[Estimate, float]:
    return estimate_ratio([(list(one), list(other))]), TWO_LOOKS


@pytest.mark.parametrize(
    ("estimate", "p_value", "sizes"),
    [
        *((of_one, lambda one, _, factor: wilcoxon(np.log(one / factor), method="exact").pvalue, (n, 1))
          for n in (6, 7, 9, 15)),
        *((of_ratio, lambda one, other, factor: mannwhitneyu(one / factor, other, method="exact").pvalue, sizes)
          for sizes in ((6, 6), (6, 9), (12, 7))),
    ],
)  # fmt: skip
def test_a_factor_is_in_the_interval_exactly_if_an_exact_test_of_scipys_does_not_reject_it(
    estimate: Any, p_value: Any, sizes: tuple[int, int]
) -> None:
    """An interval is all that a test does not reject: of a number Wilcoxon's, of a ratio Mann's and Whitney's."""
    draw = np.random.default_rng(sizes)
    for _ in range(20):
        samples = [np.exp(draw.normal(0, 0.1, size)) for size in sizes]
        found, confidence = estimate(*samples)
        assert found.margin is not None
        for factor in np.exp(draw.normal(0, 0.1, 10)):
            rejected = p_value(*samples, factor) <= 1 - confidence
            assert rejected == (not found.low < factor < found.high)


def test_an_interval_is_there_as_soon_as_its_confidence_is_reached() -> None:
    """Of 8 places that one value may have among seven, the two at the ends come in a quarter of all: just 1 - 0.75."""
    seven = np.arange(1.0, 8.0)
    assert estimate_ratio([([4.0], seven)], 0.75).margin is not None
    assert estimate_ratio([([4.0], seven)], 0.76).margin is None


def test_two_sessions_are_compared_each_within_itself() -> None:
    """The second day is three times as slow: rounds of two days beside one another would be off by as much."""
    draw = np.random.default_rng(1)
    days = [(list(np.exp(draw.normal(0, 0.02, 4)) * 2 * slow), list(np.exp(draw.normal(0, 0.02, 4)) * slow))
            for slow in (1, 3)]  # fmt: skip
    found = estimate_ratio(days)
    assert found.value == pytest.approx(2, rel=0.05)
    assert found.margin < 0.05
    mixed = estimate_ratio([([*days[0][0], *days[1][0]], [*days[0][1], *days[1][1]])])
    assert mixed.margin is None or mixed.margin > 0.5


def test_the_counts_of_strata_are_those_of_every_way_to_rank_them() -> None:
    """Of two strata of 2 and 2, counted one by one: the smallest of 16 differences lies below in 1 of 36 cases."""
    arrangements = [sum(pairs) for pairs in product((0, 1, 2, 2, 3, 4), repeat=2)]
    strata = [([1.0, 2.0], [10.0, 20.0])] * 2
    for confidence in (0.5, 0.7, 0.9):
        tail = (1 - confidence) / 2
        rank = sum(sum(one <= value for one in arrangements) / 36 <= tail for value in range(9))
        found = estimate_ratio(strata, confidence)
        differences = sorted([math.log(a / b) for a in (1, 2) for b in (10, 20)] * 2)
        if rank:
            assert found.low == pytest.approx(math.exp(differences[rank - 1]))
        else:
            assert found.low is None


def test_a_sum_is_that_of_its_cells_and_its_interval_covers_it() -> None:
    """Cells of very unequal size, half of their noise common to all of a round, one round missing here and there."""
    draw, sizes, hits, trials = np.random.default_rng(1), (100.0, 60.0, 5.0), 0, 300
    for _ in range(trials):
        common = draw.normal(0, 0.03, 7)
        group = {
            str(size): {
                number: float(size * np.exp(common[number] + draw.normal(0, 0.03)))
                for number in range(7)
                if number != place
            }
            for place, size in enumerate(sizes)
        }
        found = estimate_sum([group])
        assert found.value == pytest.approx(
            sum(estimate_location(list(cell.values())).value for cell in group.values())
        )
        assert found.margin is not None
        hits += found.low <= sum(sizes) <= found.high
    assert hits / trials >= 0.93


def test_a_sum_needs_an_interval_for_each_of_its_cells() -> None:
    enough, few = {n: 1.0 + n / 100 for n in range(6)}, {n: 1.0 + n / 100 for n in range(5)}
    assert estimate_sum([{"a": enough, "b": enough}]).low is not None
    assert estimate_sum([{"a": enough}, {"b": few}]).low is None


@given(st.lists(st.floats(0.9, 1.1), min_size=6, max_size=8), st.floats(2, 50))
def test_the_ratio_of_two_sums_is_that_of_their_values_and_holds_it(times: list[float], factor: float) -> None:
    slow = [{"one": {index: factor * time for index, time in enumerate(times)}}]
    fast = [{"one": dict(enumerate(times))}]
    ratio = estimate_sum(slow, fast)
    assert ratio.value == pytest.approx(estimate_sum(slow).value / estimate_sum(fast).value)
    assert (ratio.low or 0) <= ratio.value * 1.0001
    assert (ratio.high or 0) >= ratio.value * 0.9999


def test_the_margin_is_that_of_the_farther_end() -> None:
    assert Estimate(10, 9, 10.5).margin == pytest.approx(0.1)
    assert Estimate(10, 9.9, 12).margin == pytest.approx(0.2)
    assert Estimate(10, None, None).margin is None


@pytest.mark.parametrize(("cases", "rounds"), [(1, 4), (4, 6), (13, 6), (14, 7), (60, 8)])
def test_what_is_missing_counts_the_rounds_that_the_confidence_needs(cases: int, rounds: int) -> None:
    draw = np.random.default_rng(1)
    one_less, enough = (
        estimate_ratio([(draw.uniform(1, 2, n), draw.uniform(1, 2, n))], confidence_for(cases))
        for n in (rounds - 1, rounds)
    )
    assert what_is_missing(one_less, rounds - 1) == f"{rounds - 1} clean rounds; an interval needs {rounds}"
    assert what_is_missing(one_less, 1) == f"1 clean round; an interval needs {rounds}"
    assert enough.margin is not None


def test_the_more_rivals_the_surer_must_one_be_to_be_called_slower() -> None:
    levels = [confidence_among(rivals) for rivals in (1, 2, 3, 4, 8, 20)]
    assert levels[0] == levels[2] == pytest.approx(0.97, abs=0.001)
    assert levels == sorted(levels)
    # Of 20 rows that are equally fast, each of the other 19 beats one by luck in (1 - level) / 2.
    assert 19 * (1 - levels[-1]) / 2 <= 0.03
