"""PyTorch: MKL on x86 CPUs, cuBLAS on CUDA, and whatever else torch finds behind ROCm, XPU and MPS."""

from typing import Any

import numpy as np
import torch

from respeed.model.errors import NotMeasurable

DEVICES = ("cpu", "cuda", "xpu", "mps")
PRECISIONS = ("fp32",)

_NAMES = {"cuda": "CUDA", "xpu": "XPU", "mps": "MPS"}


class Backend:
    def __init__(self, *, device: str, precision: str, threads: int, seed: int) -> None:
        if device != "cpu" and not getattr(torch, device).is_available():
            raise NotMeasurable(f"no {_NAMES[device]} device that torch {torch.__version__} can use")
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        # Strict fp32: no TF32 on CUDA, no bf16 in oneDNN.
        torch.set_float32_matmul_precision("highest")
        self.synchronous = device == "cpu"
        self._device = torch.device(device)
        self._random = torch.Generator(self._device)
        self._random.manual_seed(seed)

    def array(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).to(self._device, copy=True)

    def zeros(self, *shape: int) -> torch.Tensor:
        # full, not zeros: the pages are touched here, not by the first step.
        return torch.full(shape, 0.0, device=self._device)

    def host(self, array: torch.Tensor) -> np.ndarray:
        copied: np.ndarray = array.to("cpu", torch.float32, copy=True).numpy()
        return copied

    def copy(self, source: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(source)

    def gemm(
        self,
        a: torch.Tensor,
        b: torch.Tensor,
        out: torch.Tensor,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        torch.addmm(out, a.t() if transpose_a else a, b.t() if transpose_b else b, beta=beta, alpha=alpha, out=out)

    def sigmoid_layer(
        self, x: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor, out: torch.Tensor, *, transpose: bool = False
    ) -> None:
        # addmm with the bias as its addend lets the library fold it into the product.
        torch.addmm(bias, x, weights.t() if transpose else weights, out=out)
        torch.sigmoid(out, out=out)

    def scale(self, out: torch.Tensor, factor: float) -> None:
        out.mul_(factor)

    def bernoulli(self, probability: torch.Tensor, uniform: torch.Tensor, out: torch.Tensor) -> None:
        uniform.uniform_(generator=self._random)
        torch.lt(uniform, probability, out=out)

    def sync(self) -> None:
        if not self.synchronous:
            getattr(torch, self._device.type).synchronize()

    def describe(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "package": f"torch {torch.__version__}",
            "device": self._device.type,
            "precision": "fp32",
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
            "threads_set": torch.get_num_threads(),
        }
        if self._device.type == "cpu":
            return facts | {
                "library": "MKL" if torch.backends.mkl.is_available() else "torch's own BLAS",
                "kernel": torch.backends.cpu.get_cpu_capability(),
                "parallel": torch.__config__.parallel_info(),
            }
        if self._device.type == "cuda":
            properties = torch.cuda.get_device_properties(self._device)
            return facts | {
                "library": f"cuBLAS (CUDA {torch.version.cuda})"
                if torch.version.cuda
                else f"hipBLAS ({torch.version.hip})",
                "accelerator": properties.name,
                "memory_bytes": properties.total_memory,
                "allow_tf32": torch.backends.cuda.matmul.allow_tf32,
            }
        return facts | {"library": "torch", "accelerator": self._device.type}
