"""What is allowed to a round's memory, and what the scaling figure calls perfect."""

import re
from pathlib import Path
from xml.dom import minidom

import pytest
from round_memory import needed_bytes
from scaling_figure import draw_scaling, save_scaling
from step_scaling import BACKENDS, BATCH, BATCHES, MIDDLE, SIZES, Measured, make_panels, thread_ladder

from respeed.model.paper import Case


def test_a_round_needs_the_weights_the_biases_and_the_buffers_of_two_batches() -> None:
    case = Case("small", "rbm", {"visible": 3, "hidden": 2, "batch": 4, "learning_rate": 0.1})
    buffers = 4 * 3 + 4 * 3 + 3 * 4 * 2  # examples, reconstructions; hidden units of both phases and their sample
    assert needed_bytes(case) == 4 * (3 * 2 + 3 + 2 + 2 * buffers)


def test_one_patch_as_large_as_the_image_needs_what_a_dense_rbm_needs() -> None:
    dense = Case("dense", "rbm", {"visible": 36, "hidden": 5, "batch": 7, "learning_rate": 0.1})
    sizes = {"side": 6, "patch": 6, "stride": 3, "hidden": 5, "batch": 7, "learning_rate": 0.1}
    assert needed_bytes(Case("patch", "patches", sizes)) == needed_bytes(dense)


def measured(rounds: int = 7) -> list[Measured]:
    """Steps that cost what their work says, on as many threads as there are, on a machine that drifts."""
    settings = {(*size, BATCH) for size in SIZES} | {(*MIDDLE, batch) for batch in BATCHES}
    return [
        Measured(index, threads, name, V, H, B, seconds=index * V * H * B / threads)
        for index in range(1, rounds + 1)
        for threads in (1, 2, 4)
        for name in BACKENDS
        for V, H, B in (sorted(settings) if threads != 2 else [(*MIDDLE, BATCH)])
    ]


def test_a_step_in_proportion_to_its_work_costs_one_everywhere() -> None:
    panels = make_panels(measured())
    assert [len(panel.series) for panel in panels] == [4, 4, 2]
    for panel in panels:
        for series in panel.series:
            assert list(series.costs) == sorted(panel.ticks)
            assert all(cost == pytest.approx(1) for costs in series.costs.values() for cost in costs)


@pytest.mark.parametrize(("cores", "ladder"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])])
def test_threads_double_up_to_all_cores(cores: int, ladder: list[int]) -> None:
    assert thread_ladder(cores) == ladder


def test_the_slim_figure_is_whole_and_the_same_when_drawn_again(tmp_path: Path) -> None:
    paths = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for path in paths:
        save_scaling(draw_scaling(make_panels(measured())), path)
    text = paths[0].read_text()
    assert text == paths[1].read_text()
    minidom.parseString(text)
    targets = set(re.findall(r'\bid="([^"]+)"', text))
    assert targets == set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    assert "<metadata>" not in text
