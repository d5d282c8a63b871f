"""respeed new: what it writes passes its checks as it is, and nothing that is there is written over."""

import csv
import re
import shutil
import sys

import pytest

from respeed.cli import main
from respeed.files import KINDS, PLACEHOLDER
from tests.conftest import ROOT, Project

PRODUCTS = ("experiments=matmul", "papers=raina2009")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "folder"), [("workload", "workloads"), ("backend", "backends")])
def test_the_starter_of_a_python_file_is_in_style_and_passes_conformance(
    project: Project, kind: str, folder: str
) -> None:
    path = f"workflow/respeed/{folder}/my_own.py"
    told = project.run("respeed", "new", kind, "my_own").stdout
    assert told == f"wrote {path}; once it is filled in: ./run pytest tests/conformance -k my_own\n"
    shutil.copy(ROOT / "pyproject.toml", project.folder / "pyproject.toml")
    project.run("ruff", "check", "--no-cache", path)
    project.run("ruff", "format", "--no-cache", "--check", path)
    for folder in ("tests/conformance", "tests/pretended_gpu"):
        shutil.copytree(ROOT / folder, project.folder / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("__init__", "orders"):
        shutil.copy(ROOT / f"tests/{file}.py", project.folder / "tests")
    suite = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/conformance", "-k", "my_own")
    done = project.run(*suite, CUDA_VISIBLE_DEVICES="")
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "settings", "wanted"),
    [
        (["hardware"], (*PRODUCTS, "profiles=mine"), {"profile": "mine", "experiment": "matmul"}),
        (["paper"], ("papers=mine", "profiles=openblas-1"), {"paper": "mine", "profile": "openblas-1"}),
        (["backend", "hardware"], (*PRODUCTS, "profiles=mine"), {"profile": "mine", "experiment": "matmul"}),
    ],
)
def test_a_starter_is_measured_where_it_is_named_and_changes_no_other_run(
    project: Project, kinds: list[str], settings: tuple[str, ...], wanted: dict[str, str]
) -> None:
    before = project.run("respeed", "status", "--smoke", CUDA_VISIBLE_DEVICES="").stdout
    for kind in kinds:
        project.run("respeed", "new", kind, "mine")
    if "backend" in kinds:
        project.edit("workflow/hardware/mine.yaml", "backend: numpy", "backend: mine")
    project.run("respeed", "check")
    assert project.run("respeed", "status", "--smoke", CUDA_VISIBLE_DEVICES="").stdout == before
    project.run("respeed", "measure", "--config", "preset=smoke", *settings, CUDA_VISIBLE_DEVICES="")
    project.run("respeed", "report", "--only", "tables", "--smoke", CUDA_VISIBLE_DEVICES="")
    with (project.folder / "results/smoke/tables/cells.csv").open() as file:
        cells = [cell for cell in csv.DictReader(file) if wanted.items() <= cell.items()]
    assert cells
    assert {cell["status"] for cell in cells} <= {"settled", "wide", "contaminated"}


@pytest.mark.parametrize("kind", KINDS)
def test_no_starter_leaves_its_placeholder_behind(project: Project, kind: str) -> None:
    told = project.run("respeed", "new", kind, "mine").stdout
    assert PLACEHOLDER not in told
    (path,) = re.findall(r"^wrote (\S+); once it is filled in: ./run ", told)
    written = project.folder / path
    for file in written.iterdir() if written.is_dir() else [written]:
        assert not re.search(rf"\b{PLACEHOLDER}\b", file.read_text())


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("workload", "matmul", "new workload: workflow/respeed/workloads/matmul.py is there already"),
        ("paper", "raina2009", "new paper: workflow/papers/raina2009 is there already"),
        ("paper", "../mine", "new paper: '../mine' cannot be the name of a paper; use small letters"),
        ("workload", "my-layer", "new workload: 'my-layer' cannot be the name of a Python file; use small letters"),
        ("wrokload", "mine", "new: no kind of file 'wrokload' (did you mean workload?)"),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused_in_one_line(
    kind: str, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", kind, name]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"respeed: {said}")
