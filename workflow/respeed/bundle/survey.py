"""All files of a bundle or a folder, checked before any of them is used."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from respeed.bundle.archive import Archive
from respeed.bundle.contents import Item, check_item
from respeed.bundle.folder import Folder
from respeed.errors import UserError
from respeed.model.identity import difference, fingerprint_of
from respeed.records.layout import Kind, Place, place_of

Source = Archive | Folder


def _refuse(error: UserError) -> None:
    raise error


def survey_archive(archive: Archive, not_right: Callable[[UserError], None] = _refuse) -> list[Item]:
    """Every item of a bundle that is right: `not_right` is told of each other, and one that was made on another machine
    than the rest is none. The first ends it, unless something else is to be done."""
    items = []
    for path in archive.paths:
        try:
            items.append(_read(archive, path))
        except UserError as error:
            not_right(error)
    strangers = _strangers(items)
    for item, found in strangers:
        where = archive.where(item.source)
        not_right(UserError(f"{where}: was made on another machine than the others ({found})"))
    return _without(items, strangers)


def _read(archive: Archive, path: str) -> Item:
    place, where = _place(path), archive.where(path)
    item = check_item(place, archive.read(path), archive.manifest.smoke, where)
    if found := difference(item.facts, archive.manifest.machines[place.machine]):
        raise UserError(f"{where}: was made on another machine than the manifest tells of ({found})")
    return item


def survey_folder(folder: Folder, smoke: bool) -> list[Item]:
    """Every item of a folder that is right; the others are counted with the reason in `folder.left_out`."""
    items = []
    for path in folder.paths:
        where = folder.where(path)
        try:
            items.append(check_item(_place(path), folder.read(path), smoke, where))
        except UserError as error:
            folder.leave_out(path, str(error).removeprefix(f"{where}: "))
    strangers = _strangers(items)
    for item, found in strangers:
        folder.leave_out(item.source, f"was made on another machine than the others ({found})")
    return _without(items, strangers)


def _strangers(items: list[Item]) -> list[tuple[Item, str]]:
    """Those of another machine than the others of its name, each with the field in which they differ."""
    known = {machine: fingerprint(mine) for machine, mine in by_machine(items).items()}
    return [(item, found) for item in items if (found := difference(item.facts, known[item.place.machine]))]


def _without(items: list[Item], strangers: list[tuple[Item, str]]) -> list[Item]:
    apart = {item.source for item, _ in strangers}
    return [item for item in items if item.source not in apart]


def by_machine(items: Iterable[Item]) -> dict[str, list[Item]]:
    """The items of each machine, in the order of its name."""
    machines: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        machines[item.place.machine].append(item)
    return dict(sorted(machines.items()))


def fingerprint(items: Iterable[Item]) -> dict[str, Any]:
    """What tells the machine from others: as its description says it, and else as most of its files do."""
    items = list(items)
    described = next((item.facts for item in items if item.place.kind is Kind.DESCRIPTION), {})
    return fingerprint_of(described, [(item.facts, item.started) for item in items])


def _place(path: str) -> Place:
    place = place_of(path)
    assert place is not None  # a source only has paths that fit
    return place
