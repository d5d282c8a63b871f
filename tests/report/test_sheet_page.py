"""The page of a machine's hardware sheet in the report."""

import shutil
from pathlib import Path

import pytest
from pypdf import PdfReader

from respeed.figures import build_figures
from respeed.output import build_tables
from respeed.report import build_report
from tests.conftest import ROOT, MakeRecord, write_machines
from tests.sheets import hardware_sheet, write_sheet


def test_the_report_has_a_page_for_a_machine(
    make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "report", "report", ignore=shutil.ignore_patterns("*.pdf", "facts"))
    write_machines(make_record, 1, rounds=1)
    write_sheet(hardware_sheet(make_record, machine="box-00", gpu=True))
    for build in (build_tables, build_figures, build_report):
        build(smoke=False)
    text = " ".join(" ".join(page.extract_text() for page in PdfReader("report/report.pdf").pages).split())
    for wanted in ("What this machine can do: box-00", "1.80x (90 %)", "Speedup over one thread on box-00"):
        assert wanted in text, wanted
