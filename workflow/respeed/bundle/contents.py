"""One file of a bundle: read, checked, and summed up, so that a bundle of any size is never held whole."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from respeed.bundle.plain import parse_plain
from respeed.bundle.told import check_price
from respeed.model.errors import UserError
from respeed.record.check import check_kind, check_place
from respeed.record.checksum import KEY, resealed
from respeed.record.files import json_text
from respeed.record.layout import Kind, Place

# What a machine's own folder may lack, in older records; what somebody sends has to say which machine it is of.
_TOLD = (
    "cpu", "usable_cores", "cpu_flags", "memory_bytes", "accelerators", "logical_cpus", "cpu_quota", "system",
)  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A file that is right.

    `source` is its path in the bundle; `content` a checksum of what it says, whatever its machine is called and its
    number is; `started` is empty where it has no date. `facts` are what it says of the machine, `measurement` what
    tells rounds that must not pool apart: digest and library.
    """

    place: Place
    source: str
    content: str
    started: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    measurement: tuple[str, str] = ("", "")


def check_item(place: Place, data: bytes, smoke: bool, where: str) -> Item:
    """The file's item; UserError, one line that begins with `where`, if it is not what its place says."""
    value = parse(place, data, where)
    if place.kind is Kind.TOLD:
        return Item(place, place.path, content_of(value))
    check_kind(place.kind, value, where)
    check_place(place, value, smoke, where)
    if missing := _untold(place.kind, value):
        raise UserError(f"{where}: tells no {missing}, and would pass for any machine's")
    measurement = ("", "")
    if place.kind is Kind.RECORD:
        measurement = (value["digest"], str(value["provenance"].get("backend", {}).get("package", "")))
    return Item(place, place.path, content_of(value), value.get("started", ""), _facts(value), measurement)


def _facts(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a file says of its machine's hardware."""
    return value.get("hardware") or value.get("provenance", {}).get("machine") or {}


def _untold(kind: Kind, value: Mapping[str, Any]) -> str | None:
    """The first fact that a file should tell of its machine, and does not; None if it tells all, or is of none."""
    if kind is Kind.DESCRIPTION and (missing := {"machine", "not_measurable"} - value.keys()):
        return min(missing)
    facts = value.get("hardware") if kind is Kind.DESCRIPTION else value.get("provenance", {}).get("machine")
    return None if facts is None else next((field for field in _TOLD if field not in facts), None)


def parse(place: Place, data: bytes, where: str) -> Any:
    """What a file says: a price's text, or the value of its JSON."""
    if place.kind is Kind.TOLD:
        return check_price(place.machine, data, where)
    return parse_plain(data, where)


def text_of(value: Any) -> str:
    """A file's text as respeed writes it."""
    return value if isinstance(value, str) else json_text(value)


def content_of(value: Any) -> str:
    """A checksum of what a file says, but for its machine's name, its number, and its own checksum over these."""
    nameless = _say({key: one for key, one in value.items() if key != KEY}, "", 0) if isinstance(value, dict) else value
    return hashlib.sha256(json.dumps(nameless, sort_keys=True).encode()).hexdigest()


def renamed(place: Place, value: Any) -> Any:
    """What a file says, as it must stand at `place`: under that machine's name and number."""
    return resealed(value, _say(value, place.machine, place.number)) if isinstance(value, dict) else value


def _say(value: dict[str, Any], machine: str, number: int | None) -> dict[str, Any]:
    if isinstance(made := value.get("id"), dict):
        return value | {"id": made | {"machine": machine} | ({} if number is None else {"index": number})}
    said = value | {"machine": machine}
    # A hardware sheet has rounds of its own, whose numbers say their order in it.
    if isinstance(rounds := value.get("rounds"), list):
        said["rounds"] = [_say(one, machine, None) for one in rounds]
    return said
