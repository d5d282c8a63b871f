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
from respeed.model.devices import NAMES, split_device, too_high
from respeed.model.errors import NotMeasurable


class OnAccelerator(TorchSteps):
    synchronous = False

    def __init__(self, device: str, precision: str, threads: int, seed: int) -> None:
        kind, index = split_device(device)
        if reason := missing(kind, index):
            raise NotMeasurable(reason)
        if index is not None:
            # What takes no device of its own, such as pinned memory and the libraries' handles, is the current one's.
            getattr(torch, kind).set_device(index)
        if reason := why_not(kind, precision):
            raise NotMeasurable(reason)
        super().__init__(device, precision, threads, seed)
        self._cuda = kind == "cuda"
        # Convolutions: cuDNN would use TF32 unless told otherwise, and guess which algorithm is the fastest.
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = True
        self._capturing = torch.cuda.Stream(self._device) if self._cuda else None
        if self._capturing:
            warm_up_products(self._capturing, self.dtype)

    def captured(self, step: Step) -> Step:
        return CapturedStep(step, self._random, self._capturing) if self._capturing else step

    def stream(self, chunks: Sequence[np.ndarray]) -> Stream:
        if self._cuda:
            return PinnedChunks(chunks, self.host_dtype, self.dtype, self._device)
        return Copies(self, chunks)

    def mirrored(self, values: np.ndarray, *, pinned: bool) -> Mirror:
        return HostTwin(self.array(values), pinned=pinned)

    def limited(self, threads: int) -> AbstractContextManager[None]:
        raise NotMeasurable("an accelerator's threads are not its cores")

    def bytes_free(self) -> float | None:
        if self._device.type == "mps":  # the host's memory
            return None
        of, here = getattr(torch, self._device.type), self._device
        # What torch holds and no array uses is free for the next one.
        return float(of.mem_get_info(here)[0] + of.memory_reserved(here) - of.memory_allocated(here))

    def sync(self) -> None:
        if self._device.type == "mps":  # there is one, and it is not named
            torch.mps.synchronize()
        else:
            getattr(torch, self._device.type).synchronize(self._device)

    def describe(self) -> TorchFacts:
        facts = super().describe()
        if not self._cuda:
            return {**facts, "accelerator": _name(self._device)}
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


def missing(kind: str, index: int | None) -> str | None:
    """Why torch has no such device; None if it has."""
    if not getattr(torch, kind).is_available():
        return f"no {NAMES[kind]} device that torch {torch.__version__} can use"
    return too_high(kind, index or 0, 1 if kind == "mps" else getattr(torch, kind).device_count())


def _name(device: torch.device) -> str:
    """What a device calls itself, where torch tells."""
    return str(torch.xpu.get_device_name(device)) if device.type == "xpu" else device.type


def why_not(device: str, precision: str) -> str | None:
    """Why torch cannot compute so on the current device of the kind; None if it can."""
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
