"""Torch on an accelerator: operations are asked for and not waited for."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np
import torch

from respeed.backends import Mirror, Step, Stream
from respeed.backends._host import Copies
from respeed.backends._torch import TorchFacts
from respeed.backends._torch_cuda import CapturedStep, PinnedChunks, warm_up_products
from respeed.backends._torch_mirror import HostTwin
from respeed.backends._torch_steps import TorchSteps
from respeed.model.errors import NotMeasurable

NAMES = {"cuda": "CUDA", "xpu": "XPU", "mps": "MPS"}


class OnAccelerator(TorchSteps):
    synchronous = False

    def __init__(self, device: str, precision: str, threads: int, seed: int) -> None:
        if reason := why_not(device, precision):
            raise NotMeasurable(reason)
        super().__init__(device, precision, threads, seed)
        self._cuda = device == "cuda"
        # Convolutions: cuDNN would use TF32 unless told otherwise, and guess which algorithm is the fastest.
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = True
        self._capturing = torch.cuda.Stream() if self._cuda else None
        if self._capturing:
            warm_up_products(self._capturing, self.dtype)

    def captured(self, step: Step) -> Step:
        return CapturedStep(step, self._random, self._capturing) if self._capturing else step

    def stream(self, chunks: Sequence[np.ndarray]) -> Stream:
        if self._cuda:
            return PinnedChunks(chunks, self.host_dtype, self.dtype)
        return Copies(self, chunks)

    def mirrored(self, values: np.ndarray, *, pinned: bool) -> Mirror:
        return HostTwin(self.array(values), pinned=pinned)

    def limited(self, threads: int) -> AbstractContextManager[None]:
        raise NotMeasurable("an accelerator's threads are not its cores")

    def bytes_free(self) -> float | None:
        if self._device.type == "mps":  # the host's memory
            return None
        of = getattr(torch, self._device.type)
        # What torch holds and no array uses is free for the next one.
        return float(of.mem_get_info()[0] + of.memory_reserved() - of.memory_allocated())

    def sync(self) -> None:
        getattr(torch, self._device.type).synchronize()

    def describe(self) -> TorchFacts:
        facts = super().describe()
        if not self._cuda:
            return {**facts, "accelerator": self._device.type}
        properties, products = torch.cuda.get_device_properties(self._device), torch.backends.cuda.matmul
        return {
            **facts,
            "library": f"cuBLAS (CUDA {torch.version.cuda})"
            if torch.version.cuda
            else f"hipBLAS ({torch.version.hip})",
            "accelerator": properties.name,
            "memory_bytes": properties.total_memory,
            "pci": f"{properties.pci_domain_id:08x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0",
            "allow_tf32": products.allow_tf32,
            "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
            "allow_bf16_reduced_precision_reduction": products.allow_bf16_reduced_precision_reduction,
            "allow_fp16_reduced_precision_reduction": products.allow_fp16_reduced_precision_reduction,
        }


def why_not(device: str, precision: str) -> str | None:
    """Why torch cannot compute so on the device; None if it can."""
    if not getattr(torch, device).is_available():
        return f"no {NAMES[device]} device that torch {torch.__version__} can use"
    # AMD's libraries do so or not as their own environment says: the row could be fp32 under another name.
    if precision == "tf32" and (device != "cuda" or torch.version.hip or not torch.cuda.is_tf32_supported()):
        return "TF32 needs an NVIDIA GPU of 2020 or later"
    if precision == "bf16" and device == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return "bf16 needs an NVIDIA GPU of 2020 or later"
    if precision == "fp64" and (
        device == "mps" or (device == "xpu" and not torch.xpu.get_device_properties().has_fp64)
    ):
        return f"this {NAMES[device]} device has no fp64"
    return None
