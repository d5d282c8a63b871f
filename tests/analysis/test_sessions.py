"""Sessions and the order of records, whatever somebody does to the clock."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.rounds import PAUSE, in_order, number_sessions

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = 3600.0


def record(minute: float, *, boot: str | None = "a", since: float = 0.0, wrong: float = 0.0) -> dict[str, Any]:
    """Begun at that minute, on a machine that was started at the minute `since`; its date is `wrong` by hours."""
    date = NOON + timedelta(minutes=minute, hours=wrong)
    clock = {"boot": boot, "seconds": 60 * (minute - since)} if boot else None
    return {
        "started": date.isoformat(timespec="seconds"), "clock": clock, "wall_seconds": 60.0,
        "id": {"profile": f"at {minute:g}"},
    }  # fmt: skip


def told(records: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(session, one["id"]["profile"]) for session, one in number_sessions(records)]


@pytest.mark.parametrize("boot", ["a", None])
def test_a_session_ends_where_nothing_is_measured_for_half_an_hour(boot: str | None) -> None:
    minutes = (0, 20, 50, 82, 90, 0.5)
    assert told([record(minute, boot=boot) for minute in minutes]) == [
        (0, "at 0"), (0, "at 0.5"), (0, "at 20"), (0, "at 50"), (1, "at 82"), (1, "at 90"),
    ]  # fmt: skip


@given(
    st.lists(st.floats(0, 600), min_size=2, max_size=12, unique_by=lambda minute: round(minute, 2)),
    st.data(),
)
def test_a_date_that_is_set_back_and_forth_changes_neither_order_nor_sessions(
    minutes: list[float], data: st.DataObject
) -> None:
    right = [record(minute) for minute in minutes]
    jumps = st.sampled_from([0.0, -48.0, -1.0, 0.25, 1000.0])
    set_often = [record(minute, wrong=data.draw(jumps)) for minute in minutes]
    assert told(set_often) == told(right)
    assert [session for session, _ in told(right)] == sorted(session for session, _ in told(right))


def test_a_machine_that_is_started_again_within_half_an_hour_stays_in_its_session() -> None:
    before, after = record(0), record(10, boot="b", since=8)
    assert told([after, before]) == [(0, "at 0"), (0, "at 10")]
    assert told([before, record(10 + PAUSE / 60, boot="b", since=8)])[1][0] == 1


def test_a_day_whose_date_was_wrong_is_not_mixed_with_the_day_it_claims_to_be() -> None:
    yesterday = [record(minute) for minute in (0, 10, 20)]
    today = [record(24 * 60 + minute, boot="b", since=24 * 60, wrong=-24) for minute in (5, 15)]
    sessions = {}
    for session, one in number_sessions([*yesterday, *today]):
        sessions.setdefault(session, set()).add(one["clock"]["boot"])
    assert sorted(map(sorted, sessions.values())) == [["a"], ["b"]]


@pytest.mark.parametrize(
    "clock", [None, 1, "", {}, {"boot": 1, "seconds": 1.0}, {"boot": "a", "seconds": "x"}, {"boot": "", "seconds": 1},
              {"boot": "a", "seconds": float("nan")}, {"boot": "a", "seconds": -1.0}, {"boot": "a", "seconds": None}],
)  # fmt: skip
def test_a_record_whose_clock_is_none_goes_by_its_date(clock: object) -> None:
    for odd in (record(5) | {"clock": clock}, {key: one for key, one in record(5).items() if key != "clock"}):
        assert told([odd, record(0, boot=None)]) == told([odd, record(0)]) == [(0, "at 0"), (0, "at 5")]


def test_the_order_does_not_depend_on_that_of_the_files() -> None:
    records = [record(minute, wrong=minute % 3) for minute in range(0, 100, 7)]
    shuffled = Random(1).sample(records, len(records))
    assert in_order(shuffled) == in_order(records) == records
