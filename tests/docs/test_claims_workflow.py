"""The steps of docs/claims.yml, as a runner gives them, in a repository with claims."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT

STEPS = yaml.safe_load((ROOT / "docs/claims.yml").read_text("utf-8"))["jobs"]["claims"]["steps"]
CLAIM = """\
claims:
  - says: "the short sleep is {factor}x as fast"
    run: sleep 0.02
    over: sleep 0.2
    published: {factor}
    tolerance: 40
    minutes: {minutes}
"""


def run_step(name: str, folder: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    (step,) = (step for step in STEPS if step.get("name") == name)
    environment = {
        **os.environ,
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "PATH": f"{path}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "workflow"),
    }
    # As the service does.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("factor", "minutes", "code", "verdict"),
    [(1.1, 0.05, 0, "larger"), (90, 0.05, 1, "smaller"), (9, 0.001, 0, "not settled")],
)
def test_a_runner_judges_what_its_noise_allows(
    tmp_path: Path, factor: float, minutes: float, code: int, verdict: str
) -> None:
    (tmp_path / "claims.yaml").write_text(CLAIM.format(factor=factor, minutes=minutes))
    assert run_step("check", tmp_path).returncode == 0
    done = run_step("measure", tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("::notice::" in done.stdout) == (verdict == "not settled")
    paragraph = (tmp_path / "summary.md").read_text("utf-8")
    assert f"the short sleep is {factor}x as fast" in paragraph
    assert f": {verdict} (published {factor}x, off by up to 40 %)**" in paragraph
    lines = (tmp_path / ".claims/history.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == (verdict != "not settled")  # a ratio without an interval is not kept
    run_step("measure", tmp_path)
    assert ("before: " in (tmp_path / "claims.md").read_text("utf-8")) == (verdict != "not settled")


@pytest.mark.parametrize(
    ("line", "code"), [("    check: same\n", 1), ("    prepare: 'false'\n", 2), ("    check: gone\n", 2)]
)
def test_a_claim_that_fails_for_another_reason_fails_the_job(tmp_path: Path, line: str, code: int) -> None:
    claim = CLAIM.format(factor=1.1, minutes=0.01).replace("sleep 0.02", "date +%N")
    (tmp_path / "claims.yaml").write_text(claim + line)
    assert run_step("measure", tmp_path).returncode == code


def test_a_runner_without_a_checksum_fails(tmp_path: Path) -> None:
    (tmp_path / "claims.yaml").write_text(CLAIM.format(factor=1.1, minutes=0.01))
    (tmp_path / "sha256sum").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "sha256sum").chmod(0o755)
    assert run_step("measure", tmp_path, path=f"{tmp_path}{os.pathsep}").returncode == 2
