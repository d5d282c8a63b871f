"""The figures and the page of a hardware sheet."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from respeed.figures.build import build_figures
from respeed.figures.reached import draw_reached
from respeed.figures.scaling import draw_scaling, why_no_curve
from respeed.report.build import build_report
from respeed.report.sheet_facts import sheet_facts, sheets_across
from respeed.tables.build import make_tables
from respeed.tables.reached import make_reached
from respeed.tables.scaling import make_scaling
from tests.conftest import ROOT, write_machines
from tests.figures.boxes import outside, overlaps, words_of
from tests.sheets import ACCELERATOR, hardware_sheet, write_sheet

MakeRecord = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("counts", [(1, 2), (1, 2, 3, 4, 6), (1, 2, 3, 4, 8, 16, 32, 64, 128, 192)])
def test_a_curve_has_every_count_its_ideal_and_nothing_on_anything(
    make_record: MakeRecord, counts: tuple[int, ...]
) -> None:
    figure = draw_scaling("box", make_scaling(hardware_sheet(make_record, counts)), "")
    words = {text.get_text() for text in words_of(figure)}
    assert {"1 thread", "ideal", "RBM step, 576x1024", *map(str, counts[1:])} <= words
    assert not overlaps(figure)
    assert not outside(figure)


def test_passes_are_points_and_their_ends_are_said(make_record: MakeRecord) -> None:
    for passes, words in ((3, "Bars: lowest and highest."), (7, "Bars: 95 % intervals.")):
        figure = draw_scaling("box", make_scaling(hardware_sheet(make_record, passes=passes)), "")
        assert words in " ".join(text.get_text() for text in words_of(figure))


def test_one_core_has_no_curve_and_says_so(make_record: MakeRecord) -> None:
    rows = make_scaling(hardware_sheet(make_record, (1,)))
    assert why_no_curve(rows) == "one core: no curve"
    assert "one core: no curve" in {text.get_text() for text in words_of(draw_scaling("box", rows, ""))}


@pytest.mark.parametrize("gpu", [False, True])
def test_products_are_dots_by_library_and_precision(make_record: MakeRecord, gpu: bool) -> None:
    figure = draw_reached("box", make_reached(hardware_sheet(make_record, gpu=gpu)), "")
    words = {text.get_text() for text in words_of(figure)}
    assert {"one core", "all 2 cores"} <= words
    assert (ACCELERATOR in words) == gpu
    assert not overlaps(figure)


def test_the_report_has_a_page_for_a_machine(
    make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "report", tmp_path / "report", ignore=shutil.ignore_patterns("*.pdf", "facts"))
    monkeypatch.chdir(tmp_path)
    write_machines(make_record, 1, rounds=1)
    write_sheet(hardware_sheet(make_record, machine="box-00", gpu=True))
    build_figures(smoke=False)
    build_report(smoke=False)
    text = " ".join(" ".join(page.extract_text() for page in PdfReader("report/report.pdf").pages).split())
    for wanted in (
        "What this machine can do: box-00",
        "1.80x (90 %)",
        "Speedup over one thread on box-00",
    ):
        assert wanted in text, wanted


def test_machines_stand_side_by_side_and_one_of_one_core_has_no_curve(
    make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_machines(make_record, 3, rounds=1)
    for machine, counts in (("box-00", (1, 2)), ("box-01", (1,))):
        write_sheet(hardware_sheet(make_record, counts, machine=machine))
    tables, machines = make_tables(smoke=False), ["box-00", "box-01", "box-02"]
    sections = sheet_facts(tables, machines)
    assert [(one["machine"], one["no_curve"]) for one in sections] == [("box-00", ""), ("box-01", "one core: no curve")]
    rows = {row[0]: row[1:] for row in sheets_across(tables, machines)["rows"]}
    assert rows["Efficiency of the step 576x1024, all cores"] == ["90 %", "–", "–"]
