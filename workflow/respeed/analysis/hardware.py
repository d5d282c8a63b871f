"""The facts of each machine, from its description and its records: facts.csv."""

import functools
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from respeed.analysis.cells import tell_apart
from respeed.inputs.machines import Price
from respeed.machine import FIELDS, show_field
from respeed.protocol import REASONS, reasons_of
from respeed.records import Description, Record

# Facts that may change from round to round on the same machine.
OF_ROUNDS = {
    "cpu_quota": "CPU quota",
    "frequency_governor": "CPU governor",
    "accelerator_driver": "accelerator's driver",
    "system": "system",
}
# Separates the values of a fact; a comma would not do, since some values are lists with commas.
SEPARATOR, UNKNOWN = "; ", "unknown"


def describe_machine(
    machine: str,
    records: Sequence[Record],
    rounds: pd.DataFrame,
    description: Description | None,
    price: Price | None = None,
) -> list[dict[str, str]]:
    """Return a machine's rows of facts.csv; without records, from the machine's description alone.

    `records` are in order of time, and `rounds` are made from them. A fact that differs between processes is shown with
    all its values.
    """
    facts = [record.start.machine.model_dump() for record in records]
    facts = facts or ([description.hardware.model_dump()] if description else [])
    hardware = facts[-1]
    shown = {fact: SEPARATOR.join(_values(fact, facts)) for fact in (*FIELDS, *OF_ROUNDS)}
    versions: dict[str, dict[str, None]] = defaultdict(dict)
    for record in records:
        for name, number in record.start.versions.items():
            versions[name][number] = None
    numbers = {name: ", ".join(found) for name, found in versions.items()}
    libraries, fused, plain = _libraries(records), _between_products(records), _plain_steps(records)
    days = sorted(record.start.started[:10] for record in records)
    blocks, discarded = int(rounds["blocks"].sum()), int(rounds["discarded"].sum())
    causes = sum(rounds["cause_counts"], Counter[str]())
    why = f" ({', '.join(f'{cause}: {count}' for cause, count in causes.most_common())})" if causes else ""
    shown["usable_cores"] += f" of {hardware['logical_cpus'] or UNKNOWN} logical CPUs"
    cores = hardware["usable_cores"]
    summary = [hardware["cpu"], f"{cores} core{'s' * (cores != 1)}", *hardware["accelerators"]]
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
            "processes": str(len(records)),
            "timed blocks": f"{blocks}, of which {discarded} discarded{why}",
            "source": ", ".join(sorted({record.start.commit for record in records})) or "–",
            "seed": ", ".join(map(str, sorted({record.start.seed for record in records}))) or "–",
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


