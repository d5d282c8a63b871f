"""The energy of a step, from the blocks of a round."""

from dataclasses import replace
from typing import Any

import pytest

from respeed.analysis.columns import rows_of
from respeed.analysis.neighbours import Quiet
from respeed.analysis.rounds import Joules, step_energy
from respeed.analysis.tables import Round
from respeed.protocol import Block
from tests.derived import rounds_of
from tests.made import make_record

BLOCK = Block(1, (0.1, 0.1, 0.1), (0.004, 0.004), 0.0, 1, 0, 0, 0)


@pytest.mark.parametrize(
    ("joules", "weights", "why_not", "found"),
    [
        # Of a step, and of all domains.
        ([{"package-0": 30.0}, {"package-0": 60.0}], {}, None, (15.0, "package-0")),
        ([{"GPU": 90.0, "package-0": 30.0}], {}, None, (40.0, "GPU + package-0")),
        ([{"package-0": 30.0}, {}], {}, None, (10.0, "package-0")),
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
        assert energy[:2] == (pytest.approx(found[0]), found[1])


def test_slow_probes_leave_a_round_without_energy() -> None:
    """Of two blocks the quiet one counts, and of one that is not quiet, none."""
    quiet, slow = replace(BLOCK, joules={"package-0": 30.0}), replace(BLOCK, joules={"package-0": 90.0})
    slow = replace(slow, probe_seconds=(0.006, 0.006))
    assert step_energy([quiet, slow], {}, None, Quiet(0.004)).joules == pytest.approx(10.0)
    assert step_energy([slow], {}, None, Quiet(0.004)).energy_reason.startswith("in no block was the machine quiet")


def test_only_clean_blocks_give_a_round_its_energy() -> None:
    discarded = {"run_delay_seconds": 9.0, "joules": {"package-0": 1e9}}
    record = make_record([0.1] * 2, joules={"package-0": 10.0}, energy={"reason": None}, blocks=[{}, discarded])
    (row,) = rows_of(rounds_of(record), Round)
    assert (row.discarded, row.energy_of) == (1, "package-0")
    assert row.joules == pytest.approx(5.0)
