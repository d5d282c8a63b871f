"""PyTorch: MKL on x86 CPUs, Accelerate on Macs, cuBLAS on CUDA, and what torch finds behind ROCm, XPU and MPS."""

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from respeed.backends import BackendContract
from respeed.backends._cpu import CpuSteps, OnHost
from respeed.backends._torch import Torch
from respeed.backends._torch_device import OnAccelerator, probe_device
from respeed.backends._torch_steps import LOW, Mixed
from respeed.errors import NotMeasurable

DEVICES = ("cpu", "cuda", "xpu", "mps")
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16")
OFFERS = (
    "workers", "stack_bytes", "lanes", "each", "stream", "take_rows", "put_rows", "add", "sigmoid", "dense_layer",
    "activation_backward", "labels", "softmax_error", "sigmoid_error", "draws", "sample_layer", "mask", "cut", "add_up",
    "coordinate_step", "line_search", "gradient_step", "sum", "factors", "inverse", "mirrored", "limited", "replicas",
)  # fmt: skip

# Elements below which one thread is done sooner than all have met. Low: right after a product on all cores, one core
# alone was seen to take five times as long over its result as after a product of its own.
TWO_THREADS = 2**14


def Backend(*, device: str, precision: str, threads: int, seed: int) -> BackendContract:  # noqa: N802, as the contract has it
    """Torch on the device; NotMeasurable with the reason if it is not there, or has no such precision."""
    low = precision in LOW
    if device != "cpu":
        return (MixedOnDevice if low else OnAccelerator)(device, precision, threads, seed)
    if precision == "tf32":
        raise NotMeasurable("TF32 is a precision of GPUs")
    return MixedOnCpu("cpu", precision, threads, seed) if low else OnCpu(precision, threads, seed)


def probe(device: str) -> dict[str, Any]:
    """What `respeed.backends.probe` prints."""
    return probe_device(device, PRECISIONS)


class MixedOnDevice(OnAccelerator, Mixed):
    """bf16 and fp16 on an accelerator."""


class OnCpu(CpuSteps, Torch):
    """Torch's products, and between them compiled steps on the threads of torch's own pool."""

    synchronous = True
    # Torch's own, and either the lanes' or, where Numba's threads are not torch's, these.
    pools = 2

    def __init__(self, precision: str, threads: int, seed: int) -> None:
        Torch.__init__(self, "cpu", precision, threads)
        CpuSteps.__init__(self, precision, threads, seed, TWO_THREADS)

    def run(self, kernel: Callable[..., None], count: int, elements: int, *arguments: Any) -> None:
        if self.threads == 1 or self.apart or elements < self.least_spread:
            kernel(0, count, *arguments)
        else:
            from respeed.kernels.parallel import SPREAD

            SPREAD[kernel](count, self.threads, *arguments)

    def describe(self) -> dict[str, Any]:
        return _on_cpu(super().describe(), _blas_of_torch())


class MixedOnCpu(OnHost, Mixed):
    """bf16 and fp16 on the CPU, by torch's operations alone: the compiled steps know no such numbers."""

    synchronous = True

    # By itself torch would compare copies in fp32, made anew each time.

    def _compare(self, draws: Tensor, probabilities: Tensor, sample: Tensor) -> None:
        wide = self._scratch(draws)
        wide.copy_(probabilities)
        sample.copy_(torch.lt(draws, wide, out=wide))

    def _where_least(self, draws: Tensor, least: float, out: Tensor) -> None:
        out.copy_(torch.ge(draws, least, out=self._scratch(draws)))

    def describe(self) -> dict[str, Any]:
        return _on_cpu(super().describe(), "oneDNN" if torch.backends.mkldnn.is_available() else "torch's own BLAS")


def _blas_of_torch() -> str:
    """The BLAS that torch was built with: on x86 MKL, on a Mac Accelerate, on ARM servers OpenBLAS."""
    if torch.backends.mkl.is_available():
        return "MKL"
    names = {"accelerate": "Accelerate", "open": "OpenBLAS"}
    found = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return names.get(found[1], "torch's own BLAS") if found else "torch's own BLAS"


def _on_cpu(facts: dict[str, Any], library: str) -> dict[str, Any]:
    return {
        **facts,
        "library": library,
        "kernel": torch.backends.cpu.get_cpu_capability(),
        "parallel": torch.__config__.parallel_info(),
    }
