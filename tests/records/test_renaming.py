"""A machine gets another name: whole or not at all, whenever it is stopped."""

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.errors import UserError
from respeed.paths import RoundId, description_path, hardware_path, record_folders, record_paths, round_path
from respeed.records.rename import adopt_strangers, rename_left_out, rename_machine
from respeed.records.store import read_description, read_hardware, read_machine, write_json, write_text
from tests.conftest import MakeRecord
from tests.records.carried import write_box
from tests.sheets import hardware_sheet

HOME = Path("results/records")
HOST, OTHER_HOST = "a" * 16, "f00d" * 4


def path_of(machine: str, index: int) -> Path:
    return round_path(RoundId(machine, "raina2009", "rbm", "torch-1", index))


def write(record: dict[str, Any], host: str = HOST, **facts: Any) -> Path:
    record["provenance"]["machine"] |= {"host": host} | facts
    path = path_of(record["id"]["machine"], record["id"]["index"])
    write_json(path, record)
    return path


@pytest.fixture
def told(make_record: MakeRecord) -> Path:
    """A machine with three records, one of them made elsewhere, and all other files there can be; and the folder of
    what is told of machines."""
    write_box(make_record, profiles=())
    for index, host in ((1, HOST), (2, HOST), (3, OTHER_HOST)):
        write(make_record([0.1, 0.30000000000000004], index=index), host)
    write_json(description_path("box", False), {"machine": "box", "hardware": {"host": HOST}, "not_measurable": {}})
    write_text(HOME / "box/raina2009/rbm/torch-1/round-01.json.set-aside-1", "{")
    Path("told").mkdir()
    Path("told/box.yaml").write_text("profiles: [torch-1]\n")
    return Path("told")


def contents(machine: str) -> dict[str, str]:
    """Every file's text, with the machine's name taken out."""
    found = (path for path in (HOME / machine).rglob("*") if path.is_file())
    return {str(path.relative_to(HOME / machine)): path.read_text().replace(f'"{machine}"', "NAME") for path in found}


def test_all_files_go_along_and_say_the_new_name_and_come_back_to_the_last_byte(
    told: Path, make_record: MakeRecord
) -> None:
    write_json(hardware_path("box", False), hardware_sheet(make_record, passes=1))
    before, bytes_before = contents("box"), {path: path.read_bytes() for path in HOME.rglob("*.json*")}
    assert rename_machine("box", "new", False, told) == 8
    assert contents("new") == before
    assert [path.name for path in HOME.iterdir()] == ["new"]
    assert [path.name for path in told.iterdir()] == ["new.yaml"]
    assert {json.loads(path.read_text())["id"]["machine"] for path in record_paths(False, "new")} == {"new"}
    sheet = read_hardware(hardware_path("new", False))
    assert {one["id"]["machine"] for one in sheet["rounds"]} == {sheet["machine"]} == {"new"}
    rename_machine("new", "box", False, told)
    assert {path: path.read_bytes() for path in HOME.rglob("*.json*")} == bytes_before


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        *(("box", name, "cannot be the name of a machine") for name in ("a b", "../x", "Box", "")),
        ("box", "taken", "is there already"),
        ("bx", "new", "did you mean box"),
    ],
)
def test_a_name_that_cannot_be_had_is_refused_and_nothing_is_touched(
    old: str, new: str, line: str, told: Path, make_record: MakeRecord
) -> None:
    write(make_record([0.1], machine="taken"))
    before = contents("box"), contents("taken")
    with pytest.raises(UserError, match=line):
        rename_machine(old, new, False, told)
    assert (contents("box"), contents("taken")) == before


def test_only_what_is_left_out_gets_a_name_of_its_own(told: Path, make_record: MakeRecord) -> None:
    for index, driver in ((4, "1.0"), (5, "2.0")):
        record = make_record([0.1], index=index, started=f"2026-01-0{index}T00:00:00+00:00")
        write(record, OTHER_HOST, accelerator_driver=driver)
    with pytest.raises(UserError, match="the second name must be a new one"):
        rename_left_out("box", "box", False)
    write_json(description_path("box", False), {"machine": "box", "hardware": {"host": HOST}, "not_measurable": {}})
    assert rename_left_out("box", "second", False) == 3
    first, second = read_machine(False, "box"), read_machine(False, "second")
    assert list(first.records) == [path_of("box", index) for index in (1, 2)]
    assert list(second.records) == [path_of("second", index) for index in (3, 4, 5)]
    assert (first.left_out, second.fingerprint["host"]) == ({}, OTHER_HOST)
    # Described as its latest record says.
    described = read_description("second", False)
    assert described
    assert described["hardware"]["accelerator_driver"] == "2.0"
    assert (told / "box.yaml").exists()
    with pytest.raises(UserError, match="no record of box is left out"):
        rename_left_out("box", "third", False)


