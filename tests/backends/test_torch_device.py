"""Which of several devices torch computes on."""

from types import SimpleNamespace

import pytest
import torch

from respeed.backends import _torch_device, _torch_replicas, make_backend
from respeed.backends._torch_between import TRIED_BYTES
from respeed.backends._torch_fused import between_for
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
    def refuse(device: object) -> None:
        raise RuntimeError("The device does not support querying the available free memory")

    device = SimpleNamespace(
        mem_get_info=refuse, memory_reserved=lambda device: 3, memory_allocated=lambda device: 1,
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
