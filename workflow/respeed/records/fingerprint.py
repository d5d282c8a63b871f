"""Which machine it is: a fingerprint of its hardware, beside its readable name."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from respeed.paths import records_folder

# What a kernel leaves of the memory after its own start differs a little from boot to boot.
MEMORY_TOLERANCE = 0.05
HOST = "host"
# The facts that a machine does not change without becoming another one, and what they are called.
FIELDS = {
    "cpu": "CPU",
    "sockets": "sockets",
    "physical_cores": "physical cores",
    "usable_cores": "usable cores",
    "cpu_flags": "vector extensions",
    "memory_bytes": "memory",
    "accelerators": "accelerators",
    HOST: "host",
}


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str | None:
    """The first field in which two machines' facts differ, with both values: "memory, 15.6 GiB, not 23.4 GiB" is what
    `there` has and `here` has not. None if they may be one machine: what only one of them tells is not compared."""
    for field, name in FIELDS.items():
        one, other = there.get(field), here.get(field)
        if one is not None and other is not None and _differ(field, one, other):
            return f"{name}, {show_field(field, one)}, not {show_field(field, other)}"
    return None


def fingerprint_of(described: Mapping[str, Any], made_on: Iterable[tuple[Mapping[str, Any], str]]) -> dict[str, Any]:
    """The fingerprint that a name stands for: the one `described`, or else the one that most records fit, of as many
    the latest.

    `made_on` are the facts of the machine that each record was made on, and when (ISO 8601). What the description does
    not tell (an older one names no host), the records that fit it do, again most of them first: two records that fit
    the result fit each other.
    """
    found: dict[str, tuple[int, str, Mapping[str, Any]]] = {}
    for facts, when in made_on:
        key = repr([facts.get(field) for field in FIELDS])
        count, latest, _ = found.get(key, (0, "", facts))
        found[key] = (count + 1, max(latest, when), facts)
    meant = _told_by(described)
    for _, _, facts in sorted(found.values(), key=lambda one: (_fitting(one[2], found.values()), one[1]), reverse=True):
        if difference(facts, meant) is None:
            meant = _told_by(facts) | meant
    return meant


def _fitting(facts: Mapping[str, Any], found: Iterable[tuple[int, str, Mapping[str, Any]]]) -> int:
    """How many records fit these facts: they are seldom equal, as no boot leaves just as much memory."""
    return sum(count for count, _, other in found if difference(other, facts) is None)


def _told_by(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {field: facts[field] for field in FIELDS if facts.get(field) is not None}


def _differ(field: str, one: Any, other: Any) -> bool:
    if field == "memory_bytes":
        return bool(abs(one - other) > MEMORY_TOLERANCE * max(one, other))
    return bool(one != other)


def show_field(field: str, value: Any) -> str:
    """A field's value as text."""
    if field == "memory_bytes":
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return str(value)


def name_of(hardware: Mapping[str, Any], but: str, described: Mapping[str, Mapping[str, Any]]) -> str:
    """The name, other than `but`, under which the very host of these facts is among those `described`; empty if under
    none."""
    if not hardware.get(HOST):
        return ""
    alike = (name for name, other in described.items() if name != but and other.get(HOST) == hardware[HOST])
    return next((name for name in alike if not difference(hardware, described[name])), "")


# Of a host's mark: enough to tell a handful of machines of one kind apart, in this folder and in others.
_MARK_LETTERS = 4
_LONGEST = 64


def free_name(machine: str, host: str | None) -> str:
    """A name like this one under which nothing lies, neither measured nor by the smoke preset: with the first letters
    of the host's mark, or else with a number."""
    marks = [host[:_MARK_LETTERS]] if host else []
    endings = itertools.chain(marks, map(str, itertools.count(2)))
    names = (f"{machine[: _LONGEST - 1 - len(ending)]}-{ending}" for ending in endings)
    return next(name for name in names if not any((records_folder(smoke) / name).exists() for smoke in (False, True)))
