"""Intervals: laws, SciPy's own tests beside them, and what they need."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_ind

from respeed.analysis.estimates import (
    CELL_LEVEL,
    DEVICE_SPREAD,
    RATIO_LEVEL,
    SESSION_SPREAD,
    Doubt,
    Estimate,
    estimate_cell,
    estimate_mean,
    estimate_ratio,
    estimate_sum,
    half_of,
    level_of_each,
    what_is_missing,
)

# Rounds that differ by 2 %, as logarithms.
NOISE = np.random.default_rng(1).normal(0, 0.02, 400)


@given(st.floats(0.01, 100), st.floats(0, 0.5), st.floats(0.01, 100))
def test_an_interval_holds_its_number_either_way_up(value: float, half: float, number: float) -> None:
    """An interval stays around its number whichever way it is turned."""
    found = Estimate(value, half)
    for turned in (found.over(number), found.times(number), found.over(1).over(1)):
        assert turned.low * (1 - 1e-12) <= turned.value <= turned.high * (1 + 1e-12)
    assert Estimate.between(value, found.low, found.high).half == pytest.approx(half, abs=1e-12)


@pytest.mark.parametrize("size", [3, 7])
def test_few_rounds_have_the_interval_of_students_test(size: int) -> None:
    """Below eight rounds an interval is what Student's test does not reject."""
    logs = np.random.default_rng(size).normal(1, 0.1, size)
    found, theirs = estimate_cell({0: np.exp(logs)}), ttest_1samp(logs, 0).confidence_interval(CELL_LEVEL)
    assert np.log([found.low, found.high]) == pytest.approx([theirs.low, theirs.high])


@pytest.mark.parametrize("sizes", [(3, 6), (16, 7), (20, 8)])
def test_a_ratios_interval_is_that_of_yuens_test(
    sizes: tuple[int, int],
) -> None:
    """From eight rounds on, an eighth is trimmed from either end."""
    draw = np.random.default_rng(sizes)
    for _ in range(20):
        one, other = (draw.normal(0, spread, size) for spread, size in zip((0.1, 0.02), sizes, strict=True))
        found, together = estimate_ratio({0: np.exp(one)}, {0: np.exp(other)})
        assert together
        for factor in draw.normal(0, 0.15, 10):
            p_value = ttest_ind(one - factor, other, equal_var=False, trim=1 / 8).pvalue
            assert (p_value > 1 - RATIO_LEVEL) == (found.low < np.exp(factor) < found.high)


def test_two_sessions_are_compared_each_within_itself() -> None:
    """The second day is three times as slow: rounds of two days beside one another would be off by as much."""
    base, row = ({1: level * np.exp(NOISE[:4]), 2: 3 * level * np.exp(NOISE[4:8])} for level in (2, 1))
    within, together = estimate_ratio(base, row)
    apart, are = estimate_ratio(base, {3: row[1], 4: row[2]})
    assert (together, are) == (True, False)
    assert within.value == pytest.approx(2)
    assert within.margin < 0.1 < 0.5 < apart.margin


def test_a_session_weighs_as_much_as_its_rounds() -> None:
    """2 and 8 rounds tell as much as 1.6, 8 and 8 as 4; the row is 2 times as fast on the first day, then 4 times."""
    base, row = {1: [2.0] * 2, 2: [4.0] * 8}, {1: [1.0] * 8, 2: [1.0] * 8}
    assert np.log2(estimate_ratio(base, row)[0].value) == pytest.approx((1.6 * 1 + 4 * 2) / 5.6)


def test_other_sessions_widen_the_interval_of_a_ratio() -> None:
    """Rows of different sessions are less sure by what sessions differ by."""
    rounds = np.exp(NOISE[:6] / 20)
    same, _ = estimate_ratio({1: rounds}, {1: rounds})
    other, together = estimate_ratio({1: rounds}, {2: rounds})
    devices, _ = estimate_ratio({1: rounds}, {2: rounds}, spreads=(DEVICE_SPREAD, DEVICE_SPREAD))
    assert not together
    assert same.margin < 0.005
    # Two sessions, 8 degrees of freedom: t of 98 % is 2.90.
    assert other.margin == pytest.approx(np.exp(2.896 * np.sqrt(2) * SESSION_SPREAD) - 1, rel=0.01)
    assert devices.margin == pytest.approx(np.exp(2.896 * np.sqrt(2) * DEVICE_SPREAD) - 1, rel=0.02)


def test_sessions_that_differ_widen_a_cells_interval() -> None:
    """A cell of several sessions is as unsure as these differ."""
    alike = {day: np.exp(NOISE[6 * day :][:6] / 20) for day in range(4)}
    apart = {day: (1 + day / 10) * rounds for day, rounds in alike.items()}
    assert estimate_cell({0: alike[0]}).margin < estimate_cell(alike).margin < estimate_cell(apart).margin


def test_sessions_of_one_round_each_tell_no_spread() -> None:
    assert estimate_cell({0: [1.0], 1: [1.1], 2: [0.9]}).margin is None
    assert estimate_cell({0: [1.0, 1.1], 1: [0.9]}).margin is not None


