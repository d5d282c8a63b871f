"""A disk that is full while something is written: one line, nothing half written, and the same command goes on."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from respeed.cli.measure import _logging_to
from respeed.errors import UserError
from respeed.paths import RoundId, round_path
from respeed.records.store import write_json
from tests.conftest import ROOT, MakeRecord
from tests.systems import on_small_disk

MEASURE = ["measure", "--config", "preset=smoke", "experiments=rbm", "profiles=openblas-1", "machine=box"]
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
    why, _, advice = line.rpartition("; ")
    assert why.endswith(": cannot be written: No space left on device")
    assert advice == "make room there, and the same command goes on\n"
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
    ("command", "before", "file"),
    [("tables", [], "results/tables/"), ("figures", ["tables"], "results/figures/"),
     ("report", ["tables", "figures"], "report/facts")],
)  # fmt: skip
def test_tables_figures_and_report_are_whole_or_as_they_were(
    tmp_path: Path, made: Path, command: str, before: list[str], file: str
) -> None:
    for stage in [*before, command]:
        subprocess.run([sys.executable, "-m", "respeed", stage], cwd=made, check=True)
    assert f"respeed: {file}" in told_on_full_disk(tmp_path, made, command)


@pytest.mark.slow
def test_what_is_printed_into_a_full_file_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "respeed", "hardware"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "No space left on device" in done.stderr


@pytest.mark.slow
def test_kernels_that_cannot_be_kept_end_the_measurement_and_fail_no_case(tmp_path: Path) -> None:
    disk, folder = tmp_path / "disk", tmp_path / "folder"
    disk.mkdir()
    folder.mkdir()
    script = 'dd if=/dev/zero of=fill 2>/dev/null; cd "$0" && exec "$@"'
    done = subprocess.run(
        [*on_small_disk(disk, "64k"), "env", f"NUMBA_CACHE_DIR={disk}/kernels", "sh", "-c", script, str(folder),
         sys.executable, "-m", "respeed", *MEASURE], text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "respeed: what is kept of compiled kernels: cannot be written: No space left on device"
    )
    assert not records(folder)


@pytest.mark.slow
def test_kernels_larger_than_a_file_may_be_end_the_measurement_and_fail_no_case(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 24 && exec "$@"', "sh", sys.executable, "-m", "respeed", *MEASURE], cwd=tmp_path,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "respeed: what is kept of compiled kernels: cannot be written: File too large; raise the limit of a file's size"
    )
    assert not records(tmp_path)


@pytest.mark.parametrize(("log", "why"), [("/dev/full", "No space left on device"), ("none/log", "No such file")])
def test_a_log_that_cannot_be_written_is_a_line_with_its_name(log: str, why: str) -> None:
    with pytest.raises(UserError, match=f"^{log}: cannot be written: {why}"), _logging_to(Path(log)) as say:
        say("a line")


def test_what_ends_a_run_is_told_although_its_log_is_full() -> None:
    with pytest.raises(UserError, match=r"^a mistake$"), _logging_to(Path("/dev/full")):
        raise UserError("a mistake")
