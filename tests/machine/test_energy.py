"""Two readings of a counter of energy."""

from hypothesis import given
from hypothesis import strategies as st

from respeed.machine.energy import MOST_WATTS, EnergyCounter

RANGE = 65532.610987


def counter(wraps_at: float | None) -> EnergyCounter:
    return EnergyCounter("package-0", lambda: 0.0, wraps_at)


@given(st.floats(0, RANGE, exclude_max=True), st.floats(0, RANGE, exclude_max=True))
def test_a_counter_that_begins_anew_says_what_was_used_all_the_same(before: float, used: float) -> None:
    found = counter(RANGE).between(before, (before + used) % RANGE, 1.0)
    assert found is not None
    # Next to nothing may come out as next to a whole round: a counter in microjoules cannot.
    assert min(abs(found - used), RANGE - abs(found - used)) < 1e-6


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_what_was_used_is_never_negative_and_never_more_than_the_counter_holds(before: int, after: int) -> None:
    found = counter(RANGE).between(before * 1e-6, after * 1e-6, 1.0)
    assert found is not None
    assert 0 <= found <= RANGE


@given(st.floats(0, 1e12), st.floats(0, 1e6))
def test_a_counter_that_never_begins_anew_is_a_difference(before: float, used: float) -> None:
    found = counter(None).between(before, before + used, 1e9)
    assert found == (before + used) - before


def test_a_block_in_which_a_counter_may_have_gone_round_unseen_has_no_energy() -> None:
    assert counter(RANGE).between(1.0, 2.0, RANGE / MOST_WATTS * 0.99) == 1.0
    assert counter(RANGE).between(1.0, 2.0, RANGE / MOST_WATTS) is None


def test_a_counter_that_was_set_back_tells_nothing() -> None:
    assert counter(None).between(5.0, 4.0, 1.0) is None
