"""A machine gets another name: whole or not at all, whenever it is stopped."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.errors import UserError
from respeed.paths import (
    RoundId,
    description_path,
    hardware_path,
    learning_path,
    next_session,
    record_folders,
    record_paths,
    round_path,
)
from respeed.records.rename import adopt_strangers, rename_left_out, rename_machine
from respeed.records.store import read_description, read_hardware, read_machine, write_json, write_text
from tests.sheets import hardware_sheet

MakeRecord = Callable[..., dict[str, Any]]
HOME = Path("results/records")


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> Path:
    """A machine with three records, one of them made elsewhere, and all other files there can be; and the folder of
    what is told of machines."""
    monkeypatch.chdir(tmp_path)
    for index in (1, 2, 3):
        record = make_record([0.1, 0.30000000000000004], index=index)
        record["provenance"]["machine"] |= {"host": "f00d" * 4 if index == 3 else "a" * 16}
        write_json(round_path(RoundId("box", "raina2009", "rbm", "torch-1", index)), record)
    write_json(description_path("box", False), {"machine": "box", "hardware": {"host": "a" * 16}, "not_measurable": {}})
    write_json(next_session(False, "box"), {"schema": 1, "machine": "box"})
    write_json(learning_path("box", "raina2009", "rbm", False), {"machine": "box", "programs": []})
    write_text(HOME / "box/raina2009/rbm/torch-1/round-01.json.set-aside-1", "{")
    (tmp_path / "told").mkdir()
    (tmp_path / "told/box.yaml").write_text("profiles: [torch-1]\n")
    return tmp_path / "told"


def contents(machine: str) -> dict[str, str]:
    """Every file's text, with the machine's name taken out."""
    found = (path for path in (HOME / machine).rglob("*") if path.is_file())
    return {str(path.relative_to(HOME / machine)): path.read_text().replace(f'"{machine}"', "NAME") for path in found}


def test_all_files_go_along_and_say_the_new_name(told: Path) -> None:
    before = contents("box")
    assert rename_machine("box", "new", False, told) == 7
    assert contents("new") == before
    assert sorted(path.name for path in HOME.iterdir()) == ["new"]
    assert [path.name for path in told.iterdir()] == ["new.yaml"]
    assert {json.loads(path.read_text())["id"]["machine"] for path in record_paths(False, "new")} == {"new"}


def test_renamed_back_everything_is_as_it_was_to_the_last_byte(told: Path) -> None:
    before = {path: path.read_bytes() for path in HOME.rglob("*.json*")}
    rename_machine("box", "new", False, told)
    rename_machine("new", "box", False, told)
    assert {path: path.read_bytes() for path in HOME.rglob("*.json*")} == before


@pytest.mark.parametrize("name", ["a b", "../x", "Box", ""])
def test_what_cannot_be_a_name_is_refused(told: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot be the name of a machine"):
        rename_machine("box", name, False, told)


def test_a_name_that_is_taken_is_refused_and_nothing_is_touched(told: Path, make_record: MakeRecord) -> None:
    write_json(round_path(RoundId("new", "raina2009", "rbm", "torch-1", 1)), make_record([0.1], machine="new"))
    before = contents("box"), contents("new")
    with pytest.raises(UserError, match="is there already"):
        rename_machine("box", "new", False, told)
    assert (contents("box"), contents("new")) == before


def test_a_machine_that_nobody_measured_is_named_with_the_nearest(told: Path) -> None:
    with pytest.raises(UserError, match="did you mean box"):
        rename_machine("bx", "new", False, told)


def test_only_what_is_left_out_gets_a_name_of_its_own(told: Path) -> None:
    assert rename_left_out("box", "second", False) == 1
    assert sorted(record["id"]["index"] for record in read_machine(False, "box").records.values()) == [1, 2]
    second = read_machine(False, "second")
    assert [record["id"]["index"] for record in second.records.values()] == [3]
    assert second.fingerprint["host"] == "f00d" * 4
    assert read_machine(False, "box").left_out == {}
    assert (told / "box.yaml").exists()
    with pytest.raises(UserError, match="no record of box is left out"):
        rename_left_out("box", "third", False)


def test_a_folder_that_was_renamed_by_hand_is_its_own_machines_again(told: Path) -> None:
    (HOME / "box").rename(HOME / "by-hand")
    assert adopt_strangers("by-hand", False) == 6
    assert len(read_machine(False, "by-hand").records) == 2
    with pytest.raises(UserError, match="already"):
        adopt_strangers("by-hand", False)


def test_what_lies_in_the_folder_under_both_names_counts_once(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(HOME / "box", HOME / "copy")
    first = HOME / "copy/raina2009/rbm/torch-1/round-01.json"
    first.write_text(first.read_text().replace('"box"', '"copy"').replace('"wall_seconds": 3.0', '"wall_seconds": 4.0'))
    imported = first.with_name("round-04.json")
    third = (HOME / "box/raina2009/rbm/torch-1/round-03.json").read_text()
    imported.write_text(third.replace('"box"', '"copy"').replace('"index": 3', '"index": 4'))
    adopt_strangers("copy", False)
    assert sorted(path.name for path in record_paths(False, "copy")) == [
        "round-01.json",
        "round-02.json",
        "round-04.json",
    ]
    assert "round-03.json: set aside: the same measurement" in capsys.readouterr().err


def test_what_is_left_out_needs_a_new_name(told: Path) -> None:
    with pytest.raises(UserError, match="the second name must be a new one"):
        rename_left_out("box", "box", False)


def test_the_hardware_sheet_goes_along_with_the_records_of_its_host(told: Path, make_record: MakeRecord) -> None:
    for host, where in (("f00d" * 4, "second"), ("a" * 16, "box")):
        sheet = hardware_sheet(make_record, passes=1)
        sheet["provenance"]["machine"] = sheet["provenance"]["machine"] | {"host": host}
        write_json(hardware_path("box", False), sheet)
        rename_left_out("box", "second", False)
        assert json.loads(hardware_path(where, False).read_text())["machine"] == where
        assert len(list(HOME.glob("*/hardware.json"))) == 1
        hardware_path(where, False).unlink()
        rename_machine("second", "back", False, told)
        for path in record_paths(False, "back"):
            path.rename(round_path(RoundId("box", *path.parts[-4:-1], 3)))
        write_text(
            round_path(RoundId("box", "raina2009", "rbm", "torch-1", 3)),
            round_path(RoundId("box", "raina2009", "rbm", "torch-1", 3)).read_text().replace('"back"', '"box"'),
        )
        shutil.rmtree(HOME / "back")


def test_the_rounds_of_a_hardware_sheet_say_the_new_name_too(told: Path, make_record: MakeRecord) -> None:
    write_json(hardware_path("box", False), hardware_sheet(make_record))
    rename_machine("box", "new", False, told)
    sheet = read_hardware(hardware_path("new", False))
    assert {one["id"]["machine"] for one in sheet["rounds"]} == {sheet["machine"]} == {"new"}


def test_what_is_left_out_is_described_as_its_latest_record_says(told: Path, make_record: MakeRecord) -> None:
    for index, driver in ((4, "1.0"), (5, "2.0")):
        record = make_record([0.1], index=index, started=f"2026-01-0{index}T00:00:00+00:00")
        record["provenance"]["machine"] |= {"host": "f00d" * 4, "accelerator_driver": driver}
        write_json(round_path(RoundId("box", "raina2009", "rbm", "torch-1", index)), record)
    assert rename_left_out("box", "second", False) == 3
    described = read_description("second", False)
    assert described
    assert described["hardware"]["accelerator_driver"] == "2.0"


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

    monkeypatch.setattr(os, "fsync", dying(os.fsync))
    for name in ("rename", "replace", "unlink", "rmdir"):
        monkeypatch.setattr(Path, name, dying(getattr(Path, name)))


@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("moment", range(0, 42, 2))
def test_killed_at_any_moment_no_record_is_lost_and_the_same_call_ends_it(
    told: Path, monkeypatch: pytest.MonkeyPatch, moment: int, left_out: bool
) -> None:
    def call() -> int:
        return rename_left_out("box", "new", False) if left_out else rename_machine("box", "new", False, told)

    before = contents("box")
    moved = {"raina2009/rbm/torch-1/round-03.json", "machine.json"} if left_out else set(before)
    with monkeypatch.context() as patch:
        die_at(moment, patch)
        try:
            call()
            done = True
        except Killed:
            done = False
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
    path = round_path(RoundId("box", "raina2009", "rbm", "torch-1", 4))
    write_json(path, make_record([0.1], index=4))
    write_json(round_path(RoundId("other", "raina2009", "rbm", "torch-1", 1)), make_record([0.2], machine="other"))
    with pytest.raises(UserError, match="new is there already"):
        rename_machine("other", "new", False, told)
    rename_machine("box", "new", False, told)
    assert record_paths(False, "box") == [path]
    assert len(record_paths(False, "new")) == 3
