"""PyTorch: MKL on x86 CPUs, Accelerate on Macs, cuBLAS on CUDA, and what torch finds behind ROCm, XPU and MPS."""

import re
from typing import Any

import torch

from respeed.backends._cpu import OnCpu
from respeed.backends._torch import Torch
from respeed.backends._torch_device import OnAccelerator, probe_device
from respeed.errors import NotMeasurable

DEVICES = ("cpu", "cuda", "xpu", "mps")
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16")


class TorchOnCpu(OnCpu, Torch):
    """Torch on a CPU. On Linux compiled passes use the threads of its own pool."""

    # Right after a product on all cores, one core alone was seen to take five times as long over its result as after a
    # product of its own.
    few = 2**14

    def __init__(self, precision: str, threads: int, seed: int) -> None:
        Torch.__init__(self, "cpu", precision, threads)
        factor = self.memory_factor
        OnCpu.__init__(self, precision, threads, seed)
        # Of stacks that are slices of larger ones, torch hands products of low precision copies.
        self.memory_factor, self.in_pieces = factor, not self._low

    def set_threads(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def begin_thread(self) -> None:
        """Use one thread, and keep no gradients: both are settings of the thread."""
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)

    def describe(self) -> dict[str, Any]:
        one_dnn = "oneDNN" if torch.backends.mkldnn.is_available() else "torch's own BLAS"
        return {
            **super().describe(),
            "library": one_dnn if self._low else _blas_of_torch(),
            "kernel": torch.backends.cpu.get_cpu_capability(),
            "parallel": torch.__config__.parallel_info(),
        }


def _blas_of_torch() -> str:
    """Return the BLAS that torch was built with: on x86 MKL, on a Mac Accelerate, on ARM servers OpenBLAS."""
    if torch.backends.mkl.is_available():
        return "MKL"
    names = {"accelerate": "Accelerate", "open": "OpenBLAS"}
    found = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return names.get(found[1], "torch's own BLAS") if found else "torch's own BLAS"


def Backend(*, device: str, precision: str, threads: int, seed: int) -> Torch:  # noqa: N802, as every backend's
    """Return torch on the device; NotMeasurable with the reason if it is not there, or has no such precision."""
    if device != "cpu":
        return OnAccelerator(device, precision, threads, seed)
    if precision == "tf32":
        raise NotMeasurable("TF32 is a precision of GPUs")
    return TorchOnCpu(precision, threads, seed)


def probe(device: str) -> dict[str, Any]:
    """Return what `respeed.backends.probe` prints."""
    return probe_device(device, PRECISIONS)
