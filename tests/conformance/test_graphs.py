"""Steps as graphs on a device: what they keep, what becomes of one that cannot be captured, and what is left free."""

import gc
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from respeed.backends import _torch_device
from respeed.backends._torch_between import ByTorch
from tests.conformance.programs import build, case_of, make

MIB = 2**20

pytestmark = pytest.mark.gpu


@pytest.fixture(params=["fp32", "bf16"])
def made(request: pytest.FixtureRequest) -> Iterator[Any]:
    yield make("torch", "cuda", request.param, seed=7)
    gc.collect()
    torch.cuda.empty_cache()


def test_all_graphs_of_a_program_keep_no_more_than_one(made: Any) -> None:
    kept = made._graphs.bytes_kept()
    program = build(made, case_of("rbm_streamed", "odd"))
    assert made.why_plain() is None
    # A piece for small arrays beside that for the workspace.
    assert made._graphs.bytes_kept() - kept <= 4 * MIB
    del program


@pytest.mark.usefixtures("provokes")
def test_a_step_that_cannot_be_captured_is_plain_and_says_what_it_was(made: Any) -> None:
    a, out = made.array(np.ones((8, 8))), made.zeros(8, 8)

    def waits() -> None:
        made.gemm(a, a, out)
        made.sync()

    assert made.captured(waits) == waits
    reason = made.why_plain()
    assert reason is not None
    assert "previous error" not in reason
    assert made.why_plain() is None
    waits()
    np.testing.assert_array_equal(made.host(out), 8)

    graph = made.captured(lambda: made.gemm(a, a, out, alpha=2.0))
    assert made.why_plain() is None
    graph()
    np.testing.assert_array_equal(made.host(out), 16)


@pytest.mark.usefixtures("provokes")
@pytest.mark.parametrize("none_can_be_made", [False, True])
def test_draws_go_on_after_a_capture_that_was_broken_off(
    made: Any, none_can_be_made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one sequence, whoever draws: a graph that was made before, the step itself, one that is captured after."""
    alike = make("torch", "cuda", made.precision, seed=7)
    draws, out, current = made.draws(8, 8), made.zeros(8, 8), torch.cuda.current_stream()
    same, thrown = alike.draws(8, 8), alike.zeros(8, 8)

    def draw() -> None:
        made.mask(out, 0.5, out, draws)

    def waits() -> None:
        draw()
        made.sync()

    drawing: list[Any] = []
    if none_can_be_made:  # as an older torch would have it on a device without graphs
        monkeypatch.setattr(_torch_device, "CapturedStep", _broken_off)
        monkeypatch.setattr(_torch_device, "finds_generators", lambda version: False)
    else:
        drawing.append(made.captured(draw))
    assert made.captured(waits) == waits
    assert torch.cuda.current_stream() == current
    assert made.why_plain() is not None
    drawing += [draw, made.captured(draw)]
    assert (made.why_plain() is None) != none_can_be_made
    for one in drawing * 2:
        one()
        alike.mask(thrown, 0.5, thrown, same)
        np.testing.assert_array_equal(draws.last(), same.last())


def _broken_off(step: Any, *_: Any) -> None:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
        torch.cuda.synchronize()


def test_a_program_is_rehearsed_without_graphs_and_then_with_them(made: Any) -> None:
    a, out = made.array(np.ones((8, 8))), made.zeros(8, 8)

    def step() -> None:
        made.gemm(a, a, out)

    captured = []
    for rehearsal in made.rehearsals():
        with rehearsal:
            captured.append(made.captured(step) != step)
    assert captured == [False, True]


def test_making_a_graph_warns_of_nothing(
    made: Any, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    out, draws = made.zeros(8, 8), made.draws(8, 8)
    made.captured(lambda: made.mask(out, 0.5, out, draws))()
    made.sync()
    assert "deprecated" not in capfd.readouterr().err
    assert not [one for one in recwarn if "generator" in str(one.message)]


def test_arrays_that_chunks_come_to_are_not_free_while_a_copy_is_under_way(made: Any) -> None:
    shape = (256, 1024)
    stream = made.stream([np.full(shape, 7.0, np.float32)] * 3)
    stream.advance()
    del stream
    after = [made.array(np.full(shape, 1.0, np.float32)) for _ in range(4)]
    made.sync()
    for array in after:
        np.testing.assert_array_equal(made.host(array), 1)


def test_beside_what_is_said_to_be_free_products_and_graphs_have_room(made: Any) -> None:
    a, out = made.array(np.ones((64, 64))), made.zeros(64, 64)
    gc.collect()
    torch.cuda.empty_cache()
    taken = torch.empty(int(made.bytes_free()) - 8 * MIB, dtype=torch.uint8, device="cuda")
    made.gemm(a, a, out)
    graph = made.captured(lambda: made.gemm(a, a, out))
    assert made.why_plain() is None
    graph()
    np.testing.assert_array_equal(made.host(out), 64)
    del taken


def test_a_graph_outlives_the_scratch_of_a_longer_one(made: Any) -> None:
    """Scratch grows with the mini-batch: the graph of the shorter one still runs on what it was captured with."""
    errors, graphs = [], []
    by_torch = ByTorch(made._scratch)  # fused kernels need none
    for rows in (4, 16):
        logits, labels = made.array(np.zeros((rows, 8))), made.labels(np.zeros(rows))
        out, costs = made.zeros(rows, 8), made.zeros(rows, 1)
        step = partial(by_torch.softmax_error, logits, labels, out, costs)
        step()  # makes the scratch, before the capture
        graphs.append(made.captured(step))
        errors.append(out)
    for graph in graphs:
        graph()
    made.sync()
    for out in errors:
        np.testing.assert_allclose(made.host(out)[:, 1:], 1 / 8)
        np.testing.assert_allclose(made.host(out)[:, 0], 1 / 8 - 1)
