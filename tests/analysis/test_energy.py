"""The energy of a step, from the blocks of rounds, and of a cell over its rounds."""

from dataclasses import replace
from typing import Any

import pytest

from respeed.analysis.cost import cell_energy
from respeed.analysis.rounds import read_rounds, step_energy
from respeed.machine.energy import FEWEST_UPDATES
from respeed.protocol import Block
from tests.derived import MakeRecord, seven
from tests.figures.machines import read_energy

OLDER = "the records were made before energy was read"
TOLD = {"update_seconds": {"package-0": 0.001}, "reason": None}
BLOCK = Block(1, (0.1, 0.1, 0.1), (0.004, 0.004), 0.0, 1, 0, 0, 0, joules={"package-0": 30.0})
SLOW = {"update_seconds": {"GPU": 0.1}, "reason": None}
RUN = {"steps": 100, "seconds": 1.25, "joules": {"GPU": 500.0, "package-0": 125.0}}


@pytest.mark.parametrize(
    ("blocks", "told", "run", "found"),
    [
        ([BLOCK, replace(BLOCK, joules={"package-0": 60.0})], TOLD, None, (15.0, 150.0, "package-0")),
        ([replace(BLOCK, joules={"GPU": 90.0, "package-0": 30.0})], TOLD, None, (40.0, 400.0, "GPU + package-0")),
        # Where blocks are too short for the counters, the run after them speaks, and nowhere else.
        ([BLOCK], SLOW, RUN, (6.25, 500.0, "GPU + package-0")),
        ([BLOCK], TOLD, RUN, (10.0, 100.0, "package-0")),
    ],
)
def test_joules_are_of_a_step_and_of_all_domains_and_watts_of_its_time(
    blocks: list[Block], told: Any, run: Any, found: tuple[float, float, str]
) -> None:
    energy = step_energy(blocks, {}, told, run)
    assert (energy["joules"], energy["watts"]) == pytest.approx(found[:2])
    assert energy["energy_of"] == found[2]


@pytest.mark.parametrize(
    ("block", "weights", "told", "run", "why"),
    [
        (BLOCK, {}, None, None, OLDER),
        (BLOCK, {}, {"update_seconds": {}, "reason": "no counter"}, None, "no counter"),
        (BLOCK, {}, SLOW, None, f"{FEWEST_UPDATES} updates of the counter of GPU"),
        (BLOCK, {}, SLOW, RUN | {"seconds": 0.9}, "blocks are shorter"),
        (BLOCK, {"code": 10.0, "bases": 1.0}, TOLD, None, "parts"),
        (replace(BLOCK, joules={}), {}, TOLD, None, "in no block"),
        (replace(BLOCK, joules={"package-0": 0.0}), {}, TOLD, None, "stood still"),
    ],
)
def test_a_round_without_energy_says_why(
    block: Block, weights: dict[str, float], told: Any, run: Any, why: str
) -> None:
    found = step_energy([block], weights, told, run)
    assert "joules" not in found
    assert why in found["energy_reason"]


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


def test_rounds_that_counted_other_domains_than_the_last_are_not_mixed(make_record: MakeRecord) -> None:
    records = seven(make_record, [0.1] * 3)
    for record, more in zip(records, ({}, {"package-0": 1.0}, {"package-0": 1.0}), strict=True):
        read_energy(record, {"GPU": 9.0} | more)
    found = cell_energy(read_rounds(records)).iloc[0]
    assert (found["energy_of"], found["energy_rounds"]) == ("GPU + package-0", 2)
