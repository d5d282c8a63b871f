"""What only the pretended device can tell of a program: how products sum, what is waited for, what is let go of."""

import gc
import sys
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from respeed.backends._cuda import Graphs
from respeed.inputs.registry import runs
from respeed.machine.devices import energy_counters
from respeed.measure.case import make_bench, measure_case
from respeed.measure.order import Job, Order
from respeed.workloads import make_workload
from tests.conformance.programs import build, case_of, make, steps
from tests.orders import order_of
from tests.pretended_gpu.device import asked_by
from tests.pretended_gpu.environment import is_pretended

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_pretended(), reason="of the pretended GPU")]

# How the products of a row may sum, by its precision.
SUMS = {"fp64": "f64", "fp32": "f32", "tf32": "tf32", "bf16": "f32", "fp16": "f32"}
# Steps of copies wait by design, and those of sparse_parallel, as the host sees which rows are done.
STEPS = [case_of(name, "odd") for name in ("rbm", "mlp", "patches", "softmax_regression", "autoencoder")]


def order_of_one(**changed: Any) -> Order:
    """Return an order for a case on the device."""
    order = order_of("torch-1", cases=(Job(case_of("rbm", "odd"), 1, ""),), **changed)
    return replace(order, profile=replace(order.profile, device="cuda", precision="fp32"))


@pytest.mark.parametrize("precision", SUMS)
def test_every_product_sums_in_its_precision(precision: str) -> None:
    made, found = make("torch", "cuda", precision), dict[str, set[str]]()
    for name in ("rbm", "mlp", "patches", "convnet", "sparse_parallel", "softmax_regression"):
        if runs(name, "torch", precision):
            with made._graphs.none():
                program = build(made, case_of(name, "smoke"))
            found[name] = {one for one in asked_by(program.step) if one.startswith("product")}
    assert sum(map(bool, found.values())) >= 2
    assert {name: sums for name, sums in found.items() if not sums <= {f"product {SUMS[precision]}"}} == {}


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("case", STEPS, ids=lambda case: case.workload)
def test_graphs_are_launched_without_the_host_waiting(case: Any, precision: str) -> None:
    """A step is asked for as graphs and the host waits for nothing."""
    program = build(make("torch", "cuda", precision), case)
    asked = asked_by(lambda: [program.step() for _ in range(9)])
    # A graph that draws is told from where on.
    assert not [one for one in asked if "FillFunctor<long>" not in one]


@pytest.mark.parametrize("case", STEPS, ids=lambda case: case.workload)
def test_a_plain_step_waits_and_keeps_nothing(case: Any) -> None:
    """A step that is no graph waits for nothing and keeps no memory."""
    made = make("torch", "cuda", "bf16")
    with made._graphs.none():
        program = steps(build(made, case), 1)
    held = torch.cuda.memory_allocated()
    asked = asked_by(lambda: [program.step() for _ in range(3)])
    assert not [one for one in asked if one.startswith("wait") or "pageable" in one]
    assert torch.cuda.memory_allocated() <= held


# Kernels and products of a step, which its graph has as nodes: by torch's own operations, and with Triton's kernels.
NODES = {
    "rbm": (12, 9), "rbm_pcd": (30, 18), "autoencoder": (13, 13), "patches": (26, 14), "sparse_parallel": (153, 153),
}  # fmt: skip


@pytest.mark.parametrize("workload", NODES)
def test_a_step_asks_for_few_kernels(workload: str) -> None:
    made = make("torch", "cuda")
    asked = asked_by(last_part(made, workload))
    assert len(asked) <= NODES[workload][0], asked


