"""Whether all can be written is known before anything is measured; a disk that is full meanwhile is one line, and
leaves every file whole or as it was."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from respeed.commands import _logging_to
from respeed.errors import UserError
from tests.conftest import ROOT
from tests.made import make_lines, write_lines
from tests.systems import as_nobody, on_small_disk

RESPEED = [sys.executable, "-m", "respeed.cli"]
MEASURE = [*RESPEED, "measure", "--config", "preset=smoke", "experiments=rbm", "profiles=openblas-1", "machine=box"]
FULL = "No space left on device"


def refused(command: list[str], **options: object) -> str:
    """The one line of a command that is refused."""
    done = subprocess.run(command, text=True, stderr=subprocess.PIPE, check=False, **options)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    return done.stderr


def test_a_disk_of_64_kilobytes_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    told = refused([*on_small_disk(tmp_path, "64k"), *MEASURE])
    assert told.startswith("respeed: results/smoke: 0 MB are free there, and a run may need 100 MB; make room")


@pytest.mark.parametrize("folder", ["", "results"])
def test_a_folder_that_may_not_be_written_to_is_told_before_anything_is_measured(tmp_path: Path, folder: str) -> None:
    closed = tmp_path / folder
    closed.mkdir(exist_ok=True)
    tmp_path.chmod(0o777)
    closed.chmod(0o555)
    told = refused([*as_nobody(), *MEASURE], cwd=tmp_path)
    closed.chmod(0o755)
    assert "results/smoke: cannot be written: Permission denied" in told
    assert not list(tmp_path.rglob("*.json*"))


# On the small disk: what was there, the command on a full disk, what is there then, and the command with room.
SCRIPT = """
cp -r "$FROM"/. . && dd if=/dev/zero of=fill bs=1k 2>/dev/null
find . -type f ! -name fill -exec cksum {} + | sort >"$TOLD/before"
"$@" 2>"$TOLD/line"; echo $? >"$TOLD/code"
find . -type f ! -name fill -exec cksum {} + | sort >"$TOLD/after"
rm fill && "$@"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "before", "file"),
    [("tables", [], "results/tables/"), ("figures", ["tables"], "results/figures/"),
     ("pdf", ["tables", "figures"], "report/facts")],
)  # fmt: skip
def test_tables_figures_and_report_are_whole_or_as_they_were_and_made_when_there_is_room(
    tmp_path: Path, part: str, before: list[str], file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, disk, told = (tmp_path / name for name in ("made", "disk", "told"))
    for folder in (made, disk, told):
        folder.mkdir()
    monkeypatch.chdir(made)
    write_lines(*make_lines())
    shutil.copytree(ROOT / "report", made / "report", ignore=shutil.ignore_patterns("*.pdf", "*.html", "facts"))
    for stage in before:
        subprocess.run([*RESPEED, "report", "--only", stage], check=True)
    shell = ["env", f"FROM={made}", f"TOLD={told}", "sh", "-c", SCRIPT, "sh", *RESPEED, "report", "--only", part]
    done = subprocess.run([*on_small_disk(disk, "8m"), *shell], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (told / "code").read_text() == "2\n"
    assert (told / "after").read_text() == (told / "before").read_text()
    (line,) = (told / "line").read_text().splitlines()
    assert line.startswith(f"respeed: {file}")
    assert line.endswith(f": cannot be written: {FULL}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("small", "shell", "why"),
    [
        ("64k", 'dd if=/dev/zero of=fill 2>/dev/null; cd "$0" && exec "$@"', FULL),
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
    command = ["env", f"NUMBA_CACHE_DIR={disk}/kernels", "sh", "-c", shell, str(folder), *MEASURE]
    done = subprocess.run([*on_small_disk(disk, small), *command], text=True, capture_output=True, check=False)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("respeed: ")
    assert last.endswith(f": cannot be written: {why}")
    assert not any('"failed"' in path.read_text() for path in folder.rglob("*.jsonl"))


def test_what_is_printed_or_logged_into_a_full_file_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        assert FULL in refused([*RESPEED, "check"], stdout=full)
    for log, why in (("/dev/full", FULL), ("none/log", "No such file or directory")):
        with pytest.raises(UserError, match=f"^{log}: cannot be written: {why}$"), _logging_to(Path(log)) as say:
            say("a line")
    with pytest.raises(UserError, match=r"^a mistake$"), _logging_to(Path("/dev/full")):
        raise UserError("a mistake")
