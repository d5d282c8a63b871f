"""manifest.json, a bundle's first member: which version wrote it, of which machines, and what every other member is."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from respeed.bundle.limits import check_machines
from respeed.bundle.plain import parse_plain
from respeed.errors import UserError
from respeed.paths import check_name
from respeed.records.layout import place_of, shown
from respeed.records.shape import Every, flag, like, misfit, text, whole
from respeed.records.shapes import FINGERPRINT

SCHEMA = 1
_ENTRY = {"path": text, "size": whole(1), "sha256": like("[0-9a-f]{64}")}
_SHAPE = {
    "schema": whole(1),
    "respeed": text,
    "smoke": flag,
    "machines": Every(FINGERPRINT, least=1, keyed=True),
    "members": Every(_ENTRY, least=1),
}


@dataclass(frozen=True)
class Member:
    """A file of a bundle; `size` in bytes."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """`machines` has the fingerprint of each, as far as its records tell it."""

    respeed: str
    smoke: bool
    machines: Mapping[str, Mapping[str, Any]]
    members: tuple[Member, ...]

    @cached_property
    def _by_path(self) -> dict[str, Member]:
        return {member.path: member for member in self.members}

    def member(self, path: str) -> Member:
        return self._by_path[path]

    def facts(self) -> dict[str, Any]:
        return {"schema": SCHEMA} | asdict(self)


def read_manifest(data: bytes, where: str) -> Manifest:
    """The manifest; UserError if it is none, or tells of a member that a bundle may not have."""
    facts = parse_plain(data, f"{where}: manifest.json")
    schema = facts.get("schema") if isinstance(facts, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise UserError(f"{where}: is a bundle of schema {schema}, this version reads {SCHEMA}; update respeed")
    if (found := misfit(facts, _SHAPE)) or schema != SCHEMA:
        raise UserError(f"{where}: manifest.json: {found or 'schema'} is missing or not as respeed export writes it")
    members = tuple(Member(one["path"], one["size"], one["sha256"]) for one in facts["members"])
    check_machines(len(facts["machines"]), where, "have them exported in several bundles")
    machines = {check_name("machine", name, f"{where}: manifest.json") for name in facts["machines"]}
    for member in members:
        place = place_of(member.path)
        if place is None:
            raise UserError(f"{where}: {shown(member.path)} is nothing that a bundle may have")
        if place.machine not in machines:
            raise UserError(f"{where}: {member.path}: the manifest tells of no machine {place.machine!r}")
    if idle := machines - {member.path.split("/")[1] for member in members}:
        raise UserError(f"{where}: manifest.json: there is nothing of the machine {min(idle)!r}")
    return Manifest(facts["respeed"], facts["smoke"], facts["machines"], members)
