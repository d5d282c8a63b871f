"""Torch on an accelerator: operations are asked for and not waited for."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from respeed.backends import Mirror, Step, Stream
from respeed.backends._host import Copies
from respeed.backends._torch import TorchFacts
from respeed.backends._torch_cuda import PinnedChunks
from respeed.backends._torch_graphs import Graphs
from respeed.backends._torch_mirror import HostTwin
from respeed.backends._torch_steps import TorchSteps
from respeed.errors import NotMeasurable
from respeed.model.devices import NAMES, split_device, too_high


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
        self._graphs = Graphs(self._device, self.dtype, self._random) if self._cuda else None

    def captured(self, step: Step) -> Step:
        return self._graphs.captured(step) if self._graphs else step

    def why_plain(self) -> str | None:
        """Why steps that were to be captured since this was last asked were not; None if all were."""
        return self._graphs.why_plain() if self._graphs else None

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        # Plain steps first: a capture is no place to load kernels or to choose algorithms in.
        return (self._graphs.none(), nullcontext()) if self._graphs else (nullcontext(),)

    def stream(self, chunks: Sequence[np.ndarray]) -> Stream:
        if self._cuda:
            return PinnedChunks(chunks, self.host_dtype, self.dtype, self._device)
        return Copies(self, chunks)

    def mirrored(self, values: np.ndarray, *, pinned: bool) -> Mirror:
        return HostTwin(self.array(values), pinned=pinned)

    def limited(self, threads: int) -> AbstractContextManager[None]:
        raise NotMeasurable("an accelerator's threads are not its cores")

    def bytes_free(self) -> float | None:
        if self._device.type == "mps":  # the host's memory, of which Metal lets a program have a part
            return float(max(0, torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory()))
        of, here = getattr(torch, self._device.type), self._device
        # What torch holds and no array uses is free for the next one, but for what graphs and products need themselves.
        free = _never_held(of, here) + of.memory_reserved(here) - of.memory_allocated(here)
        if self._graphs:
            free -= self._graphs.bytes_kept() + self._graphs.workspace_bytes
        return float(max(0, free - self._between.scratch_bytes))

    def sync(self) -> None:
        if self._device.type == "mps":  # there is one, and it is not named
            torch.mps.synchronize()
        else:
            getattr(torch, self._device.type).synchronize(self._device)

    def describe(self) -> TorchFacts:
        facts = super().describe()
        if not self._graphs:
            return {**facts, "accelerator": _name(self._device), "graphs": "no: none are made on such a device"}
        properties, products = torch.cuda.get_device_properties(self._device), torch.backends.cuda.matmul
        return {
            **facts,
            "library": f"cuBLAS (CUDA {torch.version.cuda})"
            if torch.version.cuda
            else f"hipBLAS ({torch.version.hip})",
            "accelerator": properties.name,
            "graphs": f"no: {self._graphs.why_none}" if self._graphs.why_none else "yes",
            "memory_bytes": properties.total_memory,
            "pci": f"{properties.pci_domain_id:08x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0",
            "allow_tf32": products.allow_tf32,
            "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
            "allow_bf16_reduced_precision_reduction": products.allow_bf16_reduced_precision_reduction,
            "allow_fp16_reduced_precision_reduction": products.allow_fp16_reduced_precision_reduction,
        }


def missing(kind: str, index: int | None) -> str | None:
    """Why torch has no such device; None if it has."""
    # Versions differ in whether torch.mps says so itself.
    if not (torch.backends.mps if kind == "mps" else getattr(torch, kind)).is_available():
        return f"no {NAMES[kind]} device that torch {torch.__version__} can use"
    return too_high(kind, index or 0, 1 if kind == "mps" else getattr(torch, kind).device_count())


def _never_held(of: Any, device: torch.device) -> int:
    """Bytes of the device that no program has."""
    try:
        return int(of.mem_get_info(device)[0])
    except RuntimeError:  # some of Intel's devices do not tell; they are this program's alone
        return int(of.get_device_properties(device).total_memory - of.memory_reserved(device))


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
    if precision == "bf16" and device == "xpu" and not torch.xpu.is_bf16_supported(including_emulation=False):
        return f"this {NAMES[device]} device has no bf16"
    if precision == "fp64" and (
        device == "mps" or (device == "xpu" and not torch.xpu.get_device_properties().has_fp64)
    ):
        return f"this {NAMES[device]} device has no fp64"
    return None
