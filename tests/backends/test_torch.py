"""Torch: which of several devices it computes on, its graphs as far as these need no device, how products in low
precision add to parameters, and what comes between products by its own operations."""

import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from respeed.backends import _torch_between, _torch_device, _torch_replicas, make_backend
from respeed.backends._torch_between import TRIED_BYTES, ByTorch
from respeed.backends._torch_device import Graphs, finds_generators, first_cause, no_garbage
from respeed.backends._torch_fused import between_for
from respeed.backends._torch_steps import Mixed
from respeed.errors import NotMeasurable
from respeed.machine import accelerators


def with_devices(monkeypatch: pytest.MonkeyPatch, count: int) -> list[int]:
    """As if torch had so many CUDA devices; those that were made the current one."""
    chosen: list[int] = []
    module = SimpleNamespace(
        is_available=lambda: count > 0, device_count=lambda: count, set_device=chosen.append,
        is_bf16_supported=lambda including_emulation: False,
    )  # fmt: skip
    monkeypatch.setattr(torch, "cuda", module)
    return chosen


@pytest.mark.parametrize(
    ("count", "index", "reason"),
    [(2, 1, None), (2, None, None), (1, 1, "no CUDA device 1: there is 1"), (2, 5, "no CUDA device 5: there are 2")],
)
def test_a_device_is_there_if_torch_counts_so_many(
    monkeypatch: pytest.MonkeyPatch, count: int, index: int | None, reason: str | None
) -> None:
    with_devices(monkeypatch, count)
    found = _torch_device.missing("cuda", index)
    assert found is None if reason is None else (found or "").startswith(reason)


OLD = [{"driver": "550.54", "driver_cuda": "12.4"}]


@pytest.mark.parametrize(
    ("names", "amd", "cuda", "hip", "driver", "reason"),
    [
        (("Tesla T4",), False, "13.2", None, OLD, "driver 550.54 (CUDA 12.4) is too old for this torch (CUDA 13.2): "
         "update the driver to 580 or later, or RESPEED_PYTHON=... with a torch for CUDA 12 (README)"),
        (("Tesla T4",), False, "12.6", None, OLD, "no CUDA device that torch "),  # any minor version will do
        (("Tesla T4",), False, "13.2", None, [{"untold": {}}], "no CUDA device that torch "),
        (("Tesla T4",), False, None, None, OLD, "Tesla T4; this torch (2.0) is built for CPUs alone: RESPEED_PYTHON"),
        (("Tesla T4",), False, None, "7.0", OLD, "Tesla T4; this torch is built for ROCm 7.0: RESPEED_PYTHON=... "),
        ((), True, "13.2", None, [], "an AMD GPU; this torch is built for CUDA 13.2: RESPEED_PYTHON=... with a ROCm"),
        ((), True, None, "7.0", [], "no CUDA device that torch 2.0 can use: RuntimeError: nothing to begin with"),
        ((), False, "13.2", None, [], "no CUDA device that torch 2.0 can use: RuntimeError: nothing to begin with"),
    ],
)  # fmt: skip
def test_a_device_that_torch_cannot_use_has_a_reason_and_something_to_do(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], amd: bool, cuda: str, hip: str, driver: Any, reason: str
) -> None:
    def refuse() -> None:
        raise RuntimeError("nothing to begin with\nand more of it")

    with_devices(monkeypatch, 0)
    monkeypatch.setattr(torch.cuda, "init", refuse, raising=False)
    monkeypatch.setattr(torch, "version", SimpleNamespace(cuda=cuda, hip=hip))
    monkeypatch.setattr(torch, "__version__", "2.0")
    monkeypatch.setattr(_torch_device, "accelerator_names", lambda: names)
    monkeypatch.setattr(_torch_device, "has_amd", lambda: amd)
    monkeypatch.setattr(accelerators, "device_facts", lambda: driver)
    assert str(_torch_device.missing("cuda", None)).startswith(reason)
    found = _torch_device.probe_device("cuda", ["fp32"])
    assert str(found["reasons"]["fp32"]).startswith(reason)
    # What changes by itself, such as a device that is busy, is asked again.
    assert found["lasting"] == ("RESPEED_PYTHON" in reason)


