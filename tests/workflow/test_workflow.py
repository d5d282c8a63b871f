"""The real Snakemake on the real workflow, at smoke sizes."""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import psutil
import pytest
import yaml
from packaging.requirements import Requirement
from pypdf import PdfReader

from tests.conftest import ROOT, Project
from tests.signals import STOPPED, hear_all, lines_of, still_run
from tests.systems import without_network

SMOKE = ("--config", "preset=smoke")
RBM = (*SMOKE, "papers=raina2009", "experiments=rbm", "machine=box")
RBM_ON_TWO = (*RBM, "profiles=[openblas-1, openblas-all]", "--", "measure_box")
ONE_ROW = (*RBM, "profiles=openblas-1")


def table(project: Project, name: str) -> str:
    return (project.folder / f"results/smoke/tables/{name}.csv").read_text("utf-8")


def test_a_run_leaves_records_tables_and_reports(measured: Project) -> None:
    """A run leaves records tables figures and reports and nothing among real results."""
    # A process for each row of CPUs.
    rows = sorted(Path(path).parent.name for path in measured.records())
    assert rows == ["openblas-1", "openblas-all", "torch-1", "torch-all"]
    smoke = measured.folder / "results/smoke"
    papers = [f"raina2009/{name}" for name in ("rbm.csv", "rbm.md", "rbm.tex", "matmul.csv", "sparse-coding.csv")]
    for name in ("cells.csv", "speedups.csv", "claims.csv", "../tables.html", *papers, "../README.md"):
        assert (smoke / "tables" / name).stat().st_size > 0
    assert {path.suffix for path in (smoke / "figures/raina2009/rbm").iterdir()} == {".svg", ".pdf", ".png"}
    assert not (smoke / "figures/raina2009/matmul").exists()  # the paper prints no number of it
    assert "Not measured (no CUDA device): PyTorch, GPU" in (smoke / "tables/raina2009/rbm.md").read_text("utf-8")
    assert ",cannot-run,no CUDA device," in table(measured, "cells")
    # The one for a browser can be mailed.
    assert 1_000_000 < (measured.folder / "report/smoke.html").stat().st_size < 10_000_000
    assert [path.name for path in (measured.folder / "results").iterdir()] == ["smoke"]
    assert not [*(measured.folder / "report").glob("report.[ph]*")]
    # It showed its turns, and left an empty file, as nothing is left.
    (log,) = (smoke / "logs").glob("*/measured-*.log")
    turns = [line.split(":")[1] for line in log.read_text("utf-8").splitlines() if "about" in line]
    assert turns == [f" turn {turn}" for turn in range(1, 5)]
    assert log.with_suffix("").stat().st_size == 0


def test_a_run_with_nothing_to_do_ends(measured: Project) -> None:
    """A run with nothing to do ends with where the report is."""
    told = measured.snakemake(*SMOKE).stdout.splitlines()
    assert "nothing is due; respeed measure --again measures anew" in told[-4]
    places = "report/smoke.pdf, for a browser report/smoke.html; tables are in results/smoke/tables"
    assert told[-3] == f"respeed: the report is {places}"
    assert told[-2].endswith("gpu-tf32: not measured: no CUDA device")
    assert re.fullmatch(r"respeed: \S+: \d+ cells measured", told[-1])


def test_a_dry_run_says_what_it_measures(project: Project) -> None:
    """A dry run says what will be measured and how long it takes."""
    told = project.snakemake("-n", "--config", "papers=raina2009").stdout
    assert "raina2009 rbm: 16 of 16 cells to measure" in told
    assert "preset quick: 4 rounds of everything, however long; what is then left of 13 minutes a paper" in told
    assert re.search(r"about [\d.]+ min to the end of round 4;", told)
    assert re.search(r"  gpu, .+: not measured: no CUDA device\n", told)
    # The row of its own library stands there: others are no rows of this machine, nor are those without a case.
    assert "SciPy computes with" not in told
    assert "program-gpu" not in told


