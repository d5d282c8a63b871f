"""Runs tests in a process of its own that takes the pretended GPU for one."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.pretended_gpu.environment import ROOT, environment

LIMIT_SECONDS = 900.0


@dataclass(frozen=True)
class Outcome:
    passed: int
    skipped: int
    failed: tuple[str, ...]  # the names of tests
    output: str

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.skipped} skipped" + (f", {len(self.failed)} failed" if self.failed else "")


def run_tests(
    *tests: str,
    order: str = "lazy",
    workflow: Path = ROOT / "workflow",
    options: Sequence[str] = ("-m", "gpu"),
    pretended: bool = True,
) -> Outcome:
    """Run tests of this project, of the package in the folder `workflow`, in that order of streams; without the
    pretended GPU where it is not `pretended`."""
    added = environment(order) if pretended else {"PYTHONPATH": str(ROOT)}
    added["PYTHONPATH"] = os.pathsep.join([str(workflow), added["PYTHONPATH"]])
    plugin = ["-p", "tests.pretended_gpu.plugin"] if pretended else []
    # The process's own folder: of one that tests share, pytest would remove what others still use.
    with tempfile.TemporaryDirectory(prefix="pretended-gpu-") as folder:
        command = [
            sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-q",
            "-n", "0", "--basetemp", f"{folder}/tests", *options, *tests,
        ]  # fmt: skip
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
        done = subprocess.run(
            command, cwd=ROOT, env={**inherited, **added}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
    # Libraries may still say something as the process ends.
    told = re.findall(r"^.*\d+ (?:passed|failed|skipped|error).* in [\d.]+s.*$", done.stdout, re.M)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|skipped)", told[-1] if told else "")}
    failed = tuple(re.findall(r"^(?:FAILED|ERROR) \S+?::(\S+)", done.stdout, re.M))
    if done.returncode not in (0, 1) or bool(failed) != bool(done.returncode):
        raise AssertionError(f"exit status {done.returncode}\n{done.stdout[-5000:]}")
    return Outcome(counts.get("passed", 0), counts.get("skipped", 0), failed, done.stdout)
