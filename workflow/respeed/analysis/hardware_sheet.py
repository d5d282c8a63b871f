"""Hardware sheets for people, from the rows of rates.csv and scaling.csv: a machine's rates in one table, what more
threads bring, machines beside one another, what was not measured, and a look at the rounds of papers."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.hardware import (
    CACHE,
    COPY,
    FROM_DEVICE,
    LAUNCHED,
    MEMORY,
    PRECISIONS,
    PRODUCT,
    SMALL,
    STEP,
    TO_DEVICE,
)
from respeed.numbers import NOTHING, Value, format_number, format_share, format_whole_share, measured_value
from respeed.text import join_words

# A peak of the rounds that lies within this factor of the sheet's tells nothing new.
ALIKE = 1.25
# So many times the largest cache are the two arrays of a copy together.
CACHES = 4
PLACES = ("one core", "all cores", "device")
STEPS = (*SMALL.values(), *LAUNCHED.values())

# Rows, as rows_of gives them; and a line of a table: its name, and a value a column.
Rows = Sequence[Any]
Line = tuple[str, list[Value]]


def place_name(device: str, threads: int | None, accelerator: str = "") -> str:
    """Where something was measured, for people."""
    if device != "cpu":
        return accelerator or device
    return "one core" if threads == 1 else f"all {threads} cores"


def _place(row: Any) -> str:
    return place_name(row.device, row.threads, row.accelerator)


def tabulate_rates(rates: Rows, *, bare: bool = False) -> tuple[list[str], list[tuple[str, list[Line]]]]:
    """Of one machine: one core, all cores and the devices; and groups of lines under a heading each. `bare` numbers are
    those of a smoke run."""
    timed = [row for row in rates if row.value and row.unit not in ("GiB", "MiB")]
    # Cores first, then devices.
    order = sorted(timed, key=lambda row: (row.device != "cpu", row.device, row.threads or 0))
    places = {(row.device, row.threads): _place(row) for row in order}
    crossings = tuple(row.what for row in rates if row.what.startswith((TO_DEVICE, FROM_DEVICE)))
    groups = []
    for heading, whats in (
        ("Square product, GFLOP/s", (PRODUCT,)),
        ("Copy within the memory, GB/s, read and written", (COPY,)),
        ("Copy to and from the device, GB/s", crossings),
        ("A step of next to nothing, µs", STEPS),
    ):
        lines: dict[str, dict[tuple[str, int | None], Value]] = {}
        for row in timed:
            if row.what in whats:
                # One pass says nothing of how far passes lie apart.
                value = measured_value(row.value, row.low, row.high, bare=bare or not row.ends)
                lines.setdefault(_label(row), {})[row.device, row.threads] = value
        if lines:
            groups.append((heading, [(name, _fill(mine, places)) for name, mine in lines.items()]))
    return list(places.values()), groups


def _fill(values: dict[Any, Value], columns: Iterable[Any]) -> list[Value]:
    return [values.get(column, Value(NOTHING)) for column in columns]


def _label(row: Any) -> str:
    if row.what == PRODUCT:
        library = f" ({row.library})" if row.library.partition(" ")[0] != row.package and row.device == "cpu" else ""
        return f"{row.package}{library}, {row.precision}"
    mover = row.library if row.device == "cpu" else row.package
    if row.what in STEPS:
        return f"{mover}, {row.what.partition(', ')[2]}"
    return f"{mover}, arrays of {row.size}" if row.what == COPY else row.what


def list_sizes(rates: Rows) -> str:
    """The memory and the caches of one machine."""
    texts = []
    for row in rates:
        if row.what == MEMORY and row.value:
            name = "memory" if row.device == "cpu" else f"memory of {row.device}"
            texts.append(f"{name} {format_number(row.value)} GiB")
        elif row.what.startswith(CACHE) and row.value:
            is_large = row.value >= 1
            size = f"{format_number(row.value if is_large else 1024 * row.value)} {'MiB' if is_large else 'KiB'}"
            texts.append(f"{row.what} {size}")
        elif row.what.startswith(CACHE):
            texts.append(f"{row.what} {row.reason}")
    return ", ".join(texts)


def tabulate_scaling(scaling: Rows, *, bare: bool = False) -> tuple[list[int], list[Line]]:
    """The numbers of threads, and a line a step: its speedup on each, behind it the efficiency; on one its seconds."""
    counts = sorted({row.threads for row in scaling})
    lines: dict[str, dict[int, Value]] = defaultdict(dict)
    for row in scaling:
        mine = lines[f"{row.what[0].upper()}{row.what[1:]}, {row.size}"]
        if row.seconds and row.threads == 1:
            ends = (end and 1e3 * end for end in (row.low, row.high))
            mine[1] = measured_value(1e3 * row.seconds, *ends, unit=" ms", bare=bare or not row.ends)
        elif row.speedup:
            is_bare = bare or not row.speedup_ends
            shown = measured_value(row.speedup, row.speedup_low, row.speedup_high, unit="x", bare=is_bare)
            mine[row.threads] = Value(f"{shown.text} ({format_whole_share(row.efficiency)})", shown.interval)
    return counts, [(name, _fill(mine, counts)) for name, mine in lines.items()]


def beside_machines(rates: Rows, scaling: Rows, machines: Sequence[str]) -> list[list[str]]:
    """A row a quantity, a column a machine: of each the fastest library. Empty where fewer than two have a sheet."""
    if len({row.machine for row in rates if row.value and row.what == PRODUCT} & set(machines)) < 2:
        return []
    all_cores = {name: max((row.threads or 0 for row in rates if row.machine == name), default=0) for name in machines}
    best: dict[tuple[str, ...], float] = {}
    for row in rates:
        counts = (("one core", 1), ("all cores", all_cores.get(row.machine)))
        wheres = [where for where, count in counts if row.threads == count] if row.device == "cpu" else ["device"]
        for where in wheres if row.value else ():
            place = (row.what, row.precision, where, row.machine)
            best[place] = max(row.value, best.get(place, 0.0))
    named = [
        (f"Product, {precision}, {where}, GFLOP/s", PRODUCT, precision, where)
        for where in PLACES
        for precision in PRECISIONS
    ]
    named += [(f"Memory copy, {where}, GB/s", COPY, FULL_PRECISION, where) for where in PLACES]
    rows = [
        [title, *(format_number(best[*what, name]) if (*what, name) in best else NOTHING for name in machines)]
        for title, *what in named
    ]
    last = {(row.size, row.machine): row for row in scaling if row.what == STEP}
    for size in dict.fromkeys(row.size for row in scaling):
        found = [last.get((size, name)) for name in machines]
        shown = [
            format_whole_share(row.efficiency) if row and row.efficiency and row.threads > 1 else NOTHING
            for row in found
        ]
        rows.append([f"Efficiency of the step {size}, all cores", *shown])
    return [row for row in rows if any(text != NOTHING for text in row[1:])]


def differing_peaks(rates: Rows, points: Rows) -> list[str]:
    """A line for each row whose rounds saw another peak than the sheet: the machine was another one then. `points` are
    rows of roofline.csv."""
    peaks: dict[tuple[str, str, int | None], float] = defaultdict(float)
    for point in points:
        if point.precision == FULL_PRECISION and point.device:
            place = (point.package, point.device, point.threads)
            peaks[place] = max(point.peak_gflops, peaks[place])
    lines = []
    for row in rates:
        peak = peaks.get((row.package, row.device, row.threads))
        if row.what == PRODUCT and row.precision == FULL_PRECISION and row.value and peak:
            share = peak / row.value
            if not 1 / ALIKE < share < ALIKE:
                lines.append(
                    f"{row.package} on {_place(row)} reached {format_number(peak)} GFLOP/s in the rounds of papers, "
                    f"{format_share(share)} of what it reached for this sheet."
                )
    return lines


class _Missing(NamedTuple):
    """What is without a number, and on what."""

    what: str
    on: str
    reason: str
    is_disturbed: bool


def missing_rates(rates: Rows) -> list[str]:
    """What of one machine's rates was not measured, in few lines; of a device that is not there, that alone."""
    there = {row.device for row in rates if row.value}
    gone = [row for row in rates if row.value is None and not row.what.startswith(CACHE)]
    absent = [row for row in gone if row.device not in there and not row.is_disturbed]
    missing = [
        _Missing(
            f"{row.package} {row.precision}" if row.what == PRODUCT else row.what.replace(",", ""), _place(row),
            row.reason, row.is_disturbed,
        )
        for row in gone
        if row not in absent
    ]  # fmt: skip
    return [
        *_lines(missing, "rates.csv"),
        *_cached_copies(rates),
        *dict.fromkeys(f"Nothing was measured on {_place(row)}: {row.reason}." for row in absent),
        *(
            f"Of {row.devices} {row.accelerator} the first one alone was measured."
            for row in rates
            if row.what == MEMORY and row.devices > 1
        ),
    ]


