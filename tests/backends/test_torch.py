"""Torch: which of several devices it computes on, what it says of them, and its graphs as far as none is needed."""

import errno
import gc
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from respeed.backends import _torch_device, make_backend
from respeed.backends._torch_device import OnAccelerator, finds_generators, missing, no_garbage, why_not
from respeed.errors import NotMeasurable


def with_devices(monkeypatch: pytest.MonkeyPatch, count: int, **more: Any) -> list[int]:
    """Pretend that torch has so many CUDA devices; return those that are made the current one."""
    chosen: list[int] = []
    there: dict[str, Any] = {"is_available": lambda: count > 0, "device_count": lambda: count}
    module = SimpleNamespace(**there, set_device=chosen.append, **more)
    monkeypatch.setattr(torch, "cuda", module)
    return chosen


def bare(kind: str, dtype: torch.dtype = torch.float32) -> Any:
    """Return a row on such a device, as far as its memory and its kernels are asked for."""
    made = OnAccelerator.__new__(OnAccelerator)
    made.device, made.dtype, made._graphs = torch.device(kind), dtype, None
    return made


@pytest.mark.parametrize(
    ("count", "index", "reason"),
    [(2, 1, None), (2, None, None), (1, 1, "no CUDA device 1: there is 1"), (2, 5, "no CUDA device 5: there are 2")],
)
def test_a_device_is_there_if_torch_counts_so_many(
    monkeypatch: pytest.MonkeyPatch, count: int, index: int | None, reason: str | None
) -> None:
    with_devices(monkeypatch, count)
    found = missing("cuda", index)
    assert found is None if reason is None else (found or "").startswith(reason)


def test_a_device_that_torch_cannot_use_has_torchs_own_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with_devices(monkeypatch, 0, init=Mock(side_effect=RuntimeError("The driver is too old\nand more of it")))
    monkeypatch.setattr(torch, "__version__", "2.0")
    reason = "no CUDA device that torch 2.0 can use: RuntimeError: The driver is too old"
    assert missing("cuda", None) == reason
    assert _torch_device.probe_device("cuda", ["fp32"]) == {"reasons": {"fp32": reason}, "lasting": False}


def test_a_product_that_is_wrong_or_fails_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _torch_device._wrong_product("cpu") is None
    assert str(_torch_device._wrong_product("nowhere")).startswith("a small product on it fails")
    monkeypatch.setattr(torch, "equal", lambda *_: False)
    assert str(_torch_device._wrong_product("cpu")).startswith("a small product on it is wrong")


def test_what_a_device_can_do_is_asked_of_the_one_that_the_row_names(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = with_devices(monkeypatch, 2, is_bf16_supported=lambda including_emulation: False)
    with pytest.raises(NotMeasurable, match="bf16 needs"):
        make_backend("torch", device="cuda:1", precision="bf16", threads=1, seed=1)
    assert chosen == [1]
    monkeypatch.setattr(torch, "xpu", SimpleNamespace(is_bf16_supported=lambda including_emulation: False))
    assert (why_not("xpu", "bf16") or "").endswith("has no bf16")


def test_a_device_has_what_metal_lets_a_program_have_or_all_where_it_does_not_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mps = SimpleNamespace(recommended_max_memory=lambda: 10, current_allocated_memory=lambda: 1)
    xpu = SimpleNamespace(
        mem_get_info=Mock(side_effect=RuntimeError("does not support querying")), memory_reserved=lambda device: 3,
        memory_allocated=lambda device: 1, get_device_properties=lambda device: SimpleNamespace(total_memory=100),
    )  # fmt: skip
    monkeypatch.setattr(torch, "mps", mps)
    monkeypatch.setattr(torch, "xpu", xpu)
    assert (bare("mps").bytes_free(), bare("xpu").bytes_free()) == (9, 99)


NO_COMPILER, NO_CACHE = RuntimeError("Failed to find C compiler.\nPlease specify it."), PermissionError("denied")
FULL, LARGE = OSError(errno.ENOSPC, "No space left on device"), torch.OutOfMemoryError("CUDA out of memory.")


@pytest.mark.parametrize("error", [NO_COMPILER, NO_CACHE, FULL, LARGE, MemoryError()], ids=repr)
def test_kernels_that_cannot_be_used_leave_torchs_operations_and_the_reason_but_for_want_of_room(
    error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fused = pytest.importorskip("respeed.kernels.fused", reason="Triton comes with torch on Linux alone")
    monkeypatch.setattr(_torch_device, "private_folder", lambda name: tmp_path)
    monkeypatch.setattr(fused, "compile_for", Mock(side_effect=error))
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    if error in (NO_COMPILER, NO_CACHE):
        assert bare("cuda")._compile() == (False, f"{type(error).__name__}: {str(error).splitlines()[0]}")
    else:
        with pytest.raises(type(error)):
            bare("cuda")._compile()
    for kind, dtype in (("mps", torch.float32), ("cuda", torch.float64), ("cuda", torch.bfloat16)):
        assert bare(kind, dtype)._compile() == (False, "")
    monkeypatch.setenv("TRITON_INTERPRET", "1")  # not in a measurement
    assert bare("cuda")._compile() == (False, "TRITON_INTERPRET is set")


@pytest.mark.parametrize(
    ("version", "by_itself"),
    [("2.9.1", False), ("2.13.0+cu130", False), ("2.14.0a0+git1", True), ("2.15.0+cu132", True), ("3.0.0", True)],
)
def test_generators_are_named_to_a_graph_only_where_torch_asks_for_it(version: str, by_itself: bool) -> None:
    assert finds_generators(version) is by_itself


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


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("CUBLAS_STATUS_ALLOC_FAILED")], ids=repr
)
def test_want_of_memory_does_not_choose_another_way_in_silence(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "addmm", Mock(side_effect=error))
    with pytest.raises(type(error), match=str(error)):
        make_backend("torch", device="cpu", precision="bf16", threads=1, seed=1)
