"""The same files as they lie in folders: under results/records, or where somebody copied them to."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from respeed.bundle.limits import MAX_MEMBERS, MIB, most_bytes
from respeed.bundle.plain import parse_plain
from respeed.errors import UserError
from respeed.paths import NAME, SET_ASIDE
from respeed.records.layout import ROOT, Kind, place_of, shown

# Machine, paper, experiment, profile.
_DEEPEST = 4


class Folder:
    """Machines' folders. `paths` are those of a bundle; `left_out` has the other files by the reason."""

    def __init__(self, path: Path, files: dict[str, Path], left_out: dict[str, list[Path]]) -> None:
        self.path, self._files, self.left_out = path, files, left_out

    @property
    def paths(self) -> list[str]:
        return sorted(self._files)

    def leave_out(self, path: str, reason: str) -> None:
        """A file that is not right is none of it."""
        self.left_out.setdefault(reason, []).append(self._files.pop(path))

    def where(self, path: str) -> str:
        """What messages call a file."""
        return str(self._files[path])

    def read(self, path: str) -> bytes:
        """A file's bytes; UserError if it is no plain file, or larger than any of a bundle."""
        return _read(self._files[path], most_bytes(path))


def open_machines(path: Path, machine: str | None) -> Folder:
    """A folder of machines' folders, such as results/records, or what it has of one machine."""
    folder, prefix = (path / machine, f"{machine}/") if machine else (path, "")
    return _sort_out(folder, prefix) if folder.exists() else Folder(folder, {}, {})


def open_folder(path: Path) -> Folder:
    """A machine's folder, a folder of such, or an unpacked bundle; UserError if it is none of them."""
    if (path / "manifest.json").is_file() and (path / ROOT).is_dir():
        path = path / ROOT
    # No file fits both: between a machine's folder and its file lie as many folders as the file's kind has.
    several, one = _sort_out(path, ""), _sort_out(path, "machine/")
    if several.paths and one.paths:
        raise UserError(f"{path}: is a machine's folder with others inside; give one of them")
    if not several.paths and not one.paths:
        raise UserError(f"{path}: has no records; give a folder as it lies under results/records, or a bundle")
    return several if several.paths else _sort_out(path, f"{_machine_of(one)}/")


def _machine_of(folder: Folder) -> str:
    """What its files call the machine, whatever the folder is called."""
    for path in folder.paths:
        try:
            value = parse_plain(folder.read(path), folder.where(path))
        except UserError:
            continue
        place = place_of(path)
        told = value.get("id") if isinstance(value, dict) and place and place.kind is Kind.RECORD else value
        if isinstance(told, dict) and NAME.fullmatch(str(told.get("machine"))):
            return str(told["machine"])
    raise UserError(f"{folder.path}: no file in it says what machine it is of")


def _sort_out(path: Path, machine: str) -> Folder:
    """The files beneath `path`, as those of a bundle; `machine/` is put before their names, if anything."""
    files: dict[str, Path] = {}
    left_out: dict[str, list[Path]] = {}
    for file in _files(path):
        place = place_of(f"{ROOT}/{machine}{file.relative_to(path).as_posix()}")
        if place:
            files[place.path] = file
        else:
            reason = "set aside" if SET_ASIDE in file.name else "no file of a bundle"
            left_out.setdefault(reason, []).append(file)
        if len(files) + sum(map(len, left_out.values())) > MAX_MEMBERS:
            raise UserError(f"{path}: has more than {MAX_MEMBERS} files; give one machine's folder")
    return Folder(path, files, left_out)


def _files(path: Path, depth: int = 0) -> Iterator[Path]:
    """Every plain file, but for hidden ones and what lies deeper than records do; UserError for what is no file."""
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth < _DEEPEST:
                yield from _files(path / entry.name, depth + 1)
        elif entry.is_file(follow_symlinks=False):
            yield path / entry.name
        else:
            raise UserError(
                f"{path}: {shown(entry.name)}: is a link or no plain file; put the file itself in its place"
            )


def _read(path: Path, most: int) -> bytes:
    try:
        # What was a plain file a moment ago may be a link or a FIFO by now.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UserError(f"{path}: is no plain file")
            data = file.read(most + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > most:
        raise UserError(f"{path}: has more than {most // MIB} MiB, which no such file needs")
    return data
