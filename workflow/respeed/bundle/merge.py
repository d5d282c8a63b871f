"""Decides what becomes of a bundle's files beside those that are here: nothing that is here is written over by less."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from respeed.bundle.contents import Item
from respeed.bundle.survey import by_machine, fingerprint
from respeed.errors import UserError
from respeed.model.identity import difference
from respeed.records.layout import Kind, Place

_NUMBERED = (Kind.RECORD, Kind.SESSION)


@dataclass(frozen=True)
class Step:
    """Write an item at `place`; over what is there only where it `replaces` an older one."""

    item: Item
    place: Place
    replaces: bool = False


@dataclass
class Merge:
    """What is to be written, in order, of one machine; `known` are the items that are here already, `lines` what people
    must know of the others."""

    machine: str
    steps: list[Step] = field(default_factory=list)
    known: list[Item] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def rename_items(items: Iterable[Item], name: str, where: str) -> list[Item]:
    """The same items of a machine of that name; UserError if they are of several machines."""
    machines = by_machine(items)
    if len(machines) > 1:
        raise UserError(
            f"{where}: --as {name}: has {len(machines)} machines ({', '.join(machines)}); export one at a time"
        )
    return [replace(item, place=replace(item.place, machine=name)) for mine in machines.values() for item in mine]


def plan_merge(machine: str, theirs: list[Item], ours: list[Item], records: Path, where: str) -> Merge:
    """What becomes of a machine's items, `ours` being those that are here, under `records`; UserError if they are of
    another machine."""
    if found := difference(fingerprint(theirs), fingerprint(ours)):
        raise UserError(
            f"{where}: {machine} is another machine than the one of that name here ({found}); import it --as NAME"
        )
    merge = Merge(machine)
    groups: dict[tuple[tuple[str, ...], str, Kind], list[Item]] = defaultdict(list)
    for item in theirs:
        if item.place.kind in _NUMBERED:
            groups[item.place.folders, item.place.name.split("-")[0], item.place.kind].append(item)
        else:
            _add_single(merge, item, theirs, ours, records)
    # What is there once stands first: a run that is cut off after it finds it again, and goes on.
    known = {(item.place.folders, item.content) for item in ours}
    for group in groups.values():
        _add_numbered(merge, group, known, records, where)
    return merge


def _add_numbered(
    merge: Merge, group: list[Item], known: set[tuple[tuple[str, ...], str]], records: Path, where: str
) -> None:
    """Those of one cell that are not here, each under its own number where that is free, or else under the next one."""
    new = []
    for item in sorted(group, key=lambda item: (item.started, item.place)):
        if (item.place.folders, item.content) in known:
            merge.known.append(item)
        else:
            known.add((item.place.folders, item.content))
            new.append(item)
    placed = {item.place: item for item in new if not (records / _within(item.place)).exists()}
    number = 1
    for item in (item for item in new if item.place not in placed):
        while (place := item.place.numbered(number)) in placed or (records / _within(place)).exists():
            number += 1
            if number > item.place.last_number:
                raise UserError(f"{where}: {place.path}: there would be more than {item.place.last_number} of these")
        placed[place] = item
    merge.steps += [Step(item, place) for place, item in placed.items()]


def _add_single(merge: Merge, item: Item, theirs: list[Item], ours: list[Item], records: Path) -> None:
    """What a machine has one of: the newer stays."""
    if item.place.kind is Kind.TOLD:
        merge.steps.append(Step(item, item.place))
        return
    here = next((one for one in ours if one.place == item.place), None)
    what = " ".join([*item.place.folders, f"{item.place.kind}"])
    if here is None:
        if (records / _within(item.place)).exists():
            merge.lines.append(f"its {what} here cannot be used, and stays: delete it and import again")
        else:
            merge.steps.append(Step(item, item.place))
    elif here.content == item.content:
        merge.known.append(item)
    elif _moment(item, theirs) > _moment(here, ours):
        merge.steps.append(Step(item, item.place, replaces=True))
        merge.lines.append(f"its {what} here was older, and is replaced")
    else:
        merge.lines.append(f"its {what} here is as new, and stays")


def _moment(item: Item, beside: list[Item]) -> str:
    """When it was made; of what has no date, when the last record beside it was."""
    return item.started or max((one.started for one in beside), default="")


def _within(place: Place) -> Path:
    """Its path under results/records."""
    return Path(place.machine, *place.folders, place.name)