@pytest.mark.parametrize("size", [3, 7])
def test_a_slow_round_does_not_average_out(size: int) -> None:
    """The sum of two that vary alike is as unsure as either."""
    slow, fast = ({place: level * value for place, value in enumerate(np.exp(NOISE[:size]))} for level in (5.0, 1.0))
    alone = estimate_cell({0: [*fast.values()]})
    together = estimate_sum({"slow": slow, "fast": fast})
    expected = (6 * alone.value, 6 * alone.low, 6 * alone.high)
    assert (together.value, together.low, together.high) == pytest.approx(expected)


def test_a_ratio_of_sums_has_both_their_errors() -> None:
    """Of two that vary as much, the ratio does so by sqrt(2) of either."""
    cells = {"a": dict(enumerate(np.exp(NOISE)))}
    assert estimate_sum(cells, cells).value == pytest.approx(1.0)
    assert estimate_sum(cells, cells).half / estimate_sum(cells).half == pytest.approx(np.sqrt(2), rel=0.01)


def test_a_sum_needs_an_interval_for_each_cell() -> None:
    enough, few = {n: 1.0 + n / 100 for n in range(3)}, {n: 1.0 + n / 100 for n in range(2)}
    assert estimate_sum({"a": enough, "b": enough}).low is not None
    assert estimate_sum({"a": enough, "b": few}).low is None
    assert estimate_sum({"a": enough, "b": {0: 1.0}}).low is None


def test_the_margin_is_that_of_the_farther_end() -> None:
    margins = [Estimate.between(10, *ends).margin for ends in ((10 / 1.2, 12), (None, None))]
    assert margins == [pytest.approx(0.2), None]


def test_what_is_missing_counts_rounds() -> None:
    assert what_is_missing(Estimate(1.0), 1, ["no memory"]) == "1 clean round; an interval needs 3; no memory"
    assert what_is_missing(Estimate(1.0, 0.05), 6) == ""
    assert what_is_missing(Estimate(1.0, np.log(1.2)), 6) == "about 18 more rounds for an interval of ±10 %"
    with_error = what_is_missing(Estimate(1.0, np.log(1.2)), 6, error=0.03)
    assert with_error == "about 30 more rounds for an interval of ±10 %"


def test_the_more_rivals_the_surer_must_one_be_to_be_called_slower() -> None:
    levels = [level_of_each((rivals - 1) / 2) for rivals in (1, 2, 3, 4, 8, 20)]
    assert levels[0] == levels[2] == pytest.approx(RATIO_LEVEL)
    assert levels == sorted(levels)
    # Of 20 rows that are equally fast, each of the other 19 beats one by luck in (1 - level) / 2.
    assert 19 * (1 - levels[-1]) / 2 <= 0.03


TWO = [Estimate(2.0, np.log(1.1)), Estimate(8.0, np.log(1.2))]


def test_a_mean_of_ratios_follows_the_formula() -> None:
    """The root of 2 x 8, with half of each logarithm's interval."""
    half = np.hypot(np.log(1.1), np.log(1.2)) / 2
    found = estimate_mean(TWO)
    assert (found.value, found.low, found.high) == pytest.approx((4.0, 4.0 / np.exp(half), 4.0 * np.exp(half)))
    assert estimate_mean([*TWO, Estimate(8.0)]).low is None


def test_what_all_ratios_share_does_not_average_out() -> None:
    """Sixteen ratios of ±8 %, of which ±6 % are the quiet probes of the two rows."""
    ratios = [Estimate(2.0, 0.08, shared) for shared in [0.06] * 16]
    found = estimate_mean(ratios)
    own = (0.08**2 - 0.06**2) ** 0.5 / 4
    assert np.log(found.high / 2) == pytest.approx(np.hypot(own, 0.06))
    # Ratios that differ by nothing else have what they share, whatever rounding makes of it.
    alone = [Estimate(v, 0.0, half_of(0.03, 0.98)).widened(half_of(0.03, 0.98)) for v in (0.7, 1.9, 3.1, 57.3)]
    assert np.log(estimate_mean(alone).margin + 1) == pytest.approx(half_of(0.03, 0.98))


def test_a_quiet_probe_cancels_within_its_row() -> None:
    one, other = Doubt(0.03, 0.04, "torch-1"), Doubt(0.01, 0.02, "torch-all")
    assert one.error == pytest.approx(0.05)
    assert one.over(other) == pytest.approx((0.03**2 + 0.01**2 + 0.04**2 + 0.02**2) ** 0.5)
    assert one.over(other._replace(row="torch-1")) == pytest.approx((0.03**2 + 0.01**2) ** 0.5)


def test_an_error_that_rounds_do_not_show_widens_their_interval() -> None:
    found = Estimate(1.0, 0.03).widened(half_of(0.04 / 1.959964, 0.95))
    assert (found.value, np.log(found.high), np.log(found.low)) == pytest.approx((1.0, 0.05, -0.05))
    assert Estimate(1.0).widened(0.1).low is None
