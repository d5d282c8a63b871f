"""A paper whose own program is run, added as data alone: docs/adding.md's example, by the real Snakemake."""

import re
import shutil

import pandas as pd
import pytest
from pypdf import PdfReader

from tests.conftest import ROOT, Project
from tests.signals import lines_of
from tests.systems import needs_executables

COMPILER = shutil.which("gcc")
RUN = ("--config", "preset=smoke", "papers=three-loops", "profiles=[program-1, program-all]")


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler: gcc")
def test_a_papers_program_runs_once_allowed(project: Project) -> None:
    """A program of a paper runs once its reader allows it."""
    folder, table = (
        needs_executables(project.folder) / "workflow/papers/three-loops",
        project.folder / "results/smoke/tables/cells.csv",
    )
    shutil.copytree(ROOT / "docs/three-loops", folder)
    said = "(workflow/papers/three-loops/paper.yaml):\n      ./multiply columns 1024\n      ./multiply columns 512\n"
    dry = project.snakemake("-n", *RUN).stdout
    assert said in dry
    consent = re.search(r"allow: \[(three-loops@[0-9a-f]+)\]", dry)[1]
    assert f"allow: [{consent}]" in project.run("python", "-m", "respeed.cli", "check").stdout
    project.edit("config.yaml", "allow: []", f"allow: [{consent}]")
    project.snakemake(*RUN, "--", "tables")
    cells = pd.read_csv(table)
    reasons = {*cells.loc[cells["experiment"] == "products", "reason"]}
    assert reasons == {"there is no ./multiply in the folder of three-loops; the paper's program must be built first"}

    project.run("gcc", "-O2", "-fopenmp", "-o", str(folder / "multiply"), str(folder / "multiply.c"))
    dry = project.snakemake("-n", *RUN).stdout
    assert "three-loops: its programs are not allowed to run, as they have changed: multiply\n" in dry
    project.edit("config.yaml", consent, re.search(r"allow: \[(three-loops@[0-9a-f]+)\]", dry)[1])
    project.snakemake(*RUN)
    cells = pd.read_csv(table)
    assert {*cells.loc[cells["is_cpu"], "status"]} == {"wide"}, cells["reason"].unique()
    lines = [one for path in project.records() for one in lines_of(project.folder / path)[1:]]
    measured = [one for one in lines if one["status"] == "measured" and "./multiply" in one["executables"]]
    assert {len(one["executables"]["./multiply"]) for one in measured} == {64}
    text = " ".join(page.extract_text() for page in PdfReader(project.folder / "report/smoke.pdf").pages)
    assert "Their program, all cores" in text
