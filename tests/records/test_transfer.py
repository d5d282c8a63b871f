"""Records carried elsewhere: import after export is the identity, and nothing that is here is written over."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from respeed.cli import main
from respeed.errors import UserError
from respeed.exchange import export_records, import_records
from respeed.files import check
from respeed.paths import hold_folder
from respeed.records import read_imports, read_records, record_paths
from respeed.schedule.rows import check_same_machine
from respeed.sessions import move_session
from tests.made import description, make_lines, write_lines
from tests.records.conftest import files, write_box

ZIP = Path("records.zip")
RECORDS = Path("results/records")
Said = Callable[..., list[str]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """What a command prints, but for its last line, which says what comes next."""

    def run(command: Callable[..., None], *arguments: object) -> list[str]:
        capsys.readouterr()
        command(*arguments)
        return [line for line in capsys.readouterr().out.splitlines() if not line.startswith(("next", "wrote"))]

    return run


def imported(machine: str = "box") -> dict[str, bytes]:
    """The files of a machine that was imported, as they would lie if it had been measured here."""
    home = f"results/imported/{machine}"
    found = {name: data for name, data in files(home).items() if not name.endswith("imports.jsonl")}
    return {name.replace(home, "results/records/box"): data for name, data in found.items()}


def test_import_after_export_is_the_identity(whole_box: dict[str, Path], said: Said) -> None:
    """Import after export is the identity and a second one adds nothing."""
    before = files()
    assert said(export_records, ZIP, False) == ["box: 7 records"]
    packed = ZIP.read_bytes()
    Path("results").rename("there")
    import_records(Path("there/records"), False)  # a folder of records as well as a zip file
    assert imported() == before
    shutil.rmtree("results")
    for told in ("box: 8 new files", "box: nothing new; 8 files here already"):
        assert said(import_records, ZIP, False) == [told]
        assert imported() == before
    export_records(ZIP, False, "box")
    assert ZIP.read_bytes() == packed


def test_imported_records_join_only_when_told(said: Said) -> None:
    """Whatever name, host and date they carry; and where they came from is kept."""
    write_box(hour=1, system="Linux 7")
    export_records(ZIP, False)
    theirs = files()
    shutil.rmtree("results")
    write_box(rounds=3)
    ours = files()
    with pytest.raises(UserError, match="box is the name of a machine that is measured here; import it with --as NAME"):
        import_records(ZIP, False)
    assert files() == ours
    assert said(import_records, ZIP, False, "lab") == ["lab: 3 new files"]
    assert imported("lab") == theirs
    export_records(Path("ours.zip"), False)
    with pytest.raises(UserError, match=r"lab is the name of records.zip, imported 20.*--into lab"):
        import_records(Path("ours.zip"), False, "lab")
    assert said(import_records, Path("ours.zip"), False, None, "lab") == [
        "lab: 3 new files; 1 file here already",
    ]
    assert imported("lab") == ours | theirs
    assert [one.file for one in read_imports("lab", False)] == ["records.zip", "ours.zip"]
    assert not read_imports("box", False)
    import_records(ZIP, False, into="box")  # the user's own, from another place
    (one,) = read_imports("box", False)
    assert imported().keys() == theirs.keys() - ours.keys()
    assert one.sha256 == hashlib.sha256(ZIP.read_bytes()).hexdigest()
    assert len(read_records(False, "box")) == len(ours | theirs) - 1


def test_two_machines_keep_their_names(said: Said) -> None:
    for name in ("one", "two"):
        write_box(name)
    export_records(ZIP, False)
    shutil.rmtree("results")
    with pytest.raises(UserError, match=r"has 2 machines \(one, two\), for one name; export one"):
        import_records(ZIP, False, "lab")
    with pytest.raises(UserError, match="give --as, for a machine that is new here, or --into"):
        import_records(ZIP, False, "lab", "lab")
    assert said(import_records, ZIP, False) == ["one: 3 new files", "two: 3 new files"]


def test_this_machines_name_is_reserved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of this machine is its own before it is measured."""
    write_box("me")
    export_records(ZIP, False)
    shutil.rmtree("results")
    monkeypatch.setattr("respeed.inputs.config.machine_slug", lambda: "me")
    for module in ("exchange", "schedule.rows"):
        monkeypatch.setattr(f"respeed.{module}.describe_machine", lambda: description()["hardware"])
    with pytest.raises(UserError, match="me is the name of a machine that is measured here; import it with --as NAME"):
        import_records(ZIP, False)
    import_records(ZIP, False, into="me")
    assert {*files()} >= {"results/imported/me/machine.json", "results/imported/me/imports.jsonl"}
    check_same_machine("me", False)
    import_records(ZIP, False, "guest")
    with pytest.raises(UserError, match="guest is the name of imported records; give this machine another"):
        check_same_machine("guest", False)


def test_another_machine_of_that_name_is_refused_until_it_is_given_another(said: Said) -> None:
    write_box(memory_bytes=2**35)
    export_records(ZIP, False)
    shutil.rmtree("results")
    write_box()
    before = files()
    refused = (
        r"^records.zip: is of another machine than box here \(memory, 32.0 GiB, not 16.0 GiB\); import it with --as"
    )
    for into in (None, "box"):
        with pytest.raises(UserError, match=refused):
            import_records(ZIP, False, into=into)
    with pytest.raises(UserError, match="cannot be the name of a machine"):
        import_records(ZIP, False, "No Name")
    assert files() == before
    assert said(import_records, ZIP, False, "lab") == ["lab: 3 new files"]


