"""What somebody may send in place of an export: refused in one line, and nothing is written."""

import io
import json
import stat
import tarfile
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.records import transfer
from respeed.records.transfer import check_carried, export_records, import_records
from tests.conftest import MakeRecord
from tests.records.conftest import files, write_box

Trick = Callable[[bytes], bytes]
ZIP = Path("hostile.zip")
FIRST = "box/raina2009/rbm/torch-1/round-01.json"
MIB = 2**20


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zip_of(*members: tuple[zipfile.ZipInfo | str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive, warnings.catch_warnings(action="ignore"):
        for name, data in members:
            archive.writestr(name, data, method)
    return out.getvalue()


def beside(name: str, content: bytes | None = None) -> Trick:
    """All that is right, and a member of this name more."""

    def trick(good: bytes) -> bytes:
        members = members_of(good)
        return zip_of(*members.items(), (name, members[FIRST] if content is None else content))

    return trick


def instead(content: bytes) -> Trick:
    return lambda good: zip_of((FIRST, content))


def linked(good: bytes) -> bytes:
    info = zipfile.ZipInfo(FIRST)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zip_of((info, b"/etc/passwd"))


def tar(good: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo(FIRST)
        info.size = 2
        archive.addfile(info, io.BytesIO(b"{}"))
    return out.getvalue()


def patched(offset: int, value: bytes) -> Trick:
    """The first entry of the directory with these bytes there."""

    def trick(good: bytes) -> bytes:
        at = good.index(b"PK\1\2") + offset
        return good[:at] + value + good[at + len(value) :]

    return trick


def countless(good: bytes) -> bytes:
    names = (f"box/raina2009/rbm/p{number}/round-01.json" for number in range(transfer.MAX_FILES + 1))
    return zip_of(*((name, b"{}") for name in names), method=zipfile.ZIP_STORED)


def lying_bomb(good: bytes) -> bytes:
    """64 MiB in 64 kB, said to be 100 bytes."""
    data = zip_of((FIRST, bytes(64 * MIB)))
    size = (64 * MIB).to_bytes(4, "little")
    return data.replace(size, (100).to_bytes(4, "little"))


def overlapping(good: bytes) -> bytes:
    """Every entry of the directory begins at the first member."""
    out, at = bytearray(good), good.index(b"PK\1\2")
    while out[at : at + 4] == b"PK\1\2":
        out[at + 42 : at + 46] = bytes(4)
        lengths = (int.from_bytes(out[at + place : at + place + 2], "little") for place in (28, 30, 32))
        at += 46 + sum(lengths)
    return bytes(out)


def edited(change: Callable[[str], str]) -> Trick:
    def trick(good: bytes) -> bytes:
        members = members_of(good)
        return zip_of(*(members | {FIRST: change(members[FIRST].decode()).encode()}).items())

    return trick


NAMES = (
    "../box/machine.json", "/etc/passwd", "/box/machine.json", "box/../../x/machine.json", "box\\machine.json",
    "C:/box/machine.json", "box/./machine.json", "box//raina2009/rbm/torch-1/round-03.json", "box/machine.json/x",
    "box/.git/hooks/pre-commit", "box/raina2009/rbm/torch-1/round-00.json", "BOX/machine.json", "box/session-001.json",
    "b\N{LATIN SMALL LETTER O WITH DIAERESIS}x/machine.json", "manifest.json", "x.py", "con",
    f"{'x' * 65}/machine.json", "box/raina2009/rbm/torch-1/round-1000.json", "box/told.yaml", "-rf/machine.json",
)  # fmt: skip
TRICKS: dict[str, Trick] = {
    **{f"a member {name!r}": beside(name) for name in NAMES},
    "an empty file": lambda good: b"",
    "a text": lambda good: b"results, as agreed\n" * 100,
    "zeros": lambda good: bytes(MIB),
    "a tar file": tar,
    "a zip without members": lambda good: zip_of(),
    "a zip within a zip": lambda good: zip_of(("records.zip", good)),
    "only a folder": lambda good: zip_of(("box/", b"")),
    "cut in the middle": lambda good: good[: len(good) // 2],
    "without its end": lambda good: good[:-1],
    "a member twice": beside(FIRST),
    "a link": linked,
    "encrypted": patched(8, b"\1\0"),
    "packed by bzip2": lambda good: zip_of(*members_of(good).items(), method=zipfile.ZIP_BZIP2),
    "packed in a way that nobody knows": patched(10, b"\x63\0"),
    "a checksum that does not hold": patched(16, b"1234"),
    "a member that begins behind the end": patched(42, b"\xff\xff\xff\x7f"),
    "members that overlap": overlapping,
    "60 MiB of zeros": instead(bytes(60 * MIB)),
    "60 MiB of blanks": instead(b" " * (60 * MIB) + b"{}"),
    "a bomb that lies": lying_bomb,
    "a million lists": instead(b"[" + b"[]," * 600_000 + b"[]]"),
    "as deep as it goes": instead(b"[" * 100_000 + b"]" * 100_000),
    "a number of a million digits": instead(b'{"schema": 4, "smoke": ' + b"9" * MIB + b"}"),
    "more members than fit": countless,
    "JSON in UTF-16": lambda good: zip_of((FIRST, members_of(good)[FIRST].decode().encode("utf-16"))),
    "a pickle": instead(b"cos\nsystem\n(S'id'\ntR."),
    "null": instead(b"null"),
    "what a terminal obeys": edited(lambda text: text.replace("A CPU", "\\u001b[2J")),
    "a smoke record": edited(lambda text: text.replace('"smoke": false', '"smoke": true')),
    "a record of another profile": edited(lambda text: text.replace('"name": "torch-1"', '"name": "gpu"')),
    "a name that leads elsewhere": edited(lambda text: text.replace('"case": "576x1024"', '"case": "../../x"')),
    "NaN": edited(lambda text: text.replace('"flops": 1000000000.0', '"flops": NaN')),
    "two machines": edited(lambda text: text.replace("A CPU", "Another CPU")),
}  # fmt: skip


@pytest.fixture
def good(make_record: MakeRecord) -> bytes:
    """What export makes of a machine; nothing of it is here any more."""
    write_box(make_record)
    export_records(ZIP, False)
    Path("results").rename("there")
    return ZIP.read_bytes()


def test_what_all_hostile_archives_are_made_of_is_a_good_one(good: bytes) -> None:
    assert check_carried(ZIP) == ([], 3)
    ZIP.write_bytes(zip_of(*members_of(good).items()))
    assert import_records(ZIP, False)["box"].new


@pytest.mark.parametrize("trick", TRICKS)
def test_every_hostile_archive_is_refused_in_one_line_and_leaves_nothing(trick: str, good: bytes) -> None:
    changed = TRICKS[trick](good)
    assert changed != good
    ZIP.write_bytes(changed)
    tracemalloc.start()
    with pytest.raises(UserError) as refused:
        import_records(ZIP, False)
    assert tracemalloc.get_traced_memory()[1] < 300 * MIB
    tracemalloc.stop()
    line = str(refused.value)
    assert line.startswith(str(ZIP))
    assert line.isprintable()
    assert len(line) < 500
    assert not files()
    assert check_carried(ZIP)[0] or trick == "a smoke record"


def test_a_byte_that_changes_is_refused_or_harmless(good: bytes) -> None:
    """Harmless: what is taken is what was sent, whatever the archive says beside it."""
    before = set(members_of(good).values())
    for place in range(0, len(good), 5):
        ZIP.write_bytes(good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :])
        try:
            taken = transfer.read_carried(ZIP)
        except UserError as error:
            assert str(error).isprintable()  # noqa: PT017
        else:
            assert set(taken.values()) <= before


def test_what_hides_between_members_is_never_read(good: bytes) -> None:
    ZIP.write_bytes(b"#!/bin/sh\nexit\n" + good)
    assert import_records(ZIP, False)["box"].new
    assert {path.suffix for path in Path("results").rglob("*") if path.is_file()} == {".json"}


def test_a_folder_is_no_way_round(good: bytes) -> None:
    box = Path("there/records/box")
    (box / "raina2009/rbm/torch-1/run.py").write_text("print()")
    (box / "raina2009/rbm/torch-1/round-03.json").symlink_to("/dev/zero")
    with pytest.raises(UserError, match="is no regular file"):
        import_records(box, False)
    (box / "raina2009/rbm/torch-1/round-03.json").unlink()
    (box / "more").symlink_to("/", target_is_directory=True)
    assert import_records(box, False)["box"].new
    assert json.loads(Path("results/records/box/machine.json").read_text())
    assert {path.suffix for path in Path("results").rglob("*") if path.is_file()} == {".json"}
