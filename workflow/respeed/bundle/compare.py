"""Why two records of one cell are of different measurements, and never pool."""

from collections.abc import Iterator, Mapping
from typing import Any

# What a profile is called decides no measurement (plan/spec.py).
_WORDS = {"label", "package", "architecture", "optional", "price_per_hour"}


def why_apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The first thing in which they differ, such as "seed 7, not 2009": `one` has what stands first."""
    there, here = dict(_decisive(one)), dict(_decisive(other))
    for name, value in there.items():
        if name in here and here[name] != value:
            return f"{name} {value}, not {here[name]}"
    return "other cases in the table"


def _decisive(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What decides a measurement, by names that people know; the most telling first."""
    profile = record["profile"]
    for key in ("precision", *sorted(profile.keys() - _WORDS - {"precision"})):
        yield (key if key == "precision" else f"profile.{key}"), profile[key]
    yield "threads", record["threads"]
    yield "seed", record["seed"]
    for key, value in sorted(record["timing"].items()):
        yield f"timing.{key}", value
    for case in record["cases"]:
        for key, value in sorted(case["parameters"].items()):
            yield f"{case['case']} {case['workload']} {key}", value
    if package := record["provenance"].get("backend", {}).get("package"):
        yield "library", package
