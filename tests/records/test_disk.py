"""Whether all can be written is known before anything is measured; a disk that is full meanwhile is one line, and
leaves every file whole or as it was."""

import subprocess
import sys
from pathlib import Path

import pytest

from respeed.commands import _logging_to
from respeed.errors import UserError
from tests.systems import as_nobody, on_small_disk

RESPEED = [sys.executable, "-m", "respeed.cli"]
MEASURE = [*RESPEED, "measure", "--config", "preset=smoke", "experiments=rbm", "profiles=openblas-1", "machine=box"]
FULL = "No space left on device"


def refused(command: list[str], **options: object) -> str:
    """The one line of a command that is refused."""
    done = subprocess.run(command, text=True, stderr=subprocess.PIPE, check=False, **options)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    return done.stderr


def test_a_tiny_disk_is_refused_before_measuring(tmp_path: Path) -> None:
    """A disk of 64 kilobytes is refused before anything is measured."""
    told = refused([*on_small_disk(tmp_path, "64k"), *MEASURE])
    assert told.startswith("respeed: results/smoke: 0 MB are free there, and a run may need 100 MB; make room")


def test_an_unwritable_folder_is_told_before_measuring(tmp_path: Path) -> None:
    """A folder that may not be written to is told before anything is measured."""
    closed = tmp_path / "results"
    closed.mkdir(mode=0o555)
    tmp_path.chmod(0o777)
    told = refused([*as_nobody(), *MEASURE], cwd=tmp_path)
    assert "results/smoke: cannot be written: Permission denied" in told
    assert not list(tmp_path.rglob("*.json*"))


def test_what_is_printed_or_logged_into_a_full_file_is_one_line(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        assert FULL in refused([*RESPEED, "check"], stdout=full)
    for log, why in (("/dev/full", FULL), ("none/log", "No such file or directory")):
        with pytest.raises(UserError, match=f"^{log}: cannot be written: {why}$"), _logging_to(Path(log)) as say:
            say("a line")
        with pytest.raises(UserError, match=r"^a mistake$"), _logging_to(Path(log)):
            raise UserError("a mistake")
    log = tmp_path / "log"
    with pytest.raises(UserError, match=r"^a mistake$"), _logging_to(log):
        raise UserError("a mistake")
    assert log.read_text() == "respeed: a mistake\n"
