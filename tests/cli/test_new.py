"""respeed new: what it writes passes its checks as it is, and nothing that is there is written over."""

import re
import shutil
import sys

import pytest

from tests.conftest import ROOT, Project
from tests.signals import lines_of


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "folder"), [("workload", "workloads"), ("backend", "backends")])
def test_a_starter_is_in_style_and_conforms(project: Project, kind: str, folder: str) -> None:
    """The starter of a Python file is in style and passes conformance."""
    path = f"workflow/respeed/{folder}/my_own.py"
    told = project.run("respeed", "new", kind, "my_own").stdout
    assert told == f"wrote {path}; once it is filled in: pytest tests/conformance -k my_own\n"
    shutil.copy(ROOT / "pyproject.toml", project.folder / "pyproject.toml")
    project.run("ruff", "check", "--no-cache", path)
    project.run("ruff", "format", "--no-cache", "--check", path)
    for folder in ("tests/conformance", "tests/pretended_gpu"):
        shutil.copytree(ROOT / folder, project.folder / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("__init__", "known", "orders"):
        shutil.copy(ROOT / f"tests/{file}.py", project.folder / "tests")
    suite = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/conformance", "-k", "my_own")
    done = project.run(*suite, CUDA_VISIBLE_DEVICES="")
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "settings"),
    [
        (["paper"], ("papers=mine", "profiles=openblas-1")),
        (["backend", "hardware"], ("papers=raina2009", "experiments=matmul", "profiles=mine")),
    ],
)
def test_a_starter_changes_no_other_run(project: Project, kinds: list[str], settings: tuple[str, ...]) -> None:
    """A starter is measured where it is named and changes no other run."""
    before = project.run("respeed", "status", "--smoke", CUDA_VISIBLE_DEVICES="").stdout
    for kind in kinds:
        project.run("respeed", "new", kind, "mine")
    if "backend" in kinds:
        project.edit("workflow/hardware/mine.yaml", "backend: numpy", "backend: mine")
    project.run("respeed", "check")
    assert project.run("respeed", "status", "--smoke", CUDA_VISIBLE_DEVICES="").stdout == before
    project.run("respeed", "measure", "--config", "preset=smoke", *settings, CUDA_VISIBLE_DEVICES="")
    results = [one for path in project.records() for one in lines_of(project.folder / path)[1:]]
    assert {one["status"] for one in results} == {"measured"}
