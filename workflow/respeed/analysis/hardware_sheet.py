"""What a machine reaches whatever a paper asks of it, from its hardware sheet.

rates.csv    rates, latencies and sizes
scaling.csv  what more threads bring an RBM step and its products alone, each number of threads in processes of its own,

    speedup = t1 / tn        efficiency = t1 / (n tn)

The report has a page of these for each machine, and a table of all beside one another.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import pandas as pd

from respeed.analysis.cells import judge_cells
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import (
    CELL_LEVEL,
    FEWEST_ROUNDS,
    FULL_PRECISION,
    Estimate,
    estimate_ratio,
    estimate_values,
)
from respeed.analysis.rounds import CellKey, read_rounds, seconds_by_round
from respeed.text import NOTHING, Value, format_number, format_whole_share, join_words, measured_value

STEP = "RBM step"
SCALED = {"rbm": STEP, "cd1_products": "its products alone"}
PRODUCT, COPY, MEMORY, CACHE = "matrix product", "memory copy", "memory", "cache"
CROSSINGS = {
    (way, memory): f"copy {way} the device, {memory}" for way in ("to", "from") for memory in ("pinned", "pageable")
}
# On a CPU, and on a device.
SMALL = {
    (True, "waited"): "small step, on one thread",
    (True, "spread"): "small step, spread over threads",
    (False, "waited"): "small step, round trip",
    (False, "queued"): "small step, launches queued",
    (False, "graph"): "small step, launches in a graph",
}
WHATS = (PRODUCT, COPY, *CROSSINGS.values(), *SMALL.values())
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16")
# What runs on a CPU where nothing is multiplied, whatever the BLAS of the row.
NO_BLAS = {"memory_copy": "compiled copy", "small_step": "compiled loop"}
INTERVAL, RANGE = "95 % interval", "range"
# So many times the largest cache are the two arrays of a copy together.
CACHES = 4
# What the page shows of each group.
GROUPS = {
    "Square product, GFLOP/s": (PRODUCT,),
    "Copy within the memory, GB/s, read and written": (COPY,),
    "Copy to and from the device, GB/s": CROSSINGS.values(),
    "A step of next to nothing, µs": SMALL.values(),
}

Record = Mapping[str, Any]


# --- cells


@dataclass(frozen=True)
class Gauged:
    """One case of a sheet in one setting. `seconds` has the median step of the clean blocks of each pass that has such;
    where none has, `reason` says why, and `is_disturbed` whether another time may do better. `library` is what
    multiplied, and `accelerator` what it ran on, as its process found them; empty where none started."""

    profile: Mapping[str, Any]
    threads: int
    case: str
    workload: str
    parameters: Mapping[str, Any]
    seconds: Mapping[int, float]
    reason: str
    flops: float | None = None
    traffic_bytes: float | None = None
    library: str = ""
    accelerator: str = ""
    is_disturbed: bool = False


def judge_gauged(records: Iterable[Record], absent: Iterable[Record] = ()) -> Iterator[Gauged]:
    """Every case in every setting, measured or `absent`; of blocks, the clean ones count, as in any record."""
    ran = {one["id"]["profile"]: one for one in records}
    # A process that had fewer cores to run on than threads: others ran there.
    fewer = {
        one["id"]["profile"]
        for one in records
        if 0 < ((one["provenance"].get("threads_proof") or {}).get("threads_ran") or 0) < one["threads"]
    }
    rounds = read_rounds(dict(one) for one in records)
    times = seconds_by_round(rounds, "step_seconds_median")
    for cell in rows_of(judge_cells(rounds)):
        record = ran[cell.profile]
        backend = record["provenance"].get("backend", {})
        key = CellKey(cell.machine, cell.paper, cell.experiment, cell.case, cell.algorithm, cell.profile)
        yield Gauged(
            record["profile"], cell.threads, cell.case, cell.algorithm, cell.parameters or {},
            times[key] if cell.step else {}, "" if cell.step else cell.reason, cell.flops, cell.traffic_bytes,
            str(backend.get("library", "")), str(backend.get("accelerator", "")),
            cell.status == "contaminated" or (cell.status == "not-run" and cell.profile in fewer),
        )  # fmt: skip
    for one in absent:
        for case in one["cases"]:
            how = (case["name"], case["workload"], case["parameters"])
            yield Gauged(one["profile"], one["threads"], *how, {}, one["reason"])


def disturbed_profiles(records: Sequence[Record]) -> set[str]:
    """Those of which something has no clean block yet: another time may do better."""
    return {one.profile["name"] for one in judge_gauged(records) if one.is_disturbed}


def is_lost(sheet: Record) -> bool:
    """Whether nothing can be said of more threads because all that was measured of some number was disturbed."""
    steps = [one for one in judge_gauged(sheet["rounds"], sheet["absent"]) if one.workload == "rbm"]
    counts = {one.threads for one in steps}
    clean = {one.threads for one in steps if one.seconds}
    return not {min(counts, default=0), max(counts, default=0)} <= clean and any(one.is_disturbed for one in steps)


# --- rates.csv and scaling.csv


class Spread(NamedTuple):
    """A number over passes, and how far these lie apart: `ends` says whether `low` and `high` are those of an interval
    or, of too few passes for one, the lowest and the highest. One pass alone has neither."""

    value: float
    low: float | None = None
    high: float | None = None
    ends: str = ""


def spread_of(values: Sequence[float]) -> Spread:
    """Estimate the location of values over passes."""
    return _spread(estimate_values(values), values, len(values))


def spread_of_ratio(above: Sequence[float], below: Sequence[float]) -> Spread:
    """The same of above / below, over all pairs."""
    ratios = [one / other for one in above for other in below]
    return _spread(estimate_ratio({0: above}, {0: below}, CELL_LEVEL)[0], ratios, min(len(above), len(below)))


def _spread(found: Estimate, values: Sequence[float], count: int) -> Spread:
    if count >= FEWEST_ROUNDS:
        return Spread(found.value, found.low, found.high, INTERVAL)
    return Spread(found.value, min(values), max(values), RANGE) if len(values) > 1 else Spread(found.value)


def make_scaling(sheet: Record) -> list[dict[str, Any]]:
    """A machine's rows of scaling.csv: step by step, in the order of threads. `speedups` are those of each pass that
    has both."""
    every = judge_gauged(sheet["rounds"], sheet["absent"])
    steps = [one for one in every if one.workload in SCALED and one.profile["device"] == "cpu"]
    ones = {(one.workload, one.case, one.profile["backend"]): one for one in steps if one.threads == 1}
    rows = []
    for step in steps:
        one, seconds = ones.get((step.workload, step.case, step.profile["backend"])), list(step.seconds.values())
        row: dict[str, Any] = {
            "machine": sheet["machine"], "what": SCALED[step.workload], "size": step.case, "library": step.library,
            "threads": step.threads, "passes": len(seconds), "reason": step.reason,
            "is_disturbed": step.is_disturbed and not seconds,
        }  # fmt: skip
        if seconds:
            row |= zip(("seconds", "low", "high", "ends"), spread_of(seconds), strict=True)
        if seconds and one and one.seconds:
            ratio = Spread(1.0) if one is step else spread_of_ratio(list(one.seconds.values()), seconds)
            row |= zip(("speedup", "speedup_low", "speedup_high", "speedup_ends"), ratio, strict=True)
            for end in ("", "_low", "_high"):
                row[f"efficiency{end}"] = row[f"speedup{end}"] and row[f"speedup{end}"] / step.threads
            pairs = (one.seconds[index] / took for index, took in step.seconds.items() if index in one.seconds)
            row["speedups"] = " ".join(f"{pair:.9g}" for pair in pairs)
        rows.append(row)
    return sorted(rows, key=lambda row: (*_work(row["size"]), row["what"] != STEP, row["threads"]))


def _work(size: str) -> tuple[int, ...]:
    visible, hidden = map(int, size.split("x"))
    return visible * hidden, visible


def make_rates(sheet: Record) -> list[dict[str, Any]]:
    """A machine's rows of rates.csv: of several squares on one device the product that is the fastest."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for gauged in judge_gauged(sheet["rounds"], sheet["absent"]):
        if row := _rate(gauged):
            place = (
                WHATS.index(row["what"]), row["device"] != "cpu", row["device"], gauged.profile["backend"],
                PRECISIONS.index(row["precision"]), row["threads"] or 0,
            )  # fmt: skip
            rows[place] = max(rows.get(place, row), row, key=lambda one: one.get("value") or 0.0)
    memory, host = sheet["memory"], sheet["provenance"]["machine"]
    sizes = [{"what": MEMORY, "device": "cpu", "value": host["memory_bytes"] / 2**30, "unit": "GiB"}]
    sizes += [
        {"what": f"{CACHE} {level}", "device": "cpu", "value": size / 2**20, "unit": "MiB"}
        for level, size in memory["caches"].items()
    ] or [{"what": CACHE, "device": "cpu", "unit": "MiB", "reason": "the system does not tell"}]
    sizes += [
        {"what": MEMORY, "device": name, "value": memory["accelerators"][name] / 2**30, "unit": "GiB",
         "accelerator": name, "devices": number}
        for name, number in Counter(host["accelerators"]).items()
        if name in memory["accelerators"]
    ]  # fmt: skip
    usual = {"machine": sheet["machine"], "devices": 1, "length_bytes": 0.0, "is_disturbed": False}
    return [usual | row for row in (*(rows[place] for place in sorted(rows)), *sizes)]