@pytest.mark.parametrize(("host", "where"), [(OTHER_HOST, "second"), (HOST, "box")])
def test_the_hardware_sheet_goes_along_with_the_records_of_its_host(
    host: str, where: str, told: Path, make_record: MakeRecord
) -> None:
    sheet = hardware_sheet(make_record, passes=1)
    sheet["provenance"]["machine"] = sheet["provenance"]["machine"] | {"host": host}
    write_json(hardware_path("box", False), sheet)
    rename_left_out("box", "second", False)
    assert list(HOME.glob("*/hardware.json")) == [hardware_path(where, False)]
    assert read_hardware(hardware_path(where, False))["machine"] == where


def test_a_folder_that_was_renamed_by_hand_is_its_own_machines_again(told: Path) -> None:
    (HOME / "box").rename(HOME / "by-hand")
    assert adopt_strangers("by-hand", False) == 6
    assert len(read_machine(False, "by-hand").records) == 2
    with pytest.raises(UserError, match="already"):
        adopt_strangers("by-hand", False)


def test_what_lies_in_the_folder_under_both_names_counts_once(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(HOME / "box", HOME / "copy")
    first, third, fourth = (path_of("copy", index) for index in (1, 3, 4))
    first.write_text(first.read_text().replace('"box"', '"copy"').replace('"wall_seconds": 3.0', '"wall_seconds": 4.0'))
    fourth.write_text(third.read_text().replace('"box"', '"copy"').replace('"index": 3', '"index": 4'))
    adopt_strangers("copy", False)
    assert record_paths(False, "copy") == [first, path_of("copy", 2), fourth]
    assert "round-03.json: set aside: the same measurement" in capsys.readouterr().err


def test_a_hardware_sheet_alone_is_a_machine_that_can_be_renamed(told: Path) -> None:
    write_json(hardware_path("alone", False), {"machine": "alone", "rounds": []})
    assert rename_machine("alone", "other", False, told) == 1
    assert record_folders(False)["other"] == []


class Killed(BaseException):
    """What no cleaning-up may catch."""


def die_at(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the call that changes the disk for that many times end everything instead."""
    calls = 0

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > moment:
                raise Killed
            return real(*arguments, **named)

        return call

    for name in ("fsync", "rename", "replace", "unlink", "rmdir"):
        monkeypatch.setattr(os, name, dying(getattr(os, name)))


@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("moment", range(0, 48, 2))
def test_killed_at_any_moment_no_record_is_lost_and_the_same_call_ends_it(
    told: Path, monkeypatch: pytest.MonkeyPatch, moment: int, left_out: bool
) -> None:
    def call() -> int:
        return rename_left_out("box", "new", False) if left_out else rename_machine("box", "new", False, told)

    before = contents("box")
    moved = {"raina2009/rbm/torch-1/round-03.json", "machine.json"} if left_out else set(before)
    done = False
    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        die_at(moment, patch)
        call()
        done = True
    assert set(record_folders(False)) <= {"box", "new"}
    there = contents("box") | {name: text for name, text in contents("new").items() if name in before}
    if left_out:
        there |= {"machine.json": before["machine.json"]}
    assert there == before
    if not done and not (HOME / "new").exists():
        assert contents("box") == before
    if not done and (not (HOME / "new").exists() or contents("box").keys() & moved - {"machine.json"}):
        call()
    assert set(contents("new")) == moved
    assert set(contents("box")) == (set(before) - moved | {"machine.json"} if left_out else set())
    assert not (HOME / ".renaming").exists()


def test_what_was_measured_since_a_renaming_was_stopped_stays(
    told: Path, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda path: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            rename_machine("box", "new", False, told)
    assert len(record_paths(False, "new")) == len(record_paths(False, "box")) == 3
    fourth = write(make_record([0.1], index=4))
    write(make_record([0.2], machine="other"))
    with pytest.raises(UserError, match="new is there already"):
        rename_machine("other", "new", False, told)
    rename_machine("box", "new", False, told)
    assert record_paths(False, "box") == [fourth]
    assert len(record_paths(False, "new")) == 3
