"""Torch: which of several devices it computes on, what is said of one that cannot be used, and want of memory."""

import errno
import gc
import os
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, Mock, call

import numpy as np
import pytest
import torch
from torch.torch_version import TorchVersion

from respeed.backends import _cuda, make_backend, try_device
from respeed.backends import torch as backend
from respeed.backends._cuda import Graphs, no_garbage
from respeed.errors import NotMeasurable


def with_devices(monkeypatch: pytest.MonkeyPatch, count: int, **more: Any) -> list[int]:
    """Pretend that torch has so many CUDA devices; return those that are made the current one."""
    chosen: list[int] = []
    there: dict[str, Any] = {"is_available": lambda: count > 0, "device_count": lambda: count}
    monkeypatch.setattr(torch, "cuda", SimpleNamespace(**there, set_device=chosen.append, **more))
    return chosen


def bare(of: type, kind: str, dtype: torch.dtype = torch.float32) -> Any:
    """Return a row on such a device, as far as its memory and its kernels are asked for."""
    made = of.__new__(of)
    made.device, made.dtype, made._of = torch.device(kind), dtype, getattr(torch, kind)
    return made


NO_BF16 = "this CUDA device has no bf16"  # as the device itself says, which is the current one
ASKED = [(2, "cuda:1", NO_BF16, [1]), (2, "cuda", NO_BF16, []), (1, "cuda:1", "no CUDA device 1: there is 1", [])]


