"""The energy of a step, from the blocks of rounds, and of a cell over its rounds."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from respeed.analysis.neighbours import Quiet
from respeed.analysis.rounds import Joules, step_energy
from respeed.protocol import Block
from respeed.records import Record
from tests.derived import STEPS, cells_of, one, rounds_of
from tests.made import make_record

BLOCK = Block(1, (0.1, 0.1, 0.1), (0.004, 0.004), 0.0, 1, 0, 0, 0)


@pytest.mark.parametrize(
    ("joules", "weights", "why_not", "found"),
    [
        # Of a step, and of all domains; watts are of its time.
        ([{"package-0": 30.0}, {"package-0": 60.0}], {}, None, (15.0, 150.0, "package-0")),
        ([{"GPU": 90.0, "package-0": 30.0}], {}, None, (40.0, 400.0, "GPU + package-0")),
        ([{"package-0": 30.0}, {}], {}, None, (10.0, 100.0, "package-0")),
        # A round without energy says why.
        ([{"package-0": 30.0}], {}, "no counter", "no counter"),
        ([{"package-0": 30.0}], {"code": 10.0, "bases": 1.0}, None,
         "some parts of a step count more often than others, and the energy of each part is not known"),
        ([{}], {}, None, "in no block do the counters tell: set back, gone round unseen, or of one device of several"),
        ([{"package-0": 0.0}], {}, None, "the counters stood still"),
    ],
)  # fmt: skip
def test_a_round_has_energy_or_the_reason(
    joules: list[dict[str, float]], weights: dict[str, float], why_not: str | None, found: Any
) -> None:
    """A round has the energy of its blocks or the reason why it has none."""
    energy = step_energy([replace(BLOCK, joules=one) for one in joules], weights, why_not)
    if isinstance(found, str):
        assert energy == Joules(energy_reason=found)
    else:
        assert energy[:3] == (*map(pytest.approx, found[:2]), found[2])


def test_slow_probes_leave_a_round_without_energy() -> None:
    """Of two blocks the quiet one counts, and of one that is not quiet, none."""
    quiet, slow = replace(BLOCK, joules={"package-0": 30.0}), replace(BLOCK, joules={"package-0": 90.0})
    slow = replace(slow, probe_seconds=(0.006, 0.006))
    assert step_energy([quiet, slow], {}, None, Quiet(0.004)).watts == pytest.approx(100.0)
    assert step_energy([slow], {}, None, Quiet(0.004)).energy_reason.startswith("in no block was the machine quiet")


def used(watts: Mapping[str, float], seconds: float = 0.1, **facts: Any) -> Record:
    """A record whose domains used so many watts in its one block, of two steps."""
    joules = {domain: 2 * seconds * power for domain, power in watts.items()}
    return make_record([seconds] * 2, joules=joules, energy={"reason": None}, **facts)


def test_a_cells_energy_is_of_clean_blocks() -> None:
    """The energy of a cell is that of all steps of its work and of clean blocks alone."""
    discarded = {"run_delay_seconds": 9.0, "joules": {"package-0": 1e9}}
    records = [used({"package-0": 50.0}, number=number, blocks=[{}, discarded]) for number in range(1, 8)]
    assert rounds_of(*records)["discarded"].sum() == 7
    cell = one(cells_of(records), "torch-1")
    assert (cell.joules, cell.watts) == (pytest.approx(5.0 * STEPS), pytest.approx(50.0))
    assert cell.joules_low <= cell.joules <= cell.joules_high


def test_rounds_of_other_domains_are_not_mixed() -> None:
    """Rounds that counted other domains than the last are not mixed."""
    both = {"GPU": 9.0, "package-0": 1.0}
    records = [used(watts, number=number) for number, watts in enumerate(({"GPU": 9.0}, both), start=1)]
    cell = one(cells_of(records), "torch-1")
    assert (cell.energy_of, cell.watts) == ("GPU + package-0", pytest.approx(10.0))
