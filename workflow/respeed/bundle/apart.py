"""Says which new records are of another measurement than those that are here, and in what they differ."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from respeed.bundle.compare import why_apart
from respeed.bundle.contents import Item, parse
from respeed.bundle.folder import Folder
from respeed.bundle.survey import Source
from respeed.records.layout import Kind


def apart_lines(new: Iterable[Item], source: Source, ours: Iterable[Item], here: Folder) -> list[str]:
    """A line for each thing in which new records of a cell differ from the last one that is here, or else from the last
    of the new ones."""
    cells: dict[tuple[tuple[str, ...], bool], list[tuple[Item, Source]]] = defaultdict(list)
    for items, where in ((new, source), (ours, here)):
        for item in items:
            if item.place.kind is Kind.RECORD:
                cells[item.place.folders, item.place.is_whole].append((item, where))
    found: Counter[str] = Counter()
    for cell in cells.values():
        mine = [one for one in cell if one[1] is here]
        last = max(mine or cell, key=lambda one: one[0].started)
        apart: dict[tuple[str, str], list[Item]] = defaultdict(list)
        for item, where in cell:
            if where is source and not _pools(item, last[0]):
                apart[item.measurement].append(item)
        for items in apart.values():
            found[why_apart(_read(items[0], source), _read(*last))] += len(items)
    return [
        f"{number} records are of another measurement ({reason}) and never pool: tables show the last of each cell"
        for reason, number in found.most_common()
    ]


def _pools(one: Item, other: Item) -> bool:
    """As the estimators do: the same digest and library, which a process that never started cannot tell."""
    (digest, package), (other_digest, other_package) = one.measurement, other.measurement
    return digest == other_digest and (package == other_package or not package or not other_package)


def _read(item: Item, source: Source) -> Any:
    return parse(item.place, source.read(item.source), source.where(item.source))
