"""respeed new: what it writes passes its checks as it is, and nothing that is there is written over."""

import csv
import re
import shutil
import sys

import pytest

from respeed.cli.files import KINDS, PLACEHOLDER
from respeed.cli.main import main
from tests.conftest import ROOT, Project


def passes_conformance(project: Project, name: str) -> int:
    """Runs the suite on what has that name, in the copy; how many tests passed."""
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("tests/conformance", "tests/pretended_gpu"):
        shutil.copytree(ROOT / folder, project.folder / folder, ignore=ignored)
    for file in ("pyproject.toml", "tests/__init__.py"):
        shutil.copy(ROOT / file, project.folder / file)
    suite = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/conformance", "-k", name)
    done = project.run(*suite, CUDA_VISIBLE_DEVICES="")
    return int(re.search(r"(\d+) passed", done.stdout)[1])


def assert_in_style(project: Project, path: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", project.folder / "pyproject.toml")
    project.run("ruff", "check", "--no-cache", path)
    project.run("ruff", "format", "--no-cache", "--check", path)


def measured_cases(project: Project, *settings: str, **wanted: str) -> dict[str, str]:
    """Measures at smoke sizes with these settings: what the tables then say of each of the cases that are `wanted`."""
    project.run("respeed", "measure", "--config", "preset=smoke", *settings, CUDA_VISIBLE_DEVICES="")
    project.run("respeed", "report", "--only", "tables", "--smoke", CUDA_VISIBLE_DEVICES="")
    with (project.folder / "results/smoke/tables/cells.csv").open() as file:
        cells = [cell for cell in csv.DictReader(file) if wanted.items() <= cell.items()]
    return {cell["case"]: cell["reason"] if cell["status"] == "not-run" else cell["status"] for cell in cells}


TIMED = {"settled", "wide", "contaminated"}
PRODUCTS = ("experiments=matmul", "papers=raina2009")


@pytest.mark.slow
def test_the_starter_of_a_workload_passes_conformance(project: Project) -> None:
    told = project.run("respeed", "new", "workload", "my_layer").stdout
    assert "wrote workflow/respeed/workloads/my_layer.py" in told
    assert "pytest tests/conformance -k my_layer" in told
    assert_in_style(project, "workflow/respeed/workloads/my_layer.py")
    assert passes_conformance(project, "my_layer") > 10


@pytest.mark.slow
def test_the_starter_of_a_backend_has_what_it_must_and_runs_the_steps_of_its_framework(project: Project) -> None:
    project.run("respeed", "new", "backend", "plain")
    assert_in_style(project, "workflow/respeed/backends/plain.py")
    assert passes_conformance(project, "plain") > 10
    project.run("respeed", "new", "hardware", "plain-1")
    project.edit("workflow/hardware/plain-1.yaml", "backend: numpy", "backend: plain")
    cases = measured_cases(project, *PRODUCTS, "profiles=plain-1", profile="plain-1", experiment="matmul")
    assert {"square-128", "cd1-36x64"} <= cases.keys()
    assert set(cases.values()) <= TIMED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "settings", "wanted"),
    [
        ("hardware", (*PRODUCTS, "profiles=mine"), {"profile": "mine", "experiment": "matmul"}),
        ("paper", ("papers=mine", "profiles=openblas-1"), {"paper": "mine", "profile": "openblas-1"}),
    ],
)
def test_a_starter_is_measured_where_it_is_named_and_changes_no_other_run(
    project: Project, kind: str, settings: tuple[str, ...], wanted: dict[str, str]
) -> None:
    before = project.run("respeed", "status", "--smoke", CUDA_VISIBLE_DEVICES="").stdout
    project.run("respeed", "new", kind, "mine")
    project.run("respeed", "check")
    assert project.run("respeed", "status", "--smoke", CUDA_VISIBLE_DEVICES="").stdout == before
    cases = measured_cases(project, *settings, **wanted)
    assert set(cases.values()) <= TIMED
    assert cases


@pytest.mark.parametrize("kind", KINDS)
def test_no_starter_leaves_its_placeholder_behind(project: Project, kind: str) -> None:
    told = project.run("respeed", "new", kind, "mine").stdout
    assert PLACEHOLDER not in told
    (path,) = re.findall(r"^wrote (\S+); once it is filled in: ./run ", told)
    written = project.folder / path
    for file in written.iterdir() if written.is_dir() else [written]:
        assert not re.search(rf"\b{PLACEHOLDER}\b", file.read_text())


@pytest.mark.parametrize(
    ("kind", "name", "parts"),
    [
        ("workload", "matmul", ("workflow/respeed/workloads/matmul.py is there already",)),
        ("paper", "raina2009", ("workflow/papers/raina2009 is there already",)),
        ("paper", "../mine", ("'../mine' cannot be the name of a paper", "small letters")),
        ("workload", "my-layer", ("'my-layer'", "Python", "_")),
        ("wrokload", "mine", ("'wrokload'", "did you mean workload?")),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused_in_one_line(
    kind: str, name: str, parts: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", kind, name]) == 2
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 1
    for part in parts:
        assert part in told
