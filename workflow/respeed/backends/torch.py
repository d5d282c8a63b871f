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
        self.threads = threads
        self._device = torch.device(device)
        self._kept: torch.Tensor | None = None
        self._random = torch.Generator(self._device)
        self._random.manual_seed(seed)

    def array(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).to(self._device, copy=True)

    def zeros(self, *shape: int) -> torch.Tensor:
        # full, not zeros: the pages are touched here, not by the first step.
        return torch.full(shape, 0.0, device=self._device)

    def host(self, array: torch.Tensor) -> np.ndarray:
        on_host: np.ndarray = array.to("cpu", torch.float32).numpy()
        return on_host

    def copy(self, source: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(source)

    def add(self, source: torch.Tensor, out: torch.Tensor) -> None:
        out.add_(source)

    def scale(self, out: torch.Tensor, factor: float) -> None:
        out.mul_(factor)

    def sigmoid(self, out: torch.Tensor) -> None:
        torch.sigmoid(out, out=out)

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
        a, b = (a.mT if transpose_a else a), (b.mT if transpose_b else b)
        if out.dim() == 2:
            torch.addmm(out, a, b, beta=beta, alpha=alpha, out=out)
        else:
            stack = (len(out), -1, -1)
            torch.baddbmm(out, a.expand(stack), b.expand(stack), beta=beta, alpha=alpha, out=out)

    def sigmoid_layer(
        self, x: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor, out: torch.Tensor, *, transpose: bool = False
    ) -> None:
        # A bias of one dimension as the product's addend is what libraries fold into the product.
        weights = weights.mT if transpose else weights
        if out.dim() == 2:
            torch.addmm(bias.view(-1), x, weights, out=out)
        else:
            torch.baddbmm(bias, x, weights, out=out)
        torch.sigmoid(out, out=out)

    def bernoulli(self, probability: torch.Tensor, uniform: torch.Tensor, out: torch.Tensor) -> None:
        uniform.uniform_(generator=self._random)
        torch.lt(uniform, probability, out=out)

    def coordinate_step(
        self,
        left: torch.Tensor,
        coefficients: torch.Tensor,
        diagonal: torch.Tensor,
        penalty: float,
        going: torch.Tensor,
        out: torch.Tensor,
    ) -> None:
        torch.addcmul(left, coefficients, diagonal, out=out)
        # soft(z, p) = z - clamp(z, -p, p)
        clamped = torch.clamp(out, -penalty, penalty, out=self._scratch(out))
        out.sub_(clamped).div_(diagonal).sub_(coefficients).mul_(going)

    def line_search(
        self,
        direction: torch.Tensor,
        moved: torch.Tensor,
        left: torch.Tensor,
        coefficients: torch.Tensor,
        penalty: float,
        lengths: tuple[float, ...],
        least: float,
        objective: torch.Tensor,
        going: torch.Tensor,
    ) -> None:
        slope = torch.linalg.vecdot(left, direction).unsqueeze(1)
        curve = torch.linalg.vecdot(moved, direction).unsqueeze(1)
        scratch = self._scratch(coefficients)
        norm = torch.abs(coefficients, out=scratch).sum(1, keepdim=True)
        taken, change = torch.zeros_like(slope), torch.zeros_like(slope)
        # From the last length to the first: what is written last is the first that will do.
        for t in reversed(lengths):
            moved_norm = torch.add(coefficients, direction, alpha=t, out=scratch).abs_().sum(1, keepdim=True)
            trial = 0.5 * t * t * curve - t * slope + penalty * (moved_norm - norm)
            lowers = (trial < -least * objective) & (going > 0)
            taken.masked_fill_(lowers, t)
            torch.where(lowers, trial, change, out=change)
        coefficients.addcmul_(direction, taken)
        left.addcmul_(moved, taken, value=-1.0)
        objective.add_(change)
        torch.gt(taken, 0, out=going)

    def _scratch(self, like: torch.Tensor) -> torch.Tensor:
        """An array of the same shape for intermediate results, made once."""
        if self._kept is None or self._kept.shape != like.shape:
            self._kept = torch.empty_like(like)
        return self._kept

    def gradient_step(
        self, bases: torch.Tensor, product: torch.Tensor, target: torch.Tensor, rate: float, out: torch.Tensor
    ) -> None:
        torch.sub(bases, product, alpha=rate, out=out).add_(target, alpha=rate)
        out.div_(torch.linalg.vector_norm(out, dim=1, keepdim=True).clamp_(min=1.0))

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
