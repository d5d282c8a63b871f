"""What somebody may send in place of an export: refused in one line, and nothing is written."""

import io
import stat
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.exchange import export_records, import_records
from tests.records.conftest import files, write_box

Trick = Callable[[bytes], bytes]
ZIP = Path("hostile.zip")
FIRST = "box/torch-1/20260101T000000Z-aaaa.jsonl"
MIB = 2**20


def imported() -> list[str]:
    """The files of machines that were imported."""
    return [name for name in files("results/imported") if not name.endswith("imports.jsonl")]


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zip_of(*members: tuple[zipfile.ZipInfo | str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive, warnings.catch_warnings(action="ignore"):
        for name, data in members:
            archive.writestr(name, data, method)
    return out.getvalue()


def beside(name: str) -> Trick:
    """All that is right, and a member of this name more."""
    return lambda good: zip_of(*members_of(good).items(), (name, members_of(good)[FIRST]))


def linked(good: bytes) -> bytes:
    info = zipfile.ZipInfo(FIRST)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zip_of((info, members_of(good)[FIRST]))


def lying_bomb(good: bytes) -> bytes:
    """64 MiB in 64 kB, said to be 100 bytes."""
    data = zip_of((FIRST, bytes(64 * MIB)))
    size = (64 * MIB).to_bytes(4, "little")
    return data.replace(size, (100).to_bytes(4, "little"))


def bomb(good: bytes) -> bytes:
    """Records that unpack to a thousand times their size."""
    lines = members_of(good)[FIRST].splitlines()
    return zip_of((FIRST, b"\n".join([lines[0], *[b"{" + b" " * 1000 + b"}"] * 4000, b""])))


def too_large(good: bytes) -> bytes:
    """Right lines alone, of which the last would be cut off."""
    first, second, *_ = members_of(good)[FIRST].splitlines()
    padded = second.replace(b"{", b"{" + b" " * 2 * 10**5, 1)
    return zip_of((FIRST, b"\n".join([first, *[padded] * 25, b""])), method=zipfile.ZIP_STORED)


def edited(old: str, new: str) -> Trick:
    """The first record with something else in it."""
    return lambda good: zip_of(
        *(members_of(good) | {FIRST: members_of(good)[FIRST].replace(old.encode(), new.encode())}).items()
    )


NAMES = (
    "../a/machine.json", "/etc/passwd", "box\\machine.json", "a/./machine.json", "box/.git/hooks/x", "machine.json",
    "BOX/machine.json", FIRST.replace("box", ".."), "box/1/machine.json", "-rf/machine.json", "box/1/\x1b[2J.jsonl",
)  # fmt: skip
TRICKS: dict[str, Trick] = {
    **{f"a member {name!r}": beside(name) for name in NAMES},
    "a member twice": beside(FIRST),
    "a link": linked,
    "a bomb that lies": lying_bomb,
    "a bomb that is true": bomb,
    "a record that is too large": too_large,
    "what is still to come": edited("2026-01-01T00:00", "2999-01-01T00:00"),
    "a host that is not known": edited('"system": "Linux"', '"system": "Linux", "host": "0123456789abcdef"'),
    "values that fill the memory": edited('"parameters": {', '"parameters": {"x": [' + "[]," * 10**6 + "[]],"),
    "more members than fit": lambda good: zip_of(*((f"box{n}/machine.json", b"{}") for n in range(51))),
    "two machines": edited("A CPU", "Another CPU"),
}  # fmt: skip


@pytest.fixture
def good(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """What export makes of a machine; nothing of it is here any more."""
    monkeypatch.setattr("respeed.exchange.MAX_FILES", 50)
    write_box()
    for path in Path("results/records/box/torch-1").iterdir():
        path.rename(path.with_name(f"{path.name[:16]}-{'ab'[path.name[12] == '1'] * 4}.jsonl"))
    export_records(ZIP, False)
    Path("results").rename("there")
    return ZIP.read_bytes()


def test_hostile_archives_begin_as_good_ones(good: bytes) -> None:
    """What all hostile archives are made of is a good one."""
    ZIP.write_bytes(b"#!/bin/sh\nexit\n" + zip_of(*members_of(good).items()))
    import_records(ZIP, False)
    assert [Path(name).name for name in imported()] == ["machine.json", Path(FIRST).name, "20260101T000100Z-bbbb.jsonl"]


@pytest.mark.parametrize("trick", TRICKS)
def test_every_hostile_archive_is_refused_cleanly(trick: str, good: bytes) -> None:
    """Every hostile archive is refused in one line and leaves nothing."""
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


def test_a_folder_is_no_way_round(good: bytes) -> None:
    box = Path("there/records/box")
    (box / "torch-1/run.py").write_text("print()")
    (box / "more").symlink_to("/", target_is_directory=True)
    endless, behind = box / "torch-1/20260101T000000Z-zzzz.jsonl", box / "torch-2"
    endless.symlink_to("/dev/zero")
    behind.symlink_to("torch-1", target_is_directory=True)
    for link in (endless, behind):
        with pytest.raises(UserError, match=f"{link.name}.*: is a link, or lies behind one"):
            import_records(box, False)
        link.unlink()
    import_records(box, False)
    assert len(imported()) == 3
