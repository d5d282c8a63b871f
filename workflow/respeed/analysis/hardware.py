"""What each machine is, and what it reaches whatever a paper asks of it.

hardware.csv, facts.csv, backends.csv  from its description and the provenance of its records
rates.csv, scaling.csv                 from its hardware sheet: rates, latencies and sizes; and what more threads bring,

    speedup = t1 / tn        efficiency = t1 / (n tn)

of an RBM step and of its matrix products alone, each number of threads in processes of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from respeed.analysis.cells import judge_cells
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import CONFIDENCE, estimate_location, estimate_ratio, smallest_sample
from respeed.analysis.labels import tell_apart
from respeed.analysis.rounds import read_rounds
from respeed.records.fingerprint import FIELDS, show_field
from respeed.records.models import is_checked, made_on

# Facts that may be others from round to round without the machine being another.
OF_ROUNDS = {
    "cpu_quota": "CPU quota",
    "frequency_governor": "CPU governor",
    "accelerator_driver": "accelerator's driver",
    "system": "system",
}
# Between values: some of them are lists with commas.
SEPARATOR, UNKNOWN = "; ", "unknown"

STEP, PRODUCTS = "RBM step", "its products alone"
SCALED = {"rbm": STEP, "cd1_products": PRODUCTS}
PRODUCT, COPY, MEMORY, CACHE = "matrix product", "memory copy", "memory", "cache"
TO_DEVICE, FROM_DEVICE = "copy to the device", "copy from the device"
SMALL = {"waited": "small step, on one thread", "spread": "small step, spread over threads"}
LAUNCHED = {
    "waited": "small step, round trip",
    "queued": "small step, launches queued",
    "graph": "small step, launches in a graph",
}
WHATS = (PRODUCT, COPY, *(f"{way}, {memory}" for way in (TO_DEVICE, FROM_DEVICE) for memory in ("pinned", "pageable")),
         *SMALL.values(), *LAUNCHED.values())  # fmt: skip
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16")
# What runs on a CPU where nothing is multiplied, whatever the BLAS of the row.
NO_BLAS = {"memory_copy": "NumPy's copy", "small_step": "compiled loop"}
INTERVAL, RANGE = "95 % interval", "range"

Record = Mapping[str, Any]


def hardware_of(records: Iterable[Record], description: Record | None) -> dict[str, Any]:
    """All facts of a machine as they were last: its description's, and those of the latest record that tells any."""
    facts = [found for record in sorted(records, key=_began) if (found := made_on(record))]
    return {**((description or {}).get("hardware") or {}), **(facts[-1] if facts else {})}


def _began(record: Record) -> tuple[str, str]:
    return record["started"], record["id"]["profile"]


def describe_machine(
    machine: str, records: Iterable[Record], rounds: pd.DataFrame, description: Record | None
) -> dict[str, list[dict[str, Any]]]:
    """A machine's rows of hardware.csv, facts.csv and backends.csv; where it has no records, its description's alone.
    `rounds` are those of the records. What differs from round to round has all values that occurred."""
    records = sorted(records, key=_began)
    hardware = hardware_of(records, description)
    facts = [found for record in records if (found := made_on(record))] or [hardware]
    seen = {fact: _values(fact, facts) or _values(fact, [hardware]) for fact in (*FIELDS, *OF_ROUNDS)}
    versions: dict[str, dict[str, None]] = defaultdict(dict)
    for record in records:
        for name, number in record["provenance"].get("versions", {}).items():
            versions[name][number] = None
    numbers = {name: ", ".join(found) for name, found in versions.items()}
    libraries, fused, plain = _libraries(records), _between_products(records), _plain_steps(records)
    days = sorted(record["started"][:10] for record in records)
    blocks, discarded = int(rounds["blocks"].sum()), int(rounds["discarded"].sum())
    row: dict[str, Any] = {
        "machine": machine,
        **{fact: hardware.get(fact) for fact in ("cpu", "usable_cores", "sockets", "physical_cores")},
        "accelerators": ", ".join(hardware.get("accelerators", ())),
        "cpu_flags": " ".join(hardware.get("cpu_flags", ())),
        "memory_bytes": SEPARATOR.join(map(str, seen["memory_bytes"].values())),
        # Empty if the system has none, or nothing tells it.
        **{
            fact: SEPARATOR.join(seen[fact]) if any(value is not None for value in seen[fact].values()) else ""
            for fact in ("system", "host", "accelerator_driver", "frequency_governor")
        },
        "first_day": days[0] if days else "",
        "last_day": days[-1] if days else "",
        "rounds": len(records),
        "blocks": blocks,
        "discarded": discarded,
        "software": SEPARATOR.join(f"{name} {found}" for name, found in numbers.items()),
        "loaded": SEPARATOR.join(libraries),
        "without_graphs": SEPARATOR.join(plain),
        "elementwise": SEPARATOR.join(fused),
    }
    causes = sum(rounds["cause_counts"], Counter[str]())
    why = f" ({', '.join(f'{cause}: {count}' for cause, count in causes.most_common())})" if causes else ""
    unchecked = sum(not is_checked(record) for record in records)
    untold = f", of which {unchecked} without a checksum: nothing tells whether they were changed"
    shown = {fact: SEPARATOR.join(values) or UNKNOWN for fact, values in seen.items()}
    shown["usable_cores"] += f" of {hardware.get('logical_cpus') or UNKNOWN} logical CPUs"
    seeds = sorted({record["seed"] for record in records}, key=str)
    cpu, cores = (hardware.get(fact, UNKNOWN) for fact in ("cpu", "usable_cores"))
    parts: dict[str, dict[str, str]] = {
        "summary": {"": f"{cpu}, {cores} usable cores, {row['accelerators'] or 'no accelerator'}"},
        "hardware": {name: shown[fact] for fact, name in FIELDS.items()},
        "rounds": {
            **{name: shown[fact] for fact, name in OF_ROUNDS.items()},
            **({"steps without graphs": row["without_graphs"]} if plain else {}),
            **({"between products": row["elementwise"]} if fused else {}),
        },
        "software": numbers | ({"libraries": ", ".join(libraries)} if libraries else {}),
        "measured": {
            "measured": f"{' to '.join(dict.fromkeys([days[0], days[-1]]))} (UTC)" if days else "nothing yet",
            "rounds": f"{len(records)}{untold if unchecked else ''}",
            "timed blocks": f"{blocks}, of which {discarded} discarded{why}",
            "source": ", ".join(sorted({record["provenance"]["commit"] for record in records})) or "–",
            "seed": ", ".join(map(str, seeds)) or "–",
        },
    }
    told = [
        {"machine": machine, "part": part, "fact": name, "value": value}
        for part, mine in parts.items()
        for name, value in mine.items()
    ]
    return {"hardware": [row], "facts": told, "backends": _backends(machine, records)}


