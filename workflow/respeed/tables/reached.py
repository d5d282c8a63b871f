"""What each machine reaches, from its hardware sheet: results/tables/rates.csv."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from respeed.estimators.gauged import Gauged, collect_gauged, spread_of

COLUMNS = (
    "machine", "what", "library", "device", "threads", "precision", "size", "value", "unit", "low", "high", "ends",
    "passes", "reason",
)  # fmt: skip

PRODUCT, COPY = "matrix product", "memory copy"
TO_DEVICE, FROM_DEVICE = "copy to the device", "copy from the device"
SMALL = {"waited": "small step, on one thread", "spread": "small step, spread over threads"}
LAUNCHED = {
    "waited": "small step, round trip",
    "queued": "small step, launches queued",
    "graph": "small step, launches in a graph",
}
# What runs on a CPU where nothing is multiplied, whatever the BLAS of the row.
NO_BLAS = {"memory_copy": "NumPy's copy", "small_step": "compiled loop"}
MEMORY, CACHE = "memory", "cache"


@dataclass(frozen=True)
class Reached:
    """One row of rates.csv: a rate, a latency or a size; without a `value` the `reason` says why. `low` and `high` are
    what `ends` says. `threads` is None where it has no meaning. `accelerator` is the device's name, `devices` how many
    have that name, `is_disturbed`: another time may do better, and `length_bytes` is of an array that is copied. Not in
    the file: `backend`."""

    machine: str
    what: str
    library: str
    device: str
    threads: int | None
    precision: str
    size: str
    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    ends: str = ""
    passes: int | None = None
    reason: str = ""
    package: str = ""
    backend: str = ""
    accelerator: str = ""
    devices: int = 1
    is_disturbed: bool = False
    length_bytes: float = 0.0


def make_reached(sheet: dict[str, Any]) -> list[Reached]:
    """The rows of one machine: of several squares on one device the product that is the fastest."""
    rows: dict[tuple[Any, ...], Reached] = {}
    for gauged in collect_gauged(sheet):
        row = _row(sheet["machine"], gauged)
        if row is not None:
            key = (row.what, row.backend, row.device, row.threads, row.precision)
            other = rows.get(key)
            rows[key] = max(other, row, key=lambda one: one.value or 0.0) if other else row
    order = {"fp64": 0, "fp32": 1, "tf32": 2, "bf16": 3, "fp16": 4}
    whats = (PRODUCT, COPY, f"{TO_DEVICE}, pinned", f"{TO_DEVICE}, pageable", f"{FROM_DEVICE}, pinned",
             f"{FROM_DEVICE}, pageable", *SMALL.values(), *LAUNCHED.values())  # fmt: skip
    measured = sorted(
        rows.values(),
        key=lambda one: (
            whats.index(one.what), one.device != "cpu", one.device, one.backend, order.get(one.precision, 9),
            one.threads or 0,
        ),
    )  # fmt: skip
    return [*measured, *_sizes(sheet)]


def place_name(device: str, threads: int | None, accelerator: str = "") -> str:
    """Where something was measured, for people."""
    if device != "cpu":
        return accelerator or device
    return "one core" if threads == 1 else f"all {threads} cores"


def _row(machine: str, gauged: Gauged) -> Reached | None:
    found = _what(gauged)
    if found is None:
        return None
    what, size, unit, amount = found
    profile = gauged.profile
    on_cpu = profile["device"] == "cpu"
    library = NO_BLAS.get(gauged.workload, gauged.library) if on_cpu else gauged.library
    where = Reached(
        machine, what, library, profile["device"], gauged.threads if on_cpu else None, profile["precision"], size, None,
        unit, package=profile["package"], backend=profile["backend"], accelerator=gauged.accelerator,
        is_disturbed=gauged.is_disturbed, length_bytes=4.0 * gauged.parameters.get("length", 0),
    )  # fmt: skip
    if not gauged.seconds or amount is None:
        return replace(where, passes=0, reason=gauged.reason)
    # A rate is the work over the seconds, a latency the seconds over the number of operations.
    rates = [second / amount if unit == "µs" else amount / second for second in gauged.seconds.values()]
    spread = spread_of(rates)
    return replace(where, value=spread.value, low=spread.low, high=spread.high, ends=spread.ends, passes=len(rates))


def _what(gauged: Gauged) -> tuple[str, str, str, float | None] | None:
    """What a case measures: its name, size and unit, and by what its seconds become a number in that unit."""
    parameters = gauged.parameters
    match gauged.workload:
        case "matmul":
            return PRODUCT, gauged.case, "GFLOP/s", gauged.flops and gauged.flops / 1e9
        case "memory_copy":
            return COPY, _bytes(4 * parameters["length"]), "GB/s", gauged.traffic_bytes and gauged.traffic_bytes / 1e9
        case "copies":
            what = TO_DEVICE if parameters["direction"] == "to" else FROM_DEVICE
            amount = gauged.traffic_bytes and gauged.traffic_bytes / 1e9
            return f"{what}, {parameters['memory']}", _bytes(4 * parameters["length"]), "GB/s", amount
        case "small_step":
            names = SMALL if gauged.profile["device"] == "cpu" else LAUNCHED
            return names[parameters["how"]], "", "µs", parameters["count"] / 1e6
    return None


def _bytes(size: float) -> str:
    return f"{size / 2**20:,.4g} MiB"


def _sizes(sheet: dict[str, Any]) -> Iterator[Reached]:
    machine, memory = sheet["machine"], sheet["memory"]
    host = sheet["provenance"]["machine"]["memory_bytes"]
    yield Reached(machine, MEMORY, "", "cpu", None, "", "", host / 2**30, "GiB")
    for level, size in memory["caches"].items():
        yield Reached(machine, f"{CACHE} {level}", "", "cpu", None, "", "", size / 2**20, "MiB")
    if not memory["caches"]:
        yield Reached(machine, CACHE, "", "cpu", None, "", "", None, "MiB", reason="the system does not tell")
    for name, number in Counter(sheet["provenance"]["machine"]["accelerators"]).items():
        if name in memory["accelerators"]:
            size = memory["accelerators"][name] / 2**30
            yield Reached(machine, MEMORY, "", name, None, "", "", size, "GiB", accelerator=name, devices=number)
