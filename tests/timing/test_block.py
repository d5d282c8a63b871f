"""Blocks are discarded by cause, never by value."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.protocol import REAL, Block, contamination, quiet_probe

CLEAN = Block(
    sample_steps=1, sample_seconds=(0.25, 0.25, 0.5), probe_seconds=(0.004, 0.004), run_delay_seconds=0.0,
    threads_ran=2, minor_faults=0, quota_throttles=0, clock_throttles=0,
)  # fmt: skip


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=30))
def test_no_step_time_however_odd_spoils_a_block(times: list[float]) -> None:
    assert contamination(replace(CLEAN, sample_seconds=tuple(times)), 2, 0.004, REAL) == []


@given(st.floats(0, 0.1), st.integers(1, 64))
def test_threads_may_wait_for_two_hundredths_of_the_time_they_could_have_run(delay: float, threads: int) -> None:
    found = contamination(replace(CLEAN, run_delay_seconds=delay), threads, 0.004, REAL)
    assert (found == []) == (delay <= 0.02 * threads)


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        ({"run_delay_seconds": 0.5}, "waited for a core"),
        ({"probe_seconds": (0.004, 0.0051)}, "slow reference probe"),
        ({"probe_seconds": (0.0051, 0.004)}, "slow reference probe"),
        ({"quota_throttles": 1}, "CPU quota used up"),
        ({"clock_throttles": 1}, "clocks throttled"),
        ({"minor_faults": 100_000}, "page faults"),
        ({"slept_seconds": 3600.0}, "the machine slept"),
    ],
)
def test_each_cause_is_named(facts: dict[str, object], cause: str) -> None:
    assert contamination(replace(CLEAN, **facts), 2, 0.004, REAL) == [cause]


def test_what_the_kernel_does_not_tell_is_not_held_against_a_block() -> None:
    unknown = replace(CLEAN, run_delay_seconds=None, threads_ran=None, quota_throttles=None, clock_throttles=None)
    assert contamination(unknown, 2, 0.004, REAL) == []


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=100))
def test_the_quiet_probe_is_one_of_the_fastest_tenth(probes: list[float]) -> None:
    assert sum(probe < quiet_probe(probes) for probe in probes) <= len(probes) / 10
