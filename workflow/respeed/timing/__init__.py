"""The only layer that reads a clock: warm-up, blocks, and what disturbed them.

The clocks themselves are here: a monotonic one for durations, the CPU time that was used, and UTC for the date on a
record.
"""

import time
from datetime import UTC, datetime


def seconds_now() -> float:
    """Return monotonic seconds, for differences only."""
    return time.perf_counter_ns() * 1e-9


def computed_seconds() -> float:
    """Return the CPU time of this process, that of all its threads together; for differences only."""
    return time.process_time()


def utc_now() -> str:
    """Return the date and time in UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
