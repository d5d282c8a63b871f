"""Whole records of simulated machines through the real tables: do intervals hold the truth, are verdicts true?"""

import numpy as np
import pytest
from simulated import SCENARIOS, Machine, Noise, make_tables, simulate, simulate_alike

# Of 4 rows that are equally fast, every claim is false: the fastest of them was only lucky.
EQUAL = (1.0, 1.0, 1.0, 1.0)
MACHINES = 60
# The last scenario has the noise of all others too: it alone is tried in every run of the tests.
LAST = SCENARIOS[-1].name


@pytest.mark.parametrize(
    "noise",
    [pytest.param(noise, marks=[pytest.mark.slow] * (noise.name != LAST), id=noise.name) for noise in SCENARIOS],
)
@pytest.mark.parametrize(
    ("rounds", "again"),
    [
        pytest.param(4, False, marks=pytest.mark.slow),
        (6, True),
        pytest.param(12, False, marks=pytest.mark.slow),
        pytest.param(20, False, marks=pytest.mark.slow),
    ],
)
def test_intervals_hold_the_truth_and_equal_rows_are_called_different_in_at_most_3_percent(
    noise: Noise, rounds: int, again: bool
) -> None:
    """960 cells and 720 comparisons, twelve to a machine and not independent: two standard errors are 2 points."""
    found = simulate(noise, EQUAL, rounds, MACHINES, again)
    assert found.covered / found.cells >= 0.95 - 0.02
    assert found.speedups_covered / found.speedups >= 0.97 - 0.015
    assert found.false / found.equal <= 0.03 + 0.015


@pytest.mark.slow
def test_six_rounds_of_a_disturbed_machine_give_every_cell_its_interval() -> None:
    disturbed = next(noise for noise in SCENARIOS if noise.seen and not noise.tails)
    found = simulate(disturbed, EQUAL, 6, MACHINES, again=False)
    assert found.without <= 0.002 * found.cells


def test_rows_that_differ_are_told_apart() -> None:
    """A check that finds no difference would pass all of the above."""
    machine = Machine(SCENARIOS[0], (1.0, 0.8, 1.1, 0.5), np.random.default_rng(1))
    machine.measure(6)
    _, speedups, _ = make_tables({"box": machine})
    assert set(speedups.loc[speedups["profile"] != "torch-all", "verdict"]) == {"slower"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "machines"),
    [
        (Noise("shared by the cases of a round", spreads=(0.01,) * 4, process=0.04), 8),
        (Noise("another level in each session", session=0.03), 2),
        (Noise("another level in each session", session=0.03), 8),
    ],
    ids=lambda what: what.name if isinstance(what, Noise) else str(what),
)
def test_equal_machines_are_said_to_differ_in_at_most_5_percent(noise: Noise, machines: int) -> None:
    """Whatever one process or one session has for all of its cases is no difference of machines. 30 cohorts: two
    standard errors are 8 points."""
    assert simulate_alike(noise, machines, rounds=12, cohorts=30) <= 0.05 + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [2, 4])
def test_a_cell_of_several_sessions_covers_its_seconds_of_the_long_run(sessions: int) -> None:
    found = simulate(
        Noise("another level in each session", session=0.03), EQUAL, 6, MACHINES, again=False, sessions=sessions
    )
    assert found.covered / found.cells >= 0.94 - 0.04  # one level a machine and session: 60 are independent
    assert found.speedups_covered / found.speedups >= 0.94 - 0.02
