"""Containerfile: what it copies is there, and where a builder is, it builds and measures."""

import re
import shutil
import subprocess

import pytest

from tests.conftest import ROOT

STEPS = [
    re.sub(r"\s+", " ", step)
    for step in re.sub(r"^#.*\n|\\\n", "", (ROOT / "Containerfile").read_text("utf-8"), flags=re.MULTILINE).splitlines()
    if step
]


def test_what_the_recipe_copies_and_runs_is_there() -> None:
    named = {word for step in STEPS if step.startswith("COPY") for word in step.split()[2:-1]} - {"."}
    named |= {word.removeprefix("./") for step in STEPS for word in re.findall(r"\./[a-z]+\b", step)}
    assert {"run", "requirements.lock", "pyproject.toml"} <= named
    assert [name for name in named if not (ROOT / name).is_file()] == []
    # It leaves the root user before anything of ours is run.
    steps = [step.split()[0] for step in STEPS]
    user = steps.index("USER")
    assert STEPS[user] != "USER 0"
    assert not any("./run" in step or step.startswith("COPY") for step in STEPS[:user])


@pytest.mark.slow
def test_the_image_builds_and_measures() -> None:
    tool = next(filter(shutil.which, ("docker", "podman")), "")
    if not tool or run(tool, "info").returncode:
        pytest.skip("docker and podman: no builder at work here")
    built = run(tool, "build", "-q", "-t", "respeed-test", "-f", "Containerfile", ".")
    assert built.returncode == 0, built.stderr
    smoke = ["--cores", "all", "--config", "preset=smoke", "profiles=openblas-1"]
    ran = run(tool, "run", "--rm", "respeed-test", "snakemake", *smoke)
    assert "the report is report/smoke.pdf" in ran.stderr, ran.stderr


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
