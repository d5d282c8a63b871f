"""A lent machine's whole job, `bench/record_machine.py`, on the CPU: from the command to imported records."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT, Project

# Longer than the start of one stage, and less than all take.
TOO_SHORT, ENOUGH = "0.12", "9"


@pytest.mark.slow
def test_a_machine_without_a_gpu_is_measured_call_after_call_until_its_bundle_has_all(
    project: Project, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "bench", project.folder / "bench", ignore=shutil.ignore_patterns("__pycache__"))
    project.edit("config.yaml", "profiles: all", "profiles: [openblas-1]")
    project.edit("config.yaml", "experiments: all", "experiments: [rbm]")
    bundle = tmp_path / "records.zip"

    def call(minutes: str) -> tuple[int, dict[str, str]]:
        command = ("python", "bench/record_machine.py", "--preset", "smoke", "--minutes", minutes)
        done = project.run(*command, "--bundle", str(bundle), check=False, CUDA_VISIBLE_DEVICES="")
        log = json.loads(bundle.with_name("records-stages.json").read_text())
        return done.returncode, {one["stage"]: one["ended"] for one in log}

    exit_code, ended = call(TOO_SHORT)
    assert exit_code
    assert "passed" not in {ended["rounds"], ended["learning"]}
    assert call(ENOUGH) == (0, {"device": "passed", "rounds": "passed", "learning": "passed"})
    told = bundle.with_name("records-rounds.txt").read_text()
    assert call(ENOUGH)[0] == 0
    assert bundle.with_name("records-rounds.txt").read_text() == told

    (tmp_path / "copy").mkdir()
    mine = Project(tmp_path / "copy")
    mine.run("python", "-m", "respeed", "import", str(bundle), "--smoke")
    assert mine.records().keys() == project.records().keys() != set()
    mine.run("python", "-m", "respeed", "verify", "--smoke")
