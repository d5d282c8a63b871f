"""What of a machine's hardware sheet was not measured, in few lines: what was disturbed is one, whatever it was by."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from respeed.numbers import format_number
from respeed.schedule.gauge_cases import CACHES
from respeed.tables.reached import CACHE, COPY, MEMORY, PRODUCT, Reached, place_name
from respeed.tables.scaling import Scaled
from respeed.text import join_words


@dataclass(frozen=True)
class _Left:
    """What is without a number: `what`, and `on` what."""

    what: str
    on: str
    reason: str
    is_disturbed: bool


def missing_rates(rows: Sequence[Reached]) -> list[str]:
    """Of the rows of one machine; of a device that is not there, that alone."""
    there = {row.device for row in rows if row.value}
    gone = [row for row in rows if row.value is None and not row.what.startswith(CACHE)]
    absent = dict.fromkeys(
        (place_name(row.device, row.threads, row.accelerator), row.reason) for row in gone if row.device not in there
        and not row.is_disturbed
    )  # fmt: skip
    left = [
        _Left(
            f"{row.package} {row.precision}" if row.what == PRODUCT else row.what.replace(",", ""),
            place_name(row.device, row.threads, row.accelerator), row.reason, row.is_disturbed,
        )
        for row in gone
        if row.device in there or row.is_disturbed
    ]  # fmt: skip
    small = _small_arrays(rows)
    others = [row for row in rows if row.what == MEMORY and row.devices > 1]
    return [
        *_lines(left, "rates.csv"),
        *([small] if small else []),
        *(f"Nothing was measured on {on}: {reason}." for on, reason in absent),
        *(f"Of {row.devices} {row.accelerator} the first one alone was measured." for row in others),
    ]


def _small_arrays(rows: Sequence[Reached]) -> str:
    """A line if the arrays that are copied are no more than a few times the largest cache of the CPU."""
    cache = max((row for row in rows if row.what.startswith(CACHE) and row.value), key=_size, default=None)
    copies = [row for row in rows if row.what == COPY and row.device == "cpu" and row.value]
    if not cache or not copies:
        return ""
    share = 2 * min(row.length_bytes for row in copies) / 2**20 / _size(cache)
    if share >= CACHES:
        return ""
    times = f"{format_number(share, 2)} times all of {cache.what}"
    return f"The two arrays of the memory copy are {times}: a part of them may stay in it."


def _size(row: Reached) -> float:
    return row.value or 0.0


def missing_scaling(rows: Iterable[Scaled]) -> list[str]:
    """Of the points of one machine's curve."""
    left = [
        _Left(
            f"{row.what} {row.size}", f"{row.threads} thread{'s' if row.threads > 1 else ''}", row.reason,
            row.is_disturbed,
        )
        for row in rows
        if row.seconds is None
    ]  # fmt: skip
    return _lines(left, "scaling.csv")


def _lines(left: Sequence[_Left], file: str) -> list[str]:
    disturbed: dict[str, dict[str, None]] = {}
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for one in left:
        if one.is_disturbed:
            disturbed.setdefault(one.what, {})[one.on] = None
        else:
            reasons.setdefault((one.reason, one.on), {})[one.what] = None
    together: dict[tuple[str, ...], list[str]] = {}
    for what, places in disturbed.items():
        together.setdefault(tuple(places), []).append(what)
    found = [f"on {join_words(list(places))}: {join_words(whats)}" for places, whats in together.items()]
    lines = [f"No pass was clean {'; '.join(found)} (why: {file})."] if found else []
    return [
        *lines,
        *(f"Not measured on {on}: {join_words(list(whats))} ({reason})." for (reason, on), whats in reasons.items()),
    ]
