"""Verdicts on claims that name no number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.claim_rules import judge_crossover, judge_faster, judge_limited, judge_memory
from respeed.estimators.intervals import Estimate

CASES = ("small", "middle", "large")


def near(*values: float, margin: float = 0.03) -> list[Estimate]:
    return [Estimate(value, value * (1 - margin), value * (1 + margin)) for value in values]


def test_faster_means_above_one_in_every_case() -> None:
    assert judge_faster(CASES, near(1.2, 3, 9), 6) == ("reproduced", "")
    assert judge_faster(CASES, near(0.5, 3, 9), 6) == ("smaller", "slower at small")
    assert judge_faster(CASES, near(1.01, 3, 9), 6) == ("not settled", "small: its interval leaves it open")


def test_a_number_without_an_interval_settles_nothing() -> None:
    kind, why = judge_faster(CASES, [*near(3, 9), Estimate(20, None, None)], 3)
    assert kind == "not settled"
    assert why.startswith("large: 3 clean rounds")


def test_a_crossover_lies_where_all_later_cases_are_faster() -> None:
    assert judge_crossover(CASES, near(0.1, 2, 9), 6) == ("reproduced", "faster from middle on")
    assert judge_crossover(CASES, near(0.1, 1.01, 9), 6) == ("reproduced", "faster from large on")
    assert judge_crossover(CASES, near(2, 3, 9), 6) == ("another shape", "faster already at small")
    assert judge_crossover(CASES, near(0.1, 0.2, 0.9), 6) == ("another shape", "slower even at large")
    assert judge_crossover(CASES, near(0.99, 2, 9), 6)[0] == "not settled"


def test_a_limit_is_a_speedup_clearly_below_its_ideal() -> None:
    assert judge_limited(["2", "4"], near(1.6, 2.2), [2, 4], 6) == ("reproduced", "efficiency 55 % to 80 %")
    assert judge_limited(["2", "4"], near(2, 4.1), [2, 4], 6)[0] == "larger"
    assert judge_limited(["2", "4"], near(0.9, 2.2), [2, 4], 6) == ("smaller", "no faster at 2")
    assert judge_limited(["2"], near(1.95, margin=0.06), [2], 6)[0] == "not settled"
    assert judge_limited(["2"], near(1.0), [2], 6) == ("not settled", "2: its interval leaves it open")


def test_a_program_is_bound_by_memory_if_it_moves_nearly_as_much_as_a_copy() -> None:
    assert judge_memory(near(0.95)[0], 6) == ("reproduced", "")
    assert judge_memory(near(0.4)[0], 6)[0] == "smaller"
    assert judge_memory(near(0.81)[0], 6)[0] == "not settled"


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=6), st.floats(0.001, 0.5))
def test_wider_intervals_never_turn_one_verdict_into_another_but_only_unsettle_it(
    values: list[float], margin: float
) -> None:
    cases = [str(index) for index in range(len(values))]
    exact, wide = near(*values, margin=1e-9), near(*values, margin=margin)
    for judge in (judge_faster, judge_crossover):
        assert judge(cases, wide, 6)[0] in {"not settled", judge(cases, exact, 6)[0]}


@pytest.mark.parametrize("judge", [judge_faster, judge_crossover])
def test_one_case_is_judged_as_well(judge: object) -> None:
    assert judge(["only"], near(3), 6)[0] in {"reproduced", "another shape"}  # type: ignore[operator]
