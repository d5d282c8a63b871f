"""The figures of a machine: its roofline, and what its hardware sheet says."""

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from pypdf import PdfReader

from respeed.analysis.hardware_sheet import why_no_curve
from respeed.analysis.roofline import POINT, paper_roofs
from respeed.figures import build_figures
from respeed.figures.charts import draw_chart
from respeed.figures.machine import chart_rates, chart_scaling, draw_roofline
from respeed.figures.style import save_figure
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
    return found.assign(experiment="rbm", case="576x1024", intensity=47.0)[POINT]


def test_every_roof_has_its_name_and_peak() -> None:
    figure = draw_roofline(PAPER, points_of("PyTorch, one core", "PyTorch, all cores"), COLORS, "")
    assert {"PyTorch, one core: 170", "PyTorch, all cores: 175", "GPU, 2009: 622"} <= texts_of(figure)
    assert_legible(figure)


def test_without_a_measurement_the_papers_roofs_are_drawn_all_the_same() -> None:
    assert "GPU, 2009: 622" in texts_of(draw_roofline(PAPER, points_of()[:0], COLORS, ""))


def test_a_paper_without_hardware_and_a_machine_without_measurements_make_an_empty_figure(tmp_path: Path) -> None:
    bare = replace(PAPER, rows=tuple(changed(row, hardware=None) for row in PAPER.rows))
    save_figure(draw_roofline(bare, points_of()[:0], {}, "no measurement"), tmp_path / "empty")
    assert (tmp_path / "empty.svg").exists()


def test_the_same_points_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        save_figure(draw_roofline(PAPER, points_of("a", "b"), COLORS, ""), tmp_path / name)
    for ending in (".svg", ".pdf", ".png"):
        assert (tmp_path / f"first{ending}").read_bytes() == (tmp_path / f"second{ending}").read_bytes()


@pytest.mark.parametrize("counts", [(1, 2), (1, 2, 3, 4, 8, 16, 32, 64, 128, 192)])
def test_a_curve_has_every_count_its_ideal_and_nothing_on_anything(
    make_record: MakeRecord, counts: tuple[int, ...]
) -> None:
    figure = draw_chart(chart_scaling("box", scaling_of(hardware_sheet(make_record, counts))), "")
    texts = {" ".join(text.split()) for text in texts_of(figure)}
    assert {"1 thread", "ideal", "RBM step, 576x1024", *map(str, counts[1:])} <= texts
    assert_legible(figure)


def test_one_core_has_no_curve_and_says_so(make_record: MakeRecord) -> None:
    rows = scaling_of(hardware_sheet(make_record, (1,)))
    assert why_no_curve(rows) == "one core: no curve"
    assert "one core: no curve" in texts_of(draw_chart(chart_scaling("box", rows), ""))


@pytest.mark.parametrize("gpu", [False, True])
def test_products_are_dots_by_library_and_precision(make_record: MakeRecord, gpu: bool) -> None:
    figure = draw_chart(chart_rates("box", rates_of(hardware_sheet(make_record, gpu=gpu))), "")
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
