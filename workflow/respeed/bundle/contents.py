"""One file of a bundle: read, checked, and summed up, so that a bundle of any size is never held whole."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from respeed.bundle.plain import parse_plain
from respeed.bundle.told import check_price
from respeed.errors import UserError
from respeed.machine.software import library_name, telling_environment
from respeed.records.check import check_kind, check_place
from respeed.records.checksum import KEY, canonical, is_checked, resealed
from respeed.records.files import json_text
from respeed.records.layout import Kind, Place

# What a machine's own folder may lack, in older records; what somebody sends has to say which machine it is of.
_TOLD = (
    "cpu", "usable_cores", "cpu_flags", "memory_bytes", "accelerators", "logical_cpus", "cpu_quota", "system",
)  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A file that is right.

    `source` is its path in the bundle, `sha256` that of its bytes; two of the same `content` say the same (content_of).
    `started` is empty where it has no date. `facts` are what it says of the machine, `measurement` what tells rounds
    that must not pool apart: digest and library. A price needs no checksum.
    """

    place: Place
    source: str
    sha256: str
    content: str
    started: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    measurement: tuple[str, str] = ("", "")
    has_checksum: bool = True


def check_item(place: Place, data: bytes, smoke: bool, where: str) -> Item:
    """The file's item; UserError, one line that begins with `where`, if it is not what its place says."""
    value, sha256 = parse(place, data, where), hashlib.sha256(data).hexdigest()
    if place.kind is Kind.TOLD:
        return Item(place, place.path, sha256, content_of(place, value))
    check_kind(place.kind, value, where)
    check_place(place, value, smoke, where)
    if missing := _untold(place.kind, value):
        raise UserError(f"{where}: tells no {missing}, and would pass for any machine's")
    measurement = ("", "")
    if place.kind is Kind.RECORD:
        measurement = (value["digest"], str(value["provenance"].get("backend", {}).get("package", "")))
    started, facts = value.get("started", ""), _facts(place.kind, value) or {}
    return Item(place, place.path, sha256, content_of(place, value), started, facts, measurement, is_checked(value))


def _facts(kind: Kind, value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a file says of its machine's hardware; None if nothing."""
    facts: Mapping[str, Any] | None = None
    if kind is Kind.DESCRIPTION:
        facts = value["hardware"]
    elif kind in (Kind.RECORD, Kind.SHEET):
        facts = value["provenance"].get("machine")
    return facts


def _untold(kind: Kind, value: Mapping[str, Any]) -> str | None:
    """The first fact that a file should tell of its machine, and does not; None if it tells all, or is of none."""
    if kind is Kind.DESCRIPTION and (missing := {"machine", "not_measurable"} - value.keys()):
        return min(missing)
    facts = _facts(kind, value)
    return None if facts is None else next((field for field in _TOLD if field not in facts), None)


def parse(place: Place, data: bytes, where: str) -> Any:
    """What a file says: a price's text, or the value of its JSON."""
    if place.kind is Kind.TOLD:
        return check_price(place.machine, data, where)
    return parse_plain(data, where)


def text_of(value: Any) -> str:
    """A file's text as respeed writes it."""
    return value if isinstance(value, str) else json_text(value)


def content_of(place: Place, value: Any) -> str:
    """Two files have the same content, a SHA-256, if they say the same but for their machine's name, their number, and
    their checksum over these."""
    if isinstance(value, dict):
        value = canonical(_say(place.kind, {key: one for key, one in value.items() if key != KEY}, "", 0))
    return hashlib.sha256(value.encode()).hexdigest()


def renamed(place: Place, value: Any) -> Any:
    """What a file says, as it must stand at `place`: under that machine's name and number, and without what earlier
    versions kept of the environment. A new checksum stands where the old one held."""
    if not isinstance(value, dict):
        return value
    said = _say(place.kind, value, place.machine, place.number)
    return value if said == value else resealed(value, said)


def _say(kind: Kind, value: dict[str, Any], machine: str, number: int | None) -> dict[str, Any]:
    if kind is Kind.RECORD:
        said = value | {"id": value["id"] | {"machine": machine} | ({} if number is None else {"index": number})}
        return said | {"provenance": _without_names(said["provenance"])}
    said = value | {"machine": machine}
    # A hardware sheet has rounds of its own, whose numbers say their order in it.
    if kind is Kind.SHEET:
        said["rounds"] = [_say(Kind.RECORD, one, machine, None) for one in value["rounds"]]
        said["provenance"] = _without_names(said["provenance"])
    return said


def _without_names(provenance: dict[str, Any]) -> dict[str, Any]:
    """The same as a record is written today: of the environment what steers a measurement, of libraries their names.
    Earlier versions kept all variables of some families, with names of hosts and networks among them."""
    kept = dict(provenance)
    if isinstance(environment := kept.get("environment"), dict):
        kept["environment"] = telling_environment(environment)
    if "libraries" in kept:
        kept["libraries"] = [
            one | {"file": library_name(one["file"])} if isinstance(one.get("file"), str) else one
            for one in kept["libraries"]
        ]
    return kept