def _rate(gauged: Gauged) -> dict[str, Any] | None:
    """A rate is the work over the seconds, a latency the seconds over the number of operations. None of a step."""
    profile, parameters, on_cpu = gauged.profile, gauged.parameters, gauged.profile["device"] == "cpu"
    length, amount = 4 * parameters.get("length", 0), gauged.traffic_bytes
    size, unit = f"{length / 2**20:,.4g} MiB", "GB/s"
    match gauged.workload:
        case "matmul":
            what, size, unit, amount = PRODUCT, gauged.case, "GFLOP/s", gauged.flops
        case "memory_copy":
            what = COPY
        case "copies":
            what = CROSSINGS[parameters["direction"], parameters["memory"]]
        case "small_step":
            what, size, unit = SMALL[on_cpu, parameters["how"]], "", "µs"
        case _:
            return None
    row = {
        "what": what, "library": NO_BLAS.get(gauged.workload, gauged.library) if on_cpu else gauged.library,
        "device": profile["device"], "threads": gauged.threads if on_cpu else None, "precision": profile["precision"],
        "size": size, "unit": unit, "passes": 0, "reason": gauged.reason, "package": profile["package"],
        "accelerator": gauged.accelerator, "is_disturbed": gauged.is_disturbed, "length_bytes": float(length),
    }  # fmt: skip
    if not gauged.seconds or (unit != "µs" and not amount):
        return row
    rates = [
        1e6 * seconds / parameters["count"] if unit == "µs" else (amount or 0.0) / 1e9 / seconds
        for seconds in gauged.seconds.values()
    ]
    spread = dict(zip(("value", "low", "high", "ends"), spread_of(rates), strict=True))
    return row | spread | {"passes": len(rates)}