@pytest.mark.slow
def test_only_what_was_added_is_measured(copy: Project) -> None:
    """A new profile is one file a size a line more rounds a number and only they are measured."""

    def added(*profiles: str) -> list[tuple[str, list[int]]]:
        before = copy.records()
        copy.snakemake("tables", *SMOKE, "papers=raina2009", "experiments=rbm", f"profiles=[{', '.join(profiles)}]")
        after = copy.records()
        assert after | before == after
        return [
            (Path(path).parent.name, [one["number"] for one in lines_of(copy.folder / path)[1:]])
            for path in sorted(after.keys() - before.keys())
        ]

    text = (copy.folder / "workflow/hardware/torch-1.yaml").read_text("utf-8")
    (copy.folder / "workflow/hardware/my-box.yaml").write_text(text.replace("PyTorch, one core", "My own row"), "utf-8")
    line = "      - {case: 36x64, visible: 36, hidden: 64}\n"
    copy.edit("workflow/papers/raina2009/paper.yaml", line, line + line.replace("36", "50").replace("64", "70"))
    assert added("openblas-1", "my-box") == [("my-box", [1] * 5), ("openblas-1", [1])]
    assert "My own row" in table(copy, "raina2009/rbm")
    assert "50x70" in table(copy, "raina2009/rbm").splitlines()[0]
    copy.edit("config.yaml", "smoke: {rounds: 1, most: 1", "smoke: {rounds: 2, most: 2")
    assert added("openblas-1") == [("openblas-1", [2] * 5)]


def test_a_failure_is_measured_again_when_mended(
    project: Project,
) -> None:
    """What came out wrong ends with exit code 1 and is measured again when mended or as often as is asked."""
    right = ("workflow/respeed/workloads/rbm.py", "row.units(c, a.x, W, out=h0, sampled")
    project.edit(*right, wrong := right[1].replace("a.x", "0.5 * a.x"))
    asked = (*ONE_ROW, "--", "measure_box")
    done = project.snakemake(*asked, check=False)
    assert done.returncode == 1
    last = [line for line in done.stdout.splitlines() if line.startswith("respeed: ")][-1]
    assert last.startswith("respeed: box: 0 cells measured, 4 failed: rbm 36x64 on openblas-1: wrong result: ")
    before = project.records()
    done = project.snakemake(*asked, check=False)
    assert (done.returncode, "nothing is due" in done.stdout, project.records()) == (1, True, before)
    project.edit(right[0], wrong, right[1])
    assert "box: 4 cells measured" in project.snakemake(*asked).stdout
    assert len(project.records()) == 2

    cell = ("--only", "raina2009/rbm/36x64", "--profiles", "openblas-1", "--rounds", "2")
    told = project.run("respeed", "measure", *cell, *SMOKE, "machine=box", CUDA_VISIBLE_DEVICES="").stdout
    assert "1 turn in" in told
    assert "nothing is due" in project.snakemake(*ONE_ROW, "--", "tables").stdout
    assert len(project.records()) == 3
    assert len(re.findall(",36x64,.*,openblas-1,", table(project, "rounds"))) == 2


def test_records_are_never_measured_again_by_force(copy: Project) -> None:
    """Records that are there are never measured again even by force."""
    records = copy.folder / "results/smoke/records"
    shutil.copytree(next(records.iterdir()), records / "elsewhere")
    # What a row is called decides no measurement.
    copy.edit("workflow/hardware/torch-1.yaml", "PyTorch, one core", "Another name")
    before = copy.records()
    copy.snakemake("-F", "tables", *SMOKE, "papers=raina2009", "experiments=matmul", "show=all")
    assert copy.records() == before
    assert "elsewhere" in table(copy, "raina2009/rbm")
    assert "Another name" in table(copy, "raina2009/rbm")


def test_a_report_is_made_in_another_folder(copy: Project, tmp_path: Path) -> None:
    """A report is made in another folder and in the shell of a notebook."""
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    (copy.folder / "results").rename(elsewhere / "results")
    shutil.rmtree(elsewhere / "results/smoke/figures")
    backend = "module://matplotlib_inline.backend_inline"
    copy.snakemake("--directory", str(elsewhere), "report", *SMOKE, MPLBACKEND=backend)
    assert [*elsewhere.glob("results/smoke/figures/raina2009/rbm/*.svg")]
    assert {path.name for path in (elsewhere / "report").iterdir()} == {"facts", "smoke.html", "smoke.pdf"}
    assert not (copy.folder / "results").exists()


