"""Records carried elsewhere: import after export is the identity, and nothing that is here is written over."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from respeed.cli.main import main
from respeed.errors import UserError
from respeed.paths import hold_folder
from respeed.records import record_paths
from respeed.transfer import Imported, check_carried, export_records, import_records
from tests.records.conftest import files, write_box

ZIP = Path("records.zip")
RECORDS = Path("results/records")


def test_import_after_export_is_the_identity_and_a_second_one_adds_nothing(whole_box: dict[str, Path]) -> None:
    before = files()
    assert export_records(ZIP, False) == {"box": 7}
    packed = ZIP.read_bytes()
    shutil.rmtree("results")
    assert import_records(ZIP, False) == {"box": Imported(new=8)}
    assert files() == before
    assert import_records(ZIP, False) == {"box": Imported(known=8)}
    assert files() == before
    export_records(ZIP, False)
    assert ZIP.read_bytes() == packed


@pytest.mark.parametrize("form", ["there", "there/box", ZIP])
def test_a_folder_is_imported_as_a_zip_file_is(form: str) -> None:
    write_box()
    export_records(ZIP, False)
    RECORDS.rename("there")
    assert check_carried(Path(form)) == ([], 3)
    assert import_records(Path(form), False) == {"box": Imported(new=3)}


def test_what_two_measured_apart_is_together_and_a_description_that_is_here_stays() -> None:
    write_box(hour=1, system="Linux 7")
    export_records(ZIP, False)
    theirs = files()
    shutil.rmtree("results")
    write_box(rounds=3)
    ours = files()
    done = import_records(ZIP, False)["box"]
    path = RECORDS / "box/machine.json"
    line = f"{path} is another one, and stays; to take theirs, delete it and import again"
    assert done == Imported(new=2, known=1, lines=[line])
    assert files() == theirs | ours


def test_another_machine_of_that_name_is_refused_until_it_is_given_another() -> None:
    write_box(memory_bytes=2**35)
    export_records(ZIP, False)
    shutil.rmtree("results")
    write_box()
    before = files()
    with pytest.raises(UserError, match=r"box is another machine .* \(memory, 32.0 GiB, not 16.0 GiB\); --as NAME"):
        import_records(ZIP, False)
    with pytest.raises(UserError, match="cannot be the name of a machine"):
        import_records(ZIP, False, "No Name")
    assert files() == before
    assert import_records(ZIP, False, "lab") == {"lab": Imported(new=3)}


def test_several_machines_keep_their_names_and_smoke_records_are_carried_apart() -> None:
    for machine in ("box", "other"):
        write_box(machine)
    write_box(smoke=True)
    assert export_records(ZIP, False, "other") == {"other": 2}
    assert export_records(ZIP, False) == {"box": 2, "other": 2}
    with pytest.raises(UserError, match="no records of 'bix' \\(did you mean box"):
        export_records(ZIP, False, "bix")
    with pytest.raises(UserError, match=r"--as lab: has 2 machines \(box, other\)"):
        import_records(ZIP, False, "lab")
    with pytest.raises(UserError, match="is of the real kind, and lies among the smoke ones"):
        import_records(ZIP, True)
    export_records(ZIP, True)
    assert import_records(ZIP, True, "lab")["lab"].new == 3


def test_what_cannot_be_used_is_not_exported_and_check_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    write_box(rounds=5)
    damaged, odd, killed, pipe, whole = record_paths(False)
    damaged.write_text("{\n")
    with odd.open("a") as file:
        file.write("{}\n")
    killed.write_bytes(killed.read_bytes()[:-5])  # of a process that was killed all is kept that is whole
    pipe.unlink()
    pipe.symlink_to("/dev/zero")
    assert export_records(ZIP, False) == {"box": 2}
    told = capsys.readouterr().err
    for said in (f"{damaged}:1: is damaged", f"{odd}:3: workload: Field required", f"{pipe}: is no regular file"):
        assert f"skipped: {said}" in told
    assert main(["check", str(ZIP)]) == 0
    pipe.unlink()
    assert main(["check", str(RECORDS)]) == 1
    told = capsys.readouterr().out
    for said in (f"{damaged.relative_to(RECORDS)}:1: is damaged", f"{odd.relative_to(RECORDS)}:3: workload: "):
        assert f"{RECORDS}: {said}" in told
    assert whole.name not in told
    Path("notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"notes\.txt: is no zip file"):
        export_records(Path("notes.txt"), False)
    assert Path("notes.txt").read_text() == "mine"


KILLED = """
import itertools, os, signal, sys
from pathlib import Path
from respeed.transfer import import_records
left, replace = itertools.count(int(sys.argv[1]), -1), os.replace
def replace_or_die(*paths):
    if next(left) <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*paths)
os.replace = replace_or_die
import_records(Path("records.zip"), False)
"""


def test_an_import_that_is_killed_leaves_whole_files_and_the_same_command_completes_it() -> None:
    write_box(rounds=3)
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


def test_nothing_is_imported_while_a_run_is_at_work_in_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    write_box()
    export_records(ZIP, False)
    lock = hold_folder(False)
    assert main(["import", str(ZIP)]) == 2
    assert "results: another run is at work in this folder" in capsys.readouterr().err
    os.close(lock)
    assert main(["import", str(ZIP)]) == 0
    assert "box: nothing new; 3 files were here already" in capsys.readouterr().out