def _cached_copies(rates: Rows) -> list[str]:
    """A line if the arrays that are copied are no more than a few times the largest cache of the CPU."""
    caches = [row for row in rates if row.what.startswith(CACHE) and row.value]
    lengths = [row.length_bytes for row in rates if row.what == COPY and row.device == "cpu" and row.value]
    if not caches or not lengths:
        return []
    cache = max(caches, key=lambda row: row.value)
    share = 2 * min(lengths) / 2**20 / cache.value
    times = f"{format_number(share, 2)} times all of {cache.what}"
    return [f"The two arrays of the memory copy are {times}: a part of them may stay in it."] if share < CACHES else []


def missing_scaling(scaling: Iterable[Any]) -> list[str]:
    """Which points one machine's curve lacks."""
    missing = [
        _Missing(
            f"{row.what} {row.size}", f"{row.threads} thread{'s' * (row.threads > 1)}", row.reason, row.is_disturbed
        )
        for row in scaling
        if row.seconds is None
    ]
    return _lines(missing, "scaling.csv")


def _lines(missing: Sequence[_Missing], file: str) -> list[str]:
    """What was disturbed is one line, whatever it was by; a line for each other reason and place."""
    disturbed: dict[str, dict[str, None]] = defaultdict(dict)
    reasons: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for one in missing:
        if one.is_disturbed:
            disturbed[one.what][one.on] = None
        else:
            reasons[one.reason, one.on][one.what] = None
    together: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for what, places in disturbed.items():
        together[tuple(places)].append(what)
    found = [f"on {join_words(list(places))}: {join_words(whats)}" for places, whats in together.items()]
    lines = [f"No pass was clean {'; '.join(found)} (why: {file})."] if found else []
    return lines + [
        f"Not measured on {on}: {join_words(list(whats))} ({reason})." for (reason, on), whats in reasons.items()
    ]
