"""What a measured number says of a published one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.claim_rules import (
    ANOTHER_SHAPE,
    LARGER,
    NOT_SETTLED,
    REPRODUCED,
    SMALLER,
    confidence_for,
    judge_alternatives,
    judge_crossover,
    judge_each,
    judge_faster,
    judge_growth,
    judge_limited,
    judge_memory,
    judge_value,
    largest,
)
from respeed.analysis.estimates import Estimate, estimate_ratio
from respeed.model.paper import Printed

CASES = ("a", "b", "c", "d")
NUMBERS = st.floats(0.01, 1000)


SIZES = ("small", "middle", "large")


def near(value: float, half_width: float = 0.05) -> Estimate:
    return Estimate(value, value * (1 - half_width), value * (1 + half_width))


@given(NUMBERS, NUMBERS, st.floats(0.001, 0.09))
def test_a_narrow_interval_reproduces_what_lies_in_it_and_nothing_else(
    published: float, value: float, half_width: float
) -> None:
    here = near(value, half_width)
    verdict, _ = judge_value(published, here, 6)
    assert here.low is not None
    assert here.high is not None
    expected = LARGER if here.low > published else SMALLER if here.high < published else REPRODUCED
    assert verdict == expected


def test_an_interval_so_wide_that_it_meets_anything_near_reproduces_nothing_and_says_what_is_missing() -> None:
    verdict, reason = judge_value(10, near(11, 0.4), 6)
    assert verdict == NOT_SETTLED
    assert "more rounds" in reason


def test_a_wide_interval_that_lies_beyond_the_published_number_settles_the_question_all_the_same() -> None:
    assert judge_value(10, near(40, 0.4), 6)[0] == LARGER
    assert judge_value(100, near(40, 0.4), 6)[0] == SMALLER


def test_without_an_interval_nothing_is_settled() -> None:
    verdict, reason = judge_value(10, Estimate(10, None, None), 3)
    assert (verdict, reason) == (NOT_SETTLED, "3 clean rounds; an interval needs 6")


@given(st.lists(st.sampled_from([LARGER, SMALLER, NOT_SETTLED, REPRODUCED]), min_size=1, max_size=4))
def test_a_claim_about_several_cases_is_reproduced_only_if_each_of_them_is(kinds: list[str]) -> None:
    verdict, _ = judge_each(CASES[: len(kinds)], [(kind, "why") for kind in kinds])
    assert (verdict == REPRODUCED) == (set(kinds) == {REPRODUCED})
    assert (verdict == ANOTHER_SHAPE) == ({LARGER, SMALLER} <= set(kinds))


def test_what_is_larger_in_some_cases_names_them() -> None:
    verdict, reason = judge_each(CASES, [(LARGER, ""), (LARGER, ""), (REPRODUCED, ""), (LARGER, "")])
    assert (verdict, reason) == (LARGER, "at a, b and d; the others agree")


def test_one_unsettled_case_leaves_the_claim_unsettled_with_its_reason() -> None:
    verdict, reason = judge_each(CASES[:2], [(LARGER, ""), (NOT_SETTLED, "3 clean rounds")])
    assert (verdict, reason) == (NOT_SETTLED, "b: 3 clean rounds")


@given(st.lists(NUMBERS, min_size=2, max_size=4))
def test_growth_is_reproduced_if_no_case_falls_and_the_last_lies_above_the_first(values: list[float]) -> None:
    here = [near(value, 0.01) for value in values]
    verdict, _ = judge_growth(CASES[: len(values)], here, 6)
    falls = any(one.high < before.low for before, one in combinations(here, 2) if one.high and before.low)
    grows = (here[-1].low or 0) > (here[0].high or 0)
    assert (verdict == REPRODUCED) == (grows and not falls)


def test_a_fall_names_the_two_cases_between_which_it_is() -> None:
    verdict, reason = judge_growth(CASES, [near(1), near(2), near(1.5), near(4)], 6)
    assert (verdict, reason) == (ANOTHER_SHAPE, "it falls from b to c")


def test_a_level_number_has_another_shape_if_it_is_settled_and_is_open_if_it_is_not() -> None:
    assert judge_growth(CASES, [near(10), near(10.2), near(10.1), near(10.3)], 6)[0] == ANOTHER_SHAPE
    verdict, reason = judge_growth(CASES, [near(10, 0.3), near(10.2), near(10.1), near(11)], 6)
    assert verdict == NOT_SETTLED
    assert "more rounds" in reason


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.08])
def test_a_fall_is_called_growth_in_at_most_5_percent_however_large_the_noise(noise: float) -> None:
    """The second of four numbers falls by 15 %, at six rounds of each row."""
    draw, called = np.random.default_rng(1), 0
    for _ in range(400):
        here = [
            estimate_ratio([np.exp(draw.normal(np.log([[level], [1.0]]), noise, (2, 6)))], confidence_for(4))
            for level in (10, 8.5, 20, 40)
        ]
        called += judge_growth(CASES, here, 6)[0] == REPRODUCED
    assert called / 400 <= 0.05


def test_a_step_that_is_not_settled_leaves_growth_open_and_one_that_is_level_does_not() -> None:
    assert judge_growth(CASES, [near(10), near(10.1), near(20), near(40)], 6)[0] == REPRODUCED
    verdict, reason = judge_growth(CASES, [near(10, 0.3), near(10.1, 0.3), near(20), near(40)], 6)
    assert (verdict, reason.split(" yet")[0]) == (NOT_SETTLED, "a and b cannot be told apart")


@pytest.mark.parametrize(
    ("text", "here", "verdict"),
    [("6x", 5.7, REPRODUCED), ("6x", 5.2, SMALLER), ("6.0x", 5.7, SMALLER), ("172803", 171000.0, SMALLER)],
)
def test_a_printed_number_is_all_that_it_may_have_been_rounded_from(text: str, here: float, verdict: str) -> None:
    printed = Printed(float(text.rstrip("x")), text)
    assert judge_value(printed.value, near(here, 0.01), 6, printed.rounding)[0] == verdict


def test_what_agrees_says_which_difference_would_show() -> None:
    assert judge_value(10, near(10, 0.04), 6) == (REPRODUCED, "a difference of 8 % would show")


def test_the_largest_of_several_numbers_reaches_from_the_largest_lower_end_to_the_largest_upper_end() -> None:
    assert largest([Estimate(10, 9, 20), Estimate(12, 11, 13)]) == Estimate(12, 11, 20)
    assert largest([Estimate(10, 9, 11), Estimate(12, None, None)]) == Estimate(12, None, None)


def test_a_claim_about_more_cases_asks_for_more_confidence_in_each() -> None:
    assert confidence_for(1) == pytest.approx(1 - 0.0294)
    assert confidence_for(4) == pytest.approx(1 - 0.0294 / 4)


def test_of_cases_that_may_each_be_the_published_one_it_is_enough_that_one_is_reproduced() -> None:
    assert judge_alternatives([(LARGER, ""), (REPRODUCED, "")]) == (REPRODUCED, "")
    assert judge_alternatives([(LARGER, ""), (LARGER, "")]) == (LARGER, "")
    assert judge_alternatives([(LARGER, ""), (NOT_SETTLED, "why")]) == (NOT_SETTLED, "why")
    verdict, reason = judge_alternatives([(LARGER, ""), (SMALLER, "")])
    assert verdict == NOT_SETTLED
    assert "not known which" in reason


def several(*values: float, margin: float = 0.03) -> list[Estimate]:
    return [near(value, margin) for value in values]


def test_faster_means_above_one_in_every_case() -> None:
    assert judge_faster(SIZES, several(1.2, 3, 9), 6) == ("reproduced", "")
    assert judge_faster(SIZES, several(0.5, 3, 9), 6) == ("smaller", "slower at small")
    assert judge_faster(SIZES, several(1.01, 3, 9), 6) == ("not settled", "small: its interval leaves it open")


def test_a_number_without_an_interval_settles_nothing() -> None:
    kind, why = judge_faster(SIZES, [*several(3, 9), Estimate(20, None, None)], 3)
    assert kind == "not settled"
    assert why.startswith("large: 3 clean rounds")


def test_a_crossover_lies_where_all_later_cases_are_faster() -> None:
    assert judge_crossover(SIZES, several(0.1, 2, 9), 6) == ("reproduced", "faster from middle on")
    assert judge_crossover(SIZES, several(0.1, 1.01, 9), 6) == ("reproduced", "faster from large on")
    assert judge_crossover(SIZES, several(2, 3, 9), 6) == ("another shape", "faster already at small")
    assert judge_crossover(SIZES, several(0.1, 0.2, 0.9), 6) == ("another shape", "slower even at large")
    assert judge_crossover(SIZES, several(0.99, 2, 9), 6)[0] == "not settled"


def test_a_limit_is_a_speedup_clearly_below_its_ideal() -> None:
    assert judge_limited(["2", "4"], several(1.6, 2.2), [2, 4], 6) == ("reproduced", "efficiency 55 % to 80 %")
    assert judge_limited(["2", "4"], several(2, 4.1), [2, 4], 6)[0] == "larger"
    assert judge_limited(["2", "4"], several(0.9, 2.2), [2, 4], 6) == ("smaller", "no faster at 2")
    assert judge_limited(["2"], several(1.95, margin=0.06), [2], 6)[0] == "not settled"
    assert judge_limited(["2"], several(1.0), [2], 6) == ("not settled", "2: its interval leaves it open")


def test_a_program_is_bound_by_memory_if_it_moves_nearly_as_much_as_a_copy() -> None:
    assert judge_memory(several(0.95)[0], 6) == ("reproduced", "")
    assert judge_memory(several(0.4)[0], 6)[0] == "smaller"
    assert judge_memory(several(0.81)[0], 6)[0] == "not settled"


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=6), st.floats(0.001, 0.5))
def test_wider_intervals_never_turn_one_verdict_into_another_but_only_unsettle_it(
    values: list[float], margin: float
) -> None:
    cases = [str(index) for index in range(len(values))]
    exact, wide = several(*values, margin=1e-9), several(*values, margin=margin)
    for judge in (judge_faster, judge_crossover):
        assert judge(cases, wide, 6)[0] in {"not settled", judge(cases, exact, 6)[0]}


@pytest.mark.parametrize("judge", [judge_faster, judge_crossover])
def test_one_case_is_judged_as_well(judge: object) -> None:
    assert judge(["only"], several(3), 6)[0] in {"reproduced", "another shape"}  # type: ignore[operator]
