"""What is cheaper, and how sure that is."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.cost import CHEAPEST, compare_costs, times
from respeed.estimators.round_time import RoundTime
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import compare_apart
from tests.tables.derived import NOISE

PRICE = st.floats(0.01, 100)


def key(machine: str, profile: str = "torch-1") -> CellKey:
    return CellKey(machine, "raina2009", "rbm", "576x1024", "rbm", profile)


def rounds(seconds: float, precision: str = "fp32", count: int = 7) -> CellRounds:
    measured = {
        index: RoundTime(seconds * noise, seconds * noise, 0, None) for index, noise in enumerate(NOISE[:count])
    }
    return CellRounds({"precision": precision, "device": "cpu"}, times=measured)


def compare(cells: dict[CellKey, CellRounds], prices: dict[str, float]) -> dict[CellKey, tuple[str, float]]:
    rows = [
        SimpleNamespace(
            **where._asdict(), algorithm=where.workload, measured_in=where.experiment, seconds=found.means[0],
            precision=found.profile["precision"],
        )
        for where, found in cells.items()
    ]  # fmt: skip
    compared = compare_costs(rows, prices, cells)
    return {where: (row["standing"], row["buys_across"]) for where, row in compared.items() if "buys_across" in row}


@given(PRICE, PRICE, st.floats(0.01, 100))
def test_the_ratio_of_costs_is_that_of_seconds_times_that_of_prices(one: float, other: float, seconds: float) -> None:
    cells = {key("a"): rounds(1.0), key("b"): rounds(seconds)}
    found = compare(cells, {"a": one, "b": other})
    (base,) = [place for place, (verdict, _) in found.items() if verdict == CHEAPEST]
    (row,) = [place for place in found if place != base]
    price, base_price = (other, one) if row == key("b") else (one, other)
    speed = compare_apart(cells[base], cells[row], 0.95).value
    assert found[row][1] == pytest.approx(speed * base_price / price)
    assert found[row][1] <= 1.02


def test_a_dear_hour_may_be_the_cheaper_work() -> None:
    cells = {key("cpu"): rounds(10.0), key("gpu"): rounds(0.5)}
    assert compare(cells, {"cpu": 0.5, "gpu": 5.0}) == {
        key("gpu"): (CHEAPEST, 1.0),
        key("cpu"): ("dearer", pytest.approx(0.5)),
    }


def test_twice_as_fast_at_twice_the_price_cannot_be_told_apart() -> None:
    found = compare({key("a"): rounds(1.0), key("b"): rounds(0.5)}, {"a": 1.0, "b": 2.0})
    assert sorted(verdict for verdict, _ in found.values()) == [CHEAPEST, "indistinguishable"]


def test_too_few_rounds_prove_nothing() -> None:
    found = compare({key("a"): rounds(1.0), key("b"): rounds(5.0, count=2)}, {"a": 1.0, "b": 1.0})
    assert found[key("b")][0] == "unproven"


def test_a_row_in_another_precision_may_be_cheaper_and_is_no_measure() -> None:
    found = compare({key("a"): rounds(1.0), key("a", "bf16"): rounds(0.1, "bf16")}, {"a": 1.0})
    assert found[key("a")] == (CHEAPEST, 1.0)
    assert found[key("a", "bf16")] == ("cheaper", pytest.approx(10.0))
    assert compare({key("a", "bf16"): rounds(0.1, "bf16")}, {"a": 1.0}) == {}


def test_an_exact_factor_leaves_an_interval_as_wide_as_it_was() -> None:
    estimate = compare_apart(rounds(1.0), rounds(2.0), 0.95)
    assert times(estimate, 7.0).margin == pytest.approx(estimate.margin)
