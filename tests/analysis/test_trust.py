"""Whole records of simulated machines through the real tables: do intervals hold the truth, are verdicts true?"""

import numpy as np
import pytest
from simulated import SCENARIOS, Machine, Noise, make_tables, simulate

# Of 4 rows that are equally fast, every claim is false: the fastest of them was only lucky.
EQUAL = (1.0, 1.0, 1.0, 1.0)
MACHINES = 60
QUIET, *OTHERS = SCENARIOS


@pytest.mark.parametrize("noise", [QUIET, *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)], ids=str)
@pytest.mark.parametrize(
    ("rounds", "again"),
    [(4, False), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((4, True), (6, False), (20, False)))],
)
def test_intervals_hold_the_truth(noise: Noise, rounds: int, again: bool) -> None:
    """960 cells and 720 comparisons, twelve to a machine and not independent: two standard errors are 2 points.

    Equal rows are called different in at most 3 percent.
    """
    found = simulate(noise, EQUAL, rounds, MACHINES, again)
    assert found.covered / found.cells >= 0.95 - 0.02
    assert found.speedups_covered / found.speedups >= 0.97 - 0.015
    assert found.false / found.equal <= 0.03 + 0.015
    assert found.without == 0


def test_rows_that_differ_are_told_apart() -> None:
    """A check that finds no difference would pass all of the above."""
    machine = Machine(QUIET, (1.0, 0.8, 1.1, 0.5), np.random.default_rng(1))
    machine.measure(6)
    _, speedups, _ = make_tables({"box": machine})
    assert {row.verdict for row in speedups if row.profile != "torch-all"} == {"slower"}
