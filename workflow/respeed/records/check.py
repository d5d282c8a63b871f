"""Is it what it should be? Checked wherever a file is read: one of ours, or one that somebody sent."""

from collections.abc import Mapping
from typing import Any

from respeed.errors import UserError
from respeed.records.checksum import check_checksum
from respeed.records.layout import Kind, Place
from respeed.records.shape import misfit
from respeed.records.shapes import SCHEMAS, SHAPES
from respeed.records.texts import printable_texts
from respeed.records.whole import what_is_odd


def check_record(record: Any, where: str) -> dict[str, Any]:
    """A round's record, as `check_kind` has it."""
    return check_kind(Kind.RECORD, record, where)


def check_kind(kind: Kind, data: Any, where: str) -> dict[str, Any]:
    """What a file of this kind says, its texts made printable, if tables, figures and the report can rest on it: its
    schema is known, its checksum holds, and everything has its type and range. UserError, which begins with `where`, if
    not: what is to be done about it, who reads the file knows."""
    schema = SCHEMAS.get(kind)
    found = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(data, dict) or (schema and (isinstance(found, bool) or found != schema)):
        raise UserError(
            f"{where}: has {kind} schema {found!r}, this version of respeed reads {schema}"
            + "; update respeed" * (isinstance(found, int) and found > schema)
            if schema
            else f"{where}: is no {kind}"
        )
    check_checksum(data, where)
    try:
        shown: dict[str, Any] = printable_texts(data)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    # What is shown must be right as well: a reason of a character that has no picture is none.
    for one in [data] if shown == data else [data, shown]:
        if place := misfit(one, SHAPES[kind]):
            raise UserError(f"{where}: {place} is missing, or not what a {kind} says there")
        if odd := what_is_odd(kind, one):
            raise UserError(f"{where}: {odd}")
    return shown


def why_misplaced(place: Place, data: Mapping[str, Any], smoke: bool) -> str | None:
    """Why a file that is right in itself does not belong where it lies, whatever its machine is called; None if it
    does."""
    told = made_of(place.kind, data)
    if told.get("smoke", smoke) != smoke:
        return f"is of the {'real' if smoke else 'smoke'} kind, and lies among the {'smoke' if smoke else 'real'} ones"
    says = [told[key] for key in ("paper", "experiment", "profile")[: len(place.folders)]]
    if place.kind is not Kind.RECORD:
        return None if says == [*place.folders] else f"was made for another place: {'/'.join(says)}"
    number = f"{'whole' if told['whole'] else 'round'} {told['index']}"
    if [*says, told["index"], told["whole"]] != [*place.folders, place.number, place.is_whole]:
        return f"was made for another place: {'/'.join(says)}, {number}"
    if data["profile"]["name"] != place.folders[-1]:
        return f"was made for another place: its profile is {data['profile']['name']}"
    return None


def check_place(place: Place, data: Mapping[str, Any], smoke: bool, where: str) -> None:
    """UserError, which begins with `where`, unless a file says that it belongs where it lies."""
    if reason := why_misplaced(place, data, smoke):
        raise UserError(f"{where}: {reason}")
    if (machine := told_machine(place, data)) != place.machine:
        raise UserError(f"{where}: is of the machine {machine}")


def told_machine(place: Place, data: Mapping[str, Any]) -> str:
    """The machine that a file says it is of; that of its place, if it does not say."""
    return str(made_of(place.kind, data).get("machine", place.machine))


def made_of(kind: Kind, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where a file says of what it was made: machine, paper, experiment."""
    told: Mapping[str, Any] = data["id"] if kind is Kind.RECORD else data
    return told
