"""The two Triton kernels: their numbers by Triton's interpreter, and when torch's operations stand in for them."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from respeed.backends import _torch_device
from respeed.backends._torch_between import ByTorch
from respeed.text import first_line

NUMBERS = Path(__file__).with_name("triton_numbers.py")


@pytest.fixture
def kernels() -> object:
    pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")
    from respeed.backends import _torch_triton

    return _torch_triton


def between(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, device: str = "cuda", dtype: torch.dtype = torch.float32
) -> ByTorch:
    """What such a device takes."""
    monkeypatch.setattr(_torch_device, "private_folder", lambda name: tmp_path)
    made = _torch_device.OnAccelerator.__new__(_torch_device.OnAccelerator)
    made._device, made.dtype = torch.device(device), dtype
    return made._make_between()


def test_the_kernels_agree_with_torchs_operations_and_write_nowhere_else(kernels: object) -> None:
    interpreted = os.environ | {"TRITON_INTERPRET": "1"}
    ran = subprocess.run([sys.executable, str(NUMBERS)], env=interpreted, capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "right", ran.stderr[-3000:]


@pytest.mark.parametrize(
    ("error", "is_told"),
    [
        (RuntimeError("Failed to find C compiler.\nPlease specify it."), True),
        (PermissionError(errno.EACCES, "Permission denied", "/home/u/.triton"), True),
        (OSError(errno.ENOSPC, "No space left on device", "/home/u/.triton/cache/x.cubin"), False),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB"), False),
        (MemoryError(), False),
    ],
    ids=["no compiler", "no cache", "full disk", "device's memory", "memory"],
)
def test_kernels_that_cannot_be_used_leave_torchs_operations_and_the_reason_but_for_want_of_room(
    error: Exception, is_told: bool, kernels: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernels, "ByTriton", Mock(side_effect=error))
    if not is_told:
        with pytest.raises(type(error)):
            between(monkeypatch, tmp_path)
        return
    found = between(monkeypatch, tmp_path)
    assert type(found) is ByTorch
    assert found.facts == f"torch: {first_line(error)}"


@pytest.mark.parametrize(
    ("device", "dtype"), [("mps", torch.float32), ("cuda", torch.float64), ("cuda", torch.bfloat16)]
)
def test_other_devices_and_precisions_have_torchs_operations(
    device: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert between(monkeypatch, tmp_path, device, dtype).facts == "torch"


def test_kernels_are_not_interpreted_in_a_measurement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert between(monkeypatch, tmp_path).facts == "torch: TRITON_INTERPRET is set"


@pytest.mark.parametrize("capability", [80, 90])
def test_no_row_of_a_line_search_is_changed_before_all_its_threads_have_read_it(
    capability: int, kernels: object
) -> None:
    """Its objective, and whether it goes on, are read by all threads and written by one."""
    lines = compiled_line_search(kernels, capability).splitlines()
    stores = [place for place, line in enumerate(lines) if "st.global" in line][:2]
    addresses = [re.findall(r"\[\s*(%rd\d+)", lines[place])[0] for place in stores]
    assert len(set(addresses)) == 2
    for store, address in zip(stores, addresses, strict=True):
        loads = [place for place in range(store) if "ld.global" in lines[place] and f"[ {address} " in lines[place]]
        assert loads
        assert any("bar.sync" in line for line in lines[loads[-1] : store])


def compiled_line_search(kernels: object, capability: int) -> str:
    """What a GPU of that kind is given: Triton needs none to compile for it."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    arrays = ("direction", "moved", "left", "coefficients", "lengths", "objective", "going")
    types = dict.fromkeys(arrays, "*fp32") | {"columns": "i32", "penalty": "fp32"}
    types |= dict.fromkeys(("least", "least_of_norm"), "fp32")
    source = ASTSource(fn=triton.jit(vars(kernels)["line_search"]), signature=types, constexprs={})
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=vars(kernels)["_FUSED"])
    return str(made.asm["ptx"])
