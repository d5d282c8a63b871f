"""The figure of a machine: its roofline."""

from dataclasses import replace

import pandas as pd
import pytest

from respeed.analysis.cells import PAPER
from respeed.figures import machine
from respeed.figures.style import STAMP_TEXT, color_packages
from respeed.inputs.papers import load_paper
from respeed.model import TOTAL
from tests.derived import ALL as ALL_CORES
from tests.derived import frames_of, seven
from tests.figures.machines import assert_drawn, assert_legible
from tests.known import known_results

RAINA = load_paper("raina2009")


def test_a_roof_has_the_numbers_of_its_cells_the_highest_where_they_differ() -> None:
    cells = frames_of([*seven(0.1, peak=2e11), *seven(0.1, peak=4e11, **ALL_CORES)]).cells
    later = cells[cells["profile"] == "torch-1"].assign(peak_gflops=300.0, bandwidth_gbytes=5.0)
    cells = pd.concat([cells, later], ignore_index=True)
    figure = machine.draw_roofline(RAINA, "box", cells, color_packages(cells), "")
    lines = {str(line.get_label()).split(":")[0]: line for line in figure.axes[0].get_lines()}
    assert list(lines["PyTorch, one core"].get_xydata()[1]) == pytest.approx([30, 300])
    assert_legible(figure)
    shown = known_results("desk", "server")
    cells = shown.table("cells")
    figure = machine.draw_roofline(shown.papers["raina2009"], "desk", cells, color_packages(cells), "")
    assert_drawn(figure, "roofline-desk")


@pytest.mark.parametrize(("ours", "theirs", "intensities"), [("fp64", "fp32", {50}), ("fp32", "fp64", {25, 50})])
def test_an_intensity_is_that_of_the_precision_of_its_row_and_ours_are_in_fp32(
    ours: str, theirs: str, intensities: set[float]
) -> None:
    traffic = {"fp32": 2e7, "fp64": 4e7}[ours]
    records = seven(0.1, profile=f"openblas-1{'-fp64' * (ours == 'fp64')}", precision=ours, traffic_bytes=traffic)
    paper = replace(RAINA, rows={name: replace(row, precision=theirs) for name, row in RAINA.rows.items()})
    points, _ = machine.make_roofline(frames_of(records, {paper.name: paper}).cells, paper, "box")
    assert set(points["intensity"]) == intensities
    gpu = points.set_index("profile").loc["gpu"]
    # A step is 1 GFLOP; 38.6 seconds are printed for 1,000,000 / 192 of them.
    assert gpu["gflops"] == pytest.approx(1e6 / 192 / 38.6)
    assert gpu["share"] == pytest.approx(gpu["gflops"] / 622, rel=1e-2)


def test_without_its_work_a_case_has_no_point_without_ceilings_the_papers_alone_and_a_total_none() -> None:
    cells = frames_of(seven(0.1)).cells
    for without, there in (("flops", []), ("traffic_bytes", []), ("peak_gflops", [PAPER]), ("", ["box", PAPER])):
        points, _ = machine.make_roofline(cells.assign(**{without: None}) if without else cells, RAINA, "box")
        assert list(points["machine"].unique()) == there, without
    assert machine.make_roofline(cells.assign(case=TOTAL), RAINA, "box")[0].empty
    bare = replace(RAINA, rows={name: replace(row, hardware=None) for name, row in RAINA.rows.items()})
    cells = cells.assign(peak_gflops=None)
    axes = machine.draw_roofline(bare, "box", cells, color_packages(cells), "a smoke run").axes[0]
    assert ([*axes.get_lines()], [text.get_text() for text in axes.texts]) == ([], [STAMP_TEXT])
    # Programs of one device share a roof, which is called by the device.
    _, roofs = machine.make_roofline(frames_of(seven(0.1)).cells, load_paper("bergstra2010"), "box")
    core = "one core at 3.16 GHz"
    names = [f"{core}, single precision, 2010", f"{core}, double precision, 2010", "GeForce GTX 285, 2010"]
    assert list(roofs["label"]) == names
