"""What each machine is, by its description and the provenance of its records: facts.csv."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from respeed.analysis.cells import tell_apart
from respeed.inputs.machines import Price
from respeed.machine.fingerprint import FIELDS, show_field
from respeed.protocol import REASONS, reasons_of

# Facts that may be others from round to round without the machine being another.
OF_ROUNDS = {
    "cpu_quota": "CPU quota",
    "frequency_governor": "CPU governor",
    "accelerator_driver": "accelerator's driver",
    "system": "system",
}
# Between values: some of them are lists with commas.
SEPARATOR, UNKNOWN = "; ", "unknown"

Record = Mapping[str, Any]


def hardware_of(records: Iterable[Record], description: Record | None) -> dict[str, Any]:
    """All facts of a machine as they were last: its description's, and those of the latest record that tells any."""
    facts = [record["provenance"]["machine"] for record in sorted(records, key=_began)]
    return {**((description or {}).get("hardware") or {}), **(facts[-1] if facts else {})}


def _began(record: Record) -> tuple[str, str]:
    return record["started"], record["id"]["profile"]


def describe_machine(
    machine: str,
    records: Iterable[Record],
    rounds: pd.DataFrame,
    description: Record | None,
    price: Price | None = None,
) -> list[dict[str, Any]]:
    """Return a machine's rows of facts.csv; where it has no records, its description's alone.

    `rounds` are those of the records. What differs from round to round has all values that occurred.
    """
    records = sorted(records, key=_began)
    hardware = hardware_of(records, description)
    facts = [record["provenance"]["machine"] for record in records] or [hardware]
    seen = {fact: _values(fact, facts) or _values(fact, [hardware]) for fact in (*FIELDS, *OF_ROUNDS)}
    versions: dict[str, dict[str, None]] = defaultdict(dict)
    for record in records:
        for name, number in record["provenance"].get("versions", {}).items():
            versions[name][number] = None
    numbers = {name: ", ".join(found) for name, found in versions.items()}
    libraries, fused, plain = _libraries(records), _between_products(records), _plain_steps(records)
    days = sorted(record["started"][:10] for record in records)
    blocks, discarded = int(rounds["blocks"].sum()), int(rounds["discarded"].sum())
    causes = sum(rounds["cause_counts"], Counter[str]())
    why = f" ({', '.join(f'{cause}: {count}' for cause, count in causes.most_common())})" if causes else ""
    shown = {fact: SEPARATOR.join(values) or UNKNOWN for fact, values in seen.items()}
    shown["usable_cores"] += f" of {hardware.get('logical_cpus') or UNKNOWN} logical CPUs"
    seeds = sorted({record["seed"] for record in records}, key=str)
    cpu, cores = (hardware.get(fact, UNKNOWN) for fact in ("cpu", "usable_cores"))
    summary = [cpu, f"{cores} core{'s' * (cores != 1)}", *hardware.get("accelerators", ())]
    parts: dict[str, dict[str, str]] = {
        "summary": {"": ", ".join(filter(None, summary))},
        "hardware": {name: shown[fact] for fact, name in FIELDS.items()},
        "rounds": {
            **{name: shown[fact] for fact, name in OF_ROUNDS.items()},
            **({"devices": SEPARATOR.join(devices)} if (devices := _devices(records)) else {}),
            **({"steps without graphs": SEPARATOR.join(plain)} if plain else {}),
            **({"between products": SEPARATOR.join(fused)} if fused else {}),
            **({"clocks under load": SEPARATOR.join(clocks)} if (clocks := _clocks(records)) else {}),
        },
        "software": numbers | ({"libraries": ", ".join(libraries)} if libraries else {}),
        "measured": {
            "measured": f"{' to '.join(dict.fromkeys([days[0], days[-1]]))} (UTC)" if days else "nothing yet",
            "rounds": str(len(records)),
            "timed blocks": f"{blocks}, of which {discarded} discarded{why}",
            "source": ", ".join(sorted({record["provenance"]["commit"] for record in records})) or "–",
            "seed": ", ".join(map(str, seeds)) or "–",
            **({"price": _say_price(price)} if price else {}),
        },
        "profiles": _profiles(records),
    }
    return [
        {"machine": machine, "part": part, "fact": name, "value": value}
        for part, mine in parts.items()
        for name, value in mine.items()
    ]