def _values(fact: str, facts: Iterable[Record]) -> dict[str, Any]:
    """The distinct values of a fact by how they are written. Those that are written alike are one: what a kernel leaves
    of the memory after its own start differs by some bytes from boot to boot."""
    found: dict[str, Any] = {}
    for value in (one[fact] for one in facts if fact in one):
        is_quota = fact == "cpu_quota"
        text = "none" if value is None else f"{value:g} CPUs" if is_quota else show_field(fact, value)
        found.setdefault(text, value)
    return found


def _libraries(records: Iterable[Record]) -> list[str]:
    """Those that multiplied, or shared the work among threads: openblas 0.3.30 (SkylakeX)."""
    found = set()
    for record in records:
        for library in record["provenance"].get("libraries") or []:
            kernel = f"({library['architecture']})" if library.get("architecture") else ""
            named = (library.get("internal_api", "unknown"), library.get("version"), kernel)
            found.add(" ".join(filter(None, named)))
    return sorted(found)


def _plain_steps(records: Iterable[Record]) -> list[str]:
    """Whose steps a device ran operation by operation, since they could not be captured as a graph, and why."""
    cases: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for record in records:
        for case in record["cases"]:
            if why := case.get("graphs"):
                cases[record["profile"]["label"], str(why)][f"{record['id']['experiment']} {case['case']}"] = None
    return [f"{label}, {', '.join(found)}: {why}" for (label, why), found in cases.items()]


def _between_products(records: Iterable[Record]) -> list[str]:
    """What fused the work between products on each row of a device, or why nothing did; several where rounds differ."""
    found: dict[str, None] = {}
    for record in records:
        told = (record["provenance"].get("backend") or {}).get("elementwise", "torch")
        if told != "torch":  # where nothing could be fused, nothing is to be told
            found[f"{record['profile']['label']}: {told}"] = None
    return list(found)


def _backends(machine: str, records: Iterable[Record]) -> list[dict[str, Any]]:
    """What multiplied on each profile, as the measuring process found it; the latest records are at the end."""
    by_profile: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record["provenance"].get("backend"):
            by_profile[record["profile"]["name"]].append(record)
    labels = tell_apart({name: mine[-1]["profile"] for name, mine in by_profile.items()})
    rows = []
    for name, mine in sorted(by_profile.items()):
        backends = [one["provenance"]["backend"] for one in mine]
        cases = [case for one in mine for case in one["cases"]]
        ran = {block["threads_ran"] for case in cases for block in case["blocks"]} - {None}
        errors = [error for case in cases for error in case["errors"].values() if error is not None]
        libraries = (" ".join(str(one[key]) for key in ("library", "version") if key in one) for one in backends)
        kernels = (str(one.get("kernel", one.get("accelerator", "–"))) for one in backends)
        rows.append({
            "machine": machine, "profile": name, "label": labels[name]["label"],
            "library": " or ".join(dict.fromkeys(libraries)), "kernel": " or ".join(dict.fromkeys(kernels)),
            "threads": mine[-1]["threads"], "threads_ran": " or ".join(map(str, sorted(ran))),
            "precision": mine[-1]["profile"]["precision"], "error": max(errors, default=None),
        })  # fmt: skip
    return rows


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


