"""The clocks: one monotonic ruler for durations, UTC for the date on a record."""

import time
from datetime import UTC, datetime


def seconds_now() -> float:
    """Monotonic seconds, for differences only."""
    return time.perf_counter_ns() * 1e-9


def utc_now() -> str:
    """The date and time in UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