@pytest.mark.parametrize("workload", NODES)
def test_a_step_with_fused_kernels_asks_for_fewer(workload: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton's kernels do not run on this device: each call of them is counted as the kernel that it asks for."""
    monkeypatch.setitem(sys.modules, "respeed.kernels.fused", kernels := Mock())
    made = make("torch", "cuda")
    made.fuse(1)
    step = last_part(made, workload)
    kernels.reset_mock()
    asked = asked_by(step)
    assert len(asked) + len(kernels.mock_calls) <= NODES[workload][1], [*asked, *kernels.mock_calls]


def last_part(made: Any, workload: str) -> Any:
    """Return the step of a workload, or the last of its parts, such as the bases of sparse coding, not captured."""
    program = make_workload(case_of(workload, "odd"))
    with made._graphs.none():
        part = made.build(program, 5).parts[-1]
    part()
    return part


@pytest.mark.parametrize("memory", ["pinned", "pageable"])
@pytest.mark.parametrize("direction", ["to", "from"])
def test_pageable_copies_wait_and_pinned_do_not(direction: str, memory: str) -> None:
    """Copies of pinned memory are asked for and those of pageable memory waited for."""
    program = build(make("torch", "cuda"), case_of("copies", "odd", direction=direction, memory=memory))
    asked = asked_by(program.step)
    wanted = f"copy {memory} to device" if direction == "to" else f"copy device to {memory}"
    assert [one for one in asked if one.startswith("copy")] == [wanted]
    assert any(one.startswith("wait") for one in asked) == (memory == "pageable")


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16", "fp16"])
def test_libraries_lower_precision_only_as_rows_say(precision: str) -> None:
    """Libraries may use lower precision only where the row says so."""
    products, reduced = (
        torch.backends.cuda.matmul,
        [f"allow_{one}_reduced_precision_reduction" for one in ("bf16", "fp16")],
    )
    for name in reduced:
        setattr(products, name, True)
    made = make("torch", "cuda", precision)
    assert products.allow_tf32 == torch.backends.cudnn.allow_tf32 == (precision == "tf32")
    assert not any(getattr(products, name) for name in reduced)
    assert (torch.backends.cudnn.benchmark, made._adds_itself) == (True, precision in {"bf16", "fp16"})
    # cuDNN's own way for the gradient of a 5x5 kernel rounds more.
    assert {name.partition(" weight")[0] for name in made.looser} == ({"Conv2d 5x5"} if precision == "fp32" else set())


def test_a_device_is_what_nvml_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make("torch", "cuda")
    told = {
        "package": f"torch {torch.__version__}", "library": f"cuBLAS (CUDA {torch.version.cuda})", "threads_set": 1,
        "accelerator": "Pretended GPU (no device)", "elementwise": made._elementwise, "graphs": "yes",
        "multiprocessors": torch.cuda.get_device_properties(0).multi_processor_count, "pci": "00000000:1a:1c.0",
    }  # fmt: skip
    assert made.describe() == told
    assert (made.synchronous, made.graphs, made.fused) == (False, True, made._elementwise == "triton")
    found, reason = energy_counters("cuda", made.describe()["pci"])
    assert "GPU" in {counter.domain for counter in found}, reason
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.version, "hip", "7.2")
    made._why_no_graphs = "no room"
    assert made.describe() == told | {"library": "hipBLAS (7.2)", "graphs": "no: no room"}


def test_tiny_programs_run_plain_then_as_graphs() -> None:
    """Tiny programs run plain and then as graphs whose scratch is kept."""
    made, is_plain, kept = make("torch", "cuda"), list[bool](), list[int]()

    def step() -> None:
        del [torch.ones(2**24, device="cuda") for _ in range(2)][:]  # each a piece of memory by itself

    for how in made.rehearsals():
        with how:
            graph = made.captured(step)
        is_plain.append(graph is step)
        kept.append(made._graphs.bytes_kept())
    assert is_plain == [True, False]
    assert kept[1] - kept[0] == 2 * 4 * 2**24


def test_cached_memory_counts_as_free() -> None:
    made = make("torch", "cuda")
    before = made.bytes_free()
    kept = torch.zeros(2**24, device="cuda")
    del kept
    assert made.bytes_free() >= before


def test_a_cases_memory_is_freed_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case has let go of its memory before the next is looked at."""
    made, order, seen = make("torch", "cuda"), order_of_one(), []
    bench, free = make_bench(made)[0], made.bytes_free
    monkeypatch.setattr(made, "bytes_free", lambda: seen.append(free()) or seen[-1])
    gc.collect()
    gc.disable()  # what is collected by chance
    try:
        for _ in range(3):
            assert measure_case(order, order.cases[0], bench)["status"] == "measured"
    finally:
        gc.enable()
    assert seen[2] >= seen[1]


def test_a_graph_keeps_what_its_step_works_on() -> None:
    made, out = make("torch", "cuda"), torch.zeros(8, 8, device="cuda")
    made.sync()
    graph = made.captured(partial(out.copy_, torch.ones(8, 8, device="cuda")))
    another = torch.zeros(8, 8, device="cuda")
    graph()
    assert made.busy()
    np.testing.assert_array_equal(made.host(out), 1)
    assert not made.busy()
    np.testing.assert_array_equal(made.host(another), 0)


def test_every_graph_of_a_program_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that works on what another one was captured with is right only where the two happen to be alike."""
    made, order, capture, graphs = make("torch", "cuda"), order_of_one(), Graphs._capture, list[Any]()

    def twice(self: Graphs, step: Any) -> Any:
        graphs.append(capture(self, step))
        return graphs[-1 if len(graphs) % 4 else -4]  # the fourth is the first again

    bench = make_bench(made)[0]
    first = measure_case(order, order.cases[0], bench)
    assert first["status"] == "measured", first["reason"]
    monkeypatch.setattr(Graphs, "_capture", twice)
    facts = measure_case(order, order.cases[0], bench)
    assert (facts["status"], "in another of its graphs: wrong result" in facts["reason"]) == ("wrong", True)


def test_torchs_gradients_are_not_captured_on_rocm(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make("torch", "cuda")
    step = partial(torch.ones(8, 8, device="cuda").add_, 1.0)
    assert made.captured(step, by_autograd=True) != step
    monkeypatch.setattr(torch.version, "hip", "7.2")
    assert made.captured(step) != step
    assert made.captured(step, by_autograd=True) is step
    assert made.why_plain() == "torch's gradients are not captured on ROCm"