@pytest.mark.parametrize(
    ("capability", "codes", "has"),
    [
        ((7, 0), "sm_75 sm_80", "7.5 and later"), ((8, 9), "sm_75 sm_80", ""), ((9, 0), "sm_75 sm_80", "7.5 to 8.0"),
        ((12, 1), "sm_75 compute_120", ""), ((12, 0), "sm_75 compute_121", "7.5 to 12.1"), ((7, 5), "", ""),
        ((9, 0), "sm_75 sm_90a", "7.5 to 7.5"),
    ],
)  # fmt: skip
def test_a_device_that_no_code_of_torchs_was_built_for_is_known_without_trying(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], codes: str, has: str
) -> None:
    with_devices(monkeypatch, 1)
    for name, told in {
        "device_name": "Tesla V100",
        "device_capability": capability,
        "arch_list": codes.split(),
    }.items():
        monkeypatch.setattr(torch.cuda, f"get_{name}", lambda told=told: told, raising=False)
    mine, found = "{}.{}".format(*capability), _torch_device._lacks_code()
    assert found is None if not has else f"Tesla V100 (compute capability {mine}): this torch " in str(found)
    assert has in str(found)


def test_a_product_that_is_wrong_or_fails_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _torch_device._wrong_product("cpu") is None
    with monkeypatch.context() as patched:
        patched.setattr(torch, "equal", lambda *_: False)
        assert str(_torch_device._wrong_product("cpu")).startswith("a small product on it is wrong")
    assert str(_torch_device._wrong_product("nowhere")).startswith("a small product on it fails")


def test_what_a_device_can_do_is_asked_of_the_one_that_the_row_names(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = with_devices(monkeypatch, 2)
    with pytest.raises(NotMeasurable, match="bf16 needs"):
        make_backend("torch", device="cuda:1", precision="bf16", threads=1, seed=1)
    assert chosen == [1]


def test_a_mac_has_what_metal_lets_a_program_have(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = SimpleNamespace(recommended_max_memory=lambda: 10 * 2**30, current_allocated_memory=lambda: 2**30)
    monkeypatch.setattr(torch, "mps", memory)
    assert bare("mps").bytes_free() == 9 * 2**30


def test_a_device_that_does_not_tell_what_is_free_is_this_programs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = RuntimeError("The device does not support querying the available free memory")
    device = SimpleNamespace(
        mem_get_info=Mock(side_effect=refused), memory_reserved=lambda device: 3, memory_allocated=lambda device: 1,
        get_device_properties=lambda device: SimpleNamespace(total_memory=100 + TRIED_BYTES),
    )  # fmt: skip
    monkeypatch.setattr(torch, "xpu", device)
    assert bare("xpu").bytes_free() == 99


def test_an_intel_device_without_bf16_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "xpu", SimpleNamespace(is_bf16_supported=lambda including_emulation: False))
    assert (_torch_device.why_not("xpu", "bf16") or "").endswith("has no bf16")


def bare(kind: str) -> _torch_device.OnAccelerator:
    """A backend on such a device, as far as its memory is asked for."""
    made = _torch_device.OnAccelerator.__new__(_torch_device.OnAccelerator)
    made._device, made._graphs = torch.device(kind), None
    made._between = between_for(made._device, torch.float32, made._scratch)
    return made


def test_replicas_of_a_row_of_one_gpu_have_no_gpu_each(monkeypatch: pytest.MonkeyPatch) -> None:
    with_devices(monkeypatch, 4)
    assert _torch_replicas.why_not(2, "cuda", 1) is None
    assert _torch_replicas.why_not(2, "cuda:1", 1) == "needs 2 GPUs, and this row uses one, cuda:1"
    assert _torch_replicas.why_not(1, "cuda:1", 1) is None


@pytest.mark.parametrize(
    ("version", "by_itself"),
    [("2.9.1", False), ("2.13.0+cu130", False), ("2.14.0a0+git1", True), ("2.15.0+cu132", True), ("3.0.0", True)],
)
def test_generators_are_named_to_a_graph_only_where_torch_asks_for_it(version: str, by_itself: bool) -> None:
    assert finds_generators(version) is by_itself


def broken_off() -> None:
    raise RuntimeError("operation not permitted when stream is capturing")


def ended() -> None:
    try:
        broken_off()
    finally:
        raise RuntimeError("operation failed due to a previous error during capture")


def test_what_broke_a_capture_is_told_and_not_what_came_of_it() -> None:
    with pytest.raises(RuntimeError, match="previous error") as found:
        ended()
    assert str(first_cause(found.value)) == "operation not permitted when stream is capturing"


class OldGenerator:
    """As torch had it before 2.14: it takes part in a capture until one ends well."""

    def __init__(self) -> None:
        self.in_capture = False

    def clone_state(self) -> "OldGenerator":
        return OldGenerator()

    def graphsafe_set_state(self, state: "OldGenerator") -> None:
        self.in_capture = state.in_capture


@pytest.mark.parametrize("product_fails", [False, True])
def test_a_generator_that_was_named_to_a_graph_is_free_after_a_capture_that_was_broken_off(
    product_fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def captured(step: Callable[[], None], random: OldGenerator, *_: object) -> None:
        random.in_capture = True
        step()
        random.in_capture = False

    def product() -> None:
        if product_fails:
            broken_off()

    graphs, random = Graphs.__new__(Graphs), OldGenerator()
    monkeypatch.setattr(torch, "__version__", "2.9.1")
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 1))
    monkeypatch.setattr(_torch_device, "CapturedStep", captured)
    vars(graphs).update(_random=random, _product=product, _stream=None, _pool=(0, 0), _wanted=True, _troubles={})
    assert graphs.captured(broken_off) == broken_off
    assert graphs.why_plain() == "RuntimeError: operation not permitted when stream is capturing"
    assert not random.in_capture


