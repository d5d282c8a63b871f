"""Sessions and the order of records."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from respeed.analysis.rounds import in_order, number_sessions

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def record(minute: float) -> dict[str, Any]:
    """Begun at that minute, and a minute long."""
    started = (NOON + timedelta(minutes=minute)).isoformat(timespec="seconds")
    return {"started": started, "wall_seconds": 60.0, "id": {"profile": f"at {minute:g}"}}


def test_a_session_ends_where_nothing_is_measured_for_half_an_hour() -> None:
    told = number_sessions([record(minute) for minute in (0, 20, 50, 82, 90, 0.5)])
    assert [(session, one["id"]["profile"]) for session, one in told] == [
        (0, "at 0"), (0, "at 0.5"), (0, "at 20"), (0, "at 50"), (1, "at 82"), (1, "at 90"),
    ]  # fmt: skip


def test_the_order_does_not_depend_on_that_of_the_files() -> None:
    records = [record(minute) for minute in range(0, 100, 7)]
    shuffled = Random(1).sample(records, len(records))
    assert in_order(shuffled) == in_order(records) == records
