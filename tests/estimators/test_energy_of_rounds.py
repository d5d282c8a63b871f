"""The energy of a step, from the blocks of rounds."""

from dataclasses import replace
from typing import Any

import pytest

from respeed.estimators.energy import OLDER, CellEnergy, RoundEnergy, energy_of_round
from respeed.estimators.rounds import CellRounds, collect_rounds
from respeed.machine.energy import FEWEST_UPDATES
from respeed.protocol import Block
from tests.figures.machines import read_energy
from tests.tables.derived import MakeRecord, seven

TOLD = {"update_seconds": {"package-0": 0.001}, "reason": None}
BLOCK = Block(1, (0.1, 0.1, 0.1), (0.004, 0.004), 0.0, 1, 0, 0, 0, joules={"package-0": 30.0})


def only(records: list[dict[str, Any]]) -> CellRounds:
    (cell,) = collect_rounds(records).values()
    return cell


def test_joules_are_of_a_step_and_watts_of_its_time() -> None:
    found = energy_of_round([BLOCK, replace(BLOCK, joules={"package-0": 60.0})], {}, TOLD)
    assert found == RoundEnergy(pytest.approx(15.0), pytest.approx(150.0), ("package-0",))


def test_what_several_domains_used_is_added_up() -> None:
    found = energy_of_round([replace(BLOCK, joules={"GPU": 90.0, "package-0": 30.0})], {}, TOLD)
    assert isinstance(found, RoundEnergy)
    assert (found.joules, found.domains) == (pytest.approx(40.0), ("GPU", "package-0"))


@pytest.mark.parametrize(
    ("block", "weights", "told", "why"),
    [
        (BLOCK, {}, None, OLDER),
        (BLOCK, {}, {"update_seconds": {}, "reason": "no counter"}, "no counter"),
        (
            BLOCK,
            {},
            {"update_seconds": {"GPU": 0.1}, "reason": None},
            f"{FEWEST_UPDATES} updates of the counter of GPU",
        ),
        (BLOCK, {"code": 10.0, "bases": 1.0}, TOLD, "parts"),
        (replace(BLOCK, joules={}), {}, TOLD, "in no block"),
        (replace(BLOCK, joules={"package-0": 0.0}), {}, TOLD, "stood still"),
    ],
)
def test_a_round_without_energy_says_why(block: Block, weights: dict[str, float], told: Any, why: str) -> None:
    found = energy_of_round([block], weights, told)
    assert isinstance(found, str)
    assert why in found


SLOW = {"update_seconds": {"GPU": 0.1}, "reason": None}
RUN = {"steps": 100, "seconds": 1.25, "joules": {"GPU": 500.0, "package-0": 125.0}}


def test_where_blocks_are_too_short_the_run_after_them_speaks() -> None:
    found = energy_of_round([BLOCK], {}, SLOW, RUN)
    assert found == RoundEnergy(6.25, 500.0, ("GPU", "package-0"))
    assert energy_of_round([BLOCK], {}, TOLD, RUN) == energy_of_round([BLOCK], {}, TOLD)


def test_a_run_that_was_too_short_as_well_says_nothing() -> None:
    found = energy_of_round([BLOCK], {}, SLOW, RUN | {"seconds": 0.9})
    assert isinstance(found, str)
    assert "blocks are shorter" in found


def test_the_energy_of_discarded_blocks_does_not_count(make_record: MakeRecord) -> None:
    records = seven(make_record, [0.1] * 7)
    for record in records:
        read_energy(record, {"package-0": 50.0})
        (block,) = record["cases"][0]["blocks"]
        record["cases"][0]["blocks"].append(block | {"run_delay_seconds": 9.0, "joules": {"package-0": 1e9}})
    cell = only(records)
    assert cell.discarded == 7
    joules = cell.energy.joules()
    assert joules is not None
    assert joules.value == pytest.approx(5.0)
    assert joules.has_interval
    assert cell.energy.watts() == pytest.approx(50.0)


def test_records_of_before_energy_was_read_stay_usable_and_say_so(make_record: MakeRecord) -> None:
    cell = only(seven(make_record, [0.1] * 7))
    assert len(cell.times) == 7
    assert cell.energy.joules() is None
    assert cell.energy.reason == OLDER


def test_rounds_that_counted_other_domains_are_not_mixed() -> None:
    cell = CellEnergy()
    for index, domains in enumerate([("GPU",), ("GPU", "package-0"), ("GPU", "package-0")]):
        cell.add(index, RoundEnergy(10.0 * len(domains), 100.0, domains))
    assert [one.joules for one in cell.alike()] == [20.0, 20.0]
