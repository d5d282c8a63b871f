"""Writes a bundle: the same records make the same bytes."""

import hashlib
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from respeed.bundle.contents import Item, parse, renamed, text_of
from respeed.bundle.folder import Folder, open_machines
from respeed.bundle.limits import MAX_BYTES, MAX_MEMBERS, MIB, check_machines, too_large
from respeed.bundle.manifest import Manifest, Member
from respeed.bundle.survey import by_machine, fingerprint, survey_folder
from respeed.bundle.told import carried_price
from respeed.bundle.zip_form import ANY_TIME, REGULAR, UNIX
from respeed.errors import UserError, nearest
from respeed.machine.software import package_versions
from respeed.paths import MACHINES, records_folder
from respeed.records.files import json_text, recorded_machines, replacing
from respeed.records.layout import MANIFEST, Kind, Place

_LEVEL = 6


@dataclass(frozen=True)
class Exported:
    """What was written: the number of records of each machine; and what was left out, by the reason."""

    records: Mapping[str, int]
    size: int
    left_out: Mapping[str, list[Path]]


def export_bundle(file: Path, smoke: bool = False, machine: str | None = None, told: Path = MACHINES) -> Exported:
    """Write the records of a machine, or of all, to `file`, whole or not at all; UserError if there are none, or it
    cannot be written."""
    if machine and machine not in (there := recorded_machines(smoke)):
        raise UserError(f"--machine: no records of {machine!r}{nearest(machine, there)}")
    folder = open_machines(records_folder(smoke), machine)
    items = [item for item in survey_folder(folder, smoke) if item.place.kind is not Kind.TOLD]
    items = [item for item in items if not _leave_out(item, folder)]
    if not items:
        raise UserError(f"{records_folder(smoke)}: nothing to export; measure first: ./run snakemake --cores all")
    machines = by_machine(items)
    check_machines(len(machines), str(file), "export one at a time: --machine NAME")
    texts = _Texts(folder, {name: price for name in machines if (price := carried_price(name, told))}, items)
    members = tuple(Member(path, len(data), hashlib.sha256(data).hexdigest()) for path, data in texts.all())
    if len(members) > MAX_MEMBERS or sum(member.size for member in members) > MAX_BYTES:
        raise UserError(
            f"a bundle has room for {MAX_MEMBERS} files and {MAX_BYTES // MIB} MiB; export a machine at a time"
        )
    facts = {name: fingerprint(mine) for name, mine in machines.items()}
    manifest = Manifest(package_versions().get("respeed", "unknown"), smoke, facts, members)
    _write(file, manifest, texts)
    records = {name: sum(item.place.kind is Kind.RECORD for item in mine) for name, mine in machines.items()}
    return Exported(records, file.stat().st_size, folder.left_out)


def _leave_out(item: Item, folder: Folder) -> bool:
    """Whether an import would refuse the file as it is written, which is longer than one without line breaks."""
    data = _text(item.place, item.source, folder)
    if reason := too_large(item.place.path, len(data), _packed_size(data)):
        folder.leave_out(item.source, reason)
    return bool(reason)


def _packed_size(data: bytes) -> int:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return len(packer.compress(data)) + len(packer.flush())


def _text(place: Place, source: str, folder: Folder) -> bytes:
    return text_of(renamed(place, parse(place, folder.read(source), folder.where(source)))).encode()


class _Texts:
    """The members' bytes, read and written anew as often as they are asked for."""

    def __init__(self, folder: Folder, prices: Mapping[str, str], items: list[Item]) -> None:
        told = {Place(machine, (), "told.yaml", Kind.TOLD): text for machine, text in prices.items()}
        self._folder, self._told = folder, told
        self._places = sorted([*told, *(item.place for item in items)], key=lambda place: place.path)

    def all(self) -> Iterator[tuple[str, bytes]]:
        for place in self._places:
            price = self._told.get(place)
            yield place.path, price.encode() if price else _text(place, place.path, self._folder)


def _write(file: Path, manifest: Manifest, texts: _Texts) -> None:
    try:
        if file.exists() and not file.is_file():
            raise UserError(f"{file}: is no plain file; name one that can be written, such as records.zip")
        if not file.parent.is_dir():
            raise UserError(f"{file}: there is no folder {file.parent}")
        with replacing(file) as out, zipfile.ZipFile(out, "w") as archive:
            _add(archive, MANIFEST, json_text(manifest.facts()).encode())
            for path, data in texts.all():
                if hashlib.sha256(data).hexdigest() != manifest.member(path).sha256:
                    raise UserError(f"{path}: changed while it was exported; export again when nothing is measured")
                _add(archive, path, data)
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror}") from None


def _add(archive: zipfile.ZipFile, path: str, data: bytes) -> None:
    info = zipfile.ZipInfo(path, ANY_TIME)
    info.create_system, info.external_attr = UNIX, REGULAR
    archive.writestr(info, data, zipfile.ZIP_DEFLATED, _LEVEL)
