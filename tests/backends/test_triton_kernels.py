"""What comes between products as one kernel each: its numbers by Triton's interpreter, and when it is not used. Kernels
are proved in a process of their own: however it ends, this one goes on."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from respeed.backends import _torch_fused
from respeed.backends._torch_between import ByTorch
from respeed.backends._torch_fused import between_for, why_not

NUMBERS = Path(__file__).with_name("triton_numbers.py")
CUDA = torch.device("cuda")
GPU = SimpleNamespace(name="NVIDIA T4", major=7, minor=5)


def no_scratch(like: torch.Tensor, dtype: torch.dtype | None = None, name: str = "") -> torch.Tensor:
    raise AssertionError("nothing is computed")


@pytest.fixture(autouse=True)
def _device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that nothing was proved on."""
    monkeypatch.setattr(_torch_fused, "_keep_to_ourselves", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: GPU)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def test_the_kernels_agree_with_torchs_operations_and_write_nowhere_else() -> None:
    pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")
    interpreted = os.environ | {"TRITON_INTERPRET": "1"}
    ran = subprocess.run([sys.executable, str(NUMBERS)], env=interpreted, capture_output=True, text=True)
    assert ran.stdout.strip() == "proved", ran.stderr[-3000:]


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Failed to find C compiler.\nPlease specify it."),
        AssertionError("mask is wrong"),
        PermissionError(errno.EACCES, "Permission denied", "/home/u/.triton"),
    ],
    ids=["no compiler", "wrong", "no cache"],
)
def test_kernels_that_cannot_be_used_leave_torchs_operations_and_the_reason(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    found = between_where(monkeypatch, Mock(side_effect=error))
    assert type(found) is ByTorch
    assert found.facts == f"torch: {type(error).__name__}: {' '.join(str(error).split())}"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "/home/u/.triton/cache/x.cubin"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB"),
        MemoryError(),
    ],
    ids=["full disk", "quota", "device's memory", "memory"],
)
def test_want_of_room_is_no_reason_for_another_algorithm(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    with pytest.raises(type(error)):
        between_where(monkeypatch, Mock(side_effect=error))


def test_kernels_that_fail_in_a_process_of_their_own_are_not_tried_in_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")
    monkeypatch.setattr(_torch_fused, "proved_apart", lambda *arguments: "AcceleratorError: an illegal memory access")
    monkeypatch.setattr(_torch_fused, "prove", lambda *arguments: pytest.fail("it is tried"))
    found = between_for(CUDA, torch.float32, no_scratch)
    assert (type(found), found.facts) == (ByTorch, "torch: AcceleratorError: an illegal memory access")


def test_kernels_are_proved_apart_again_only_where_text_versions_device_or_numbers_are_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    triton = pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")
    from respeed.backends import _triton_kernels

    apart: list[str | None] = []
    answers = ["a fault", None]

    def prove_apart(*_: object) -> str | None:
        apart.append(answers.pop(0) if answers else None)
        return apart[-1]

    monkeypatch.setattr(_torch_fused, "proved_apart", prove_apart)

    def asked(dtype: torch.dtype = torch.float32, *, fails: bool = False) -> int:
        """How often, by a new process."""
        _torch_fused._proved_here.cache_clear()
        monkeypatch.setattr(_torch_fused, "prove", Mock(side_effect=AssertionError("wrong") if fails else None))
        monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
        before = len(apart)
        between_for(CUDA, dtype, no_scratch)
        return len(apart) - before

    assert [asked(), asked(fails=True), asked(), asked(), asked()] == [1, 1, 1, 0, 0]
    assert [asked(torch.bfloat16), asked(torch.bfloat16)] == [1, 0]
    for change in (
        lambda: monkeypatch.setattr(torch, "__version__", "0.1"),
        lambda: monkeypatch.setattr(triton, "__version__", "0.1"),
        lambda: monkeypatch.setattr(_torch_fused, "accelerator_driver", lambda: "580.1"),
        lambda: monkeypatch.setattr(GPU, "minor", 6),
        lambda: monkeypatch.setattr(GPU, "name", "NVIDIA L4"),
        lambda: monkeypatch.setattr(_triton_kernels, "__file__", str(Path(__file__))),
    ):
        change()
        assert [asked(), asked()] == [1, 0]
    _torch_fused._proved_here.cache_clear()


def between_where(monkeypatch: pytest.MonkeyPatch, prove: Mock) -> ByTorch:
    """What a CUDA device takes, with kernels that were right in a process of their own and that `prove` judges here."""
    pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")
    monkeypatch.setattr(_torch_fused, "proved_apart", lambda *arguments: None)
    monkeypatch.setattr(_torch_fused, "prove", prove)
    return between_for(CUDA, torch.float32, no_scratch)


@pytest.mark.parametrize(
    ("device", "dtype", "facts"),
    [
        ("cpu", torch.float32, "torch"),
        ("mps", torch.float32, "torch"),
        ("cuda", torch.float64, "torch: fused for NVIDIA in fp32 and lower precision"),
    ],
)
def test_other_devices_and_fp64_have_torchs_operations(device: str, dtype: torch.dtype, facts: str) -> None:
    assert between_for(torch.device(device), dtype, no_scratch).facts == facts


def test_kernels_are_not_interpreted_in_a_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert between_for(CUDA, torch.float32, no_scratch).facts == "torch: TRITON_INTERPRET is set"


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("aligned", [True, False])
def test_no_row_of_a_line_search_is_changed_before_all_its_threads_have_read_it(capability: int, aligned: bool) -> None:
    """Its objective, and whether it goes on, are read by all threads and written by one."""
    pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")
    lines = compiled_line_search(capability, aligned).splitlines()
    stores = [place for place, line in enumerate(lines) if "st.global" in line][:2]
    addresses = [re.findall(r"\[\s*(%rd\d+)", lines[place])[0] for place in stores]
    assert len(set(addresses)) == 2
    for store, address in zip(stores, addresses, strict=True):
        loads = [place for place in range(store) if "ld.global" in lines[place] and f"[ {address} " in lines[place]]
        assert loads
        assert any("bar.sync" in line for line in lines[loads[-1] : store])


def compiled_line_search(capability: int, aligned: bool) -> str:
    """What a GPU of that kind is given: Triton needs none to compile for it."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from respeed.backends import _triton_kernels

    arrays = ("direction", "moved", "left", "coefficients", "lengths", "objective", "going")
    types = dict.fromkeys(arrays, "*fp32") | {"columns": "i32", "penalty": "fp32"}
    types |= dict.fromkeys(("least", "least_of_norm"), "fp32")
    sixteens = {(place,): [["tt.divisibility", 16]] for place in range(8)} if aligned else {}
    source = ASTSource(fn=triton.jit(_triton_kernels.line_search), signature=types, constexprs={}, attrs=sixteens)
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=_triton_kernels.FUSED)
    return str(made.asm["ptx"])


ANSWER = 'print(\'{{"why": {}, "errno": {}, "out_of_memory": {}}}\')'


def told_by(script: str, limit: float = 60.0) -> str | None:
    return why_not([sys.executable, "-c", script], limit)


def test_kernels_that_are_right_are_used() -> None:
    assert told_by(ANSWER.format("null", "null", "false")) is None


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (ANSWER.format('"AssertionError: mask is wrong"', "null", "false"), "AssertionError: mask is wrong"),
        ("import os; os.kill(os.getpid(), 11)", "the process that proves the kernels was ended by SIGSEGV"),
        ("raise SystemExit(3)", "the process that proves the kernels ended with status 3"),
    ],
    ids=["wrong", "crash", "no answer"],
)
def test_kernels_that_are_not_right_are_not_used_and_it_is_said_why(script: str, why: str) -> None:
    assert told_by(script) == why


def test_a_kernel_that_never_ends_is_not_waited_for() -> None:
    assert told_by("import time; time.sleep(60)", 0.2) == "the kernels were not proved within 0.2 s"


def test_want_of_room_says_nothing_of_the_kernels() -> None:
    with pytest.raises(OSError, match="No space left"):
        told_by(ANSWER.format('"OSError: full"', errno.ENOSPC, "false"))
    with pytest.raises(torch.OutOfMemoryError):
        told_by(ANSWER.format('"OutOfMemoryError: 2 MiB"', "null", "true"))
    with pytest.raises(MemoryError):
        told_by("import os; os.kill(os.getpid(), 9)")
