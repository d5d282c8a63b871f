"""Torch: which of several devices it computes on, its graphs as far as these need no device, how products in low
precision add to parameters, and what comes between products by its own operations."""

import gc
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from respeed.backends import _torch_between, _torch_device, _torch_replicas, make_backend
from respeed.backends._torch_between import TRIED_BYTES, ByTorch
from respeed.backends._torch_device import finds_generators, first_cause, no_garbage
from respeed.backends._torch_steps import Mixed
from respeed.errors import NotMeasurable


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


def test_a_device_that_torch_cannot_use_has_torchs_own_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("The NVIDIA driver on your system is too old\nand more of it")

    with_devices(monkeypatch, 0)
    monkeypatch.setattr(torch.cuda, "init", refuse, raising=False)
    monkeypatch.setattr(torch, "__version__", "2.0")
    reason = "no CUDA device that torch 2.0 can use: RuntimeError: The NVIDIA driver on your system is too old"
    assert str(_torch_device.missing("cuda", None)) == reason
    assert _torch_device.probe_device("cuda", ["fp32"]) == {"reasons": {"fp32": reason}, "lasting": False}


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
    made._between = ByTorch(made._scratch)
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
