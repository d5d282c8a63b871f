"""Records carried elsewhere: import after export is the identity, and nothing that is here is written over."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from respeed.cli.main import main
from respeed.errors import UserError
from respeed.records.models import Kind
from respeed.records.store import hold_folder, write_json
from respeed.records.transfer import check_carried, export_records, import_records
from tests.conftest import MakeRecord
from tests.records.conftest import files, write_box

ZIP = Path("records.zip")
TABLE = Path("results/records/box/raina2009/rbm/torch-1")


def test_import_after_export_is_the_identity_and_a_second_one_adds_nothing(whole_box: dict[str, Path]) -> None:
    before = files()
    assert export_records(ZIP, False) == {"box": 6}
    packed = ZIP.read_bytes()
    shutil.rmtree("results")
    new = import_records(ZIP, False)["box"].new
    assert new == {Kind.RECORD: 6, Kind.DESCRIPTION: 1, Kind.SHEET: 1}
    assert files() == before
    again = import_records(ZIP, False)["box"]
    assert (again.new, again.known, again.lines) == ({}, 8, [])
    assert files() == before
    export_records(ZIP, False)
    assert ZIP.read_bytes() == packed


@pytest.mark.parametrize("form", ["records", "machine", "zip"])
def test_a_folder_is_imported_as_a_zip_file_is(form: str, make_record: MakeRecord) -> None:
    write_box(make_record)
    write_json(Path("results/records/box/session-001.json"), {})
    export_records(ZIP, False)
    Path("results/records").rename("there")
    paths = {"records": Path("there"), "machine": Path("there/box"), "zip": ZIP}
    assert import_records(paths[form], False)["box"].new == {Kind.RECORD: 2, Kind.DESCRIPTION: 1}
    assert check_carried(paths[form]) == ([], 3)


def test_other_rounds_get_the_next_free_numbers(make_record: MakeRecord) -> None:
    write_box(make_record, hour=1)
    export_records(ZIP, False)
    theirs = files()
    shutil.rmtree("results")
    write_box(make_record, rounds=3)
    ours = files()
    assert import_records(ZIP, False)["box"].new == {Kind.RECORD: 2}
    both = files()
    assert both | ours == both
    numbers = {f"{TABLE}/round-01.json": "round-04.json", f"{TABLE}/round-02.json": "round-05.json"}
    assert {name: both[f"{TABLE}/{new}"] for name, new in numbers.items()} == {name: theirs[name] for name in numbers}
    import_records(ZIP, False)
    assert files() == both


def test_a_description_that_is_here_stays_and_a_line_says_so(make_record: MakeRecord) -> None:
    write_box(make_record)
    export_records(ZIP, False)
    path = Path("results/records/box/machine.json")
    path.write_text(path.read_text().replace('"Linux"', '"Linux 7"'))
    before = files()
    (line,) = import_records(ZIP, False)["box"].lines
    assert line == f"{path} is another one, and stays; to take theirs, delete it and import again"
    assert files() == before


def test_another_machine_of_that_name_is_refused_until_it_is_given_another(make_record: MakeRecord) -> None:
    write_box(make_record, memory_bytes=2**35)
    export_records(ZIP, False)
    shutil.rmtree("results")
    write_box(make_record)
    before = files()
    with pytest.raises(UserError, match=r"box is another machine .* \(memory, 32.0 GiB, not 16.0 GiB\); --as NAME"):
        import_records(ZIP, False)
    assert files() == before
    assert import_records(ZIP, False, "lab")["lab"].new == {Kind.RECORD: 2, Kind.DESCRIPTION: 1}
    with pytest.raises(UserError, match="cannot be the name of a machine"):
        import_records(ZIP, False, "No Name")


def test_files_of_two_machines_under_one_name_are_refused_and_check_says_so(make_record: MakeRecord) -> None:
    write_box(make_record)
    path = TABLE / "round-02.json"
    record = json.loads(path.read_text())
    record["provenance"]["machine"]["cpu"] = "Another CPU"
    write_json(path, record)
    export_records(ZIP, False)
    with pytest.raises(UserError, match=r"zip: box: has files of several machines \(CPU, Another CPU, not A CPU\)"):
        import_records(ZIP, False, "new")
    (line,), number = check_carried(Path("results/records"), smoke=False)
    assert (line.partition(": ")[2], number) == (
        "box: has files of several machines (CPU, Another CPU, not A CPU)", 3,
    )  # fmt: skip


def test_several_machines_keep_their_names(make_record: MakeRecord) -> None:
    for machine in ("box", "other"):
        write_box(make_record, machine)
    assert export_records(ZIP, False, "other") == {"other": 2}
    assert export_records(ZIP, False) == {"box": 2, "other": 2}
    shutil.rmtree("results")
    with pytest.raises(UserError, match=r"--as lab: has 2 machines \(box, other\)"):
        import_records(ZIP, False, "lab")
    assert set(import_records(ZIP, False)) == {"box", "other"}


def test_smoke_records_are_carried_apart(make_record: MakeRecord) -> None:
    write_box(make_record, smoke=True)
    export_records(ZIP, True)
    with pytest.raises(UserError, match="is of the smoke kind, and lies among the real ones"):
        import_records(ZIP, False)
    assert import_records(ZIP, True, "lab")["lab"].new


def test_what_cannot_be_used_is_not_exported_and_check_names_it(
    make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    write_box(make_record)
    (TABLE / "round-01.json").write_text("{")
    assert export_records(ZIP, False) == {"box": 1}
    assert f"skipped: {TABLE}/round-01.json: is damaged" in capsys.readouterr().err
    assert main(["check", "results/records"]) == 1
    assert "box/raina2009/rbm/torch-1/round-01.json: is damaged" in capsys.readouterr().out
    assert main(["check", str(ZIP)]) == 0
    Path("notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"notes\.txt: is no zip file"):
        export_records(Path("notes.txt"), False)
    assert Path("notes.txt").read_text() == "mine"


KILLED = """
import itertools, os, signal, sys
from pathlib import Path
from respeed.records import store
from respeed.records.transfer import import_records
left = itertools.count(int(sys.argv[1]), -1)
replace = os.replace
def replace_or_die(*paths):
    if next(left) <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*paths)
