"""The roofline as a picture: labels apart, names as texts, the same bytes twice."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from respeed.analysis.roofline import paper_roofs, roof_at
from respeed.figures.machine import draw_roofline
from respeed.figures.style import COLUMN, PAGES, SLIDE, Page, save_figure
from respeed.inputs.papers import load_paper
from tests.derived import changed
from tests.figures.boxes import outside, overlaps, words_of

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


def texts(figure: Figure) -> set[str]:
    return {text.get_text() for text in words_of(figure)}


@pytest.mark.parametrize("page", PAGES)
def test_every_roof_has_its_name_and_peak_and_the_papers_lowest_case_its_share(page: Page) -> None:
    figure = draw_roofline(PAPER, points_of("PyTorch, one core", "PyTorch, all cores"), COLORS, "", page)
    wanted = {"PyTorch, one core: 170", "PyTorch, all cores: 175", "GPU, 2009: 622", "576x1024: 20 %"}
    assert wanted <= texts(figure)
    assert not overlaps(figure)
    assert not outside(figure)


def test_without_a_measurement_the_papers_roofs_are_drawn_all_the_same() -> None:
    assert "GPU, 2009: 622" in texts(draw_roofline(PAPER, points_of()[:0], COLORS, ""))


def test_a_paper_without_hardware_and_a_machine_without_measurements_make_an_empty_figure(tmp_path: Path) -> None:
    bare = replace(PAPER, rows=tuple(changed(row, hardware=None) for row in PAPER.rows))
    save_figure(draw_roofline(bare, points_of()[:0], {}, "no measurement"), tmp_path / "empty")
    assert (tmp_path / "empty.svg").exists()


def test_a_name_is_a_text_whatever_is_in_it_and_however_long(tmp_path: Path) -> None:
    figure = draw_roofline(PAPER, points_of(r"$\bad{ ^_ =1+1" + "x" * 64), COLORS, "")
    save_figure(figure, tmp_path / "odd")
    shown = " ".join(texts(figure))
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