def test_no_garbage_is_collected_while_a_step_is_captured() -> None:
    class Knot:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            gone.append(gc.isenabled())

    gone: list[bool] = []
    Knot()
    with no_garbage():
        assert gone == [True]
        assert not gc.isenabled()
    assert gc.isenabled()


def bf16() -> Any:
    return make_backend("torch", device="cpu", precision="bf16", threads=1, seed=1)


def test_want_of_memory_does_not_choose_another_way_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mixed, "_add_by_product", Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory")))
    with pytest.raises(torch.OutOfMemoryError):
        bf16()
    no_handle = RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate")
    monkeypatch.setattr(Mixed, "_add_by_product", Mock(side_effect=no_handle))
    with pytest.raises(RuntimeError, match="ALLOC_FAILED"):
        bf16()


def test_where_no_way_works_all_reasons_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for way, text in (("_add_by_product", "no addmm"), ("_add_sums", "no mm"), ("_add_rounded", "no bf16")):
        monkeypatch.setattr(Mixed, way, Mock(side_effect=RuntimeError(text)))
    with pytest.raises(NotMeasurable, match=r"no products in bf16 on cpu: no addmm; no mm; no bf16"):
        bf16()


LENGTHS = (3.0, 1.0, 0.1)


class Scratch:
    """Makes what it is asked for, and remembers the most bytes."""

    most = 0

    def __call__(self, like: torch.Tensor, dtype: torch.dtype | None = None, name: str = "") -> torch.Tensor:
        made = torch.empty(like.shape, dtype=dtype or like.dtype)
        self.most = max(self.most, made.nbytes)
        return made


def searched(scratch: Any) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    arrays = [0.1 * torch.randn(25, 40, generator=random) for _ in range(4)]
    objective, going = 1 + torch.rand(25, 1, generator=random), (torch.rand(25, 1, generator=random) < 0.8).float()
    ByTorch(scratch).line_search(*arrays, 0.03, LENGTHS, 1e-3, objective, going)
    return [*arrays, objective, going]


def test_a_line_search_of_many_rows_takes_no_more_memory_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, pieces = Scratch(), Scratch()
    wanted = searched(whole)
    allowed = whole.most // 4
    monkeypatch.setattr(_torch_between, "TRIED_BYTES", allowed)
    found = searched(pieces)
    assert 0 < pieces.most <= allowed < whole.most
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
    assert 0 < int(found[-1].sum()) < 25