def test_unusable_records_are_not_exported(capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be used is not exported and check names all of it."""
    write_box(rounds=6)
    damaged, odd, killed, pipe, other, whole = record_paths(False, "box")
    damaged.write_text("{\n")
    with odd.open("a") as file:
        file.write("{}\n")
    killed.write_bytes(killed.read_bytes()[:-5])  # of a process that was killed all is kept that is whole
    pipe.unlink()
    os.mkfifo(pipe)
    other.write_text(other.read_text().replace("A CPU", "Another CPU"))
    ZIP.touch()
    wrong = (
        f"{pipe}: is no regular file",
        f"{RECORDS}: {damaged.relative_to(RECORDS)}:1: is damaged",
        f"{RECORDS}: {odd.relative_to(RECORDS)}:3: workload: Field required",
        f"{RECORDS}: {other.relative_to(RECORDS)}: is of another machine than other files of box (CPU, Another CPU,",
    )
    export_records(ZIP, False)
    told = capsys.readouterr()
    assert "box: 2 records\n" in told.out
    for line in wrong:
        assert f"respeed: left out: {line.replace(f'{RECORDS}:', f'{RECORDS}/box:')}" in told.err
    assert main(["check", str(ZIP)]) == 0
    capsys.readouterr()
    assert main(["check", str(RECORDS)]) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == f"4 mistakes; looked at 3 good files in {RECORDS}"
    assert all(line.startswith(found) for line, found in zip(lines, wrong, strict=True))
    assert whole.name not in " ".join(lines)
    Path("notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"notes\.txt: is no zip file"):
        export_records(Path("notes.txt"), False)
    assert Path("notes.txt").read_text() == "mine"


KILLED = """
import itertools, os, signal
from pathlib import Path
from respeed.exchange import import_records
left, replace = itertools.count(2, -1), os.replace
os.replace = lambda *paths: replace(*paths) if next(left) else os.kill(os.getpid(), signal.SIGKILL)
import_records(Path("records.zip"), False)
"""


def test_a_killed_import_is_completed_later() -> None:
    """An import that is killed leaves whole files and the same command completes it."""
    write_box(rounds=3)
    export_records(ZIP, False)
    whole = files()
    shutil.rmtree("results")
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == -signal.SIGKILL
    found = {name: data for name, data in imported().items() if not name.endswith(".part")}
    assert len(found) == 2
    assert found.items() <= whole.items()
    import_records(ZIP, False)
    assert {name: data for name, data in imported().items() if not name.endswith(".part")} == whole
    assert len(read_imports("box", False)) == 1


def test_nothing_is_imported_during_a_run() -> None:
    """Nothing is imported while a run is at work in the folder."""
    write_box()
    export_records(ZIP, False)
    lock = hold_folder(False)
    with pytest.raises(UserError, match="results: another run is at work in this folder"):
        import_records(ZIP, False, "lab")
    os.close(lock)
    import_records(ZIP, False, "lab")


def test_other_file_names_are_another_import() -> None:
    write_box()
    export_records(ZIP, False)
    Path("results").rename("there")
    import_records(Path("there/records"), False)
    for path in Path("there/records/box/torch-1").iterdir():
        path.rename(path.with_name(f"{path.name[:17]}zzzz.jsonl"))
    with pytest.raises(UserError, match="box is the name of records, imported 20"):
        import_records(Path("there/records"), False)
    assert len(read_records(False, "box")) == 2


def test_damaged_origins_are_told_and_harmless(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is damaged of where records came from is told and ends nothing."""
    write_box()
    export_records(ZIP, False)
    shutil.rmtree("results")
    import_records(ZIP, False)
    known = Path("results/imported/box/imports.jsonl")
    known.write_text(known.read_text("utf-8") + '{"file": "x"}\n{"fi', "utf-8")
    capsys.readouterr()
    assert [one.file for one in read_imports("box", False)] == ["records.zip"]
    assert capsys.readouterr().err.count(f"respeed: skipped: {known}: ") == 2
    import_records(Path("results/imported/box"), False, into="box")
    write_box("other")
    export_records(Path("more.zip"), False)
    import_records(Path("more.zip"), False, into="box")
    assert len(known.read_text("utf-8").splitlines()) == 4, "a line that cannot be read stays: a later version may"
    assert [one.file for one in read_imports("box", False)] == ["records.zip", "more.zip"]


def test_a_folder_whose_name_is_a_pattern_has_no_files_of_another() -> None:
    write_box()
    shutil.copytree(RECORDS / "box", RECORDS / "bo[x]")
    with pytest.raises(UserError, match="has no records"):
        import_records(RECORDS / "bo[x]", False)


def test_what_was_joined_is_exported_and_what_was_set_aside_stays_so() -> None:
    write_box(hour=5)
    export_records(ZIP, False)
    shutil.rmtree("results")
    write_box()
    import_records(ZIP, False, into="box")
    export_records(Path("both.zip"), False)
    with zipfile.ZipFile("both.zip") as archive:
        assert len(archive.namelist()) == 5
    (first, *_) = read_records(False, "box")
    assert move_session("box", False, first.start.started[:16], aside=True) == 2
    import_records(Path("both.zip"), False, into="box")
    assert len(read_records(False, "box")) == 2


@pytest.mark.parametrize("name", ["this", "all", "paper"])
def test_no_machine_takes_a_reserved_name(name: str) -> None:
    write_box()
    export_records(ZIP, False)
    with pytest.raises(UserError, match="cannot be the name of a machine"):
        import_records(ZIP, False, name)


def test_check_reads_smoke_records_too(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(*make_lines(smoke=True))
    assert check(None) == 0
    assert "1 good file in results/smoke/records" in capsys.readouterr().out
