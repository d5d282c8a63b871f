"""One file of a bundle: read, checked, and summed up, so that a bundle of any size is never held whole."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from respeed.bundle import shapes
from respeed.bundle.layout import Kind, Place, shown
from respeed.bundle.plain import parse_plain
from respeed.bundle.shape import misfit
from respeed.bundle.told import check_price
from respeed.bundle.whole import alike_pictures, odd_case
from respeed.model.errors import UserError
from respeed.record.check import check_record
from respeed.record.files import json_text
from respeed.record.hardware import check_hardware

_SHAPES = {
    Kind.RECORD: shapes.RECORD,
    Kind.LEARNING: shapes.LEARNING,
    Kind.DESCRIPTION: shapes.DESCRIPTION,
    Kind.SHEET: shapes.SHEET,
    Kind.SESSION: shapes.SESSION,
}
_CHECKS = {Kind.RECORD: check_record, Kind.SHEET: check_hardware}


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
    if check := _CHECKS.get(place.kind):
        check(value, where)
    if found := misfit(value, _SHAPES[place.kind]):
        raise UserError(f"{where}: {found} is missing, or not what a {place.kind} says there")
    _check_place(place, value, smoke, where)
    if found := odd_case(place.kind, value):
        raise UserError(f"{where}: the case {shown(found)} is not whole")
    if place.kind is Kind.LEARNING and not alike_pictures(value):
        raise UserError(f"{where}: the pictures of a program are of several sizes")
    measurement = ("", "")
    if place.kind is Kind.RECORD:
        measurement = (value["digest"], str(value["provenance"].get("backend", {}).get("package", "")))
    return Item(place, place.path, content_of(value), value.get("started", ""), _facts(value), measurement)


def _check_place(place: Place, value: Mapping[str, Any], smoke: bool, where: str) -> None:
    """UserError unless the file says that it belongs where it lies."""
    told = value.get("id", value)
    if told["machine"] != place.machine:
        raise UserError(f"{where}: is of the machine {told['machine']}")
    if told.get("smoke", smoke) != smoke:
        raise UserError(f"{where}: is of the {'real' if smoke else 'smoke'} kind")
    keys: tuple[Any, ...] = tuple(told[key] for key in ("paper", "experiment", "profile")[: len(place.folders)])
    stands: tuple[Any, ...] = place.folders
    if place.kind is Kind.RECORD:
        keys += (told["index"], told["whole"], value["profile"]["name"])
        stands += (place.number, place.is_whole, place.folders[-1])
    if keys != stands:
        raise UserError(f"{where}: was made for another place")


def _facts(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a file says of its machine's hardware."""
    return value.get("hardware") or value.get("provenance", {}).get("machine") or {}


def parse(place: Place, data: bytes, where: str) -> Any:
    """What a file says: a price's text, or the value of its JSON."""
    if place.kind is Kind.TOLD:
        return check_price(place.machine, data, where)
    return parse_plain(data, where)


def text_of(value: Any) -> str:
    """A file's text as respeed writes it."""
    return value if isinstance(value, str) else json_text(value)


def content_of(value: Any) -> str:
    """A checksum of what a file says, but for its machine's name and its number."""
    nameless = _say(value, "", 0) if isinstance(value, dict) else value
    return hashlib.sha256(json.dumps(nameless, sort_keys=True).encode()).hexdigest()


def renamed(place: Place, value: Any) -> Any:
    """What a file says, as it must stand at `place`: under that machine's name and number."""
    return _say(value, place.machine, place.number) if isinstance(value, dict) else value


def _say(value: dict[str, Any], machine: str, number: int | None) -> dict[str, Any]:
    if isinstance(made := value.get("id"), dict):
        return value | {"id": made | {"machine": machine} | ({} if number is None else {"index": number})}
    said = value | {"machine": machine}
    # A hardware sheet has rounds of its own, whose numbers say their order in it.
    if isinstance(rounds := value.get("rounds"), list):
        said["rounds"] = [_say(one, machine, None) for one in rounds]
    return said
