"""The figures and the page of a hardware sheet."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from respeed.analysis.hardware_sheet import why_no_curve
from respeed.figures import build_figures
from respeed.figures.charts import draw_chart
from respeed.figures.machine import chart_rates, chart_scaling
from respeed.figures.style import PAGES
from respeed.output import build_tables
from respeed.report import build_report
from tests.conftest import ROOT, write_machines
from tests.figures.boxes import outside, overlaps, words_of
from tests.sheets import ACCELERATOR, hardware_sheet, rates_of, scaling_of, write_sheet

MakeRecord = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("counts", [(1, 2), (1, 2, 3, 4, 6), (1, 2, 3, 4, 8, 16, 32, 64, 128, 192)])
def test_a_curve_has_every_count_its_ideal_and_nothing_on_anything(
    make_record: MakeRecord, counts: tuple[int, ...]
) -> None:
    chart, places = chart_scaling("box", scaling_of(hardware_sheet(make_record, counts)))
    for page in PAGES:
        figure = draw_chart(chart, places, True, "", page)
        words = {text.get_text() for text in words_of(figure)}
        assert {"1 thread", "ideal", "RBM step, 576x1024", *map(str, counts[1:])} <= words
        assert not overlaps(figure)
        assert not outside(figure)


def test_passes_are_points_and_their_ends_are_said(make_record: MakeRecord) -> None:
    for passes, words in ((3, "Bars: lowest and highest."), (7, "Bars: 95 % intervals.")):
        chart, _ = chart_scaling("box", scaling_of(hardware_sheet(make_record, passes=passes)))
        assert words in chart.how_to_read
        assert max(map(len, chart.points["rounds"])) == passes


def test_one_core_has_no_curve_and_says_so(make_record: MakeRecord) -> None:
    rows = scaling_of(hardware_sheet(make_record, (1,)))
    assert why_no_curve(rows) == "one core: no curve"
    figure = draw_chart(*chart_scaling("box", rows), True, "")
    assert "one core: no curve" in {text.get_text() for text in words_of(figure)}


@pytest.mark.parametrize("gpu", [False, True])
def test_products_are_dots_by_library_and_precision(make_record: MakeRecord, gpu: bool) -> None:
    chart = chart_rates("box", rates_of(hardware_sheet(make_record, gpu=gpu)))
    for page in PAGES:
        figure = draw_chart(chart, {}, False, "", page)
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
    for build in (build_tables, build_figures, build_report):
        build(smoke=False)
    text = " ".join(" ".join(page.extract_text() for page in PdfReader("report/report.pdf").pages).split())
    for wanted in ("What this machine can do: box-00", "1.80x (90 %)", "Speedup over one thread on box-00"):
        assert wanted in text, wanted