os.replace = replace_or_die
import_records(Path("records.zip"), False)
"""


def test_an_import_that_is_killed_leaves_whole_files_and_the_same_command_completes_it(make_record: MakeRecord) -> None:
    write_box(make_record, rounds=3)
    export_records(ZIP, False)
    whole = files()
    shutil.rmtree("results")
    for number in itertools.count(0, 2):
        done = subprocess.run([sys.executable, "-c", KILLED, str(number)], check=False)
        found = {name: data for name, data in files().items() if not name.endswith(".part")}
        assert found.items() <= whole.items()
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
    assert found == whole


def test_a_zip_file_is_written_whole_or_not_at_all(make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    write_box(make_record)
    export_records(ZIP, False)
    before = ZIP.read_bytes()
    write_box(make_record, rounds=3)
    with monkeypatch.context() as patch:
        patch.setattr("respeed.records.store.os.fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            export_records(ZIP, False)
    assert ZIP.read_bytes() == before
    assert [path.name for path in Path().iterdir() if path.suffix != ".zip"] == ["results"]


def test_nothing_is_imported_while_a_run_is_at_work_in_the_folder(
    make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    write_box(make_record)
    export_records(ZIP, False)
    lock = hold_folder(False)
    assert main(["import", str(ZIP)]) == 2
    assert "results: another run is at work in this folder" in capsys.readouterr().err
    os.close(lock)
    assert main(["import", str(ZIP)]) == 0
    assert "box: nothing new; 3 files were here already" in capsys.readouterr().out