@pytest.mark.parametrize(("count", "device", "reason", "current"), ASKED)
def test_torch_counts_and_describes_its_devices(
    count: int, device: str, reason: str, current: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device is there if torch counts so many and is asked what it can do."""
    chosen = with_devices(monkeypatch, count, is_bf16_supported=lambda including_emulation: False)
    with pytest.raises(NotMeasurable, match=f"^{reason}"):
        make_backend("torch", device=device, precision="bf16", threads=1, seed=1)
    assert chosen == current


def test_an_unusable_device_has_torchs_own_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with_devices(monkeypatch, 0, init=Mock(side_effect=RuntimeError("The driver is too old\nand more of it")))
    reason = f"no CUDA device that torch {torch.__version__} can use: RuntimeError: The driver is too old"
    for name in ("torch", "program"):
        assert {*try_device(name, "cuda")["reasons"].values()} == {reason}
        assert not try_device(name, "cuda")["lasting"]


@pytest.mark.parametrize(
    ("product", "reason"),
    [
        (lambda one, other: np.matmul(one, other), None),
        (lambda one, other: np.matmul(one, other) + 1, "a small product on it is wrong"),
        (Mock(side_effect=RuntimeError("no kernel")), "a small product on it fails: RuntimeError: no kernel"),
    ],
)
def test_a_small_product_must_be_right(product: Any, reason: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Device(np.ndarray):
        __matmul__ = product

    made = SimpleNamespace(array=lambda values: values.view(Device), host=np.asarray)
    monkeypatch.setattr(backend, "Backend", Mock(side_effect=[NotMeasurable("has no fp64"), *[made] * 4]))
    found = try_device("torch", "cuda")
    assert found.pop("reasons") == {"fp64": "has no fp64", **dict.fromkeys(backend.PRECISIONS[1:], reason)}
    assert found == {"lasting": not reason}


def test_intel_and_apple_devices_tell_name_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device of Intel or Apple tells its name and its memory."""
    xpu = SimpleNamespace(
        mem_get_info=Mock(side_effect=RuntimeError("does not support querying")), memory_reserved=lambda device: 3,
        memory_allocated=lambda device: 1, get_device_name=repr,
        get_device_properties=lambda device: SimpleNamespace(total_memory=100),
    )  # fmt: skip
    mps = SimpleNamespace(recommended_max_memory=lambda: 10, current_allocated_memory=Mock(side_effect=[1, 11]))
    for kind, module, name, free in (("mps", mps, "mps", [9, 0]), ("xpu", xpu, "device(type='xpu')", [99, 99])):
        monkeypatch.setattr(torch, kind, module)
        made = bare(backend.OnAccelerator, kind)
        assert [made.bytes_free() for _ in range(2)] == free
        of_torch = {"package": f"torch {torch.__version__}", "library": "torch", "threads_set": torch.get_num_threads()}
        assert made.describe() == of_torch | {"accelerator": name, "graphs": "no: this device has no graphs"}
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    reasons = [backend.missing("mps", index) for index in (None, 0, 1)]
    assert reasons == [None, None, "no MPS device 1: there is 1, numbered from 0"]


def test_a_device_has_its_librarys_precisions(monkeypatch: pytest.MonkeyPatch) -> None:
    def has(kind: str, new: bool, hip: str | None = None) -> str:
        of = SimpleNamespace(
            is_bf16_supported=lambda including_emulation: new ^ including_emulation, is_tf32_supported=lambda: new,
            get_device_properties=lambda: SimpleNamespace(has_fp64=new),
        )  # fmt: skip
        monkeypatch.setattr(torch, kind, of)
        monkeypatch.setattr(torch.version, "hip", hip)
        return " ".join(one for one in backend.PRECISIONS if not backend.why_not(kind, one))

    assert (has("cuda", True), has("cuda", False)) == ("fp64 fp32 tf32 bf16 fp16", "fp64 fp32 fp16")
    assert has("cuda", True, "7.2") == "fp64 fp32 bf16 fp16"
    assert backend.why_not("cuda", "tf32") == "TF32 needs an NVIDIA GPU of 2020 or later"
    assert (has("xpu", True), has("xpu", False)) == ("fp64 fp32 bf16 fp16", "fp32 fp16")
    assert backend.why_not("xpu", "fp64") == "this XPU device has no fp64"
    assert has("mps", False) == "fp32 bf16 fp16"
    with pytest.raises(NotMeasurable, match=r"^TF32 is a precision of GPUs$"):
        make_backend("torch", device="cpu", precision="tf32", threads=1, seed=1)


def test_torch_on_a_cpu_names_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_backend("torch", device="cpu", precision="fp32", threads=1, seed=1)
    for built, name in {"mkl": "MKL", "accelerate": "Accelerate", "open": "OpenBLAS", "x": "torch's own BLAS"}.items():
        monkeypatch.setattr(torch.__config__, "show", lambda of=built: f"settings: BLAS_INFO={of}, USE_MKL=OFF")
        assert made.describe()["library"] == name


NO_COMPILER, NO_CACHE = RuntimeError("Failed to find C compiler.\nPlease specify it."), PermissionError("denied")
FULL, LARGE = OSError(errno.ENOSPC, "No space left on device"), torch.OutOfMemoryError("CUDA out of memory.")


@pytest.mark.parametrize("error", [NO_COMPILER, NO_CACHE, FULL, LARGE, MemoryError()], ids=repr)
def test_unusable_kernels_leave_torchs_operations_and_a_reason(
    error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Kernels that cannot be used leave torch's operations and the reason but for want of room."""
    fused = pytest.importorskip("respeed.kernels.fused", reason="Triton comes with torch on Linux alone")
    monkeypatch.setattr(backend, "private_folder", lambda name: tmp_path)
    monkeypatch.setenv("TRITON_CACHE_DIR", "")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A GPU")
    monkeypatch.setattr(fused, "compile_for", compiles := Mock(side_effect=error))
    made = bare(backend.OnCuda, "cuda")
    if error in (NO_COMPILER, NO_CACHE):
        said = f"torch: {type(error).__name__}: {str(error).splitlines()[0]}"
        assert [made._compile() for _ in range(2)] == [said] * 2
        compiles.assert_called_once_with(made.device)
        monkeypatch.setenv("CC", "another compiler")
        assert (made._compile(), compiles.call_count) == (said, 2)
        (tmp_path / "failed.json").write_text("{")
        assert (made._compile(), compiles.call_count) == (said, 3)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Another GPU")
        compiles.side_effect = None
        assert (made._compile(), os.environ["TRITON_CACHE_DIR"]) == ("triton", str(tmp_path))
    else:
        with pytest.raises(type(error)):
            made._compile()
    for dtype in (torch.float64, torch.bfloat16):
        assert bare(backend.OnCuda, "cuda", dtype)._compile() == "torch"


@pytest.mark.parametrize("adds_itself", [True, False])
def test_low_precision_takes_more(adds_itself: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In fp32, beside what products read, and the product where that cannot add to it."""
    monkeypatch.setattr(backend.Torch, "_can_add", lambda self: adds_itself)
    made = make_backend("torch", device="cpu", precision="bf16", threads=1, seed=1)
    assert made.memory_factor == (1.5 if adds_itself else 3.0)


def test_garbage_is_collected_only_before_a_capture() -> None:
    """Garbage is collected before a step is captured and not meanwhile."""
    knot = Mock()
    knot.itself, alive = knot, weakref.ref(knot)
    del knot
    with no_garbage():
        assert alive() is None
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.parametrize(("version", "is_told"), [("2.13.1", True), ("2.14.0", False)])
def test_an_older_torch_is_told_of_draws(version: str, is_told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 2.14 a graph does not find the generator of its step by itself, and would draw the same numbers again."""
    monkeypatch.setattr(torch, "cuda", MagicMock())
    monkeypatch.setattr(torch, "__version__", TorchVersion(version))
    monkeypatch.setattr(_cuda, "warm_up_products", Mock())
    Graphs(torch.device("cpu"), torch.float32, random := torch.Generator())
    told = torch.cuda.CUDAGraph().register_generator_state.mock_calls  # type: ignore[attr-defined]
    assert told == ([call(random)] if is_told else [])


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("CUBLAS_STATUS_ALLOC_FAILED")], ids=repr
)
def test_want_of_memory_is_an_error(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "addmm", Mock(side_effect=error))
    with pytest.raises(type(error), match=str(error)):
        make_backend("torch", device="cpu", precision="bf16", threads=1, seed=1)
