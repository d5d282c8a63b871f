"""Mixed precision: operands of products in bf16 or fp16, what is learned in fp32.

A small change to a large weight is lost in a format of 8 or 11 bits, so parameters are kept in fp32, and products read
a copy in low precision, which is made anew whenever the parameters change: as a part of the step. Products sum in fp32.
Activations, samples and images are operands of the next product, and are rounded when they are written; a sample is
drawn by the probability as it was written, with a draw in fp32. Gradients need no scaling: each is a sum of at most a
few hundred products of probabilities, within fp16's range, and is multiplied by the rate in fp32.
Source of the practice: Micikevicius et al., Mixed precision training, ICLR 2018.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from respeed.backends._torch import TorchFacts, is_out_of_memory, operands
from respeed.backends._torch_steps import TorchSteps
from respeed.errors import NotMeasurable

LOW = ("bf16", "fp16")

# exact <- alpha a b + beta exact.
Add = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, float, float], None]


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
        super().__init__(device, precision, threads, seed)
        # Sums stay in fp32 also where a product is split along k and its parts are added up.
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        # How a product adds to parameters, and the bytes of these over 4, with their operand and arrays to add from.
        # Others than parameters take half of what they take in fp32.
        ways = ((self._add_by_product, 1.5), (self._add_sums, 2.5), (self._add_rounded, 3.0))
        self._add, self.memory_factor = self._first_that_works(ways)

    def _first_that_works(self, ways: Sequence[tuple[Add, float]]) -> tuple[Add, float]:
        """The first way that this torch offers on this device; NotMeasurable with the reasons if it offers none."""
        factor, exact = self.zeros(2, 16, 16), torch.zeros(2, 16, 16, device=self._device)
        reasons: dict[str, None] = {}
        for add, memory_factor in ways:
            try:
                add(factor[0], factor[0], exact[0], 1.0, 1.0)
                add(factor, factor, exact, 1.0, 1.0)
            except (RuntimeError, TypeError) as error:  # an operator that is not there is a RuntimeError, too
                if is_out_of_memory(error):  # says nothing of the operator: another way would be taken for want of room
                    raise
                reasons[" ".join(str(error).split())[:120]] = None
            else:
                return add, memory_factor
        raise NotMeasurable(f"this torch has no products in {self.precision} on {self._device}: {'; '.join(reasons)}")

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
        self._add(*operands(a, b, out.exact, transpose_a, transpose_b), out.exact, alpha, beta)
        out.operand.copy_(out.exact)

    # Three ways of exact <- alpha a b + beta exact for matrices or stacks, a and b of low precision, the best first.

    def _add_by_product(self, a: torch.Tensor, b: torch.Tensor, exact: torch.Tensor, alpha: float, beta: float) -> None:
        """The product adds its sums itself."""
        add = torch.addmm if exact.dim() == 2 else torch.baddbmm
        add(exact, a, b, out_dtype=torch.float32, beta=beta, alpha=alpha, out=exact)

    def _add_sums(self, a: torch.Tensor, b: torch.Tensor, exact: torch.Tensor, alpha: float, beta: float) -> None:
        """The product writes its sums in fp32, which are then added."""
        multiply = torch.mm if exact.dim() == 2 else torch.bmm
        sums = multiply(a, b, out_dtype=torch.float32, out=self._scratch(exact))
        _scale(exact, beta).add_(sums, alpha=alpha)

    def _add_rounded(self, a: torch.Tensor, b: torch.Tensor, exact: torch.Tensor, alpha: float, beta: float) -> None:
        """The product rounds its sums when it writes them; they are multiplied and added in fp32."""
        if exact.shape[-2] == 1:
            # A bias: of two sums over all examples, near one another, rounding would leave little of the difference.
            wide_a = self._scratch(a, torch.float32, "left").copy_(a)
            wide_b = self._scratch(b, torch.float32, "right").copy_(b)
            super().gemm(wide_a, wide_b, exact, alpha=alpha, beta=beta)
            return
        rounded, sums = self._scratch(exact, self.dtype), self._scratch(exact)
        super().gemm(a, b, rounded)
        _scale(exact, beta).add_(sums.copy_(rounded), alpha=alpha)

    def _product(self, x: Any, weights: Any, bias: Any, out: torch.Tensor, **options: bool) -> torch.Tensor | None:
        return super()._product(x, _operand(weights), _operand(bias), out, **options)

    def describe(self) -> TorchFacts:
        ways: dict[Add, str] = {
            self._add_by_product: "products add to them",
            self._add_sums: "products are added to them",
            self._add_rounded: f"products, rounded to {self.precision}, are added to them",
        }
        return super().describe() | {"parameters": f"fp32, {ways[self._add]}"}


def _scale(array: torch.Tensor, factor: float) -> torch.Tensor:
    return array if factor == 1.0 else array.mul_(factor)


def _operand(array: Any) -> Any:
    return array.operand if isinstance(array, Parameters) else array
