"""The pretended GPU can fail: each mistake, planted into a copy of the package, is caught by the test that is named.

This file is run, too: with tests and copies that they are of, each in a fork of one process, so that what takes long
to import is so once for all.
"""

import gc
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, Project
from tests.planted.mistakes import read_mistakes
from tests.pretended_gpu.environment import LIMIT_SECONDS, environment


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
def test_every_mistake_that_is_planted_is_caught_by_its_test(tmp_path: Path) -> None:
    mistakes, words = read_mistakes("on_a_gpu.txt"), list[str]()
    for number, one in enumerate(mistakes):
        (folder := tmp_path / str(number)).mkdir()
        Project(folder).edit(f"workflow/respeed/{one.file}", one.old, one.new)
        words += [*one.tests, str(folder)]
    # The order of streams in which more goes wrong.
    command, added = [sys.executable, "-m", "tests.pretended_gpu.test_planted_mistakes"], environment("reverse")
    subprocess.run([*command, *words], cwd=ROOT, env={**os.environ, **added}, check=True, timeout=LIMIT_SECONDS)
    for number, one in enumerate(mistakes):
        told = (tmp_path / str(number) / "told.txt").read_text()
        failed = re.findall(r"^(?:FAILED|ERROR) \S+?::(\S+)", told, re.MULTILINE)
        assert {*failed} == {one.tests[0].partition("::")[2]}, f"{one.file}: {one.old}\n{told[-5000:]}"


def run_test(test: str, folder: str) -> int:
    """Run a test of the copy, of which nothing is imported yet, in this process; return pytest's exit code."""
    told = os.open(f"{folder}/told.txt", os.O_CREAT | os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(told, stream)
    for name in [*sys.modules]:
        if re.match(r"(respeed|tests)\b(?!.pretended_gpu.(device|numbers))", name):
            del sys.modules[name]
    sys.path.insert(0, f"{folder}/workflow")
    options = ["-qx", "-n0", "-mgpu", "-ptests.pretended_gpu.plugin", "-pno:cacheprovider", "--assert=plain"]
    return int(pytest.main([*options, f"--basetemp={folder}.tests", test]))


if __name__ == "__main__":
    import tests.conformance.test_devices
    import tests.pretended_gpu.test_timed  # noqa: F401

    gc.freeze()
    for test, folder in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        if (child := os.fork()) == 0:
            os._exit(run_test(test, folder))
        os.waitpid(child, 0)
