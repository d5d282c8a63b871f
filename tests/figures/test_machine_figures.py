"""The figures of a machine: its roofline, and what its hardware sheet says."""

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from pypdf import PdfReader

from respeed.analysis.hardware_sheet import why_no_curve
from respeed.analysis.roofline import paper_roofs, roof_at
from respeed.figures import build_figures
from respeed.figures.charts import draw_chart
from respeed.figures.machine import chart_rates, chart_scaling, draw_roofline
from respeed.figures.style import COLUMN, PAGES, SLIDE, Page, save_figure
from respeed.inputs.papers import load_paper
from respeed.output import build_tables
from respeed.report import build_report
from tests.conftest import ROOT, MakeRecord, write_machines
from tests.derived import changed
from tests.figures.boxes import assert_legible, texts_of
from tests.sheets import ACCELERATOR, hardware_sheet, rates_of, scaling_of, write_sheet

PAPER = load_paper("raina2009")
COLORS = {("PyTorch", True): "#e69f00"}


def points_of(*labels: str) -> pd.DataFrame:
    """A case of the paper's, far below each of its roofs, and one on rows of ours with these labels."""
    ours = [
        {"machine": "box", "paper": "raina2009", "profile": f"torch-{place}", "label": label, "package": "PyTorch",
         "architecture": ("single-cpu", "multi-cpu")[place], "precision": "fp32", "peak_gflops": 170 + 5 * place,
         "bandwidth_gbytes": 14 * (1 + place), "gflops": 100 + 50 * place}
        for place, label in enumerate(labels)
    ]  # fmt: skip
    found = pd.concat([paper_roofs(PAPER).assign(gflops=5.0), pd.DataFrame(ours)], ignore_index=True)
    found = found.assign(experiment="rbm", case="576x1024", intensity=47.0)
    return found.assign(share=found["gflops"] / roof_at(found, found["intensity"]))


@pytest.mark.parametrize("page", PAGES)
def test_every_roof_has_its_name_and_peak_and_the_papers_lowest_case_its_share(page: Page) -> None:
    figure = draw_roofline(PAPER, points_of("PyTorch, one core", "PyTorch, all cores"), COLORS, "", page)
    wanted = {"PyTorch, one core: 170", "PyTorch, all cores: 175", "GPU, 2009: 622", "576x1024: 20 %"}
    assert wanted <= texts_of(figure)
    assert_legible(figure)


def test_without_a_measurement_the_papers_roofs_are_drawn_all_the_same() -> None:
    assert "GPU, 2009: 622" in texts_of(draw_roofline(PAPER, points_of()[:0], COLORS, ""))


def test_a_paper_without_hardware_and_a_machine_without_measurements_make_an_empty_figure(tmp_path: Path) -> None:
    bare = replace(PAPER, rows=tuple(changed(row, hardware=None) for row in PAPER.rows))
    save_figure(draw_roofline(bare, points_of()[:0], {}, "no measurement"), tmp_path / "empty")
    assert (tmp_path / "empty.svg").exists()


def test_a_name_is_a_text_whatever_is_in_it_and_however_long(tmp_path: Path) -> None:
    figure = draw_roofline(PAPER, points_of(r"$\bad{ ^_ =1+1" + "x" * 64), COLORS, "")
    save_figure(figure, tmp_path / "odd")
    shown = " ".join(texts_of(figure))
    assert r"$\bad{" in shown
    assert "…" in shown


def test_the_same_points_give_the_same_bytes_and_a_slide_is_as_wide_as_a_screen(tmp_path: Path) -> None:
    for name in ("first", "second"):
        for page in PAGES:
            save_figure(draw_roofline(PAPER, points_of("a", "b"), COLORS, "", page), tmp_path / name, page)
    endings = [f"{page.name}.{ending}" for page in PAGES for ending in page.endings]
    assert len(endings) == 5
    for ending in endings:
        assert (tmp_path / f"first{ending}").read_bytes() == (tmp_path / f"second{ending}").read_bytes()
    header = (tmp_path / f"first{SLIDE.name}.png").read_bytes()[16:24]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (1920, 1080)
    assert COLUMN.shape is None


@pytest.mark.parametrize("counts", [(1, 2), (1, 2, 3, 4, 6), (1, 2, 3, 4, 8, 16, 32, 64, 128, 192)])
def test_a_curve_has_every_count_its_ideal_and_nothing_on_anything(
    make_record: MakeRecord, counts: tuple[int, ...]
) -> None:
    chart, places = chart_scaling("box", scaling_of(hardware_sheet(make_record, counts)))
    for page in PAGES:
        figure = draw_chart(chart, places, True, "", page)
        assert {"1 thread", "ideal", "RBM step, 576x1024", *map(str, counts[1:])} <= texts_of(figure)
        assert_legible(figure)


def test_passes_are_points_and_their_ends_are_said(make_record: MakeRecord) -> None:
    for passes, words in ((3, "Bars: lowest and highest."), (7, "Bars: 95 % intervals.")):
        chart, _ = chart_scaling("box", scaling_of(hardware_sheet(make_record, passes=passes)))
        assert words in chart.how_to_read
        assert max(map(len, chart.points["rounds"])) == passes


def test_one_core_has_no_curve_and_says_so(make_record: MakeRecord) -> None:
    rows = scaling_of(hardware_sheet(make_record, (1,)))
    assert why_no_curve(rows) == "one core: no curve"
    figure = draw_chart(*chart_scaling("box", rows), True, "")
    assert "one core: no curve" in texts_of(figure)


@pytest.mark.parametrize("gpu", [False, True])
def test_products_are_dots_by_library_and_precision(make_record: MakeRecord, gpu: bool) -> None:
    chart = chart_rates("box", rates_of(hardware_sheet(make_record, gpu=gpu)))
    for page in PAGES:
        figure = draw_chart(chart, {}, False, "", page)
        assert {"one core", "all 2 cores"} <= texts_of(figure)
        assert (ACCELERATOR in texts_of(figure)) == gpu
        assert_legible(figure)


def test_the_report_has_a_page_for_a_machine(make_record: MakeRecord) -> None:
    shutil.copytree(ROOT / "report", "report", ignore=shutil.ignore_patterns("*.pdf", "facts"))
    write_machines(make_record, 1, rounds=1)
    write_sheet(hardware_sheet(make_record, machine="box-00", gpu=True))
    for build in (build_tables, build_figures, build_report):
        build(smoke=False)
    text = " ".join(" ".join(page.extract_text() for page in PdfReader("report/report.pdf").pages).split())
    for wanted in ("What this machine can do: box-00", "1.80x (90 %)", "Speedup over one thread on box-00"):
        assert wanted in text, wanted