# --- for people


def place_of(row: Any) -> str:
    """Where a row of rates.csv was measured, for people."""
    if row.device != "cpu":
        return str(row.accelerator or row.device)
    return "one core" if row.threads == 1 else f"all {row.threads} cores"


def describe_sheet(rates: pd.DataFrame, scaling: pd.DataFrame) -> dict[str, Any]:
    """One machine's page, ready for JSON: its rows of rates.csv and scaling.csv as tables; and in words what is
    missing."""
    scaling = scaling.assign(on=[f"{count} thread{'s' * (count > 1)}" for count in scaling["threads"]])
    steps = list(rows_of(scaling))
    timed = list(rows_of(rates[(rates["value"] > 0) & rates["what"].isin(WHATS)]))
    # Cores first, then devices.
    in_order = sorted(timed, key=lambda row: (row.device != "cpu", row.device, row.threads or 0))
    places = {(row.device, row.threads): place_of(row) for row in in_order}
    counts = dict(sorted((row.threads, row.on) for row in steps))
    passes = sorted({row.passes for row in steps if row.passes} or {0})
    many = " to ".join(dict.fromkeys(map(str, (passes[0], passes[-1]))))
    has_curve = len({row.threads for row in steps if row.speedup}) > 1
    lacking = scaling.assign(what=scaling["what"] + " " + scaling["size"])[scaling["seconds"].isna()]

    def rate(row: Any) -> Value:
        # One pass says nothing of how far passes lie apart.
        return measured_value(row.value, row.low, row.high, bare=not row.ends)

    def group(whats: Collection[str]) -> list[dict[str, Any]]:
        rows = [row for row in timed if row.what in whats]
        return _table(rows, _label, lambda row: (row.device, row.threads), places, rate)

    groups = {heading: group(whats) for heading, whats in GROUPS.items()}
    return {
        "sizes": _sizes(rates),
        "columns": list(places.values()),
        "groups": [{"heading": heading, "lines": lines} for heading, lines in groups.items() if lines],
        "missing": _missing_rates(rates),
        "missing_points": _what_is_missing(lacking, "scaling.csv") if has_curve else [],
        "no_curve": "" if has_curve else why_no_curve(scaling),
        "library": next((row.library for row in steps if row.library), ""),
        "passes": f"{many} pass{'es' if many != '1' else ''}",
        "counts": list(counts.values()),
        "scaling": _table(
            steps, lambda row: f"{row.what[0].upper()}{row.what[1:]}, {row.size}", lambda row: row.threads, counts,
            _speedup,
        ),
    }  # fmt: skip


