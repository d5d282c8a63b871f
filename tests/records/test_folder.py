"""Whether all can be written is known before anything is measured; a disk that is full meanwhile is one line, and
leaves every file whole or as it was."""

import json
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from respeed.cli.measure import _logging_to
from respeed.errors import UserError
from respeed.paths import RoundId, round_path
from respeed.records.store import NEEDED_BYTES, check_room, write_json
from tests.conftest import ROOT, MakeRecord
from tests.systems import as_nobody, on_small_disk

Usage = namedtuple("Usage", "total used free")


MEASURE = ["measure", "--config", "preset=smoke", "experiments=rbm", "profiles=openblas-1", "machine=box"]


def refused(command: list[str], folder: Path) -> str:
    """The one line of a command that is refused."""
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    return done.stderr


def test_a_disk_that_is_nearly_full_stops_what_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    results = Path("results/smoke")
    monkeypatch.setattr("respeed.records.store.shutil.disk_usage", lambda _: Usage(1, 1, NEEDED_BYTES - 1))
    with pytest.raises(UserError, match=r"^results/smoke: 100 MB are free there, and a run may need 100 MB; make room"):
        check_room(results)
    monkeypatch.setattr("respeed.records.store.shutil.disk_usage", lambda _: Usage(1, 1, NEEDED_BYTES))
    check_room(results)


def test_a_disk_of_64_kilobytes_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    told = refused([*on_small_disk(tmp_path, "64k"), sys.executable, "-m", "respeed", *MEASURE], tmp_path)
    assert told.startswith("respeed: results/smoke: 0 MB are free there, and a run may need 100 MB; make room")


@pytest.mark.parametrize("folder", ["", "results"])
def test_a_folder_that_may_not_be_written_to_is_told_before_anything_is_measured(tmp_path: Path, folder: str) -> None:
    closed = tmp_path / folder
    closed.mkdir(parents=True, exist_ok=True)
    for path in (tmp_path, *(tmp_path / "results").rglob("*")):
        path.chmod(0o777)
    closed.chmod(0o555)
    told = refused([*as_nobody(), sys.executable, "-m", "respeed", *MEASURE], tmp_path)
    closed.chmod(0o755)
    assert "results/smoke: cannot be written: Permission denied" in told
    assert not list(tmp_path.rglob("*.json"))


# On the small disk: what was there, the command on a full disk, what is there then, and the command with room.
SCRIPT = """
cp -r "$FROM"/. . && dd if=/dev/zero of=fill bs=1k 2>/dev/null
find . -type f ! -name fill -exec cksum {} + | sort >"$TOLD/before"
"$@" 2>"$TOLD/line"; echo $? >"$TOLD/code"
find . -type f ! -name fill -exec cksum {} + | sort >"$TOLD/after"
rm fill && "$@"
"""


def told_on_full_disk(tmp_path: Path, source: Path, *command: str) -> str:
    """The line of a command that finds the disk full. It has left everything as it was, and goes on with room."""
    disk, told = tmp_path / "disk", tmp_path / "told"
    disk.mkdir()
    told.mkdir()
    shell = ["env", f"FROM={source}", f"TOLD={told}", "sh", "-c", SCRIPT, "sh"]
    done = subprocess.run(
        [*on_small_disk(disk, "8m"), *shell, sys.executable, "-m", "respeed", *command], text=True, capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (told / "code").read_text() == "2\n"
    assert (told / "after").read_text() == (told / "before").read_text()
    line = (told / "line").read_text()
    assert line.count("\n") == 1, line
    assert line.endswith(": cannot be written: No space left on device\n")
    return line


def records(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.json") if "cases" in json.loads(path.read_text())]


@pytest.fixture
def made(tmp_path: Path, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a record, and with what the report is made of."""
    folder = tmp_path / "made"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_json(round_path(RoundId("box", "raina2009", "rbm", "torch-1", 1)), make_record([0.1] * 3))
    shutil.copytree(ROOT / "report", folder / "report", ignore=shutil.ignore_patterns("*.pdf", "*.html", "facts"))
    return folder


def test_a_description_is_whole_or_not_there(tmp_path: Path, made: Path) -> None:
    told = told_on_full_disk(tmp_path, made, "describe", "results/records/new/machine.json")
    assert told.startswith("respeed: results/records/new")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "before", "file"),
    [("tables", [], "results/tables/"), ("figures", ["tables"], "results/figures/"),
     ("pdf", ["tables", "figures"], "report/facts")],
)  # fmt: skip
def test_tables_figures_and_report_are_whole_or_as_they_were(
    tmp_path: Path, made: Path, part: str, before: list[str], file: str
) -> None:
    for stage in [*before, part]:
        subprocess.run([sys.executable, "-m", "respeed", "report", "--only", stage], cwd=made, check=True)
    assert f"respeed: {file}" in told_on_full_disk(tmp_path, made, "report", "--only", part)


@pytest.mark.slow
def test_what_is_printed_into_a_full_file_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "respeed", "check"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "No space left on device" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("small", "shell", "why"),
    [
        ("64k", 'dd if=/dev/zero of=fill 2>/dev/null; cd "$0" && exec "$@"', "No space left on device"),
        ("8m", 'cd "$0" && ulimit -f 24 && exec "$@"', "File too large"),
    ],
    ids=["full", "too large"],
)
def test_kernels_that_cannot_be_kept_end_the_measurement_and_fail_no_case(
    small: str, shell: str, why: str, tmp_path: Path
) -> None:
    disk, folder = tmp_path / "disk", tmp_path / "folder"
    disk.mkdir()
    folder.mkdir()
    command = ["env", f"NUMBA_CACHE_DIR={disk}/kernels", "sh", "-c", shell, str(folder)]
    command += [sys.executable, "-m", "respeed", *MEASURE]
    done = subprocess.run([*on_small_disk(disk, small), *command], text=True, capture_output=True, check=False)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("respeed: ")
    assert last.endswith(f": cannot be written: {why}")
    assert not records(folder)


@pytest.mark.parametrize(("log", "why"), [("/dev/full", "No space left on device"), ("none/log", "No such file")])
def test_a_log_that_cannot_be_written_is_a_line_with_its_name(log: str, why: str) -> None:
    with pytest.raises(UserError, match=f"^{log}: cannot be written: {why}"), _logging_to(Path(log)) as say:
        say("a line")


def test_what_ends_a_run_is_told_although_its_log_is_full() -> None:
    with pytest.raises(UserError, match=r"^a mistake$"), _logging_to(Path("/dev/full")):
        raise UserError("a mistake")
