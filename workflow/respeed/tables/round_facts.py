"""Facts that may differ from round to round on one machine: all values that occurred, the first one first."""

from collections.abc import Iterable, Mapping
from typing import Any

from respeed.records.fingerprint import show_field

# What may be another from round to round without the machine being another.
OF_ROUNDS = {
    "cpu_quota": "CPU quota",
    "frequency_governor": "CPU governor",
    "accelerator_driver": "accelerator's driver",
    "system": "system",
}
# Between values: some of them are lists with commas.
SEPARATOR = "; "


def values_of(fact: str, facts: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    """The distinct values of a fact. Those that are written alike are one: what a kernel leaves of the memory
    after its own start differs by some bytes from boot to boot."""
    found: dict[str, Any] = {}
    for one in facts:
        if fact in one:
            found.setdefault(written(fact, one[fact]), one[fact])
    return tuple(found.values())


def all_written(fact: str, values: Iterable[Any]) -> str:
    """All values of a fact for people; empty if nothing tells it."""
    return SEPARATOR.join(written(fact, value) for value in values)


def written(fact: str, value: Any) -> str:
    if value is None:
        return "none"
    if fact == "cpu_quota":
        return f"{value:g} CPUs"
    return show_field(fact, value)


def versions_of(records: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """The versions of each package."""
    versions: dict[str, dict[str, None]] = {}
    for record in records:
        for name, number in record["provenance"].get("versions", {}).items():
            versions.setdefault(name, {})[number] = None
    return {name: tuple(numbers) for name, numbers in versions.items()}


def plain_steps_of(records: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Whose steps a device ran operation by operation, since they could not be captured as a graph, and why."""
    cases: dict[tuple[str, str], dict[str, None]] = {}
    for record in records:
        for case in record["cases"]:
            if told := case.get("graphs"):
                where = f"{record['id']['experiment']} {case['case']}"
                cases.setdefault((record["profile"]["label"], str(told)), {})[where] = None
    return tuple(f"{label}, {', '.join(found)}: {told}" for (label, told), found in cases.items())


def between_products_of(records: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """What fused the work between products on each row of a device, or why nothing did; more than one where rounds
    differ."""
    found: dict[str, None] = {}
    for record in records:
        told = (record["provenance"].get("backend") or {}).get("elementwise", "torch")
        if told != "torch":  # where nothing could be fused, nothing is to be told
            found[f"{record['profile']['label']}: {told}"] = None
    return tuple(found)


def libraries_of(records: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The libraries that multiplied, or shared the work among threads: openblas 0.3.30 (SkylakeX)."""
    found: dict[str, None] = {}
    for record in records:
        for library in record["provenance"].get("libraries") or []:
            kernel = f" ({library['architecture']})" if library.get("architecture") else ""
            version = f" {library['version']}" if library.get("version") else ""
            found[f"{library.get('internal_api', 'unknown')}{version}{kernel}"] = None
    return tuple(sorted(found))
