"""Whole records of simulated machines through the real tables: do intervals hold the truth, are verdicts true?"""

import numpy as np
import pytest
from simulated import SCENARIOS, Machine, Noise, make_tables, simulate

from respeed.analysis.machines import rank_machines

# Of 4 rows that are equally fast, every claim is false: the fastest of them was only lucky.
EQUAL = (1.0, 1.0, 1.0, 1.0)
MACHINES = 60


@pytest.mark.parametrize("noise", SCENARIOS, ids=lambda noise: noise.name)
@pytest.mark.parametrize(("rounds", "again"), [(6, False), (6, True), (20, False)])
def test_intervals_hold_the_truth_and_equal_rows_are_called_different_in_at_most_5_percent(
    noise: Noise, rounds: int, again: bool
) -> None:
    """960 cells and 720 comparisons, twelve to a machine and not independent: two standard errors are 2 points."""
    found = simulate(noise, EQUAL, rounds, MACHINES, again)
    assert found.covered / found.cells >= 0.94 - 0.02
    assert found.speedups_covered / found.speedups >= 0.94 - 0.02
    assert found.false / found.equal <= 0.05 + 0.02


def test_what_lost_rounds_and_is_measured_again_has_its_interval() -> None:
    disturbed = next(noise for noise in SCENARIOS if noise.seen and not noise.tails)
    before, after = (simulate(disturbed, EQUAL, 6, MACHINES, again) for again in (False, True))
    assert before.without > 0.1 * before.cells
    assert after.without <= 0.01 * after.cells


def test_rows_that_differ_are_told_apart() -> None:
    """A check that finds no difference would pass all of the above."""
    machine = Machine(SCENARIOS[0], (1.0, 0.8, 1.1, 0.5), np.random.default_rng(1))
    machine.measure(6)
    _, speedups, _ = make_tables({"box": machine})
    assert set(speedups.loc[speedups["profile"] != "torch-all", "verdict"]) == {"slower"}


def test_twenty_machines_that_are_equally_fast_share_the_first_place() -> None:
    """Beside the luckiest of them, each would seem to be at 96 %."""
    machines = {}
    for number in range(20):
        machine = machines[f"box-{number:02}"] = Machine(
            Noise("wide", spreads=(0.04,) * 4), EQUAL, np.random.default_rng([2, number])
        )
        machine.measure(7)
    cells, _, rounds = make_tables(machines)
    standings = rank_machines(cells, rounds)
    assert (standings["rank"] == 1).sum() >= 19
    assert standings["share"].median() == pytest.approx(1.0, abs=0.01)
