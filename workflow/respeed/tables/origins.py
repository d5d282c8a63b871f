"""What each machine is, and with what its records were made, a row a machine: results/tables/hardware.csv."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from respeed.analysis.labels import tell_apart
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.records.fingerprint import FIELDS
from respeed.records.models import is_checked, made_on
from respeed.tables.round_facts import (
    OF_ROUNDS,
    SEPARATOR,
    all_written,
    between_products_of,
    libraries_of,
    plain_steps_of,
    values_of,
    versions_of,
)

COLUMNS = (
    "machine", "cpu", "usable_cores", "accelerators", "memory_bytes", "system", "first_day", "last_day", "rounds",
    "blocks", "discarded", "sockets", "physical_cores", "cpu_flags", "host", "accelerator_driver",
    "frequency_governor", "software", "loaded", "without_graphs", "elementwise",
)  # fmt: skip


@dataclass(frozen=True)
class Backend:
    """What multiplied on a profile, as the measuring process found it; `ran` are the numbers of threads that did,
    `error` is the largest against float64 of any array of any case, over the array's largest value."""

    profile: str
    label: str
    library: str
    kernel: str
    threads: int
    ran: tuple[int, ...]
    precision: str
    error: float | None


@dataclass(frozen=True)
class Origin:
    """One machine; what older records do not tell of it is empty. Days are of UTC, None where there are no records;
    `rounds` counts these.

    `software` are the versions of packages, `loaded` the libraries that multiply, `without_graphs` the rows and cases
    whose steps could not be captured, with the reason, `elementwise` the rows of GPUs with what fuses the work between
    products, or why nothing does.
    What differs from round to round has all values that occurred, with semicolons between them.
    Not in the file: `hardware` (all facts as they were last), `seen` (all values of those that are shown), `commits`,
    `seeds`, `unchecked` (the number of records without a checksum), `versions` (by package), `libraries`,
    `plain_steps`, `between_products`, `backends` (by profile) and `causes`, for which blocks were discarded.
    """

    machine: str
    hardware: Mapping[str, Any]
    seen: Mapping[str, tuple[Any, ...]]
    first_day: str | None
    last_day: str | None
    rounds: int
    unchecked: int
    blocks: int
    discarded: int
    causes: Counter[str]
    commits: tuple[str, ...]
    seeds: tuple[int, ...]
    versions: Mapping[str, tuple[str, ...]]
    libraries: tuple[str, ...]
    plain_steps: tuple[str, ...]
    between_products: tuple[str, ...]
    backends: tuple[Backend, ...]

    @property
    def cpu(self) -> str:
        return str(self.hardware.get("cpu", ""))

    @property
    def usable_cores(self) -> int | None:
        return self.hardware.get("usable_cores")

    @property
    def accelerators(self) -> str:
        return ", ".join(self.hardware.get("accelerators", ()))

    @property
    def memory_bytes(self) -> int | str:
        values = self.seen["memory_bytes"]
        return int(values[0]) if len(values) == 1 else SEPARATOR.join(map(str, values))

    @property
    def system(self) -> str:
        return self.written("system")

    @property
    def sockets(self) -> int | None:
        return self.hardware.get("sockets")

    @property
    def physical_cores(self) -> int | None:
        return self.hardware.get("physical_cores")

    @property
    def cpu_flags(self) -> str:
        return " ".join(self.hardware.get("cpu_flags", ()))

    @property
    def host(self) -> str:
        return self.written("host")

    @property
    def accelerator_driver(self) -> str:
        return self.written("accelerator_driver")

    @property
    def frequency_governor(self) -> str:
        return self.written("frequency_governor")

    @property
    def software(self) -> str:
        return SEPARATOR.join(f"{name} {', '.join(numbers)}" for name, numbers in self.versions.items())

    @property
    def loaded(self) -> str:
        return SEPARATOR.join(self.libraries)

    @property
    def without_graphs(self) -> str:
        return SEPARATOR.join(self.plain_steps)

    @property
    def elementwise(self) -> str:
        return SEPARATOR.join(self.between_products)

    def written(self, fact: str) -> str:
        """All values of a fact as text; empty if the system has none, or nothing tells it."""
        values = self.seen.get(fact, ())
        return all_written(fact, values) if any(value is not None for value in values) else ""


