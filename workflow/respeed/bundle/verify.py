"""Whether files of machines are what they were when they were written, and lie where they say that they do."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from respeed.bundle.archive import open_archive
from respeed.bundle.limits import most_bytes
from respeed.bundle.plain import parse_plain
from respeed.bundle.survey import survey_archive
from respeed.errors import UserError
from respeed.inputs.files import read_bounded
from respeed.paths import records_folder
from respeed.records.check import check_kind, check_place, made_of
from respeed.records.checksum import is_checked
from respeed.records.layout import ROOT, Place, place_in_folders, place_of
from respeed.text import visible

# The folders of results/smoke/records/<machine>/<paper>/<experiment>/<profile>; and those from records on.
_DEEPEST, _DEEPEST_BELOW_RECORDS = 7, 5


@dataclass
class Verified:
    """Files by machine, all of them and those without a checksum; a line that begins with its path for each that is not
    right, and for each that is none of a machine's."""

    files: Counter[str] = field(default_factory=Counter)
    unchecked: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        return not self.wrong and not self.strange


def verify(path: Path) -> Verified:
    """Check a bundle, a file, or all files beneath a folder; UserError if there are none."""
    found = Verified()
    if path.is_dir():
        for file in _files(path):
            _verify_file(file, found)
    elif path.suffix == ".json" or not path.exists():
        _verify_file(path, found)
    else:
        _verify_bundle(path, found)
    if not found.files:
        raise UserError(f"{path}: has no records; give results/records, a folder or a file in it, or a bundle")
    return found


def _files(folder: Path, depth: int = 0) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            if depth < _DEEPEST:
                yield from _files(path, depth + 1)
        elif path.suffix == ".json":
            yield path


def _verify_file(path: Path, found: Verified) -> None:
    # A file is of the folders that it lies in, however far from here it was asked for.
    full = Path(os.path.abspath(path))
    place = place_in_folders(full)
    if place is None:
        if any(above.name == ROOT for above in full.parents[:_DEEPEST_BELOW_RECORDS]):
            found.strange.append(visible(f"{path}: no machine's file is called that; nothing reads it"))
        return
    try:
        data = parse_plain(read_bounded(path, most_bytes(place.path)), str(path))
        check_kind(place.kind, data, str(path))
        check_place(place, data, _is_smoke(place, full, data), str(path))
    except UserError as error:
        found.wrong.append(str(error))
    else:
        found.unchecked[place.machine] += not is_checked(data)
    found.files[place.machine] += 1


def _is_smoke(place: Place, path: Path, data: Any) -> bool:
    """Which kind the file should be of: that of its folder of results; elsewhere of any, as an import takes both."""
    home = path.parents[len(place.folders) + 1].parts
    for smoke in (False, True):
        if home[-len(records_folder(smoke).parts) :] == records_folder(smoke).parts:
            return smoke
    return bool(made_of(place.kind, data).get("smoke"))


def _verify_bundle(path: Path, found: Verified) -> None:
    with open_archive(path) as archive:
        for item in survey_archive(archive, lambda error: found.wrong.append(str(error))):
            found.unchecked[item.place.machine] += not item.has_checksum
        found.files.update(place.machine for place in map(place_of, archive.paths) if place)
