"""A lent machine's whole job, `bench/record_machine.py`: from the command to imported records."""

import shutil
import time
from pathlib import Path

import pytest
import record_machine

from tests.conftest import ROOT, Project


@pytest.mark.parametrize(("first", "code"), [("pass", 75), ("import os; os.abort()", 1)])
def test_a_command_that_hangs_or_crashes_does_not_stop_the_next(first: str, code: int, tmp_path: Path) -> None:
    made, later = tmp_path / "made", 60.0
    last = f"open({str(made)!r}, 'w')"
    asked = [(later, ["-c", first]), (0.5, ["-c", "import time; time.sleep(60)"]), (later, ["-c", last])]
    assert record_machine.go_through(asked, time.monotonic()) == code
    assert made.exists()


@pytest.mark.slow
def test_a_machine_without_a_gpu_is_measured_call_after_call_until_its_bundle_has_all(
    project: Project, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "bench", project.folder / "bench", ignore=shutil.ignore_patterns("__pycache__"))
    project.edit("config.yaml", "profiles: all", "profiles: [openblas-1]")
    project.edit("config.yaml", "experiments: all", "experiments: [rbm]")
    bundle = tmp_path / "records.zip"

    def call(minutes: str) -> int:
        command = ("python", "bench/record_machine.py", "--preset", "smoke", "--minutes", minutes)
        return project.run(*command, "--bundle", str(bundle), check=False, CUDA_VISIBLE_DEVICES="").returncode

    assert call("0.2") != 0
    assert call("9") == 0
    first = project.records()
    assert call("9") == 0
    assert project.records() == first

    (tmp_path / "copy").mkdir()
    mine = Project(tmp_path / "copy")
    mine.run("python", "-m", "respeed", "import", str(bundle), "--smoke")
    assert mine.records().keys() == first.keys() != set()
    assert list((mine.folder / "results/smoke/records").glob("*/raina2009/rbm/learning.json"))
    mine.run("python", "-m", "respeed", "verify", "--smoke")
