"""The roofline as a picture: labels apart, names as texts, the same bytes twice."""

from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from respeed.analysis.columns import make_frame
from respeed.analysis.roofline import paper_roofs, roof_at
from respeed.figures.roofline import draw_roofline
from respeed.figures.style import save_figure
from respeed.inputs.papers import load_paper
from tests.tables.derived import changed

PAPER = load_paper("raina2009")
NOTHING = make_frame([], "roofline")
ONE = {
    "machine": "box", "paper": "raina2009", "profile": "torch-1", "label": "PyTorch, one core", "package": "PyTorch",
    "architecture": "single-cpu", "precision": "fp32", "peak_gflops": 170.0, "bandwidth_gbytes": 14.0, "gflops": 100.0,
}  # fmt: skip
ALL = ONE | {
    "profile": "torch-all", "label": "PyTorch, all cores", "architecture": "multi-cpu", "peak_gflops": 175.0,
    "bandwidth_gbytes": 28.0, "gflops": 150.0,
}  # fmt: skip
COLORS = {("PyTorch", True): "#e69f00"}


def points(*rows: dict[Hashable, Any]) -> pd.DataFrame:
    where = {"experiment": "rbm", "case": "576x1024", "intensity": 47.0, "gflops": 5.0}
    made = make_frame([where | row for row in rows], "roofline")
    return made.assign(share=made["gflops"] / roof_at(made, made["intensity"]))


OURS = points(ONE, ALL)
THEIRS = points(*paper_roofs(PAPER).to_dict("records"))


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in (*figure.texts, *figure.axes[0].texts)]


def test_every_roof_has_its_name_and_peak_at_its_line() -> None:
    shown = texts(draw_roofline(PAPER, OURS, THEIRS, COLORS, ""))
    assert {"PyTorch, one core: 170", "PyTorch, all cores: 175", "GPU, 2009: 622"} <= set(shown)


def test_the_papers_lowest_case_under_each_roof_is_named_with_its_share() -> None:
    assert "576x1024: 20 %" in texts(draw_roofline(PAPER, OURS, THEIRS, COLORS, ""))


def test_without_a_measurement_the_papers_roofs_are_drawn_all_the_same() -> None:
    assert "GPU, 2009: 622" in texts(draw_roofline(PAPER, NOTHING, NOTHING, COLORS, ""))


def test_a_paper_without_hardware_and_a_machine_without_measurements_make_an_empty_figure(tmp_path: Path) -> None:
    bare = replace(PAPER, rows=tuple(changed(row, hardware=None) for row in PAPER.rows))
    save_figure(draw_roofline(bare, NOTHING, NOTHING, COLORS, "no measurement"), tmp_path / "empty")
    assert (tmp_path / "empty.svg").exists()


def test_a_name_is_a_text_whatever_is_in_it_and_however_long(tmp_path: Path) -> None:
    odd = points(ONE | {"label": r"$\bad{ ^_ =1+1" + "x" * 64})
    figure = draw_roofline(PAPER, odd, THEIRS, COLORS, "")
    save_figure(figure, tmp_path / "odd")
    shown = " ".join(texts(figure))
    assert r"$\bad{" in shown
    assert "…" in shown


def test_the_same_points_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        save_figure(draw_roofline(PAPER, OURS, THEIRS, COLORS, ""), tmp_path / name)
    for ending in ("svg", "png"):
        assert (tmp_path / f"first.{ending}").read_bytes() == (tmp_path / f"second.{ending}").read_bytes()
