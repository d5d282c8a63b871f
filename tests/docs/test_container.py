"""Containerfile: what it copies is there, and where a builder is, it builds and measures."""

import re
import shutil
import subprocess

import pytest

from tests.conftest import ROOT

STEPS = [
    re.sub(r"\s+", " ", step)
    for step in re.sub(r"^#.*\n|\\\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE).splitlines()
    if step
]


def test_what_the_recipe_copies_and_runs_is_there() -> None:
    named = {word for step in STEPS if step.startswith("COPY") for word in step.split()[2:-1]} - {"."}
    named |= {word.removeprefix("./") for step in STEPS for word in re.findall(r"\./[a-z]+\b", step)}
    assert {"run", "requirements.lock", "pyproject.toml"} <= named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_recipe_leaves_the_root_user_before_anything_of_ours_is_run() -> None:
    steps = [step.split()[0] for step in STEPS]
    user = steps.index("USER")
    assert STEPS[user] != "USER 0"
    assert not any("./run" in step or step.startswith("COPY") for step in STEPS[:user])


@pytest.mark.slow
def test_the_image_builds_and_measures() -> None:
    tool = next((name for name in ("docker", "podman", "buildah") if shutil.which(name)), None)
    if tool is None or subprocess.run([tool, "info"], capture_output=True, check=False).returncode:
        pytest.skip(f"{tool or 'docker, podman and buildah'}: no builder at work here")
    built = subprocess.run(
        [tool, "build", "-q", "-t", "respeed-test", "-f", "Containerfile", "."], cwd=ROOT, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    if tool != "buildah":
        smoke = ["--cores", "all", "--config", "preset=smoke", "profiles=openblas-1"]
        ran = subprocess.run(
            [tool, "run", "--rm", "respeed-test", "snakemake", *smoke], capture_output=True, text=True, check=False
        )
        assert "the report is report/smoke.pdf" in ran.stderr, ran.stderr
