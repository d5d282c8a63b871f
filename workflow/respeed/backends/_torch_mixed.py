"""Mixed precision: operands of products in bf16 or fp16, what is learned in fp32.

A small change to a large weight is lost in a format of 8 or 11 bits, so parameters are kept in fp32, and products read
a copy in low precision, which is made anew whenever the parameters change: as a part of the step. Products sum in fp32.
Activations, samples and images are operands of the next product, and are rounded when they are written; a sample is
drawn by the probability as it was written, with a draw in fp32. Gradients need no scaling: each is a sum of at most a
few hundred products of probabilities, within fp16's range, and is multiplied by the rate in fp32.
Source of the practice: Micikevicius et al., Mixed precision training, ICLR 2018.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from respeed.backends._torch_steps import TorchSteps

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Parameters:
    """What is learned: `exact` in fp32, and `operand`, the same rounded for products. Indexed and reshaped as one."""

    exact: torch.Tensor
    operand: torch.Tensor

    def __getitem__(self, index: Any) -> "Parameters":
        return Parameters(self.exact[index], self.operand[index])

    def reshape(self, *shape: int) -> "Parameters":
        return Parameters(self.exact.view(*shape), self.operand.view(*shape))


class Mixed(TorchSteps):
    def __init__(self, device: str, precision: str, threads: int, seed: int) -> None:
        self.dtype = TYPES[precision]
        super().__init__(device, precision, threads, seed)
        # Sums stay in fp32 also where a product is split along k and its parts are added up.
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        self._adds_in_fp32 = self._can_add_in_fp32()
        # Bytes of a parameter over 4: 4 and 2, or with arrays to add from 4 and 2 and 2 and 4. Others take 2 alone.
        self.memory_factor = 1.5 if self._adds_in_fp32 else 3.0

    def _can_add_in_fp32(self) -> bool:
        """Whether a product of low precision adds its fp32 sums to an fp32 array: not every torch and device does."""
        factor, total = self.zeros(16, 16), torch.zeros(16, 16, device=self._device)
        try:
            torch.addmm(total, factor, factor, out_dtype=torch.float32, out=total)
            torch.baddbmm(total[None], factor[None], factor[None], out_dtype=torch.float32, out=total[None])
        except (RuntimeError, TypeError):  # NotImplementedError is a RuntimeError
            return False
        return True

    def parameters(self, values: np.ndarray) -> Parameters:
        exact = self._as_tensor(values, torch.float32)
        return Parameters(exact, exact.to(self.dtype))

    def host(self, array: Any) -> np.ndarray:
        return super().host(array.exact if isinstance(array, Parameters) else array)

    def copy(self, source: Any, out: torch.Tensor) -> None:
        super().copy(_operand(source), out)

    def gemm(self, a: Any, b: Any, out: Any, **options: Any) -> None:
        a, b = _operand(a), _operand(b)
        if isinstance(out, Parameters):
            self._learn(a, b, out, **options)
        else:
            super().gemm(a, b, out, **options)

    def _learn(
        self,
        a: torch.Tensor,
        b: torch.Tensor,
        out: Parameters,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        a, b, exact = (a.mT if transpose_a else a), (b.mT if transpose_b else b), out.exact
        if not self._adds_in_fp32:
            self._add_rounded(a, b, exact, alpha, beta)
        elif exact.dim() == 2:
            torch.addmm(exact, a, b, out_dtype=torch.float32, beta=beta, alpha=alpha, out=exact)
        else:
            stack = (len(exact), -1, -1)
            a, b = a.expand(stack), b.expand(stack)
            torch.baddbmm(exact, a, b, out_dtype=torch.float32, beta=beta, alpha=alpha, out=exact)
        out.operand.copy_(exact)

    def _add_rounded(self, a: torch.Tensor, b: torch.Tensor, exact: torch.Tensor, alpha: float, beta: float) -> None:
        """The product is rounded once, when it is written; it is multiplied and added in fp32."""
        if exact.shape[-2] == 1:
            # A bias: of two sums over all examples, near one another, rounding would leave little of the difference.
            wide_a, wide_b = (self._scratch(factor, torch.float32).copy_(factor) for factor in (a, b))
            super().gemm(wide_a, wide_b, exact, alpha=alpha, beta=beta)
            return
        product, wide_product = self._scratch(exact, self.dtype), self._scratch(exact)
        super().gemm(a, b, product)
        if beta != 1.0:
            exact.mul_(beta)
        exact.add_(wide_product.copy_(product), alpha=alpha)

    def sigmoid_layer(self, x: Any, weights: Any, bias: Any, out: torch.Tensor, **options: Any) -> None:
        super().sigmoid_layer(x, _operand(weights), _operand(bias), out, **options)

    def describe(self) -> dict[str, Any]:
        learns = "fp32 sums" if self._adds_in_fp32 else f"sums rounded to {self._precision}"
        return super().describe() | {"parameters": f"fp32, to which products add {learns}"}


def _operand(array: Any) -> Any:
    return array.operand if isinstance(array, Parameters) else array