def _say_price(price: Price) -> str:
    return f"{price.per_hour:g} {price.currency} an hour ({price.source}, {price.date})"


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


def _devices(records: Iterable[Record]) -> list[str]:
    """What each device was as its processes began: multiprocessors, power limit, driver."""
    found: dict[str, None] = {}
    for record in records:
        told, torch = (record["provenance"].get(name) or {} for name in ("accelerator", "backend"))
        limit, usual = (told.get(f"{which}power_limit_watts") for which in ("", "default_"))
        by_default = f" ({usual:g} W by default)" if usual and usual != limit else ""
        texts = [f"{torch['multiprocessors']} multiprocessors"] if "multiprocessors" in torch else []
        texts += [f"power limit {limit:g} W{by_default}"] if limit else []
        texts += [f"driver {told['driver']}"] if "driver" in told else []
        found |= {f"{told.get('name') or torch.get('accelerator')}: {', '.join(texts)}": None} if texts else {}
    return list(found)


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


def _clocks(records: Iterable[Record]) -> list[str]:
    """At which clock each row on a device ran, and why at no higher one, as the device told after its blocks."""
    rows: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for record in records:
        blocks = (block for case in record["cases"] for block in case["blocks"])
        rows[record["profile"]["label"]] += [block["device"][-1] for block in blocks if block.get("device")]
    lines = []
    for label, told in rows.items():
        clocks, highest, watts, celsius = (
            [one[fact] for one in told if fact in one] for fact in ("sm_mhz", "highest_sm_mhz", "watts", "celsius")
        )
        of = f" of {max(highest):,.0f}" if highest else ""
        ran = [f"ran at {statistics.median(clocks):,.0f}{of} MHz (lowest {min(clocks):,.0f})"] if clocks else []
        seen = {why: sum(bool(reasons_of(one) & bits) for one in told) for bits, why in REASONS.items()}
        why = ", ".join(f"{name} after {count} of {len(told)} blocks" for name, count in seen.items() if count)
        most = [f"at most {max(found):,.0f} {unit}" for found, unit in ((watts, "W"), (celsius, "°C")) if found]
        if text := ", ".join([*ran, *most]):
            lines.append(f"{label} {text}{f': {why}' if why else ''}")
    return lines


def _profiles(records: Iterable[Record]) -> dict[str, str]:
    """Return by label what multiplied on each profile, as the measuring process found it: library, kernel, threads,
    precision and largest error of a checked step; the latest records are at the end."""
    by_profile: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record["provenance"].get("backend"):
            by_profile[record["profile"]["name"]].append(record)
    labels = tell_apart({name: mine[-1]["profile"] for name, mine in by_profile.items()})
    found = {}
    for name, mine in sorted(by_profile.items()):
        backends = [one["provenance"]["backend"] for one in mine]
        cases = [case for one in mine for case in one["cases"]]
        ran = {block["threads_ran"] for case in cases for block in case["blocks"]} - {None}
        errors = [error for case in cases for error in case["errors"].values() if error is not None]
        libraries = (" ".join(str(one[key]) for key in ("library", "version") if key in one) for one in backends)
        kernels = (str(one.get("kernel", one.get("accelerator", ""))) for one in backends)
        texts = [
            " or ".join(dict.fromkeys(libraries)),
            " or ".join(dict.fromkeys(kernels)),
            f"threads: {mine[-1]['threads']} asked, {' or '.join(map(str, sorted(ran))) or 'not seen'} ran",
            mine[-1]["profile"]["precision"],
            f"largest error {max(errors):.0e}" if errors else "",
        ]
        found[labels[name]["label"]] = ", ".join(filter(None, texts))
    return found
