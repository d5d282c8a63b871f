"""What comes between the products, by torch's own operations: on accelerators, and wherever precision is low.

`Mixed` is mixed precision: operands of products in bf16 or fp16, what is learned in fp32.

A small change to a large weight is lost in a format of 8 or 11 bits, so parameters are kept in fp32, and products read
a copy in low precision, which is made anew whenever the parameters change: as a part of the step. Products sum in fp32.
Activations, samples and images are operands of the next product, and are rounded when they are written; a sample is
drawn by the probability as it was written, with a draw in fp32. Gradients need no scaling: each is a sum of at most a
few hundred products of probabilities, within fp16's range, and is multiplied by the rate in fp32.
Source of the practice: Micikevicius et al., Mixed precision training, ICLR 2018.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from respeed.backends import Activation, Draws, Item
from respeed.backends._torch import Torch, is_out_of_memory, operands
from respeed.backends._torch_between import ByTorch

# In place, one operation each.
FORWARD: dict[Activation, Callable[[Tensor], object]] = {
    "none": lambda out: None,
    "sigmoid": torch.sigmoid_,
    "tanh": torch.tanh_,
    "relu": torch.relu_,
}
_aten = torch.ops.aten
BACKWARD: dict[Activation, Callable[[Tensor, Tensor], object]] = {
    "sigmoid": lambda error, out: _aten.sigmoid_backward.grad_input(error, out, grad_input=error),
    "tanh": lambda error, out: _aten.tanh_backward.grad_input(error, out, grad_input=error),
    "relu": lambda error, out: _aten.threshold_backward.grad_input(error, out, 0, grad_input=error),
}


class TorchSteps(Torch):
    # The more at once, the better an accelerator is filled, and the fewer operations are asked for.
    stack_bytes = math.inf
    lanes = 1
    pools = 1

    def __init__(self, device: str, precision: str, threads: int, seed: int) -> None:
        super().__init__(device, precision, threads)
        self.memory_factor = self.host_dtype.itemsize / 4
        self._kept: dict[tuple[Any, ...], list[Tensor]] = {}
        self._random = torch.Generator(self._device)
        self._random.manual_seed(seed)
        self._between = self._make_between()

    def _make_between(self) -> ByTorch:
        return ByTorch(self._scratch)

    # What is the same on any arrays, asked for without a call in between.
    softmax_error, sigmoid_error, coordinate_step, line_search, gradient_step = (
        property(attrgetter(f"_between.{name}"))
        for name in ("softmax_error", "sigmoid_error", "coordinate_step", "line_search", "gradient_step")
    )

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        return (nullcontext(),)  # a large program asks for the same operations

    def each(self, items: Sequence[Item], work: Callable[[Item, int], None]) -> None:
        for item in items:
            work(item, 0)

    def parameters(self, values: np.ndarray) -> Any:
        return self.array(values)

    def sigmoid(self, out: Tensor) -> None:
        torch.sigmoid(out, out=out)

    def dense_layer(
        self,
        x: Tensor,
        weights: Tensor,
        bias: Tensor,
        out: Tensor,
        *,
        activation: Activation,
        transpose: bool = False,
        scale: float = 1.0,
    ) -> None:
        self._product(x, weights, bias, out, transpose=transpose)
        FORWARD[activation](out)
        if scale != 1.0:
            out.mul_(scale)

    def _product(self, x: Tensor, weights: Any, bias: Any, out: Tensor, *, transpose: bool) -> None:
        """out <- x @ op(weights) + bias."""
        weights = weights.mT if transpose else weights
        if out.dim() == 2:
            # A bias of one dimension as the product's addend is what libraries fold into the product.
            torch.addmm(bias.view(-1), x, weights, out=out)
        else:
            torch.baddbmm(bias, x, weights, out=out)

    def activation_backward(self, out: Tensor, error: Tensor, *, activation: Activation) -> None:
        BACKWARD[activation](error, out)

    def labels(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.array(values, np.int64)).to(self._device)

    def draws(self, *shape: int) -> Draws:
        # At least fp32 however low the precision is: of bf16's every 256th would be 0, below any probability.
        return _Uniform(torch.full(shape, 0.0, dtype=self._wide, device=self._device))

    def sample_layer(
        self,
        x: Tensor,
        weights: Tensor,
        bias: Tensor,
        out: Tensor,
        sample: Tensor,
        draws: Any,
        *,
        transpose: bool = False,
        scale: float = 1.0,
    ) -> None:
        self._product(x, weights, bias, out, transpose=transpose)
        torch.sigmoid_(out)
        draws.array.uniform_(generator=self._random)
        self._compare(draws.array, out, sample)
        if scale != 1.0:
            out.mul_(scale)

    def mask(self, x: Tensor, share: float, out: Tensor, draws: Any) -> None:
        draws.array.uniform_(generator=self._random)
        self._where_least(draws.array, share, out)
        out.mul_(x)

    def _compare(self, draws: Tensor, probabilities: Tensor, sample: Tensor) -> None:
        """sample <- 1 where a draw is below its probability, else 0."""
        torch.lt(draws, probabilities, out=sample)

    def _where_least(self, draws: Tensor, least: float, out: Tensor) -> None:
        """out <- 1 where a draw is at least so large, else 0."""
        torch.ge(draws, least, out=out)

    def cut(self, image: Tensor, first: int, across: int, out: Tensor, top: int) -> None:
        # All windows at once, as views: (R, R, B, across, across, n).
        windows = image.unfold(0, across, 1).unfold(1, across, 1).permute(0, 1, 2, 4, 5, 3)
        out[:, top : top + image.shape[2]].view(windows.shape).copy_(windows)

    def add_up(self, added: Tensor, first: int, across: int, image: Tensor) -> None:
        side = image.shape[0] - across + 1
        windows = added.view(side, side, image.shape[2], across, across, image.shape[3])
        for down in range(across):
            for right in range(across):
                here = image[down : down + side, right : right + side]
                here.add_(windows[:, :, :, down, right])

    def _scratch(self, like: Tensor, dtype: torch.dtype | None = None, name: str = "") -> Tensor:
        """An array of the same shape for intermediate results: the first rows of one that is made once and kept. One
        that has become too short is kept as well: a graph remembers its address."""
        rows, *row = like.shape
        kept = self._kept.setdefault((name, dtype or like.dtype, *row), [])
        if not kept or len(kept[-1]) < rows:
            kept.append(torch.empty(like.shape, dtype=dtype or like.dtype, device=self._device))
        return kept[-1][:rows]

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "elementwise": self._between.facts}


class _Uniform:
    """Draws in an array of the device."""

    def __init__(self, array: Tensor) -> None:
        self.array = array

    def last(self, rows: np.ndarray | None = None) -> np.ndarray:
        drawn: np.ndarray = self.array.to("cpu").numpy()
        return drawn if rows is None else drawn[..., rows, :]


LOW = ("bf16", "fp16")


@dataclass(frozen=True)
class Parameters:
    """What is learned: `exact` in fp32, and `operand`, the same rounded for products. Indexed and reshaped as one."""

    exact: Tensor
    operand: Tensor

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
        self.adds_itself = self._adds_itself()
        self._add, self.memory_factor = (self._add_by_product, 1.5) if self.adds_itself else (self._add_rounded, 3.0)

    def _adds_itself(self) -> bool:
        """Return whether products in low precision can add their sums to fp32, as on CUDA by a new torch."""
        factor, exact = self.zeros(2, 16, 16), torch.zeros(2, 16, 16, device=self._device)
        try:
            self._add_by_product(factor[0], factor[0], exact[0], 1.0, 1.0)
            self._add_by_product(factor, factor, exact, 1.0, 1.0)
        except (RuntimeError, TypeError) as error:  # an operator that is not there is a RuntimeError, too
            if is_out_of_memory(error):  # says nothing of the operator: another way would be taken for want of room
                raise
            return False
        return True

    def parameters(self, values: np.ndarray) -> Parameters:
        exact = self._as_tensor(values, torch.float32)
        return Parameters(exact, exact.to(self.dtype))

    def host(self, array: Any) -> np.ndarray:
        return super().host(array.exact if isinstance(array, Parameters) else array)

    def copy(self, source: Any, out: Tensor) -> None:
        super().copy(_operand(source), out)

    def gemm(self, a: Any, b: Any, out: Any, **options: Any) -> None:
        a, b = _operand(a), _operand(b)
        if isinstance(out, Parameters):
            self._learn(a, b, out, **options)
        else:
            super().gemm(a, b, out, **options)

    def _learn(
        self,
        a: Tensor,
        b: Tensor,
        out: Parameters,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        self._add(*operands(a, b, out.exact, transpose_a, transpose_b), out.exact, alpha, beta)
        out.operand.copy_(out.exact)

    def _add_by_product(self, a: Tensor, b: Tensor, exact: Tensor, alpha: float, beta: float) -> None:
        """exact <- alpha a b + beta exact, matrices or stacks, a and b of low precision: the product adds its sums."""
        add = torch.addmm if exact.dim() == 2 else torch.baddbmm
        add(exact, a, b, out_dtype=torch.float32, beta=beta, alpha=alpha, out=exact)

    def _add_rounded(self, a: Tensor, b: Tensor, exact: Tensor, alpha: float, beta: float) -> None:
        """As above, but the product rounds its sums when it writes them; they are multiplied and added in fp32."""
        if exact.shape[-2] == 1:
            # A bias: of two sums over all examples, near one another, rounding would leave little of the difference.
            wide_a = self._scratch(a, torch.float32, "left").copy_(a)
            wide_b = self._scratch(b, torch.float32, "right").copy_(b)
            super().gemm(wide_a, wide_b, exact, alpha=alpha, beta=beta)
            return
        rounded, sums = self._scratch(exact, self.dtype), self._scratch(exact)
        super().gemm(a, b, rounded)
        _scale(exact, beta).add_(sums.copy_(rounded), alpha=alpha)

    def _product(self, x: Any, weights: Any, bias: Any, out: Tensor, **options: bool) -> None:
        super()._product(x, _operand(weights), _operand(bias), out, **options)

    def describe(self) -> dict[str, Any]:
        way = (
            "products add to them" if self.adds_itself else f"products, rounded to {self.precision}, are added to them"
        )
        return super().describe() | {"parameters": f"fp32, {way}"}


def _scale(array: Tensor, factor: float) -> Tensor:
    return array if factor == 1.0 else array.mul_(factor)


def _operand(array: Any) -> Any:
    return array.operand if isinstance(array, Parameters) else array
