"""The real Snakemake on the real workflow, at smoke sizes."""

import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import tomllib
from pathlib import Path

import psutil
import pytest
import yaml
from packaging.requirements import Requirement
from pypdf import PdfReader

from respeed.records.store import read_file, write_record
from tests.conftest import ROOT, Project
from tests.signals import STOPPED, hear_all, still_run
from tests.systems import without_network

SMOKE = ("--config", "preset=smoke")
RBM_ON_TWO = (*SMOKE, "experiments=rbm", "profiles=[openblas-1, openblas-all]", "--", "tables")
ONE_CELL = (*SMOKE, "experiments=rbm", "profiles=openblas-1")


def table(project: Project, name: str) -> str:
    return (project.folder / f"results/smoke/tables/{name}.csv").read_text()


# What a run leaves.


def test_a_run_leaves_records_tables_figures_and_the_report_and_nothing_among_real_results(measured: Project) -> None:
    # Experiments x CPU profiles, but for sparse coding by PyTorch on one core, which the paper's file leaves out.
    assert len(measured.records()) == 5 * 4 - 1
    smoke = measured.folder / "results/smoke"
    papers = [f"raina2009/{name}" for name in ("rbm.csv", "rbm.md", "rbm.tex", "matmul.csv", "sparse-coding.csv")]
    for name in ("cells.csv", "speedups.csv", "claims.csv", "../tables.html", *papers, "../README.md"):
        assert (smoke / "tables" / name).stat().st_size > 0
    assert {path.suffix for path in (smoke / "figures/raina2009/rbm").iterdir()} == {".svg", ".pdf", ".png"}
    drawn = {path.stem.rpartition("-")[2] for path in (smoke / "figures/raina2009/sparse-coding").glob("*.svg")}
    assert drawn == {"speedup"}
    assert "Not measured: PyTorch, GPU (no CUDA device)" in (smoke / "tables/raina2009/rbm.md").read_text()
    assert ",not-run,no CUDA device," in table(measured, "cells")
    assert [path.name for path in (measured.folder / "results").iterdir()] == ["smoke"]
    assert not (measured.folder / "report/report.pdf").exists()


def test_every_page_of_the_smoke_report_says_that_it_is_no_measurement(measured: Project) -> None:
    pages = [page.extract_text() for page in PdfReader(measured.folder / "report/smoke.pdf").pages]
    assert len(pages) >= 4
    assert all("No measurement" in page for page in pages)
    text = " ".join(" ".join(pages).split())
    wanted = ("72.6", "Densely connected RBM", "OpenBLAS, one core", "no CUDA device", "recalled", "GTX 280")
    assert [word for word in (*wanted, "OpenBLAS 0.") if word not in text] == []


def test_a_run_shows_its_turns_and_leaves_an_empty_file_when_nothing_is_left(measured: Project) -> None:
    (session,) = (measured.folder / "results/smoke/logs").glob("*/session-*.done")
    log = session.with_suffix(".log").read_text()
    turns = [line.split(",")[0] for line in log.splitlines() if "about" in line]
    assert turns == [f"respeed: turn {number} of 4" for number in range(1, 5)]


def test_a_run_with_nothing_to_do_ends_with_where_the_report_is(measured: Project) -> None:
    told = measured.snakemake(*SMOKE).stdout.splitlines()
    assert "Nothing to be done" in told[-2]
    assert told[-1] == (
        "respeed: the report is report/smoke.pdf, for a browser report/smoke.html; tables are in results/smoke/tables"
    )
    for arguments in (("-n",), ("nothing-of-that-name",)):
        told = measured.snakemake(*arguments, *SMOKE, check=False).stdout.splitlines()
        assert "the report is" not in told[-1]
        assert any("Nothing to be done" in line for line in told) == (arguments == ("-n",))


# What is measured, and what never again.


def test_a_dry_run_says_what_will_be_measured_and_how_long_it_takes(project: Project) -> None:
    told = project.snakemake("-n").stdout
    assert "raina2009 rbm: 16 of 16 cells to measure" in told
    assert re.search(r"about \d+ min of measuring in all", told)
    assert re.search(r"  gpu, .+: not measured: no CUDA device\n", told)
    # The row of its own library stands there: others are no rows of this machine, nor are those without a case.
    assert "SciPy computes with" not in told
    assert "program-gpu" not in told


