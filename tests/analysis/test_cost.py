"""What work costs: results/tables/cost.csv, its page, and what is said of it."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.cost import (
    cheapest_rows,
    compare_costs,
    currencies_apart,
    energy_missing,
    in_bulk,
    make_costs,
    prices_told,
    prices_untold,
    say_who_is_cheapest,
    times_the_cheapest,
)
from respeed.analysis.rounds import CELL
from respeed.analysis.speedups import Samples
from respeed.inputs.machines import Price, Told
from respeed.inputs.papers import load_papers
from respeed.output.html import make_cost_page, write_page
from tests.derived import GPU, NOISE, STEPS, MakeRecord, frames_of, noisy, of_case
from tests.figures.machines import read_energy

OLDER = "the records were made before energy was read"
LECTURES = load_papers(["raina2009", "lectures"])


(BLANK,) = rows_of(
    make_frame(
        [
            {
                "paper": "raina2009", "experiment": "rbm", "case": "576x1024", "profile": "torch-1",
                "precision": "fp32", "work": "1 million examples", "seconds": 1.0, "cost": 1.0, "currency": "USD",
                "energy_rounds": 0,
            }
        ],
        "cost",
    )
)  # fmt: skip


def price(per_hour: float, currency: str = "USD") -> Price:
    return Price(per_hour, currency, "a bill", "2026-11-01")


def costs_of(records: list[dict[str, Any]], **prices: Price) -> list[Any]:
    made = frames_of(records, LECTURES)
    told = {machine: Told(machine, price=one) for machine, one in prices.items()}
    return list(rows_of(make_costs(made.cells, made.samples, LECTURES, made.speedups, told, smoke=False)))


def gpu_and_cpu(make_record: MakeRecord) -> list[dict[str, Any]]:
    """A machine with a GPU and a CPU of 0.01 and 0.1 s a step, one of 0.05 s, and one that is 1 % faster than that."""
    return [
        *noisy(make_record, 0.01, machine="rented", **GPU),
        *noisy(make_record, 0.1, machine="rented"),
        *noisy(make_record, 0.05, machine="desk"),
        *noisy(make_record, 0.0495, machine="twin"),
    ]


def row(rows: list[Any], machine: str, profile: str = "torch-1") -> Any:
    return next(one for one in rows if (one.machine, one.profile) == (machine, profile))


def test_the_dearer_machine_may_be_the_cheaper_one_and_how_sure_that_is_is_said(make_record: MakeRecord) -> None:
    rows = costs_of(gpu_and_cpu(make_record), rented=price(3.0), desk=price(2.0), twin=price(2.0))
    gpu, desk = row(rows, "rented", "gpu"), row(rows, "desk")
    # On one machine money buys as much more as the row is faster.
    assert (gpu.base_profile, gpu.verdict, gpu.standing) == ("torch-1", "faster", "cheapest")
    assert gpu.buys == pytest.approx(10.0, rel=0.01)
    assert gpu.buys_low < 10 < gpu.buys_high
    assert desk.standing == "dearer"
    times, low, high = times_the_cheapest(desk) or (0.0, 0.0, 0.0)
    assert times == pytest.approx(10 / 3, rel=0.01)
    assert (low or 0.0) < 10 / 3 < (high or 0.0)
    says = " ".join(say_who_is_cheapest(cheapest_rows(rows)))
    assert says.startswith("rented is the cheapest.")
    assert "On desk the same work costs 3.33 times as much, more than rounds and sessions vary." in says


def test_where_cases_differ_each_is_named() -> None:
    base = BLANK._replace(machine="a", standing="cheapest", buys_across=1.0)
    rows = [
        base,
        base._replace(case="1024x4096", standing="dearer", buys_across=0.5),
        base._replace(machine="b", standing="unproven", buys_across=0.8),
        base._replace(machine="b", case="1024x4096"),
    ]
    assert say_who_is_cheapest(rows) == [
        "a is the cheapest at 576x1024.",
        "b is the cheapest at 1024x4096.",
        "On a the same work costs 2.00 times as much at 1024x4096, more than rounds and sessions vary.",
        "On b the same work costs 1.25 times as much at 576x1024, which too few clean rounds leave open.",
    ]


def test_machines_that_cannot_be_told_apart_from_the_cheapest_are_named(make_record: MakeRecord) -> None:
    rows = costs_of(gpu_and_cpu(make_record), desk=price(2.0), twin=price(2.01))
    assert row(rows, "twin").standing == "cheapest"
    assert row(rows, "desk").standing == "indistinguishable"
    assert say_who_is_cheapest(cheapest_rows(rows)) == ["desk and twin are the cheapest and cannot be told apart."]


def test_currencies_are_never_compared_which_the_page_says_once_and_not_in_every_row(make_record: MakeRecord) -> None:
    rows = costs_of(gpu_and_cpu(make_record), rented=price(3.0, "EUR"), desk=price(2.0), twin=price(1.0))
    for one in rows:
        assert (one.cheapest_machine, one.standing, one.buys_across) == ("", "none", None)
        assert one.reason == "not ranked: its machines are paid in several currencies"
        assert one.cost > 0
    assert say_who_is_cheapest(cheapest_rows(rows)) == []
    assert row(rows, "rented", "gpu").buys == pytest.approx(10.0, rel=0.01)
    assert currencies_apart(rows).startswith("Costs in EUR and USD are not compared")
    assert currencies_apart([one for one in rows if one.currency == "USD"]) == ""
    page = make_cost_page(LECTURES, rows, 0, smoke=False)
    assert not any(value.interval for value in page.table["Standing"])
    assert sum("not compared" in note for note in page.notes) == 1


def test_a_machine_without_a_price_says_how_to_tell_one(make_record: MakeRecord) -> None:
    rows = costs_of(gpu_and_cpu(make_record), desk=price(2.0))
    found = row(rows, "rented", "gpu")
    assert (found.cost, found.buys, found.buys_across, found.standing) == (None, None, None, "none")
    assert found.reason == "no price is told: respeed new machine rented"
    assert found.seconds > 0
    assert [name for name, _ in prices_untold(rows)] == ["rented", "twin"]
    assert prices_told(rows) == [("desk", "2.00 USD an hour", "a bill", "2026-11-01")]


@pytest.mark.parametrize(
    ("paper", "experiment", "work", "steps"),
    [
        ("raina2009", "rbm", "1 million examples", STEPS),
        ("lectures", "digits", "1 million examples", 1e6 / 64),
        ("lectures", "product", "10^15 operations", 1e15 / 1e9),
        ("lectures", "sum", "10^15 bytes", 1e15 / 1e6),
    ],
)
def test_what_a_table_counts_costs_its_seconds_at_the_price_of_the_hour(
    make_record: MakeRecord, paper: str, experiment: str, work: str, steps: float
) -> None:
    case = LECTURES[paper].experiments[experiment].cases[0]
    records = of_case(noisy(make_record, 0.1), LECTURES[paper], experiment, case.name)
    (found,) = costs_of(records, box=price(7.2))
    assert (found.work, found.currency, found.price_source) == (work, "USD", "a bill")
    assert found.seconds == pytest.approx(0.1 * steps, rel=0.01)
    assert found.cost == pytest.approx(found.seconds * 7.2 / 3600)


def test_joules_are_of_the_same_work_and_name_what_they_are_of(make_record: MakeRecord) -> None:
    records = gpu_and_cpu(make_record)
    for record in records:
        if record["id"]["machine"] == "rented":
            gpu = {"GPU": 500.0} if record["id"]["profile"] == "gpu" else {}
            read_energy(record, gpu | {"package-0": 100.0})
    rows = costs_of(records)
    found = row(rows, "rented", "gpu")
    assert found.energy_of == "GPU + package-0"
    assert found.joules == pytest.approx(600.0 * found.seconds)
    assert found.watts == pytest.approx(600.0)
    assert found.energy_rounds == 7
    assert row(rows, "desk").energy_reason == OLDER
    assert [name for name, _ in energy_missing(rows)] == ["desk", "twin"]


def test_all_tables_of_a_page_are_of_the_same_amount_of_work() -> None:
    rows = [BLANK._replace(cost=0.001, joules=2.0), BLANK._replace(cost=100.0, experiment="patches")]
    page = make_cost_page(load_papers(["raina2009"]), rows, 0, smoke=False)
    assert all("for 1 billion examples" in title for title in page.table.index.get_level_values("heading"))
    assert (page.table["Cost"].iat[0].text, page.table["Joules"].iat[0].text) == ("1.00", "2,000")
    assert in_bulk("1 million examples", rows) == ("1 billion examples", 1e3)
    assert in_bulk("1 million examples", rows[1:]) == ("1 million examples", 1.0)
    assert in_bulk("1 million steps", rows) == ("1 million steps", 1.0)


def test_the_page_has_the_cheapest_first_and_whose_prices_they_are_or_how_to_tell_one(
    make_record: MakeRecord, tmp_path: Path
) -> None:
    rows = costs_of(gpu_and_cpu(make_record), rented=price(3.0), desk=price(2.0))
    page = make_cost_page(LECTURES, rows, 0, smoke=False)
    (title,) = set(page.table.index.get_level_values("heading"))
    assert "USD for 1 million examples" in title
    names = [name.partition(":")[0] for name in page.table.index.get_level_values("name")]
    assert names == ["rented", "desk", "rented"]
    assert "rented: 3.00 USD an hour (a bill, 2026-11-01)." in page.notes
    assert any("twin: no price is told" in note for note in page.notes)
    write_page(tmp_path / "cost.html", make_cost_page(LECTURES, costs_of(noisy(make_record, 0.1)), 0, smoke=False), "")
    text = (tmp_path / "cost.html").read_text()
    assert "<table" not in text
    assert "box: no price is told: ./run respeed new machine box." in text
    assert f"box: energy not measured: {OLDER}." in text


PRICES = st.floats(0.01, 100)


def compared(seconds: dict[str, float], prices: dict[str, float], precision: str = "fp32", count: int = 7) -> Any:
    """What is said of rows by machine, a million examples in so many seconds each; a machine has the first in fp32."""
    rows, rounds = [], []
    for name, value in seconds.items():
        machine, _, profile = name.partition(" ")
        row = BLANK._replace(machine=machine, profile=profile, precision=precision if profile else "fp32")._asdict()
        rows.append(row | {"cost": value * prices[machine], "price_per_hour": prices[machine], "measured_in": "rbm"})
        for index, noise in enumerate(NOISE[: count if rounds else 7]):
            times = {"seconds": value * noise, "seconds_median": value * noise}
            rounds.append({key: row[key] for key in CELL} | times | {"session": 0, "round": index})
    found = compare_costs(pd.DataFrame(rows), Samples(pd.DataFrame(rounds)))
    return dict(zip(seconds, zip(found["standing"], found["buys_across"], strict=True), strict=True))


@given(PRICES, PRICES, st.floats(0.01, 100))
def test_the_ratio_of_costs_is_that_of_seconds_times_that_of_prices(one: float, other: float, seconds: float) -> None:
    found = compared({"a": 1.0, "b": seconds}, {"a": one, "b": other})
    ratio = one / (seconds * other)
    assert found["b" if ratio < 1 else "a"][1] == pytest.approx(min(ratio, 1 / ratio))
    assert sorted(buys for _, buys in found.values())[-1] == 1.0


@pytest.mark.parametrize(
    ("seconds", "prices", "count", "standings"),
    [
        # A dear hour may be the cheaper work, and twice as fast at twice the price is as cheap.
        ({"gpu": 0.5, "cpu": 10.0}, {"gpu": 5.0, "cpu": 0.5}, 7, [("cheapest", 1), ("dearer", 0.5)]),
        ({"a": 1.0, "b": 0.5}, {"a": 1.0, "b": 2.0}, 7, [("cheapest", 1), ("indistinguishable", 1)]),
        # Another precision is no measure; too few rounds prove nothing.
        ({"a": 1.0, "a bf16": 0.1}, {"a": 1.0}, 7, [("cheapest", 1), ("cheaper", 10)]),
        ({"a bf16": 0.1}, {"a": 1.0}, 7, [("none", math.nan)]),
        ({"a": 1.0, "b": 5.0}, {"a": 1.0, "b": 1.0}, 2, [("cheapest", 1), ("unproven", 0.199)]),
    ],
)
def test_a_row_stands_beside_the_cheapest(
    seconds: dict[str, float], prices: dict[str, float], count: int, standings: list[tuple[str, float]]
) -> None:
    found = compared(seconds, prices, precision="bf16", count=count).values()
    assert [standing for standing, _ in found] == [standing for standing, _ in standings]
    assert [float(buys) for _, buys in found] == pytest.approx([buys for _, buys in standings], rel=1e-3, nan_ok=True)
