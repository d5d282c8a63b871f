"""Whether files of machines are what they were when they were written, and lie where they say that they do."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from respeed.bundle.archive import open_archive
from respeed.bundle.contents import check_item, parse
from respeed.model.errors import UserError
from respeed.record.check import check_kind, check_place, made_of
from respeed.record.checksum import is_checked
from respeed.record.files import read_json
from respeed.record.layout import Kind, Place, place_in_folders, place_of

# The folders of results/smoke/records/<machine>/<paper>/<experiment>/<profile>.
_DEEPEST = 7


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
    place = place_in_folders(path.absolute())
    if place is None and "records" not in path.parts:
        return
    if place is None:
        found.strange.append(f"{path}: no file of a machine's has such a name there; nothing reads it")
        return
    try:
        data = read_json(path)
        check_kind(place.kind, data, str(path))
        check_place(place, data, _is_smoke(place, path, data), str(path))
    except UserError as error:
        found.wrong.append(str(error))
    else:
        found.unchecked[place.machine] += not is_checked(data)
    found.files[place.machine] += 1


def _is_smoke(place: Place, path: Path, data: Any) -> bool:
    """Which kind the file should be of: that of its folder of records; of any, where it lies in no such folder."""
    above = path.absolute().parents[len(place.folders) + 1]
    if above.name != "records":
        return bool(made_of(place.kind, data).get("smoke"))
    return above.parent.name == "smoke"


def _verify_bundle(path: Path, found: Verified) -> None:
    with open_archive(path) as archive:
        for member in archive.paths:
            place, where = place_of(member), archive.where(member)
            assert place is not None  # a manifest has no others
            try:
                data = archive.read(member)
                check_item(place, data, archive.manifest.smoke, where)
            except UserError as error:
                found.wrong.append(str(error))
            else:
                is_price = place.kind is Kind.TOLD
                found.unchecked[place.machine] += not is_price and not is_checked(parse(place, data, where))
            found.files[place.machine] += 1
