"""What PyTorch does alike on every device: arrays, what is learned, and what a record says of it.

In bf16 and fp16 products are of low precision, and what is learned is of fp32: a small change to a large weight is lost
in a format of 8 or 11 bits. Products read a rounded copy, made anew in each step, as a part of it, and sum in fp32.
Gradients need no scaling: each is a sum of at most a few hundred products of probabilities, within fp16's range.
Source of the practice: Micikevicius et al., Mixed precision training, ICLR 2018.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from respeed.backends import Backend
from respeed.workloads.arrays import Drawn, Zeros

LOW = ("bf16", "fp16")
# What arrays are of, by precision.
DTYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}


class Torch(Backend):
    """Torch in a precision: what no device does otherwise."""

    framework = "torch"

    def __init__(self, device: str, precision: str, threads: int) -> None:
        Backend.__init__(self, precision, threads)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        # Strict fp32 unless asked for: no TF32 on CUDA, no bf16 in oneDNN. Of the devices only CUDA knows "high", TF32.
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        # Sums stay in fp32 also where a product is split along k and its parts are added up.
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        self.device, self.dtype, self._low = torch.device(device), DTYPES[precision], precision in LOW
        # What is learned, and draws.
        self._wide = torch.promote_types(self.dtype, torch.float32)
        # Whether products in low precision can add their sums to fp32; and the bytes that numbers take over 4: those of
        # what is learned, with a copy, and perhaps with room to add from.
        self._adds_itself = self._low and self._can_add()
        if self._low:
            self.memory_factor = 1.5 if self._adds_itself else 3.0

    def array(self, values: Any, *, exact: bool = False) -> Tensor:
        dtype = self._wide if exact else self.dtype
        if isinstance(values, Zeros):  # made there; full, not zeros: pages are touched here, not by the first step
            made = torch.full(values.shape, 0.0, dtype=dtype, device=self.device)
            return self._with_copy(made) if exact else made
        array = np.asarray(values)
        if array.dtype.kind in "iu":
            return torch.from_numpy(np.array(array, np.int64)).to(self.device)
        on_host = torch.from_numpy(np.ascontiguousarray(array, dtype=self.host_dtype))
        made = on_host.to(self.device, dtype, copy=not isinstance(values, Drawn))
        return self._with_copy(made) if exact else made

    def _with_copy(self, exact: Tensor) -> Tensor:
        """Give an array the rounded copy that products read, where the precision is low."""
        if self._low:
            exact.low = exact.to(self.dtype)
        return exact

    def write(self, values: Any, out: Tensor) -> None:
        if isinstance(values, float):
            out.fill_(values)
        else:
            out.copy_(torch.from_numpy(np.ascontiguousarray(values)))

    def host(self, array: Any) -> Any:
        if not isinstance(array, Tensor):
            return array
        array = array.detach().cpu()
        return (array if array.dtype.itemsize >= 4 else array.float()).numpy()

    def operands(self, *parameters: Tensor) -> Any:
        """Return what is learned as products read it: rounded where the precision is low."""
        return [one.low.copy_(one) for one in parameters] if self._low else parameters

    def add_product(self, out: Tensor, a: Tensor, b: Tensor, alpha: float = 1.0, beta: float = 1.0) -> None:
        """Compute out <- beta out + alpha a b, matrices or stacks; what is learned stays in fp32."""
        add = torch.addmm if out.dim() == 2 else torch.baddbmm
        if not self._low or out.dtype == a.dtype:
            add(out, a, b, beta=beta, alpha=alpha, out=out)
        elif self._adds_itself:
            add(out, a, b, out_dtype=torch.float32, beta=beta, alpha=alpha, out=out)
        else:  # the product rounds its sums when it writes them; they are multiplied and added in fp32
            out.mul_(beta).add_(a @ b, alpha=alpha)

    def _can_add(self) -> bool:
        """Return whether products in low precision can add their sums to fp32, as on CUDA by a new torch."""
        factor = torch.zeros(2, 16, 16, dtype=self.dtype, device=self.device)
        out = factor.float()
        try:
            torch.addmm(out[0], factor[0], factor[0], out_dtype=torch.float32, out=out[0])
            torch.baddbmm(out, factor, factor, out_dtype=torch.float32, out=out)
        except (RuntimeError, TypeError) as error:  # an operator that is not there is a RuntimeError, too
            if is_out_of_memory(error):  # says nothing of the operator: another way would be taken for want of room
                raise
            return False
        return True

    def describe(self) -> dict[str, Any]:
        facts = {
            "package": f"torch {torch.__version__}",
            "library": "torch",
            "device": str(self.device),
            "precision": self.precision,
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
            "threads_set": torch.get_num_threads(),
        }
        if self._low:
            way = "products add to them" if self._adds_itself else f"products, rounded to {self.precision}, are added"
            facts["parameters"] = f"fp32, {way}"
        return facts


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether it is of the device, whose error has a class of its own on some, or of a library on it."""
    signs = ("out of memory", "ALLOC_FAILED")
    return isinstance(error, torch.OutOfMemoryError) or any(sign in str(error) for sign in signs)
