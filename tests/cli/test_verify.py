"""`respeed verify` says which records are not as they were written, or lie where they do not belong."""

import shutil
from pathlib import Path

import pytest

from respeed.cli.main import main
from respeed.errors import UserError
from respeed.paths import RoundId, hardware_path, round_path
from respeed.records.store import read_json, write_json, write_record
from respeed.records.transfer import export_bundle, import_bundle
from tests.conftest import MakeRecord
from tests.records.carried import write_box
from tests.records.forge import bundle_of, zip_of
from tests.sheets import hardware_sheet

Capture = pytest.CaptureFixture[str]
FIRST = round_path(RoundId("box", "raina2009", "rbm", "torch-1", 1))


@pytest.fixture(autouse=True)
def _a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> None:
    """Two rounds, and one of each other file, all with checksums."""
    monkeypatch.chdir(tmp_path)
    write_box(make_record, profiles=("torch-1",))
    for path in Path("results/records").rglob("*.json"):
        write_record(path, read_json(path))


def said(capsys: Capture, *path: str) -> tuple[int, list[str]]:
    code = main(["verify", *path])
    printed = capsys.readouterr()
    return code, [*printed.out.splitlines(), *printed.err.splitlines()]


@pytest.mark.parametrize("path", [(), ("results/records/box",), (".",), (str(FIRST),)], ids=str)
def test_records_that_hold_are_one_line(capsys: Capture, path: tuple[str, ...]) -> None:
    counted = "1 file of 1 machine: 1 hold" if path == (str(FIRST),) else "5 files of 1 machine: 5 hold"
    assert said(capsys, *path) == (0, [counted])


def test_records_without_a_checksum_are_a_line_a_machine(capsys: Capture, make_record: MakeRecord) -> None:
    write_json(FIRST, make_record([0.1]))
    code, (line, summary) = said(capsys)
    assert (code, line) == (0, "box: 1 without a checksum: nothing tells whether they were changed")
    assert summary == "5 files of 1 machine: 4 hold, 1 without a checksum"


def test_each_record_that_is_not_right_is_a_line_with_its_reason(capsys: Capture, make_record: MakeRecord) -> None:
    FIRST.write_text(FIRST.read_text().replace('"seed": 1', '"seed": 2'))
    paths = [FIRST, *(FIRST.with_name(f"round-{number}.json") for number in ("07", "08", "09", "10", "1"))]
    changes = ({"index": 8}, {"index": 8, "smoke": True}, {"index": 9, "machine": "lab"}, None, {})
    for path, change in zip(paths[1:], changes, strict=True):
        if change is None:
            path.write_text("{")
        else:
            write_record(path, make_record([0.1], **change))
    code, (*lines, summary) = said(capsys)
    assert (code, summary) == (2, "9 files of 1 machine: 4 hold, 5 not right")
    assert [line.split(":")[0] for line in lines] == [str(path) for path in paths]
    assert [line.split(": ", 1)[1].split("; ")[0] for line in lines[:4]] == [
        "its checksum does not hold: it was changed after it was written",
        "was made for another place: raina2009/rbm/torch-1, round 8",
        "is of the smoke kind, and lies among the real ones",
        "is of the machine lab",
    ]
    assert "is damaged" in lines[4]
    assert "nothing reads it" in lines[5]


def test_a_bundle_is_checked_as_an_import_does(capsys: Capture, make_record: MakeRecord) -> None:
    export_bundle(Path("records.zip"))
    assert said(capsys, "records.zip") == (0, ["5 files of 1 machine: 5 hold"])
    held = {path.relative_to("results").as_posix(): path.read_bytes() for path in Path("results").rglob("*.json")}
    Path("other.zip").write_bytes(zip_of(bundle_of(held, machines={"box": {"cpu": "B"}})))
    code, (*lines, summary) = said(capsys, "other.zip")
    assert (code, summary) == (2, "5 files of 1 machine: 2 hold, 3 not right")
    assert all("was made on another machine than the manifest tells of (CPU" in line for line in lines)
    with pytest.raises(UserError, match="than the manifest tells of"):
        import_bundle(Path("other.zip"))
    Path("records.zip").write_bytes(Path("records.zip").read_bytes()[:-40])
    code, (line,) = said(capsys, "records.zip")
    assert code == 2
    assert "is no bundle" in line


def test_a_folder_is_checked_as_an_import_does(capsys: Capture, make_record: MakeRecord) -> None:
    record = read_json(FIRST)
    write_record(FIRST, record | {"provenance": record["provenance"] | {"versions": {"torch": "2" * 5000}}})
    second = FIRST.with_name("round-02.json")
    second.write_text(second.read_text().replace('"seed": 1,', '"seed": 7, "seed": 1,'))
    sheet = hardware_sheet(make_record, passes=1)
    sheet["rounds"][0]["id"]["machine"] = "lab"
    write_record(hardware_path("box", False), sheet)
    code, (*lines, summary) = said(capsys)
    assert (code, summary) == (2, "6 files of 1 machine: 3 hold, 3 not right")
    reasons = [
        "its rounds are of the machine lab",
        "is damaged (a text is too long)",
        "is damaged (a key stands twice)",
    ]
    assert [line.split(": ", 1)[1].split(",")[0] for line in lines] == reasons
    Path("results/records/box").rename("theirs")
    assert len(import_bundle(Path("theirs")).left_out) == 3


def test_what_is_wrong_does_not_depend_on_how_the_folder_is_named(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord
) -> None:
    FIRST.with_name("round-1\x1b[2J.json").write_text("{}")
    write_record(FIRST, make_record([0.1], smoke=True))
    whole = str(Path("results").absolute())
    for folder, named in (("results", "records"), ("records/box", "../box"), (".", "."), (".", whole)):
        monkeypatch.chdir(folder)
        code, (wrong, strange, summary) = said(capsys, named)
        assert (code, summary) == (2, "5 files of 1 machine: 4 hold, 1 not right")
        assert "is of the smoke kind, and lies among the real ones" in wrong
        assert strange.endswith("round-1\\x1b[2J.json: no machine's file is called that; nothing reads it")


def test_an_unpacked_bundle_of_smoke_records_holds(capsys: Capture, make_record: MakeRecord) -> None:
    write_box(make_record, profiles=("torch-1",), smoke=True)
    export_bundle(Path("smoke.zip"), smoke=True)
    shutil.unpack_archive("smoke.zip", "unpacked")
    code, (_, summary) = said(capsys, "unpacked")
    assert (code, summary) == (0, "5 files of 1 machine: 0 hold, 5 without a checksum")


def test_where_there_is_nothing_to_check_a_line_says_what_to_give(capsys: Capture) -> None:
    Path("empty").mkdir()
    for path in ("nowhere", "nowhere.json", "empty"):
        code, (line,) = said(capsys, path)
        assert code == 2
        assert line == f"respeed: {path}: has no records; give results/records, a folder or a file in it, or a bundle"
