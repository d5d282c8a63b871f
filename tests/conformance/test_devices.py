"""What accelerators do otherwise: steps as graphs, and memory of their own."""

import gc
from typing import Any

import numpy as np
import pytest
import torch

from respeed.inputs.registry import runs
from respeed.model import Case
from respeed.workloads.matmul import Matmul
from tests.conformance.programs import ODD, Place, build, case_of, make, name_of, numbers_of, steps

MIB = 2**20
GPUS = [pytest.param(Place("torch", "cuda", one), id=one, marks=pytest.mark.gpu) for one in ("fp32", "bf16")]


@pytest.fixture(params=GPUS)
def made(request: pytest.FixtureRequest) -> Any:
    return make(*request.param, seed=7)


def filled(made: Any, value: float, *shape: int) -> torch.Tensor:
    return torch.full(shape, value, dtype=made.dtype, device=made.device)


def assert_same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], is_net: bool) -> None:
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        # Of one order of sums: what rounding a library may do otherwise from call to call is far below this. But of
        # algorithms for a net cuDNN takes for each program the one that is the fastest then.
        far = 1e-2 * float(np.abs(values).max(initial=0.0)) if is_net else 1e-6
        np.testing.assert_allclose(found[name], values, rtol=1e-5, atol=far, err_msg=name)


@pytest.mark.parametrize("case", ODD, ids=name_of)
def test_ten_steps_as_graphs_are_ten_plain_steps(made: Any, case: Case) -> None:
    if not runs(case.workload, "torch", made.precision):
        pytest.skip(f"{case.workload} does not run on torch in {made.precision}")
    with made._graphs.none():
        plain = build(made, case)
    row = make("torch", "cuda", made.precision, seed=7)
    graphs = build(row, case)
    assert row.why_plain() is None
    count = 2 if plain.workload.parts() else 10  # an iteration after another, each asked for by itself
    is_net = case.workload == "convnet"
    assert_same(numbers_of(steps(graphs, count)), numbers_of(steps(plain, count)), is_net)


def test_all_graphs_share_the_memory_of_one(made: Any) -> None:
    kept = made._graphs.bytes_kept()
    program = build(made, case_of("rbm", "odd"))
    assert made.why_plain() is None
    # A piece for small arrays beside that for the workspace.
    assert made._graphs.bytes_kept() - kept <= 4 * MIB
    del program


@pytest.mark.usefixtures("provokes")
def test_an_uncapturable_step_is_plain_with_its_reason(made: Any) -> None:
    """A step that cannot be captured is plain and says what it was."""
    a, out = filled(made, 1, 8, 8), filled(made, 0, 8, 8)

    def waits() -> None:
        torch.mm(a, a, out=out)
        made.sync()

    assert made.captured(waits) == waits
    reason = made.why_plain()
    assert reason is not None
    assert "previous error" not in reason
    assert made.why_plain() is None
    waits()
    np.testing.assert_array_equal(made.host(out), 8)
    graph = made.captured(lambda: torch.addmm(out, a, a, beta=0.0, alpha=2.0, out=out))
    assert made.why_plain() is None
    graph()
    np.testing.assert_array_equal(made.host(out), 16)


@pytest.mark.usefixtures("provokes")
def test_a_step_is_rehearsed_undone_and_captured(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by cuDNN, which has no algorithm within a capture for what it was never asked for outside of one."""
    case, known, step = case_of("matmul", "odd", beta=0.5), [], Matmul.step

    def choosy(self: Matmul, a: Any, row: Any) -> None:
        if torch.cuda.is_current_stream_capturing() and not known:
            raise RuntimeError("FIND was unable to find an engine to execute this computation")
        known.append(torch.cuda.current_stream())
        step(self, a, row)

    monkeypatch.setattr(Matmul, "step", choosy)
    graphs = build(made, case)
    assert made.why_plain() is None
    assert [*{*known}] == [made._graphs._stream]
    monkeypatch.undo()
    with made._graphs.none():
        plain = build(made, case)
    assert_same(numbers_of(steps(graphs, 3)), numbers_of(steps(plain, 3)), is_net=False)


@pytest.mark.usefixtures("provokes")
def test_draws_go_on_after_a_broken_capture(made: Any) -> None:
    """In one sequence, whoever draws: a graph that was made before, the step itself, one that is captured after."""
    alike, current = make("torch", "cuda", made.precision, seed=7), torch.cuda.current_stream()
    u, same = (torch.zeros(8, 8, device="cuda") for _ in range(2))

    def draw() -> None:
        made.uniform(u)

    def waits() -> None:
        draw()
        made.sync()

    drawing = [made.captured(draw)]
    assert made.captured(waits) == waits
    assert torch.cuda.current_stream() == current
    assert made.why_plain() is not None
    drawing += [draw, made.captured(draw)]
    assert made.why_plain() is None
    for one in drawing * 2:
        one()
        np.testing.assert_array_equal(made.host(u), alike.host(alike.uniform(same)))


def test_free_memory_leaves_room_for_graphs(made: Any) -> None:
    """Beside what is said to be free products and graphs have room."""
    a, out = filled(made, 1, 64, 64), filled(made, 0, 64, 64)
    gc.collect()
    torch.cuda.empty_cache()
    taken = torch.empty(int(made.bytes_free()) - 8 * MIB, dtype=torch.uint8, device="cuda")
    torch.mm(a, a, out=out)
    graph = made.captured(lambda: torch.mm(a, a, out=out))
    assert made.why_plain() is None
    graph()
    np.testing.assert_array_equal(made.host(out), 64)
    assert made.bytes_free() < 16 * MIB
    del taken
