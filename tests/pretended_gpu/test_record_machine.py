"""A lent machine's whole job, `bench/record_machine.py`, on the pretended GPU: from the command to imported records."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT, Project
from tests.pretended_gpu.environment import environment

FIRST = (["gpu", "torch-all"], ["torch-all", "gpu"])


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
def test_a_machine_with_a_gpu_has_a_first_table_then_all_and_its_bundle_is_imported(
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
    command = ("python", "bench/record_machine.py", "--preset", "smoke", "--minutes", "90", "--bundle", str(bundle))

    said = project.run(*command, **added).stdout
    assert {line.rpartition(": ")[2] for line in said.splitlines() if line.startswith("record_machine: ")} == {"done"}
    assert "no profile: the device is pretended" in said
    # A library ends its own last words without a line break.
    assert re.findall(r"respeed: turn \d+ of \d+, ([\w-]+),", said)[:2] in FIRST

    copy = tmp_path / "copy"
    copy.mkdir()
    mine = Project(copy)
    mine.run("python", "-m", "respeed", "import", str(bundle), "--smoke")
    assert "not right" not in mine.run("python", "-m", "respeed", "verify", "--smoke").stdout
    records = [json.loads((copy / path).read_text()) for path in mine.records()]
    measured = {record["profile"]["name"] for record in records if record["cases"][0]["status"] == "measured"}
    assert {"gpu", "gpu-bf16", "openblas-1"} <= measured