@pytest.mark.slow
def test_a_new_profile_is_one_file_and_more_rounds_a_number_and_only_they_are_measured(copy: Project) -> None:
    before = copy.records()
    text = (copy.folder / "workflow/hardware/torch-1.yaml").read_text()
    (copy.folder / "workflow/hardware/my-box.yaml").write_text(text.replace("PyTorch, one core", "My own row"))
    copy.snakemake("tables", *SMOKE)
    after = copy.records()
    assert after | before == after
    assert {Path(path).parent.name for path in after.keys() - before.keys()} == {"my-box"}
    assert "My own row" in table(copy, "raina2009/rbm")
    copy.edit("config.yaml", "smoke: {rounds: 1, most: 1", "smoke: {rounds: 2, most: 2")
    copy.snakemake("tables", *ONE_CELL)
    more = copy.records()
    assert more | after == more
    assert {Path(path).name for path in more.keys() - after.keys()} == {"round-02.json"}


@pytest.mark.slow
def test_a_new_size_is_one_line_and_is_measured_and_shown(copy: Project) -> None:
    line = "      - {case: 36x64, visible: 36, hidden: 64}\n"
    copy.edit("workflow/papers/raina2009/paper.yaml", line, line + line.replace("36", "50").replace("64", "70"))
    planned = copy.snakemake("-n", *SMOKE).stdout
    assert re.search(r"generated:\s+measure$", planned, flags=re.MULTILINE), planned
    assert "raina2009 rbm: 20 of 20 cells to measure" in planned
    assert "4 earlier records will not be used: measured with other sizes, threads, timing or seed" in planned
    assert len(re.findall(r" 0 of \d+ cells to measure", planned)) == 4
    copy.snakemake("tables", *ONE_CELL)
    assert "50x70" in table(copy, "raina2009/rbm").splitlines()[0]


@pytest.mark.slow
def test_a_hardware_sheet_is_measured_once_and_again_only_where_it_cannot_be_used(copy: Project) -> None:
    (sheet,) = (copy.folder / "results/smoke/records").glob("*/hardware.json")
    assert all(table(copy, name).count("\n") > 2 for name in ("rates", "scaling"))
    assert "gauge" not in copy.snakemake("-n", "-F", *SMOKE).stdout
    sheet.write_text(sheet.read_text()[:1000])
    copy.snakemake(str(sheet.relative_to(copy.folder)), *SMOKE)
    assert json.loads(sheet.read_text())["smoke"]


@pytest.mark.slow
def test_what_cannot_be_used_is_skipped_with_a_line_and_measured_anew(copy: Project) -> None:
    """Damaged by a full disk, or made for another place: Snakemake itself sees none of it."""
    rbm = next((copy.folder / "results/smoke/records").glob("*/raina2009/rbm"))
    (rbm / "torch-1/round-01.json").write_text("{")
    stale = rbm / "openblas-1/round-01.json"
    stale.write_text(stale.read_text().replace('"name": "openblas-1"', '"name": "mkl-1"'))
    (rbm.parents[1] / "machine.json").write_text("{")
    assert copy.snakemake("tables", *SMOKE).stdout.count("skipped: ") >= 2
    assert json.loads((rbm.parents[1] / "machine.json").read_text())["hardware"]
    assert {path.parent.name for path in rbm.rglob("round-02.json")} == {"torch-1", "openblas-1"}
    assert "rbm: 0 of 16 cells" in copy.snakemake("-n", *SMOKE).stdout


def test_records_that_are_there_are_never_measured_again_even_by_force(copy: Project) -> None:
    records = copy.folder / "results/smoke/records"
    shutil.copytree(next(records.iterdir()), records / "elsewhere")
    # What a row is called decides no measurement.
    copy.edit("workflow/hardware/torch-1.yaml", "PyTorch, one core", "Another name")
    before = copy.records()
    copy.snakemake("-F", "tables", *SMOKE, "experiments=matmul")
    assert copy.records() == before
    assert "elsewhere" in table(copy, "raina2009/rbm")
    assert "Another name" in table(copy, "raina2009/rbm")


# The target `pdf`.


@pytest.mark.slow
def test_the_pdf_target_measures_nothing_even_when_rounds_are_missing_or_stale(copy: Project) -> None:
    next((copy.folder / "results/smoke/records").glob("*/raina2009/rbm/torch-1/round-01.json")).unlink()
    copy.edit("config.yaml", "seed: 2009", "seed: 2010")
    (copy.folder / "report/smoke.pdf").unlink()
    before = copy.records()
    assert "turn 1" not in copy.snakemake("pdf", *SMOKE).stdout
    assert copy.records() == before
    assert (copy.folder / "report/smoke.pdf").exists()


@pytest.mark.slow
def test_the_report_is_the_same_byte_for_byte_when_the_records_are(copy: Project) -> None:
    def built() -> tuple[bytes, ...]:
        svg = next((copy.folder / "results/smoke/figures").rglob("*-speedup.svg"))
        return (copy.folder / "report/smoke.pdf").read_bytes(), svg.read_bytes()

    before = built()
    assert "cells to measure" not in copy.snakemake("pdf", *SMOKE).stdout
    assert built() == before


