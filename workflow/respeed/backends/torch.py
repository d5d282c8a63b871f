"""PyTorch: MKL on x86 CPUs, cuBLAS on CUDA, and whatever else torch finds behind ROCm, XPU and MPS."""

from collections.abc import Callable
from typing import Any

import torch

from respeed.backends import BackendContract
from respeed.backends._cpu import CpuSteps
from respeed.backends._torch import Torch
from respeed.backends._torch_device import OnDevice

DEVICES = ("cpu", "cuda", "xpu", "mps")
PRECISIONS = ("fp32",)

# Elements below which one thread is done sooner than all have met. A product leaves its result in the caches of all
# cores: to bring it to one can cost more than the work.
TWO_THREADS = 2**14


def Backend(*, device: str, precision: str, threads: int, seed: int) -> BackendContract:  # noqa: N802, as the contract has it
    """Torch on the device; NotMeasurable with the reason if it is not there."""
    return OnCpu(threads, seed) if device == "cpu" else OnDevice(device, threads, seed)


class OnCpu(CpuSteps, Torch):
    """Torch's products, and between them compiled steps on the threads of torch's own pool."""

    synchronous = True
    # Where Numba's threads are not torch's, they are another pool.
    pools = 2

    def __init__(self, threads: int, seed: int) -> None:
        Torch.__init__(self, "cpu", threads)
        CpuSteps.__init__(self, threads, seed)

    def run(self, kernel: Callable[..., None], count: int, elements: int, *arguments: Any) -> None:
        if self.threads == 1 or elements < TWO_THREADS:
            kernel(0, count, *arguments)
        else:
            from respeed.kernels.parallel import SPREAD

            SPREAD[kernel](count, self.threads, *arguments)

    def sync(self) -> None:
        pass

    def describe(self) -> dict[str, Any]:
        return super().describe() | {
            "library": "MKL" if torch.backends.mkl.is_available() else "torch's own BLAS",
            "kernel": torch.backends.cpu.get_cpu_capability(),
            "parallel": torch.__config__.parallel_info(),
        }