def _table(
    rows: Iterable[Any], label: Callable[[Any], str], column: Callable[[Any], Hashable], columns: Iterable[Hashable],
    show: Callable[[Any], Value],
) -> list[dict[str, Any]]:  # fmt: skip
    """A line for each label in the order in which they come, with what is shown of each of its rows in its column."""
    found = {(label(row), column(row)): show(row) for row in rows}
    return [
        {"label": name, "values": [asdict(found.get((name, one), Value(NOTHING))) for one in columns]}
        for name in dict.fromkeys(name for name, _ in found)
    ]


def _label(row: Any) -> str:
    if row.what == PRODUCT:
        library = f" ({row.library})" if row.library.partition(" ")[0] != row.package and row.device == "cpu" else ""
        return f"{row.package}{library}, {row.precision}"
    mover = row.library if row.device == "cpu" else row.package
    if row.what in SMALL.values():
        return f"{mover}, {row.what.partition(', ')[2]}"
    return f"{mover}, arrays of {row.size}" if row.what == COPY else str(row.what)


def _speedup(row: Any) -> Value:
    """A step's speedup, behind it the efficiency; on one thread its seconds."""
    if row.seconds and row.threads == 1:
        low, high = (end and 1e3 * end for end in (row.low, row.high))
        return measured_value(1e3 * row.seconds, low, high, unit=" ms", bare=not row.ends)
    if not row.speedup:
        return Value(NOTHING)
    shown = measured_value(row.speedup, row.speedup_low, row.speedup_high, unit="x", bare=not row.speedup_ends)
    return Value(f"{shown.text} ({format_whole_share(row.efficiency)})", shown.interval)


def _sizes(rates: pd.DataFrame) -> str:
    """The memory and the caches."""
    texts = []
    for row in rows_of(rates[~rates["what"].isin(WHATS)]):
        name = row.what if row.device == "cpu" else f"{row.what} of {row.device}"
        value, unit = (row.value, row.unit) if row.unit == "GiB" or (row.value or 1) >= 1 else (1024 * row.value, "KiB")
        texts.append(f"{name} {format_number(value)} {unit}" if value else f"{name} {row.reason}")
    return ", ".join(texts)


def why_no_curve(scaling: pd.DataFrame) -> str:
    """Why there is nothing to draw of what more threads bring."""
    if scaling.empty:
        return "not measured yet"
    if set(scaling["threads"]) == {1}:
        return "one core: no curve"
    if scaling["is_disturbed"].any():
        return "disturbed in every pass"
    return next((reason for reason in scaling["reason"] if reason), "not measured yet")


