"""A lent machine's whole job, `bench/record_machine.py`, on the pretended GPU: from the command to imported records."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Project
from tests.pretended_gpu.environment import environment

STAGES = ["device", "first", "conformance", "gpu", "rounds", "learning"]


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
def test_a_machine_with_a_gpu_goes_through_all_stages_and_its_bundle_is_imported(
    project: Project, tmp_path: Path
) -> None:
    for name in ("bench", "tests"):
        shutil.copytree(ROOT / name, project.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    bundle = tmp_path / "lent/records.zip"
    bundle.parent.mkdir()
    added = environment() | {
        "RESPEED_PRETENDED_GPU": str(project.folder),
        "PYTEST_PLUGINS": "tests.pretended_gpu.plugin",  # which the conformance tests need there
        "PYTEST_ADDOPTS": "-k rbm",  # all of them run by themselves, in test_gpu_tests.py
        "PATH": os.environ["PATH"],
    }
    added["PYTHONPATH"] = os.pathsep.join([str(project.folder / "workflow"), added["PYTHONPATH"]])
    command = ("python", "bench/record_machine.py", "--preset", "smoke", "--minutes", "24", "--bundle", str(bundle))

    done = project.run(*command, check=False, **added)
    log: list[dict[str, Any]] = json.loads(bundle.with_name("records-stages.json").read_text())
    assert [(one["stage"], one["ended"]) for one in log] == [(stage, "passed") for stage in STAGES], done.stdout
    assert done.returncode == 0
    assert "no profile: the device is pretended" in bundle.with_name("records-gpu.txt").read_text()

    again = project.run(*command, check=False, **added)
    assert json.loads(bundle.with_name("records-stages.json").read_text()) == log
    assert again.returncode == 0

    copy = tmp_path / "copy"
    copy.mkdir()
    mine = Project(copy)
    mine.run("python", "-m", "respeed", "import", str(bundle), "--smoke")
    assert "not right" not in mine.run("python", "-m", "respeed", "verify", "--smoke").stdout
    records = [json.loads((copy / path).read_text()) for path in mine.records()]
    measured = {record["profile"]["name"] for record in records if record["cases"][0]["status"] == "measured"}
    assert {"gpu", "gpu-bf16", "openblas-1"} <= measured
