"""A paper whose own program is run, added as data alone: docs/adding.md's example, by the real Snakemake."""

import csv
import shutil

import pytest
from pypdf import PdfReader

from tests.conftest import ROOT, Project
from tests.signals import lines_of

COMPILER = shutil.which("gcc")
RUN = ("--config", "preset=smoke", "papers=three-loops", "profiles=[program-1, program-all]")
# What a row has said to a program: ends with another code than 0 where it is not bound as it should be.
BOUND = """
import os, sys
threads = int(sys.argv[1])
assert os.environ["OMP_NUM_THREADS"] == sys.argv[1], "threads"
assert len(os.sched_getaffinity(0)) == threads, "CPUs"
assert os.environ["CUDA_VISIBLE_DEVICES"] == "-1", "devices"
assert os.environ.get("GLIBC_TUNABLES") is None, "ours"
"""
ON_ITS_CPUS = """
  bound:
    title: What the row says
    workload: program
    program: {command: [python3, "{paper}/bound.py", "{threads}"]}
    protocol: {}
    cases: [{case: "1", one: 1}]
    smoke_cases: [{case: "2", one: 2}]
    round_seconds: 1
    facts: []
    caveats: []
"""


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler: gcc")
def test_a_paper_with_a_program_of_its_own_is_rerun_as_data_once_its_reader_allows_it(project: Project) -> None:
    folder = project.folder / "workflow/papers/three-loops"
    shutil.copytree(ROOT / "docs/three-loops", folder)
    (folder / "bound.py").write_text(BOUND)
    with (folder / "paper.yaml").open("a") as file:
        file.write(ON_ITS_CPUS.replace("one: 1", "batch: 1").replace("one: 2", "batch: 2"))

    said = (
        "products: not measured: would run ./multiply columns {n} or ./multiply rows {n} (workflow/papers/three-loops/"
    )
    assert said in project.snakemake("-n", *RUN).stdout
    assert "three-loops: not allowed: would run" in project.run("python", "-m", "respeed", "check").stdout
    project.snakemake(*RUN, "--", "tables")
    assert [cell["status"] for cell in _cells(project)] == ["not-run"] * 5
    for cell in _cells(project):
        assert cell["reason"].startswith("would run " if cell["is_cpu"] == "True" else "no CUDA device"), cell

    project.edit("config.yaml", "allow: []", "allow: [three-loops]")
    project.snakemake(*RUN, "--", "tables")
    reasons = {cell["reason"] for cell in _cells(project) if cell["experiment"] == "products"}
    assert reasons == {"there is no ./multiply in workflow/papers/three-loops; the paper's program must be built first"}

    project.run("gcc", "-O2", "-fopenmp", "-o", str(folder / "multiply"), str(folder / "multiply.c"))
    project.snakemake(*RUN)
    assert {cell["status"] for cell in _cells(project) if cell["is_cpu"] == "True"} == {"wide"}, [
        cell["reason"] for cell in _cells(project)
    ]
    lines = [one for path in project.records() for one in lines_of(project.folder / path)[1:]]
    measured = [one for one in lines if one["status"] == "measured" and "./multiply" in one["executables"]]
    assert {len(one["executables"]["./multiply"]) for one in measured} == {64}
    text = " ".join(page.extract_text() for page in PdfReader(project.folder / "report/smoke.pdf").pages)
    assert "Their program, all cores" in text


def _cells(project: Project) -> list[dict[str, str]]:
    with (project.folder / "results/smoke/tables/cells.csv").open() as file:
        return list(csv.DictReader(file))