def _missing_rates(rates: pd.DataFrame) -> list[str]:
    """What was not measured, in few lines; of a device that is not there, that alone."""
    timed, gone = rates[rates["value"] > 0], rates[~(rates["value"] > 0) & rates["what"].isin(WHATS)]
    what = gone["what"].str.replace(",", "").mask(gone["what"] == PRODUCT, gone["package"] + " " + gone["precision"])
    gone = gone.assign(what=what, on=[place_of(row) for row in rows_of(gone)])
    is_there = gone["device"].isin(timed["device"]) | gone["is_disturbed"]
    absent, several = gone[~is_there], timed[(timed["what"] == MEMORY) & (timed["devices"] > 1)]
    return [
        *_what_is_missing(gone[is_there], "rates.csv"),
        *_cached_copies(timed),
        *dict.fromkeys(f"Nothing was measured on {row.on}: {row.reason}." for row in rows_of(absent)),
        *(f"Of {row.devices} {row.accelerator} the first one alone was measured." for row in rows_of(several)),
    ]


def _cached_copies(timed: pd.DataFrame) -> list[str]:
    """A line if the arrays that are copied are no more than a few times the largest cache of the CPU."""
    caches = timed[timed["what"].str.startswith(CACHE)].nlargest(1, "value")
    length = timed["length_bytes"][(timed["what"] == COPY) & (timed["device"] == "cpu")].min()
    return [
        f"The two arrays of the memory copy are {format_number(share, 2)} times all of {cache.what}: "
        "a part of them may stay in it."
        for cache in rows_of(caches)
        if (share := 2 * length / 2**20 / cache.value) < CACHES
    ]


def _what_is_missing(gone: pd.DataFrame, file: str) -> list[str]:
    """`gone` tells `what`, `on` what, and the `reason`. What was disturbed is one line, whatever by; a line for each
    other reason and place."""
    disturbed = gone[gone["is_disturbed"]].drop_duplicates(["what", "on"]).groupby("what", sort=False)["on"]
    places = disturbed.agg(lambda on: join_words(list(on)))
    found = [f"on {on}: {join_words(list(whats.index))}" for on, whats in places.groupby(places, sort=False)]
    lines = [f"No pass was clean {'; '.join(found)} (why: {file})."] if found else []
    others = gone[~gone["is_disturbed"]].drop_duplicates(["what", "on", "reason"])
    return lines + [
        f"Not measured on {on}: {join_words(list(whats))} ({reason})."
        for (reason, on), whats in others.groupby(["reason", "on"], sort=False)["what"]
    ]


def beside_machines(rates: pd.DataFrame, scaling: pd.DataFrame, machines: Sequence[str]) -> list[list[str]]:
    """A row a quantity, a column a machine: of each the fastest library. Empty where fewer than two have a sheet."""
    timed = rates[(rates["value"] > 0) & rates["machine"].isin(machines)]
    if timed["machine"][timed["what"] == PRODUCT].nunique() < 2:
        return []
    most, on_cpu = timed["machine"].map(rates.groupby("machine")["threads"].max()), timed["device"] == "cpu"
    places = {"one core": on_cpu & (timed["threads"] == 1), "all cores": on_cpu & (timed["threads"] == most)}
    places["device"] = ~on_cpu
    products, copies = timed["what"] == PRODUCT, (timed["what"] == COPY) & (timed["precision"] == FULL_PRECISION)
    quantities = {
        f"Product, {precision}, {place}, GFLOP/s": there & products & (timed["precision"] == precision)
        for place, there in places.items()
        for precision in PRECISIONS
    }
    quantities |= {f"Memory copy, {place}, GB/s": there & copies for place, there in places.items()}
    rows: dict[str, dict[Hashable, str]] = {
        title: timed[there].groupby("machine")["value"].max().map(format_number).to_dict()
        for title, there in quantities.items()
    }
    steps = scaling[(scaling["what"] == STEP) & scaling["machine"].isin(machines)]
    of_all = steps.drop_duplicates(["size", "machine"], keep="last")
    of_all = of_all.assign(efficiency=of_all["efficiency"].where(of_all["threads"] > 1))
    for size, of_size in of_all.groupby("size", sort=False):
        shown = of_size.set_index("machine")["efficiency"].dropna().map(format_whole_share)
        rows[f"Efficiency of the step {size}, all cores"] = shown.to_dict()
    return [[title, *(found.get(name, NOTHING) for name in machines)] for title, found in rows.items() if found]
