"""Durations in words, and words as durations."""

import re

from respeed.errors import UserError

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h)")


def in_words(seconds: float) -> str:
    """A duration for people, coarse as an estimate should be: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def parse_duration(text: str, where: str, *, or_none_at_all: bool = False) -> float:
    """Seconds of "90 s", "15min" or "1.5 h", or also of "0"; UserError for anything else."""
    if or_none_at_all and text.strip() == "0":
        return 0.0
    found = _DURATION.fullmatch(text.strip())
    if not found or not float(found[1]):
        raise UserError(f"{where}: {text!r} is no duration; write it as 90s, 15min or 1.5h")
    return float(found[1]) * _UNITS[found[2]]
