"""Intervals: laws, SciPy's own tests beside them, and what they need."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mstats, ttest_1samp, ttest_ind

from respeed.analysis.estimates import (
    CELL_LEVEL,
    FEWEST_ROUNDS,
    RATIO_LEVEL,
    SESSION_SPREAD,
    TRIM,
    Estimate,
    estimate_cell,
    estimate_cells,
    estimate_mean,
    estimate_ratio,
    estimate_sum,
    estimate_values,
    level_among,
    what_is_missing,
)

POSITIVE = st.floats(1e-6, 1e6)
ROUNDS = st.lists(POSITIVE, min_size=3, max_size=25)


@given(st.lists(POSITIVE, min_size=1, max_size=25))
def test_the_number_lies_within_the_values_and_has_an_interval_from_three_on(values: list[float]) -> None:
    found = estimate_values(values)
    assert min(values) * (1 - 1e-9) <= found.value <= max(values) * (1 + 1e-9)
    assert (found.low is not None) == (len(values) >= FEWEST_ROUNDS)
    if found.low is not None and found.high is not None:
        assert found.low <= found.value * (1 + 1e-9)
        assert found.value <= found.high * (1 + 1e-9)


@given(ROUNDS, ROUNDS)
def test_a_ratio_and_its_inverse_multiply_to_one(one: list[float], other: list[float]) -> None:
    forth, back = estimate_ratio({1: one}, {1: other})[0], estimate_ratio({1: other}, {1: one})[0]
    assert forth.value * back.value == pytest.approx(1)
    assert forth.low * back.high == pytest.approx(1)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), POSITIVE), max_size=40))
def test_each_of_many_groups_has_the_estimate_of_its_own_values(drawn: list[tuple[int, int, float]]) -> None:
    frame = pd.DataFrame(drawn, columns=["group", "session", "value"]).astype({"value": float})
    found = estimate_cells(frame["value"], frame["group"], frame["session"])
    assert set(found.index) == set(frame["group"])
    for group, rows in frame.groupby("group"):
        one = estimate_cell({session: part["value"].tolist() for session, part in rows.groupby("session")})
        expected = [np.nan if number is None else number for number in (one.value, one.low, one.high)]
        assert list(found.loc[group]) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("size", [3, 6, 7])
def test_below_eight_rounds_an_interval_is_what_students_test_does_not_reject(size: int) -> None:
    logs = np.random.default_rng(size).normal(1, 0.1, size)
    found, theirs = estimate_values(np.exp(logs)), ttest_1samp(logs, 0).confidence_interval(CELL_LEVEL)
    assert np.log([found.low, found.high]) == pytest.approx([theirs.low, theirs.high])


@pytest.mark.parametrize("size", [8, 15, 16, 20])
def test_from_eight_rounds_on_an_interval_is_that_of_the_trimmed_mean(size: int) -> None:
    logs = np.random.default_rng(size).normal(1, 0.1, size)
    share = (size // TRIM) / size
    low, high = mstats.trimmed_mean_ci(logs, (share, share), alpha=1 - CELL_LEVEL)
    found = estimate_values(np.exp(logs))
    # Theirs divides the winsorised variance by n (1 - 2 g / n)^2, ours by h (h - 1) / (n - 1) as Yuen has it.
    left = size - 2 * (size // TRIM)
    widening = np.sqrt((size - 1) / (left * (left - 1)) * size * (1 - 2 * share) ** 2)
    assert np.log(found.value) == pytest.approx((low + high) / 2)
    assert np.log(found.high / found.low) == pytest.approx((high - low) * widening)


@pytest.mark.parametrize("sizes", [(3, 3), (6, 6), (6, 9), (16, 7), (20, 8)])
def test_a_factor_is_in_the_interval_of_a_ratio_exactly_if_yuens_test_does_not_reject_it(
    sizes: tuple[int, int],
) -> None:
    draw = np.random.default_rng(sizes)
    for _ in range(20):
        one, other = (draw.normal(0, spread, size) for spread, size in zip((0.1, 0.02), sizes, strict=True))
        found, together = estimate_ratio({0: np.exp(one)}, {0: np.exp(other)})
        assert together
        for factor in draw.normal(0, 0.15, 10):
            p_value = ttest_ind(one - factor, other, equal_var=False, trim=1 / TRIM).pvalue
            assert (p_value > 1 - RATIO_LEVEL) == (found.low < np.exp(factor) < found.high)


def test_two_sessions_are_compared_each_within_itself() -> None:
    """The second day is three times as slow: rounds of two days beside one another would be off by as much."""
    draw = np.random.default_rng(1)
    base, row = (
        {day: np.exp(draw.normal(0, 0.02, 4)) * slow * level for day, slow in ((1, 1), (2, 3))} for level in (2, 1)
    )
    within, together = estimate_ratio(base, row)
    assert together
    assert within.value == pytest.approx(2, rel=0.05)
    assert within.margin < 0.05
    apart, together = estimate_ratio(base, row, one_machine=False)
    assert not together
    assert apart.margin > 0.5


def test_a_session_weighs_as_much_as_its_rounds_of_both_sides_tell() -> None:
    """2 and 8 rounds tell as much as 1.6, 8 and 8 as 4; the row is 2 times as fast on the first day, then 4 times."""
    base, row = {1: [2.0] * 2, 2: [4.0] * 8}, {1: [1.0] * 8, 2: [1.0] * 8}
    assert np.log2(estimate_ratio(base, row)[0].value) == pytest.approx((1.6 * 1 + 4 * 2) / 5.6)


def test_rows_of_different_sessions_are_less_sure_by_what_sessions_differ_by() -> None:
    rounds = np.exp(np.random.default_rng(1).normal(0, 0.001, 6))
    same, _ = estimate_ratio({1: rounds}, {1: rounds})
    other, together = estimate_ratio({1: rounds}, {2: rounds})
    assert not together
    assert same.margin < 0.005
    # Two sessions, 8 degrees of freedom: t of 98 % is 2.90.
    assert other.margin == pytest.approx(np.exp(2.896 * np.sqrt(2) * SESSION_SPREAD) - 1, rel=0.01)


def test_a_cell_of_several_sessions_is_as_unsure_as_these_differ() -> None:
    draw = np.random.default_rng(1)
    alike = {day: np.exp(draw.normal(0, 0.001, 6)) for day in range(4)}
    apart = {day: (1 + day / 10) * rounds for day, rounds in alike.items()}
    assert estimate_cell({0: alike[0]}).margin < estimate_cell(alike).margin < estimate_cell(apart).margin


def test_sessions_of_one_round_each_tell_no_spread() -> None:
    assert estimate_cell({0: [1.0], 1: [1.1], 2: [0.9]}).margin is None
    assert estimate_cell({0: [1.0, 1.1], 1: [0.9]}).margin is not None


def test_a_sum_covers_the_sum_of_its_cells() -> None:
    """Cells of very unequal size, half of their noise common to all of a round, one round missing here and there."""
    draw, sizes, hits, trials = np.random.default_rng(1), (100.0, 60.0, 5.0), 0, 400
    for _ in range(trials):
        common = draw.normal(0, 0.03, 9)
        group = {
            str(size): {
                number: float(size * np.exp(common[number] + draw.normal(0, 0.03)))
                for number in range(9)
                if number != place
            }
            for place, size in enumerate(sizes)
        }
        found = estimate_sum([group])
        assert found.value == pytest.approx(sum(estimate_values(list(one.values())).value for one in group.values()))
        assert found.margin is not None
        hits += found.low <= sum(sizes) <= found.high
    assert 0.94 <= hits / trials <= 0.99


def test_a_sum_needs_an_interval_for_each_of_its_cells() -> None:
    enough, few = {n: 1.0 + n / 100 for n in range(3)}, {n: 1.0 + n / 100 for n in range(2)}
    assert estimate_sum([{"a": enough, "b": enough}]).low is not None
    assert estimate_sum([{"a": enough}, {"b": few}]).low is None
    assert estimate_sum([{"a": enough}, {"b": {0: 1.0}}]).low is None


def test_groups_of_a_sum_vary_apart_from_each_other() -> None:
    """Of two that vary as much, the sum does so by 1 / sqrt(2) of either."""
    group = {"a": dict(enumerate(np.exp(np.random.default_rng(1).normal(0, 0.02, 400))))}
    one, two = (estimate_sum([group] * count) for count in (1, 2))
    assert two.margin / one.margin == pytest.approx(1 / np.sqrt(2), rel=0.01)


def test_the_margin_is_that_of_the_farther_end() -> None:
    assert Estimate(10, 9, 10.5).margin == pytest.approx(0.1)
    assert Estimate(10, 9.9, 12).margin == pytest.approx(0.2)
    assert Estimate(10, None, None).margin is None


def test_what_is_missing_counts_rounds() -> None:
    assert what_is_missing(Estimate(1.0), 2) == "2 clean rounds; an interval needs 3"
    assert what_is_missing(Estimate(1.0), 1, ["no memory"]) == "1 clean round; an interval needs 3; no memory"
    assert what_is_missing(Estimate(1.0, 0.95, 1.05), 6) == ""
    assert what_is_missing(Estimate(1.0, 0.8, 1.2), 6) == "about 18 more rounds for an interval of ±10 %"


def test_the_more_rivals_the_surer_must_one_be_to_be_called_slower() -> None:
    levels = [level_among(rivals) for rivals in (1, 2, 3, 4, 8, 20)]
    assert levels[0] == levels[2] == pytest.approx(RATIO_LEVEL)
    assert levels == sorted(levels)
    # Of 20 rows that are equally fast, each of the other 19 beats one by luck in (1 - level) / 2.
    assert 19 * (1 - levels[-1]) / 2 <= 0.03


TWO = [Estimate(2.0, 2.0 / 1.1, 2.0 * 1.1), Estimate(8.0, 8.0 / 1.2, 8.0 * 1.2)]


@pytest.mark.parametrize(
    ("kind", "value", "half"),
    [
        # The root of 2 x 8, half of each logarithm; and (2 + 8) / 2, of which 2 has a share of 0.2.
        ("geometric", 4.0, np.hypot(np.log(1.1), np.log(1.2)) / 2),
        ("arithmetic", 5.0, np.hypot(0.2 * np.log(1.1), 0.8 * np.log(1.2))),
    ],
)
def test_a_mean_of_ratios_and_its_interval_are_those_of_the_formula(kind: str, value: float, half: float) -> None:
    found = estimate_mean(TWO, kind)
    assert (found.value, found.low, found.high) == pytest.approx((value, value / np.exp(half), value * np.exp(half)))
    assert estimate_mean([*TWO, Estimate(8.0)], kind).low is None


@pytest.mark.parametrize("kind", ["geometric", "arithmetic"])
def test_the_interval_of_a_mean_of_ratios_holds_the_true_one_as_often_as_it_says(kind: str) -> None:
    random, truth = np.random.default_rng(2010), np.array([3.9, 1.8, 0.8, 15.2])
    wanted, held = estimate_mean([Estimate(one) for one in truth], kind).value, 0
    for _ in range(400):
        slow, fast = (np.exp(random.normal(0, 0.05, (4, 6))) for _ in range(2))
        ratios = [
            estimate_ratio({1: one * value}, {1: other})[0] for one, value, other in zip(slow, truth, fast, strict=True)
        ]
        found = estimate_mean(ratios, kind)
        held += found.low <= wanted <= found.high
    assert held / 400 >= RATIO_LEVEL - 0.02
