"""What PyTorch does alike on every device: arrays, products, and what it says of itself. The inverse of a matrix is
torch.linalg.inv without its new arrays: LAPACK on the CPU, cuSOLVER on CUDA.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from respeed.backends import host_dtype
from respeed.backends._torch_replicas import TorchReplicas
from respeed.kernels.compiled import Workers


class LuFactors:
    """A = P L U of a matrix (n, n), in place, and the identity that they are solved for.

    LAPACK is column-major. Of a row-major array that is the transpose, whose inverse is the transpose of the inverse:
    nothing has to be turned round.
    """

    def __init__(self, n: int, dtype: torch.dtype, device: torch.device) -> None:
        self._lu = torch.zeros(n, n, dtype=dtype, device=device).mT
        self._pivots = torch.zeros(n, dtype=torch.int32, device=device)
        self._info = torch.zeros((), dtype=torch.int32, device=device)
        self._identity = torch.eye(n, dtype=dtype, device=device).mT

    def invert(self, a: Tensor, out: Tensor) -> None:
        # The variant that does not look whether A is singular: on a GPU that would wait for the answer.
        torch.linalg.lu_factor_ex(a.mT, out=(self._lu, self._pivots, self._info))
        torch.linalg.lu_solve(self._lu, self._pivots, self._identity, out=out.mT)


# What arrays are of, by precision.
DTYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}


def _product_on_one_thread() -> None:
    """Both are settings of the calling thread."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)


def is_out_of_memory(error: BaseException) -> bool:
    """Of the device, whose error has a class of its own on some, or of a library on it."""
    return isinstance(error, torch.OutOfMemoryError) or any(
        sign in str(error) for sign in ("out of memory", "ALLOC_FAILED")
    )


def operands(a: Tensor, b: Tensor, out: Tensor, transpose_a: bool, transpose_b: bool) -> tuple[Tensor, Tensor]:
    """Views of a and b as a product takes them: transposed as asked for, and a matrix beside stacks once for each."""
    a, b = (a.mT if transpose_a else a), (b.mT if transpose_b else b)
    if out.dim() == 3:
        a, b = a.expand(len(out), -1, -1), b.expand(len(out), -1, -1)
    return a, b


class Torch:
    """Sets torch up for products of `precision` on `threads` threads; the part of the contract that no device does
    otherwise. Arrays are of `dtype`."""

    shares_cores = False

    def __init__(self, device: str, precision: str, threads: int) -> None:
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        # Strict fp32 unless asked for: no TF32 on CUDA, no bf16 in oneDNN. Of the devices only CUDA knows "high", TF32.
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        self.threads, self.workers = threads, Workers(threads, _product_on_one_thread)
        self.precision, self._device = precision, torch.device(device)
        self.dtype, self.host_dtype = DTYPES[precision], host_dtype(precision)
        # What arrays are on their way to the host, and draws always: float64, or else float32.
        self._wide = torch.promote_types(self.dtype, torch.float32)

    def replicas(self, count: int) -> TorchReplicas:
        return TorchReplicas(count, str(self._device), self.precision, self.threads)

    def limit(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def array(self, values: np.ndarray) -> Tensor:
        return self._as_tensor(values, self.dtype)

    def _as_tensor(self, values: np.ndarray, dtype: torch.dtype) -> Tensor:
        fresh = not isinstance(values, np.ndarray)  # what makes an array when it is asked for one
        on_host = torch.from_numpy(np.ascontiguousarray(values, dtype=self.host_dtype))
        return on_host.to(self._device, dtype, copy=not fresh)

    def zeros(self, *shape: int) -> Tensor:
        # full, not zeros: the pages are touched here, not by the first step.
        return torch.full(shape, 0.0, dtype=self.dtype, device=self._device)

    def host(self, array: Tensor) -> np.ndarray:
        on_host: np.ndarray = array.to("cpu", self._wide).numpy()
        return on_host

    def copy(self, source: Tensor, out: Tensor) -> None:
        out.copy_(source)

    def take_rows(self, source: Tensor, rows: np.ndarray, out: Tensor) -> None:
        torch.index_select(source, 0, torch.from_numpy(rows).to(self._device), out=out)

    def put_rows(self, source: Tensor, rows: np.ndarray, out: Tensor) -> None:
        out.index_copy_(0, torch.from_numpy(rows).to(self._device), source)

    def add(self, source: Tensor, out: Tensor) -> None:
        out.add_(source)

    def sum(self, a: Tensor, b: Tensor, out: Tensor) -> None:
        torch.add(a, b, out=out)

    def factors(self, n: int) -> LuFactors:
        return LuFactors(n, self.dtype, self._device)

    def inverse(self, a: Tensor, factors: LuFactors, out: Tensor) -> None:
        factors.invert(a, out)

    def gemm(
        self,
        a: Tensor,
        b: Tensor,
        out: Tensor,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        add = torch.addmm if out.dim() == 2 else torch.baddbmm
        add(out, *operands(a, b, out, transpose_a, transpose_b), beta=beta, alpha=alpha, out=out)

    def describe(self) -> dict[str, Any]:
        return {
            "package": f"torch {torch.__version__}",
            "library": "torch",
            "device": str(self._device),
            "precision": self.precision,
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
            "threads_set": torch.get_num_threads(),
        }
