"""The pretended GPU can fail: each mistake, planted into a copy of the package, is caught by the test that is named."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, Project
from tests.planted.mistakes import Mistake, plant, read_mistakes
from tests.pretended_gpu.environment import LIMIT_SECONDS, environment

OPTIONS = ("-qx", "-n0", "-mgpu", "-ptests.pretended_gpu.plugin", "-pno:cacheprovider", "--assert=plain")


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize("one", read_mistakes("on_a_gpu.txt"), ids=lambda one: one.old)
def test_each_planted_mistake_fails_its_test(one: Mistake, tmp_path: Path) -> None:
    project, (path, text) = Project(tmp_path), plant(one)
    (project.folder / path.relative_to(ROOT)).write_text(text, "utf-8")
    added = environment("reverse")  # the order of streams in which more goes wrong
    added["PYTHONPATH"] = f"{tmp_path / 'workflow'}{os.pathsep}{added['PYTHONPATH']}"
    command = [sys.executable, "-m", "pytest", *OPTIONS, f"--basetemp={tmp_path / 'tests'}", *one.tests]
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    done = subprocess.run(
        command, cwd=ROOT, env=inherited | added, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    failed = re.findall(r"^(?:FAILED|ERROR) \S+?::(\S+)", done.stdout, re.MULTILINE)
    assert {*failed} == {one.tests[0].partition("::")[2]}, done.stdout[-5000:]
