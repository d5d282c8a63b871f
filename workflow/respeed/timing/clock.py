"""The clocks: one monotonic ruler for durations, one of the CPU time that was used, UTC for the date on a record, and
one that also counts sleep.

Of these only UTC can jump, when somebody sets the clock. Nothing that is measured rests on it.
"""

import hashlib
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from respeed.machine.process import output_of, read_word

_BOOT = Path("/proc/sys/kernel/random/boot_id")
# The clock that goes on while the machine sleeps, and the one that does not, each by the name that Python has for it:
# on Linux, on macOS.
_WITH_AND_WITHOUT_SLEEP = (("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"), ("CLOCK_MONOTONIC_RAW", "CLOCK_UPTIME_RAW"))


def seconds_now() -> float:
    """Monotonic seconds, for differences only. Time that the machine sleeps is not among them."""
    return time.perf_counter_ns() * 1e-9


def computed_seconds() -> float:
    """The CPU time of this process, that of all its threads together; for differences only."""
    return time.process_time()


def utc_now() -> str:
    """The date and time in UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def slept_seconds() -> float | None:
    """How long the machine has slept since it was started; for differences only. None where no clock tells."""
    clocks = _clocks()
    return time.clock_gettime(clocks[0]) - time.clock_gettime(clocks[1]) if clocks else None


def clock_facts() -> dict[str, Any] | None:
    """Which start of the machine this is, and the seconds since then, sleep among them: what orders records where
    somebody sets the clock. None where the system does not tell."""
    mark, clocks = boot_mark(), _clocks()
    return {"boot": mark, "seconds": round(time.clock_gettime(clocks[0]), 3)} if mark and clocks else None


@cache
def boot_mark(file: Path = _BOOT) -> str | None:
    """Eight hexadecimal digits, others at every start of the machine; None where the system does not tell."""
    number = read_word(file) or output_of("sysctl", "-n", "kern.bootsessionuuid")
    return hashlib.sha256(number.encode()).hexdigest()[:8] if number else None


@cache
def _clocks() -> tuple[int, int] | None:
    for names in _WITH_AND_WITHOUT_SLEEP:
        if all(hasattr(time, name) for name in names):
            return getattr(time, names[0]), getattr(time, names[1])
    return None