def test_a_stopped_run_ends_all_it_started(
    project: Project,
) -> None:
    """In a group of its own, in which no signal is ignored."""
    environment = {"PYTHONPATH": str(project.folder / "workflow"), "CUDA_VISIBLE_DEVICES": ""}
    with subprocess.Popen(
        [str(Path(sys.executable).parent / "snakemake"), *RBM_ON_TWO], cwd=project.folder,
        env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        text=True, preexec_fn=hear_all,
    ) as process:  # fmt: skip
        while "respeed: turn 2:" not in (line := process.stdout.readline()):
            assert line, "it ended by itself"
        children = [one.pid for one in psutil.Process(process.pid).children(recursive=True)]
        os.kill(process.pid, signal.SIGTERM)
        assert STOPPED in process.stdout.read()
        assert process.wait(timeout=60) != 0
        assert children
        assert not still_run(children)
    assert len(project.records()) == 1


NAME = "é漢 'a' \"b\" $HOME {x} %d #1 & ; * ` folder"
# Folders of fonts are hidden, where there are any.
FONTS = [folder for folder in ("/usr/share/fonts", "/usr/local/share/fonts") if os.path.isdir(folder)]


@pytest.mark.slow
def test_a_run_needs_no_network_or_fonts(tmp_path: Path) -> None:
    """A run works without network fonts and language in a folder with any name."""
    folder = tmp_path / NAME
    folder.mkdir()
    project = Project(folder)
    script = "".join(f"mount -t tmpfs none {folder} && " for folder in FONTS) + 'exec "$@"'
    done = project.run(
        *without_network("--mount"), "sh", "-c", script, "sh", "snakemake", *SMOKE, "profiles=openblas-all",
        check=False, CUDA_VISIBLE_DEVICES="", LC_ALL="POSIX", FONTCONFIG_FILE="/dev/null",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "Error" not in done.stdout
    pages = [page.extract_text() for page in PdfReader(folder / "report/smoke.pdf").pages]
    assert all("No measurement" in page for page in pages)
    assert "raina2009" in (folder / "report/smoke.html").read_text(encoding="utf-8")
    assert list(folder.glob("results/smoke/figures/raina2009/rbm/*-speedup.png"))
    # And a process for each number of threads.
    rows = {Path(path).parent.name for path in project.records()}
    assert rows >= {"openblas-all", "openblas-all-t1"}


def test_a_snakemake_without_respeed_is_told(project: Project, tmp_path: Path) -> None:
    """Its Python has all that this one has, but for what only a .pth file adds, such as respeed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "own"], check=True)
    (site,) = (tmp_path / "own").glob("lib/python3*/site-packages")
    (site / "all.pth").write_text(sysconfig.get_path("purelib"))
    told = project.run(str(tmp_path / "own/bin/python"), "-m", "snakemake", "-n", check=False, PYTHONPATH="")
    *_, line = told.stdout.splitlines()
    assert (told.returncode, len(told.stdout.splitlines())) == (1, 2)
    assert re.fullmatch(r"respeed: .* has no respeed\..* \./run snakemake .*, once: pip install -e \.", line)


def test_condas_environment_has_the_projects_ranges(project: Project) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    ranges = {one.name: str(one.specifier) for one in map(Requirement, declared["dependencies"])}
    environment = yaml.safe_load((ROOT / "workflow/envs/respeed.yaml").read_bytes())
    *packages, by_pip = environment["dependencies"]
    for package in packages:
        name, _, spec = package.partition(" ")
        assert spec == (ranges | {"python": declared["requires-python"], "pip": "", "pytorch": ranges["torch"]})[name]
    (editable,) = by_pip["pip"]
    assert (ROOT / "workflow/envs" / editable.removeprefix("-e ")).resolve() == ROOT