def describe_origin(
    machine: str,
    records: list[dict[str, Any]],
    rounds: Mapping[CellKey, CellRounds],
    sheet: Mapping[str, Any] | None,
) -> Origin:
    """The origin of one machine's records, of which `rounds` were collected; where there are none, its sheet's."""
    records = sorted(records, key=lambda record: (record["started"], record["id"]["profile"]))
    described = (sheet or {}).get("hardware") or {}
    facts = [found for record in records if (found := made_on(record))] or [described]
    hardware = {**described, **facts[-1]}
    days = sorted(record["started"][:10] for record in records)
    return Origin(
        machine=machine,
        hardware=hardware,
        seen={fact: values_of(fact, facts) or values_of(fact, [hardware]) for fact in (*FIELDS, *OF_ROUNDS)},
        first_day=days[0] if days else None,
        last_day=days[-1] if days else None,
        rounds=len(records),
        unchecked=sum(not is_checked(record) for record in records),
        blocks=sum(cell.blocks for cell in rounds.values()),
        discarded=sum(cell.discarded for cell in rounds.values()),
        causes=sum((cell.causes for cell in rounds.values()), Counter[str]()),
        commits=tuple(sorted({record["provenance"]["commit"] for record in records})),
        seeds=tuple(sorted({record["seed"] for record in records}, key=str)),
        versions=versions_of(records),
        libraries=libraries_of(records),
        plain_steps=plain_steps_of(records),
        between_products=between_products_of(records),
        backends=_backends(records),
    )


UNKNOWN = "unknown"


def facts_of(origin: Origin) -> list[dict[str, str]]:
    """Rows of facts.csv about one machine, in the order of the report."""
    hardware, days = origin.hardware, [day for day in (origin.first_day, origin.last_day) if day]
    accelerators = ", ".join(hardware.get("accelerators", ())) or "no accelerator"
    seen = {fact: all_written(fact, origin.seen.get(fact, ())) or UNKNOWN for fact in (*FIELDS, *OF_ROUNDS)}
    seen["usable_cores"] += f" of {hardware.get('logical_cpus') or UNKNOWN} logical CPUs"
    discarded = f"{origin.discarded} discarded"
    if origin.causes:
        discarded += f" ({', '.join(f'{cause}: {count}' for cause, count in origin.causes.most_common())})"
    unchecked = f", of which {origin.unchecked} without a checksum: nothing tells whether they were changed"
    parts = {
        "summary": {
            "": f"{hardware.get('cpu', UNKNOWN)}, {hardware.get('usable_cores', UNKNOWN)} usable cores, {accelerators}"
        },
        "hardware": {name: seen[fact] for fact, name in FIELDS.items()},
        "rounds": {name: seen[fact] for fact, name in OF_ROUNDS.items()}
        | ({"steps without graphs": origin.without_graphs} if origin.plain_steps else {})
        | ({"between products": origin.elementwise} if origin.between_products else {}),
        "software": {name: ", ".join(numbers) for name, numbers in origin.versions.items()}
        | ({"libraries": ", ".join(origin.libraries)} if origin.libraries else {}),
        "measured": {
            "measured": f"{' to '.join(dict.fromkeys(days))} (UTC)" if days else "nothing yet",
            "rounds": f"{origin.rounds}{unchecked if origin.unchecked else ''}",
            "timed blocks": f"{origin.blocks}, of which {discarded}",
            "source": ", ".join(origin.commits) or "–",
            "seed": ", ".join(map(str, origin.seeds)) or "–",
        },
    }
    return [
        {"machine": origin.machine, "part": part, "fact": name, "value": value}
        for part, facts in parts.items()
        for name, value in facts.items()
    ]


def backends_of(origin: Origin) -> list[dict[str, Any]]:
    """Rows of backends.csv about one machine."""
    return [
        {"machine": origin.machine, "threads_ran": " or ".join(map(str, one.ran)), **vars(one)}
        for one in origin.backends
    ]


def _backends(records: Iterable[dict[str, Any]]) -> tuple[Backend, ...]:
    by_profile: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        if record["provenance"].get("backend"):
            by_profile.setdefault(record["profile"]["name"], []).append(record)
    found = {name: _backend(records) for name, records in by_profile.items()}
    labels = tell_apart({name: {"label": backend.label} for name, backend in found.items()})
    return tuple(replace(found[name], label=labels[name]["label"]) for name in sorted(found))


def _backend(records: list[dict[str, Any]]) -> Backend:
    """What multiplied on a profile; `records` are all of it, the latest at the end."""
    found = [record["provenance"]["backend"] for record in records]
    errors = [error for one in records for case in one["cases"] for error in case["errors"].values()]
    blocks = [block for one in records for case in one["cases"] for block in case["blocks"]]
    profile = records[-1]["profile"]
    return Backend(
        profile=profile["name"],
        label=profile["label"],
        library=_or(" ".join(str(one[key]) for key in ("library", "version") if key in one) for one in found),
        kernel=_or(str(one.get("kernel", one.get("accelerator", "–"))) for one in found),
        threads=records[-1]["threads"],
        ran=tuple(sorted({block["threads_ran"] for block in blocks} - {None})),
        precision=profile["precision"],
        error=max((error for error in errors if error is not None), default=None),
    )


def _or(texts: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(texts))
