"""The energy of a step, from the blocks of rounds, and of a cell over its rounds."""

from dataclasses import replace

import pytest

from respeed.analysis.cells import cell_energy
from respeed.analysis.rounds import read_rounds, step_energy
from respeed.protocol import Block
from tests.derived import STEPS, MakeRecord, derive, one, seven
from tests.figures.machines import read_energy

BLOCK = Block(1, (0.1, 0.1, 0.1), (0.004, 0.004), 0.0, 1, 0, 0, 0, joules={"package-0": 30.0})


@pytest.mark.parametrize(
    ("blocks", "found"),
    [
        ([BLOCK, replace(BLOCK, joules={"package-0": 60.0})], (15.0, 150.0, "package-0")),
        ([replace(BLOCK, joules={"GPU": 90.0, "package-0": 30.0})], (40.0, 400.0, "GPU + package-0")),
    ],
)
def test_joules_are_of_a_step_and_of_all_domains_and_watts_of_its_time(
    blocks: list[Block], found: tuple[float, float, str]
) -> None:
    energy = step_energy(blocks, {}, None)
    assert (energy["joules"], energy["watts"]) == pytest.approx(found[:2])
    assert energy["energy_of"] == found[2]


@pytest.mark.parametrize(
    ("block", "weights", "why_not", "said"),
    [
        (BLOCK, {}, "no counter", "no counter"),
        (BLOCK, {"code": 10.0, "bases": 1.0}, None, "parts"),
        (replace(BLOCK, joules={}), {}, None, "in no block"),
        (replace(BLOCK, joules={"package-0": 0.0}), {}, None, "stood still"),
    ],
)
def test_a_round_without_energy_says_why(
    block: Block, weights: dict[str, float], why_not: str | None, said: str
) -> None:
    found = step_energy([block], weights, why_not)
    assert "joules" not in found
    assert said in found["energy_reason"]


def test_the_energy_of_discarded_blocks_does_not_count(make_record: MakeRecord) -> None:
    records = seven(make_record, [0.1] * 7)
    for record in records:
        read_energy(record, {"package-0": 50.0})
        (block,) = record["cases"][0]["blocks"]
        record["cases"][0]["blocks"].append(block | {"run_delay_seconds": 9.0, "joules": {"package-0": 1e9}})
    rounds = read_rounds(records)
    assert rounds["discarded"].sum() == 7
    found = cell_energy(rounds).iloc[0]
    assert (found["joules"], found["watts"]) == (pytest.approx(5.0), pytest.approx(50.0))
    assert found["joules_low"] <= found["joules"] <= found["joules_high"]


def test_the_energy_of_a_cell_is_that_of_all_steps_of_its_work(make_record: MakeRecord) -> None:
    records = seven(make_record, [0.1] * 7)
    for record in records:
        read_energy(record, {"package-0": 50.0})
    cell = one(derive(records)[0], "torch-1")
    assert (cell.joules, cell.watts) == (pytest.approx(5.0 * STEPS), pytest.approx(50.0))
    assert cell.joules_low <= cell.joules <= cell.joules_high


def test_rounds_that_counted_other_domains_than_the_last_are_not_mixed(make_record: MakeRecord) -> None:
    records = seven(make_record, [0.1] * 3)
    for record, more in zip(records, ({}, {"package-0": 1.0}, {"package-0": 1.0}), strict=True):
        read_energy(record, {"GPU": 9.0} | more)
    found = cell_energy(read_rounds(records)).iloc[0]
    assert (found["energy_of"], found["watts"]) == ("GPU + package-0", pytest.approx(10.0))
