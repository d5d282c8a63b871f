"""What measured numbers say of a claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from typing import Any

import pytest
from simulated import CLAIMS, simulate_claim

from respeed.analysis.claims import (
    ANOTHER_SHAPE,
    LARGER,
    NOT_FAIR,
    NOT_SETTLED,
    NOT_TESTABLE,
    REPRODUCED,
    SMALLER,
    WEAKLY,
    ClaimCase,
    judge_claim,
    say_doubt,
)
from respeed.analysis.estimates import Estimate
from respeed.model import Printed

NAMES = ("a", "b", "c", "d", "e", "f")
WITHOUT = Estimate(10)


def near(value: float, margin: float = 0.03) -> Estimate:
    return Estimate(value, log1p(margin))


def cases(*numbers: float | Estimate, margin: float = 0.03, **facts: Any) -> list[ClaimCase]:
    """A case of each of these numbers; `facts` that are lists have one for each."""
    found = []
    for index, (name, number) in enumerate(zip(NAMES, numbers, strict=False)):
        own = {key: value[index] if isinstance(value, list) else value for key, value in facts.items()}
        usual = {"column": name, "text": "x" if "published" in own else "", "rounds": 6}
        ratio = number if isinstance(number, Estimate) else near(number, margin)
        found.append(ClaimCase(name, name, ratio=ratio, **usual | own))
    return found


def judge(test: str, answers: Sequence[ClaimCase]) -> tuple[str, str]:
    verdict = judge_claim(test, answers)
    return verdict.kind, verdict.reason


ABSENT = [ClaimCase("z", "z", "z", untimed="no CUDA device")]
DISTURBED = [ClaimCase("z", "z", "z", untimed="no clean block", is_due=True)]
# A number so wide that it meets anything near, and what is said of it.
WIDE = near(10, 0.4)
MORE = "about 90 more rounds for an interval of ±10 %"


@pytest.mark.parametrize(
    ("test", "answers", "verdict", "why"),
    [
        # A number beside the published one.
        ("each", cases(10, margin=0.04, published=10), REPRODUCED, "a difference of 8 % would show"),
        ("each", cases(WIDE, published=11), NOT_SETTLED, MORE),
        ("each", cases(near(40, 0.4), published=10), LARGER, ""),
        ("each", cases(WITHOUT, published=10, rounds=2), NOT_SETTLED, "2 clean rounds; an interval needs 3"),
        ("each", cases(20, 20, 10, 20, published=10), LARGER, "larger at a, b and d"),
        ("each", cases(10, 20, 10, published=10), LARGER, "larger at b"),
        ("each", cases(20, 5, WIDE, published=10), ANOTHER_SHAPE, "larger at a, smaller at b"),
        ("each", cases(10, published=10) + DISTURBED, NOT_SETTLED, "z: no clean block"),
        ("each", cases(10, published=10) + ABSENT, REPRODUCED, "a difference of 6 % would show; z: no CUDA device"),
        ("each", ABSENT, NOT_TESTABLE, "no CUDA device"),
        ("each", [], NOT_TESTABLE, ""),
        # Of two cases of one column one was published.
        ("each", cases(20, 10, published=10, column="x"), REPRODUCED, "a difference of 6 % would show"),
        ("each", cases(10, published=10, column="z") + DISTURBED, REPRODUCED, "a difference of 6 % would show"),
        ("each", cases(20, published=10, column="z") + DISTURBED, NOT_SETTLED, "z: no clean block"),
        ("each", cases(20, 5, published=10, column="x"), NOT_SETTLED,
         "larger if one was run, smaller if another, and it is not known which"),
        ("growth", cases(1, 2, published=[1, 2], column=["x", "z"]) + DISTURBED, NOT_SETTLED, "z: no clean block"),
        # From case to case.
        ("growth", cases(1, 2, 1.5, 4), ANOTHER_SHAPE, "it falls from b to c"),
        ("growth", cases(4, 2, 1, 0.5), ANOTHER_SHAPE, "it falls from a to b"),
        ("growth", cases(10, 10.2, 10.1, 10.3), ANOTHER_SHAPE, "no larger at d than at a"),
        ("growth", cases(10, 11.5, margin=0.08), NOT_SETTLED,
         "a and b cannot be told apart yet: their intervals leave it open"),
        ("growth", cases(100, 420, 400, 360, margin=0.01), ANOTHER_SHAPE,
         "it falls from b to d"),
        ("growth", cases(1, 10, 8.9, 20, margin=0.08), NOT_SETTLED,
         "b and c cannot be told apart yet: their intervals leave it open"),
        ("growth", cases(WIDE, 10.2, 10.1, 11), NOT_SETTLED, f"a and b cannot be told apart yet: {MORE}"),
        ("growth", cases(1), NOT_SETTLED, "only a was measured; growth needs two cases"),
        ("faster", cases(1.2, 3, 9), REPRODUCED, ""),
        ("faster", cases(0.5, 3, 9), SMALLER, "slower at a"),
        ("faster", cases(1.01, 3, 9), NOT_SETTLED, "a: its interval leaves it open"),
        ("faster", cases(3, WITHOUT, rounds=[6, 2]), NOT_SETTLED, "b: 2 clean rounds; an interval needs 3"),
        ("crossover", cases(0.1, 2, 9), REPRODUCED, "faster at b and c, slower at a"),
        ("crossover", cases(0.1, 2, 0.5, 9), REPRODUCED, "faster at b and d, slower at a and c"),
        ("crossover", cases(2, 3, 9), LARGER, ""),
        ("crossover", cases(0.1, 0.2, 0.9), SMALLER, ""),
        ("crossover", cases(2, 3, 0.9), ANOTHER_SHAPE, "faster at a and b, slower at c"),
        ("crossover", cases(0.99, 2, 9), NOT_SETTLED, "a: its interval leaves it open"),
        ("crossover", cases(0.1, 2) + ABSENT, NOT_TESTABLE, "z: no CUDA device"),
        # Below an ideal, and near a copy.
        ("limited", cases(1.6, 4, ideal=[2, 4]), REPRODUCED, "efficiency 80 % to 100 %"),
        ("limited", cases(2, 4.1, ideal=[2, 4]), LARGER, "efficiency 100 % to 102 %: nearly no limit shows"),
        ("limited", cases(0.9, 2.2, ideal=[2, 4]), SMALLER, "slower at a"),
        ("limited", cases(1.95, margin=0.06, ideal=2), NOT_SETTLED,
         "efficiency 98 %: its interval leaves it open"),
        ("memory", cases(0.95, published=0.8, text=""), REPRODUCED, ""),
        ("memory", cases(0.4, published=0.8, text=""), SMALLER, ""),
        ("memory", cases(0.81, published=0.8, text=""), NOT_SETTLED, "its interval leaves it open"),
    ],
)  # fmt: skip
def test_a_claim_has_the_verdict_of_its_rule_and_the_reason(
    test: str, answers: Sequence[ClaimCase], verdict: str, why: str
) -> None:
    """A claim has the verdict of its rule and the reason."""
    assert judge(test, answers) == (verdict, why)


@dataclass(frozen=True)
class Cell:
    """A cell that takes so many times the least that it needs, if that is known."""

    label: str
    seconds: float
    case: str = "a"
    expected_seconds: float | None = 1.0
    is_cpu: bool = True
    published_seconds: float | None = None

    @property
    def time(self) -> Estimate:
        return Estimate(self.seconds)


@pytest.mark.parametrize(
    ("test", "numbers", "over", "verdict"),
    [
        ("growth", (1, 2), 6.2, WEAKLY),
        ("growth", (1, 2), 2.0, REPRODUCED),
        ("growth", (1, 2), None, REPRODUCED),
        ("growth", (2, 1), 6.2, ANOTHER_SHAPE),
        ("crossover", (0.5, 2), 3.0, WEAKLY),
        ("faster", (2, 3), 3.0, REPRODUCED),
    ],
)
def test_growth_on_a_weak_row_is_weakly_reproduced(
    test: str, numbers: tuple[float, ...], over: float | None, verdict: str
) -> None:
    """Growth on a weak row is weakly reproduced and names it."""
    gpu = Cell("GPU", over or 9.0, expected_seconds=1.0 if over else None)
    answers = cases(*numbers, pairs=((gpu, Cell("CPU", 1.0)),))
    assert judge(test, answers)[0] == verdict
    doubt = f"weak: GPU at a: {over} times the least it needs" if over and over > 2 else ""
    assert say_doubt(answers) == doubt


@pytest.mark.parametrize(
    ("test", "numbers", "facts", "verdict", "why"),
    [
        ("each", (20, 20), {"published": 10}, NOT_FAIR, "else larger"),
        ("faster", (2, 2), {}, NOT_FAIR, "else reproduced"),
        ("each", (5, 5), {"published": 10}, SMALLER, ""),
        ("each", (20, 5), {"published": 10}, ANOTHER_SHAPE, "larger at a, smaller at b"),
    ],
)
def test_nothing_good_rests_on_an_unfair_base(
    test: str, numbers: tuple[float, ...], facts: dict[str, Any], verdict: str, why: str
) -> None:
    """A base that is too slow makes a speedup too large, so that a smaller one stays smaller."""
    answers = cases(*numbers, unfair=["", "it ran on 1 of 16 cores"], **facts)
    assert judge(test, answers) == (verdict, why)
    assert say_doubt(answers) == "base not fair: it ran on 1 of 16 cores"


@pytest.mark.parametrize(
    ("text", "here", "verdict"),
    [("6", 5.7, REPRODUCED), ("6", 5.2, SMALLER), ("6.0", 5.7, SMALLER), ("172803", 171000.0, SMALLER)],
)
def test_a_printed_number_covers_what_rounds_to_it(text: str, here: float, verdict: str) -> None:
    """A printed number is all that it may have been rounded from."""
    printed = Printed(float(text), text)
    answers = cases(here, margin=0.01, published=printed.value, rounding=printed.rounding)
    assert judge("each", answers)[0] == verdict


@pytest.mark.parametrize(("test", "levels", "facts", "is_true"), CLAIMS)
def test_wrong_verdicts_are_at_most_one_in_twenty(
    test: str, levels: tuple[float, ...], facts: dict[str, Any], is_true: bool
) -> None:
    """A false claim is reproduced and a true one refused on at most one machine in twenty."""
    found = simulate_claim(test, levels, facts, noise=0.03, machines=200)
    wrong = 200 - found[REPRODUCED] - found[NOT_SETTLED] if is_true else found[REPRODUCED]
    assert wrong <= 0.05 * 200