def _values(fact: str, facts: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the distinct values of a fact, as texts.

    Values with the same text count as one: the memory that the kernel reports differs by some bytes from boot to boot.
    """
    absent = UNKNOWN if fact in FIELDS else "none"
    show = "{:g} CPUs".format if fact == "cpu_quota" else functools.partial(show_field, fact)
    return list(dict.fromkeys(absent if one[fact] is None else show(one[fact]) for one in facts))


def _libraries(records: Iterable[Record]) -> list[str]:
    """Return the libraries that multiplied or shared work among threads, such as openblas 0.3.30 (SkylakeX)."""
    found = set()
    for record in records:
        for library in record.start.libraries:
            kernel = f"({library.architecture})" if library.architecture else ""
            named = (library.internal_api or "unknown", library.version, kernel)
            found.add(" ".join(filter(None, named)))
    return sorted(found)


def _devices(records: Iterable[Record]) -> list[str]:
    """Return each device's multiprocessors, power limit and driver, as found when a process started."""
    found: dict[str, None] = {}
    for device, torch in ((record.start.accelerator, record.start.backend) for record in records):
        texts = [f"{torch.multiprocessors} multiprocessors"] if torch and torch.multiprocessors else []
        if device and device.power_limit_watts:
            usual = device.default_power_limit_watts
            by_default = f" ({usual:g} W by default)" if usual and usual != device.power_limit_watts else ""
            texts.append(f"power limit {device.power_limit_watts:g} W{by_default}")
        texts += [f"driver {device.driver}"] if device and device.driver else []
        name = (device and device.name) or (torch and torch.accelerator)
        found |= {f"{name}: {', '.join(texts)}": None} if texts else {}
    return list(found)


def _plain_steps(records: Iterable[Record]) -> list[str]:
    """Return the cases whose steps could not be captured as a graph and ran operation by operation, with the reason."""
    cases: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for record in records:
        for result in record.results:
            if why := result.graphs:
                sizes = " x ".join(str(one) for one in result.parameters.values() if isinstance(one, int))
                cases[record.start.profile.label, why][f"{result.workload} {sizes}".strip()] = None
    return [f"{label}, {', '.join(found)}: {why}" for (label, why), found in cases.items()]


def _between_products(records: Iterable[Record]) -> list[str]:
    """Return, for each row on a device, the compiler that fused the work between matrix products, or why none did."""
    found: dict[str, None] = {}
    for record in records:
        fused_by = record.start.backend and record.start.backend.elementwise
        if fused_by and fused_by != "torch":  # where nothing could be fused, there is nothing to say
            found[f"{record.start.profile.label}: {fused_by}"] = None
    return list(found)


def _clocks(records: Iterable[Record]) -> list[str]:
    """Return each device row's clock, why it was not higher, and the highest power and temperature, after blocks."""
    rows: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for record in records:
        blocks = (block for result in record.results for block in result.blocks)
        rows[record.start.profile.label] += [block.device[-1] for block in blocks if block.device]
    lines = []
    for label, readings in rows.items():
        clocks, highest, watts, celsius = (
            [one[fact] for one in readings if fact in one] for fact in ("sm_mhz", "highest_sm_mhz", "watts", "celsius")
        )
        of = f" of {max(highest):,.0f}" if highest else ""
        ran = [f"ran at {statistics.median(clocks):,.0f}{of} MHz (lowest {min(clocks):,.0f})"] if clocks else []
        seen = {why: sum(bool(reasons_of(one) & bits) for one in readings) for bits, why in REASONS.items()}
        why = ", ".join(f"{name} after {count} of {len(readings)} blocks" for name, count in seen.items() if count)
        most = [f"at most {max(found):,.0f} {unit}" for found, unit in ((watts, "W"), (celsius, "°C")) if found]
        if text := ", ".join([*ran, *most]):
            lines.append(f"{label} {text}{f': {why}' if why else ''}")
    return lines


def _profiles(records: Iterable[Record]) -> dict[str, str]:
    """Return the software of each profile by label, as the measuring processes found it.

    The text has the library, kernel, threads, precision and the largest error of a checked step. The label, the threads
    asked for and the precision are from the last record.
    """
    by_profile: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.start.backend:
            by_profile[record.profile].append(record)
    labels = tell_apart({name: mine[-1].start.profile.label for name, mine in by_profile.items()})
    found = {}
    for name, mine in sorted(by_profile.items()):
        backends = [one.start.backend for one in mine if one.start.backend]
        results = [result for one in mine for result in one.results]
        ran = {block.threads_ran for result in results for block in result.blocks if block.threads_ran is not None}
        errors = [error for result in results for error in result.errors.values() if error is not None]
        libraries = (" ".join(filter(None, (one.library, one.version))) for one in backends)
        kernels = (one.kernel or one.accelerator or "" for one in backends)
        texts = [
            " or ".join(dict.fromkeys(libraries)),
            " or ".join(dict.fromkeys(kernels)),
            f"threads: {mine[-1].start.threads} asked, {' or '.join(map(str, sorted(ran))) or 'not seen'} ran",
            mine[-1].start.profile.precision,
            f"largest error {max(errors):.0e}" if errors else "",
        ]
        found[labels[name]] = ", ".join(filter(None, texts))
    return found
