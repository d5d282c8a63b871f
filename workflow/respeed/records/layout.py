"""What files a machine has, and under which names: <machine>/..., under results/records and in a bundle."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePath

MANIFEST = "manifest.json"
ROOT = "records"


class Kind(StrEnum):
    """What a file is; the text is what people read, of one and of several."""

    RECORD = "record"
    LEARNING = "learning record"
    DESCRIPTION = "description"
    SHEET = "hardware sheet"
    SESSION = "session"
    TOLD = "price"


_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
# The least digits of a number, and the highest there may be.
_DIGITS = {Kind.RECORD: 2, Kind.SESSION: 3}
_HIGHEST = 999
# Files that a machine's folder may have, by the folders between it and them.
_FILES = {
    Kind.RECORD: (3, re.compile(r"((?:round|whole)-)([0-9]{2}|[1-9][0-9]{2})(\.json)")),
    Kind.LEARNING: (2, re.compile(r"learning\.json")),
    Kind.DESCRIPTION: (0, re.compile(r"machine\.json")),
    Kind.SHEET: (0, re.compile(r"hardware\.json")),
    Kind.SESSION: (0, re.compile(r"(session-)([0-9]{3})(\.json)")),
    Kind.TOLD: (0, re.compile(r"told\.yaml")),
}


@dataclass(frozen=True, order=True)
class Place:
    """Where a file lies: `folders` are paper, experiment and profile, as far as it has them."""

    machine: str
    folders: tuple[str, ...]
    name: str
    kind: Kind

    @property
    def path(self) -> str:
        return "/".join((ROOT, self.machine, *self.folders, self.name))

    @property
    def number(self) -> int | None:
        """Of a round or a session; None of what there is one of."""
        found = _FILES[self.kind][1].fullmatch(self.name)
        return int(found[2]) if found and found.lastindex else None

    @property
    def last_number(self) -> int:
        """The highest that may be."""
        return _HIGHEST

    @property
    def is_whole(self) -> bool:
        return self.name.startswith("whole-")

    def numbered(self, number: int) -> "Place":
        """The same kind of file under another number."""
        found = _FILES[self.kind][1].fullmatch(self.name)
        assert found is not None  # a place is only made of a name that fits
        return replace(self, name=f"{found[1]}{number:0{_DIGITS[self.kind]}d}{found[3]}")


def place_of(path: str) -> Place | None:
    """The place that a path names; None if nothing that a bundle may have lies there."""
    root, *folders, name = path.split("/") if path.count("/") else ("", path)
    if root != ROOT or not folders or not all(re.fullmatch(_NAME, folder) for folder in folders):
        return None
    machine, *between = folders
    for kind, (depth, pattern) in _FILES.items():
        found = pattern.fullmatch(name)
        if len(between) == depth and found and (not found.lastindex or int(found[2]) > 0):
            return Place(machine, tuple(between), name, kind)
    return None


def place_in_folders(path: PurePath) -> Place | None:
    """The same by the end of a path on disk: its file's name tells how many folders belong to it."""
    for depth, pattern in _FILES.values():
        if pattern.fullmatch(path.name):
            return place_of("/".join((ROOT, *path.parts[-depth - 2 :])))
    return None


def shown(path: str) -> str:
    """A path that somebody else chose, for a message: in one line, without what a terminal obeys, and not too long."""
    text = path if path.isascii() and path.isprintable() and path else ascii(path)
    return text if len(text) <= 200 else f"{text[:150]}..."