def test_a_damaged_record_does_not_keep_the_others_from_the_report(copy: Project) -> None:
    next((copy.folder / "results/smoke/records").glob("*/raina2009/rbm/torch-1/round-01.json")).write_text("{")
    told = copy.snakemake("pdf", *SMOKE).stdout
    assert re.search(r"respeed: skipped: .*/raina2009/rbm/torch-1/round-01.json: is damaged", told)
    assert "Traceback" not in told


@pytest.mark.slow
def test_a_report_from_nothing_says_that_nothing_was_measured(project: Project) -> None:
    project.snakemake("report")
    text = " ".join(PdfReader(project.folder / "report/report.pdf").pages[0].extract_text().split())
    assert "Nothing of this paper has been measured yet" in text
    assert (project.folder / "report/report.html").exists()


# What ends a run, and what goes on after it.


def start(project: Project, *arguments: str) -> subprocess.Popen[str]:
    """Snakemake, in a group of its own, in which no signal is ignored."""
    environment = {"PYTHONPATH": str(project.folder / "workflow"), "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.Popen(
        [str(Path(sys.executable).parent / "snakemake"), *arguments], cwd=project.folder,
        env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        text=True, preexec_fn=hear_all,
    )  # fmt: skip


@pytest.mark.parametrize(("sent", "to_all"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_run_that_is_stopped_ends_with_all_it_started_and_says_that_the_same_command_goes_on(
    project: Project, sent: signal.Signals, to_all: bool
) -> None:
    with start(project, *RBM_ON_TWO) as process:
        while "turn 2 of 2" not in (line := process.stdout.readline()):
            assert line, "it ended by itself"
        children = psutil.Process(process.pid).children(recursive=True)
        (os.killpg if to_all else os.kill)(process.pid, sent)
        assert STOPPED in process.stdout.read()
        assert process.wait(timeout=20) != 0
        assert children
        assert not still_run(children, 1)
    assert len(project.records()) == 1


@pytest.mark.slow
def test_a_run_that_is_killed_at_twenty_moments_ends_with_the_complete_set(project: Project) -> None:
    chosen = random.Random(20)
    for _ in range(20):
        before = project.records()
        with start(project, *RBM_ON_TWO) as process:
            time.sleep(chosen.uniform(0.0, 12.0))
            os.killpg(process.pid, signal.SIGKILL)
        after = project.records()
        assert after | before == after
        for path in after:
            read_file(project.folder / path, True)
    project.snakemake(*RBM_ON_TWO)
    assert len(project.records()) == 2
    assert table(project, "raina2009/rbm")


def test_two_runs_in_one_folder_are_refused_in_one_line(project: Project) -> None:
    folder = project.folder / "results/smoke"
    folder.mkdir(parents=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = project.snakemake(*SMOKE, check=False)
    assert done.returncode != 0
    assert "another run is at work in this folder" in done.stdout
    assert not project.records()


def test_the_name_of_another_machine_is_refused_in_one_line_that_says_what_differs(copy: Project) -> None:
    (path,) = (copy.folder / "results/smoke/records").glob("*/machine.json")
    description = json.loads(path.read_text())
    description["hardware"]["usable_cores"] = 64
    write_record(path, description)
    done = copy.snakemake(*SMOKE, check=False)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("respeed:"))
    assert done.returncode == 2
    assert "(usable cores, 64, not " in line
    assert "--config machine=" in line


def test_by_hand_within_a_budget_nothing_is_begun_that_would_end_after_it(project: Project) -> None:
    def measure(budget: str) -> str:
        return project.run("respeed", "measure", "--budget", budget, *ONE_CELL, CUDA_VISIBLE_DEVICES="").stdout

    told = measure("1s")
    assert "0 turns" in told
    assert "which the budget has not left" in told
    assert not project.records()
    assert "1 turn in" in measure("1h")
    planned = project.snakemake("-n", *SMOKE, "experiments=rbm").stdout
    assert "raina2009 rbm: 12 of 16 cells to measure" in planned


def test_snakemakes_own_lint_finds_only_the_missing_containers(project: Project) -> None:
    """The environment is one lock file for the whole project; a container for each rule would be another one."""
    found = re.findall(r"^ +\* (.*)", project.snakemake("--lint", check=False).stdout, flags=re.MULTILINE)
    assert set(found) == {"Specify a conda environment or container for each rule.:"}


NAME = "é漢 'a' \"b\" $HOME {x} %d #1 & ; * ` folder"
# Folders of fonts are hidden, where there are any.
FONTS = [folder for folder in ("/usr/share/fonts", "/usr/local/share/fonts") if os.path.isdir(folder)]


@pytest.mark.slow
def test_a_run_works_without_network_fonts_and_language_in_a_folder_with_any_name(tmp_path: Path) -> None:
    """Much is missing or odd at once."""
    folder = tmp_path / NAME
    folder.mkdir()
    project = Project(folder)
    kept = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder / "workflow"),
        "CUDA_VISIBLE_DEVICES": "",
        "LC_ALL": "POSIX",
        "FONTCONFIG_FILE": "/dev/null",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    script = "".join(f"mount -t tmpfs none {folder} && " for folder in FONTS) + 'exec env -i "$@"'
    done = project.run(
        *without_network("--mount"), "sh", "-c", script, "sh", *(f"{key}={value}" for key, value in kept.items()),
        "snakemake", "--config", "preset=smoke", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "Error" not in done.stdout
    pages = [page.extract_text() for page in PdfReader(folder / "report/smoke.pdf").pages]
    assert all("No measurement" in page for page in pages)
    assert "raina2009" in (folder / "report/smoke.html").read_text(encoding="utf-8")
    assert list(folder.glob("results/smoke/figures/raina2009/rbm/*-speedup.png"))
    assert len(project.records()) == 5 * 4 - 1


# Snakemake of one's own.


def test_a_snakemake_that_has_no_respeed_says_in_one_line_what_to_do(project: Project, tmp_path: Path) -> None:
    """Its Python has all that this one has, but for what only a .pth file adds, such as respeed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "own"], check=True)
    (site,) = (tmp_path / "own").glob("lib/python3*/site-packages")
    (site / "all.pth").write_text(sysconfig.get_path("purelib"))
    told = project.run(str(tmp_path / "own/bin/python"), "-m", "snakemake", "-n", check=False, PYTHONPATH="")
    *_, line = told.stdout.splitlines()
    assert (told.returncode, len(told.stdout.splitlines())) == (1, 2)
    assert re.fullmatch(r"respeed: .* has no respeed\..* \./run snakemake .*, once: pip install -e \.", line)


def test_several_names_may_stand_with_commas(project: Project) -> None:
    names = ("papers=raina2009,bergstra2010", "profiles=openblas-1, torch-1", "experiments=rbm,mlp")
    told = project.snakemake("-n", "--config", "preset=smoke", *names).stdout
    expected = ["raina2009 rbm", "bergstra2010 mlp", "bergstra2010 rbm"]
    assert re.findall(r"  (\S+ \S+): \d+ of \d+ cells", told) == expected


def test_the_environment_for_conda_has_the_ranges_of_the_project(project: Project) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ranges = {one.name: str(one.specifier) for one in map(Requirement, declared["dependencies"])}
    environment = yaml.safe_load((ROOT / "workflow/envs/respeed.yaml").read_text())
    *packages, by_pip = environment["dependencies"]
    for package in packages:
        name, _, spec = package.partition(" ")
        assert spec == (ranges | {"python": declared["requires-python"], "pip": "", "pytorch": ranges["torch"]})[name]
    (editable,) = by_pip["pip"]
    assert (ROOT / "workflow/envs" / editable.removeprefix("-e ")).resolve() == ROOT


@pytest.mark.slow
def test_plain_snakemake_is_whole_where_nothing_but_the_declared_dependencies_is_installed(
    project: Project, tmp_path: Path
) -> None:
    uv = shutil.which("uv") or shutil.which(str(ROOT / ".tools/uv/bin/uv"))
    if uv is None:
        pytest.skip("no uv on the PATH or in .tools")
    own, environment = tmp_path / "own", os.environ | {"UV_OFFLINE": "1", "UV_LINK_MODE": "symlink"}
    subprocess.run([uv, "venv", "--python", sys.executable, own], env=environment, check=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, project.folder)
    # The build backend is this environment's, and is not there later.
    command = [uv, "pip", "install", "--python", own / "bin/python", "--no-build-isolation", "--editable"]
    command += [project.folder, "--constraints", ROOT / "requirements.lock"]
    environment["PYTHONPATH"] = sysconfig.get_path("purelib")
    if subprocess.run(command, env=environment, check=False).returncode:
        pytest.skip("uv has not all of the lock in its cache")
    path = f"{own / 'bin'}{os.pathsep}{os.defpath}"
    told = project.run("snakemake", "--cores", "all", *ONE_CELL, PATH=path, PYTHONPATH="", CUDA_VISIBLE_DEVICES="")
    assert "respeed: the report is report/smoke.pdf, for a browser report/smoke.html" in told.stdout
    assert "Densely connected RBM" in (project.folder / "report/smoke.html").read_text()
