"""What comes between products as one kernel each: its numbers by Triton's interpreter, and when it is not used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from respeed.backends import _torch_fused
from respeed.backends._torch_between import ByTorch
from respeed.backends._torch_fused import between_for

NUMBERS = Path(__file__).with_name("triton_numbers.py")
CUDA = torch.device("cuda")


def no_scratch(like: torch.Tensor, dtype: torch.dtype | None = None, name: str = "") -> torch.Tensor:
    raise AssertionError("nothing is computed")


def test_the_kernels_agree_with_torchs_operations_and_write_nowhere_else() -> None:
    pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")
    ran = subprocess.run(
        [sys.executable, str(NUMBERS)], env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True
    )
    assert ran.stdout.strip() == "proved", ran.stderr[-3000:]


def test_a_kernel_that_cannot_be_had_leaves_torchs_operations_and_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")

    def prove(*arguments: object) -> None:
        raise RuntimeError("Failed to find C compiler.\nPlease specify one.")

    monkeypatch.setattr(_torch_fused, "prove", prove)
    found = between_for(CUDA, torch.float32, no_scratch)
    assert type(found) is ByTorch
    assert found.facts == "torch: RuntimeError: Failed to find C compiler. Please specify one."


def test_a_kernel_whose_numbers_are_wrong_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")

    def prove(*arguments: object) -> None:
        raise AssertionError("mask is wrong")

    monkeypatch.setattr(_torch_fused, "prove", prove)
    assert between_for(CUDA, torch.float32, no_scratch).facts == "torch: AssertionError: mask is wrong"


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
