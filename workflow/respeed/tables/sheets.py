"""Hardware sheets for people: a machine's rates in one table, machines beside one another, and a look at the rounds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from respeed.estimators.speedup import FULL_PRECISION
from respeed.numbers import Value, format_number, format_share, format_whole_share, measured_value
from respeed.tables.missing import missing_rates
from respeed.tables.reached import (
    CACHE,
    COPY,
    FROM_DEVICE,
    LAUNCHED,
    MEMORY,
    PRODUCT,
    SMALL,
    TO_DEVICE,
    Reached,
    place_name,
)
from respeed.tables.scaling import STEP, Scaled

# A peak of the rounds that lies within this factor of the sheet's tells nothing new.
ALIKE = 1.25
NOTHING = "–"

Line = tuple[str, list[Value]]


@dataclass(frozen=True)
class SheetTable:
    """A machine's rates: `columns` are one core, all cores and the devices; groups of lines under a heading each.
    `missing` says why what is not there is not."""

    columns: list[str]
    groups: list[tuple[str, list[Line]]]
    sizes: str
    missing: list[str]


def make_sheet_table(rows: Sequence[Reached], *, bare: bool = False) -> SheetTable:
    """Of the rows of one machine; `bare` numbers are those of a smoke run."""
    timed = [row for row in rows if row.value and row.unit not in ("GiB", "MiB")]
    places = list(dict.fromkeys((row.device, row.threads) for row in timed))
    names = {(row.device, row.threads): place_name(row.device, row.threads, row.accelerator) for row in timed}
    # Cores first, then devices.
    places.sort(key=lambda place: (place[0] != "cpu", place[0], place[1] or 0))
    groups = []
    for heading, whats in (
        ("Square product, GFLOP/s", (PRODUCT,)),
        ("Copy within the memory, GB/s, read and written", (COPY,)),
        ("Copy to and from the device, GB/s", tuple(dict.fromkeys(row.what for row in rows if _crosses(row)))),
        ("A step of next to nothing, µs", (*SMALL.values(), *LAUNCHED.values())),
    ):
        lines: dict[str, dict[tuple[str, int | None], Reached]] = {}
        for row in timed:
            if row.what in whats:
                lines.setdefault(_label(row), {})[row.device, row.threads] = row
        found = [(label, [_value(mine.get(place), bare=bare) for place in places]) for label, mine in lines.items()]
        groups += [(heading, found)] if found else []
    return SheetTable([names[place] for place in places], groups, _sizes(rows), missing_rates(rows))


def _crosses(row: Reached) -> bool:
    return row.what.startswith((TO_DEVICE, FROM_DEVICE))


def _label(row: Reached) -> str:
    if row.what == PRODUCT:
        library = f" ({row.library})" if row.library.partition(" ")[0] != row.package and row.device == "cpu" else ""
        return f"{row.package}{library}, {row.precision}"
    mover = row.library if row.device == "cpu" else row.package
    if row.what in (*SMALL.values(), *LAUNCHED.values()):
        return f"{mover}, {row.what.partition(', ')[2]}"
    return f"{mover}, arrays of {row.size}" if row.what == COPY else row.what


def _value(row: Reached | None, *, bare: bool) -> Value:
    if row is None or row.value is None:
        return Value(NOTHING)
    # One pass says nothing of how far passes lie apart.
    found = measured_value(row.value, row.low, row.high, bare=bare or not row.ends)
    return found or Value(NOTHING)


def _sizes(rows: Iterable[Reached]) -> str:
    texts = []
    for row in rows:
        if row.what == MEMORY and row.value:
            texts.append(
                f"{'memory' if row.device == 'cpu' else f'memory of {row.device}'} {format_number(row.value)} GiB"
            )
        elif row.what.startswith(CACHE):
            texts.append(f"{row.what} {_size(row.value) if row.value else row.reason}")
    return ", ".join(texts)


def _size(mebibytes: float) -> str:
    return f"{format_number(mebibytes)} MiB" if mebibytes >= 1 else f"{format_number(1024 * mebibytes)} KiB"


def scaling_lines(rows: Iterable[Scaled], *, bare: bool = False) -> tuple[list[int], list[Line]]:
    """The numbers of threads, and a line a step: its speedup on each, behind it the efficiency; on one its seconds."""
    rows = list(rows)
    counts = sorted({row.threads for row in rows})
    lines: dict[str, dict[int, Value]] = {}
    for row in rows:
        value = Value(NOTHING)
        if row.seconds and row.threads == 1:
            low, high = (1e3 * one if one else None for one in (row.low, row.high))
            value = measured_value(1e3 * row.seconds, low, high, unit=" ms", bare=bare or not row.ends)
        elif row.speedup and row.efficiency:
            low, high = row.speedup_low, row.speedup_high
            shown = measured_value(row.speedup, low, high, unit="x", bare=bare or not row.speedup_ends)
            value = replace(shown, text=f"{shown.text} ({format_whole_share(row.efficiency)})")
        lines.setdefault(f"{row.what[0].upper()}{row.what[1:]}, {row.size}", {})[row.threads] = value
    return counts, [(name, [mine.get(count, Value(NOTHING)) for count in counts]) for name, mine in lines.items()]


def beside_machines(reached: Sequence[Reached], scaled: Sequence[Scaled], machines: Sequence[str]) -> list[list[str]]:
    """A row a quantity, a column a machine: of each the fastest library. Empty where fewer than two have a sheet."""
    with_sheet = {row.machine for row in reached if row.value and row.what == PRODUCT}
    if len(with_sheet & set(machines)) < 2:
        return []
    named = [
        (f"Product, {precision}, {where}, GFLOP/s", PRODUCT, precision, where)
        for where in ("one core", "all cores", "device")
        for precision in ("fp64", "fp32", "tf32", "bf16", "fp16")
    ]
    named += [
        (f"Memory copy, {where}, GB/s", COPY, FULL_PRECISION, where) for where in ("one core", "all cores", "device")
    ]
    rows = [
        [title, *(_best(reached, machine, what, precision, where) for machine in machines)]
        for title, what, precision, where in named
    ]
    for size in dict.fromkeys(row.size for row in scaled):
        steps = [row for row in scaled if (row.size, row.what) == (size, STEP)]
        rows.append([f"Efficiency of the step {size}, all cores", *(_efficiency(steps, one) for one in machines)])
    return [row for row in rows if any(text != NOTHING for text in row[1:])]


def _best(rows: Iterable[Reached], machine: str, what: str, precision: str, where: str) -> str:
    mine = [row for row in rows if (row.machine, row.what, row.precision) == (machine, what, precision)]
    most = max((row.threads or 0 for row in rows if row.machine == machine), default=0)
    there = {
        "one core": [row for row in mine if row.threads == 1],
        "all cores": [row for row in mine if row.threads == most],
        "device": [row for row in mine if row.device != "cpu"],
    }
    values = [row.value for row in there[where] if row.value]
    return format_number(max(values)) if values else NOTHING


def _efficiency(steps: Iterable[Scaled], machine: str) -> str:
    last = max((row for row in steps if row.machine == machine), key=lambda row: row.threads, default=None)
    return format_whole_share(last.efficiency) if last and last.efficiency and last.threads > 1 else NOTHING


def differing_peaks(reached: Iterable[Reached], points: Iterable[Any]) -> list[str]:
    """A line for each row whose rounds saw another peak than the sheet: the machine was another one then."""
    peaks: dict[tuple[str, str, int | None], float] = {}
    for point in points:
        if point.precision == FULL_PRECISION and point.device:
            key = (point.package, point.device, point.threads)
            peaks[key] = max(point.peak_gflops, peaks.get(key, 0.0))
    lines = []
    for row in reached:
        if row.what != PRODUCT or row.precision != FULL_PRECISION or not row.value:
            continue
        peak = peaks.get((row.package, row.device, row.threads))
        if peak and not 1 / ALIKE < peak / row.value < ALIKE:
            where, share = place_name(row.device, row.threads, row.accelerator), format_share(peak / row.value)
            lines.append(
                f"{row.package} on {where} reached {format_number(peak)} GFLOP/s in the rounds of papers, {share} of "
                "what it reached for this sheet."
            )
    return lines
