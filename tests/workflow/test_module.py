"""Another workflow that takes this one as a module, from a folder of its own."""

import shutil
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.conftest import Project

OTHER = """
module respeed:
    snakefile:
        "{folder}/workflow/Snakefile"
    config:
        {{"preset": "smoke", "papers": "raina2009"}}


use rule * from respeed as respeed_*


rule summary:
    default_target: True
    input:
        rules.respeed_all.input,
    output:
        "summary.txt",
    shell:
        "head -1 results/smoke/tables/claims.csv >{{output}}"
"""


@pytest.mark.slow
def test_another_workflow_includes_tables_and_report(measured: Project, tmp_path: Path) -> None:
    other = Project.there(tmp_path)
    (tmp_path / "Snakefile").write_text(OTHER.format(folder=measured.folder), "utf-8")
    records = "results/smoke/records"
    shutil.copytree(measured.folder / records, tmp_path / records)
    before = other.records()
    told = other.snakemake("--cores", "all", PYTHONPATH=str(measured.folder / "workflow")).stdout
    assert "0 turns" in told
    assert other.records() == before
    assert (tmp_path / "summary.txt").read_text("utf-8").startswith("machine,paper,")
    assert "Densely connected RBM" in PdfReader(tmp_path / "report/smoke.pdf").pages[0].extract_text()
    assert "tables.html" in (tmp_path / "report/smoke.html").read_text("utf-8")
    assert "Error" not in (tmp_path / "results/smoke/logs/html.log").read_text("utf-8")