def collect_gauged(sheet: Record) -> list[Gauged]:
    """Every case of a sheet in every setting, measured or not; of blocks, the clean ones count, as in any record."""
    absent = [
        Gauged(one["profile"], one["threads"], case["name"], case["workload"], case["parameters"], {}, one["reason"])
        for one in sheet["absent"]
        for case in one["cases"]
    ]
    return [*_judge_gauged(sheet["rounds"]), *absent]


def _judge_gauged(records: Iterable[Record]) -> Iterator[Gauged]:
    latest = {one["id"]["profile"]: one for one in records}
    # A process that had fewer cores to run on than threads: others ran there.
    fewer = {
        one["id"]["profile"]
        for one in records
        if 0 < ((one["provenance"].get("threads_proof") or {}).get("threads_ran") or 0) < one["threads"]
    }
    rounds = read_rounds(dict(one) for one in records)
    times: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    timed = rounds[rounds["seconds"].notna()].sort_values("round", kind="stable")
    columns = (timed[name] for name in ("profile", "case", "algorithm", "round", "seconds_median"))
    for *where, number, seconds in zip(*columns, strict=True):
        times[tuple(where)][number] = seconds
    for cell in rows_of(judge_cells(rounds)):
        backend = latest[cell.profile]["provenance"].get("backend", {})
        is_disturbed = cell.status == "contaminated" or (cell.status == "not-run" and cell.profile in fewer)
        seconds = times[cell.profile, cell.case, cell.algorithm] if cell.step else {}
        yield Gauged(
            latest[cell.profile]["profile"], cell.threads, cell.case, cell.algorithm, cell.parameters or {}, seconds,
            "" if seconds else cell.reason, cell.flops, cell.traffic_bytes, str(backend.get("library", "")),
            str(backend.get("accelerator", "")), is_disturbed,
        )  # fmt: skip


def disturbed_profiles(records: Iterable[Record]) -> set[str]:
    """Those of which something has no clean block yet: another time may do better."""
    return {one.profile["name"] for one in _judge_gauged(list(records)) if one.is_disturbed}


def is_lost(sheet: Record) -> bool:
    """Whether nothing can be said of more threads because all that was measured of some number was disturbed."""
    steps = [one for one in collect_gauged(sheet) if one.workload == "rbm"]
    counts = {one.threads for one in steps}
    clean = {one.threads for one in steps if one.seconds}
    return not {min(counts, default=0), max(counts, default=0)} <= clean and any(one.is_disturbed for one in steps)


class Spread(NamedTuple):
    """A number over passes, and how far these lie apart: `ends` says whether `low` and `high` are those of an interval
    or, of too few passes for one, the lowest and the highest. One pass alone has neither."""

    value: float
    low: float | None = None
    high: float | None = None
    ends: str = ""


def spread_of(values: Sequence[float]) -> Spread:
    """The Hodges-Lehmann estimate with its interval; of too few values the median, the lowest and the highest."""
    found = estimate_location(values)
    if len(values) >= smallest_sample():
        return Spread(found.value, found.low, found.high, INTERVAL)
    return Spread(found.value, min(values), max(values), RANGE) if len(values) > 1 else Spread(found.value)


def spread_of_ratio(above: Sequence[float], below: Sequence[float]) -> Spread:
    """The same of above / below, over all pairs."""
    found = estimate_ratio([(above, below)], CONFIDENCE)
    if min(len(above), len(below)) >= smallest_sample():
        return Spread(found.value, found.low, found.high, INTERVAL)
    if len(above) + len(below) == 2:
        return Spread(found.value)
    return Spread(found.value, min(above) / max(below), max(above) / min(below), RANGE)


def make_scaling(sheet: Record) -> list[dict[str, Any]]:
    """A machine's rows of scaling.csv: step by step, in the order of threads. `speedups` are those of each pass that
    has both."""
    steps = [one for one in collect_gauged(sheet) if one.workload in SCALED and one.profile["device"] == "cpu"]
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
    for gauged in collect_gauged(sheet):
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
            what = f"{TO_DEVICE if parameters['direction'] == 'to' else FROM_DEVICE}, {parameters['memory']}"
        case "small_step":
            what, size, unit = (SMALL if on_cpu else LAUNCHED)[parameters["how"]], "", "µs"
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
    return row | spread | {"passes": len(rates), "reason": ""}
