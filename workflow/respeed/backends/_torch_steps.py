"""What comes between the products, by torch's own operations: on accelerators, and wherever precision is low."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from respeed.backends import Activation, Draws, Item
from respeed.backends._torch import Torch, TorchFacts
from respeed.backends._torch_between import Between
from respeed.backends._torch_fused import between_for

# In place, one operation each.
FORWARD: dict[Activation, Callable[[torch.Tensor], object]] = {
    "none": lambda out: None,
    "tanh": torch.tanh_,
    "relu": torch.relu_,
}
_aten = torch.ops.aten
BACKWARD: dict[Activation, Callable[[torch.Tensor, torch.Tensor], object]] = {
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
        self._kept: dict[tuple[Any, ...], list[torch.Tensor]] = {}
        self._random = torch.Generator(self._device)
        self._random.manual_seed(seed)
        self._between = self._make_between()

    def _make_between(self) -> Between:
        return between_for(self._device, self.dtype, self._scratch)

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        return (nullcontext(),)  # a large program asks for the same operations

    def each(self, items: Sequence[Item], work: Callable[[Item, int], None]) -> None:
        for item in items:
            work(item, 0)

    def parameters(self, values: np.ndarray) -> Any:
        return self.array(values)

    def sigmoid(self, out: torch.Tensor) -> None:
        torch.sigmoid(out, out=out)

    def dense_layer(
        self,
        x: torch.Tensor,
        weights: torch.Tensor,
        bias: torch.Tensor,
        out: torch.Tensor,
        *,
        activation: Activation,
        transpose: bool = False,
        scale: float = 1.0,
    ) -> None:
        bias = self._product(x, weights, bias, out, transpose=transpose, later=activation == "sigmoid")
        if activation == "sigmoid":
            self._between.sigmoid(out, bias, scale)
            return
        FORWARD[activation](out)
        if scale != 1.0:
            out.mul_(scale)

    def _product(
        self, x: torch.Tensor, weights: Any, bias: Any, out: torch.Tensor, *, transpose: bool, later: bool
    ) -> torch.Tensor | None:
        """out <- x @ op(weights) + bias; or without the bias, which is returned, where that is better added later."""
        weights = weights.mT if transpose else weights
        if out.dim() == 2:
            # A bias of one dimension as the product's addend is what libraries fold into the product.
            torch.addmm(bias.view(-1), x, weights, out=out)
        elif later and self._between.adds_biases:
            torch.bmm(x, weights, out=out)
            added: torch.Tensor = bias
            return added
        else:
            torch.baddbmm(bias, x, weights, out=out)
        return None

    def activation_backward(self, out: torch.Tensor, error: torch.Tensor, *, activation: Activation) -> None:
        BACKWARD[activation](error, out)

    def labels(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.array(values, np.int64)).to(self._device)

    def softmax_error(self, logits: torch.Tensor, labels: torch.Tensor, out: torch.Tensor, costs: torch.Tensor) -> None:
        self._between.softmax_error(logits, labels, out, costs)

    def draws(self, *shape: int) -> Draws:
        # At least fp32 however low the precision is: of bf16's every 256th would be 0, below any probability.
        return _Uniform(torch.full(shape, 0.0, dtype=self._wide, device=self._device))

    def sample_layer(
        self,
        x: torch.Tensor,
        weights: torch.Tensor,
        bias: torch.Tensor,
        out: torch.Tensor,
        sample: torch.Tensor,
        draws: Any,
        *,
        transpose: bool = False,
        scale: float = 1.0,
    ) -> None:
        bias = self._product(x, weights, bias, out, transpose=transpose, later=True)
        draws.array.uniform_(generator=self._random)
        self._between.sample(out, bias, draws.array, sample, scale)

    def mask(self, x: torch.Tensor, share: float, out: torch.Tensor, draws: Any) -> None:
        draws.array.uniform_(generator=self._random)
        self._between.mask(x, draws.array, share, out)

    def cut(self, image: torch.Tensor, first: int, across: int, out: torch.Tensor, top: int) -> None:
        # All windows at once, as views: (R, R, B, across, across, n).
        windows = image.unfold(0, across, 1).unfold(1, across, 1).permute(0, 1, 2, 4, 5, 3)
        out[:, top : top + image.shape[2]].view(windows.shape).copy_(windows)

    def add_up(self, added: torch.Tensor, first: int, across: int, image: torch.Tensor) -> None:
        side = image.shape[0] - across + 1
        windows = added.view(side, side, image.shape[2], across, across, image.shape[3])
        for down in range(across):
            for right in range(across):
                here = image[down : down + side, right : right + side]
                here.add_(windows[:, :, :, down, right])

    def coordinate_step(
        self,
        left: torch.Tensor,
        coefficients: torch.Tensor,
        diagonal: torch.Tensor,
        penalty: float,
        going: torch.Tensor,
        out: torch.Tensor,
    ) -> None:
        self._between.coordinate_step(left, coefficients, diagonal, penalty, going, out)

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
        arrays = direction, moved, left, coefficients
        self._between.line_search(*arrays, penalty, lengths, least, objective, going)

    def _scratch(self, like: torch.Tensor, dtype: torch.dtype | None = None, name: str = "") -> torch.Tensor:
        """An array of the same shape for intermediate results: the first rows of one that is made once and kept. One
        that has become too short is kept as well: a graph remembers its address."""
        rows, *row = like.shape
        kept = self._kept.setdefault((name, dtype or like.dtype, *row), [])
        if not kept or len(kept[-1]) < rows:
            kept.append(torch.empty(like.shape, dtype=dtype or like.dtype, device=self._device))
        return kept[-1][:rows]

    def gradient_step(
        self, bases: torch.Tensor, product: torch.Tensor, target: torch.Tensor, rate: float, out: torch.Tensor
    ) -> None:
        self._between.gradient_step(bases, product, target, rate, out)

    def describe(self) -> TorchFacts:
        return {**super().describe(), "elementwise": self._between.facts}


class _Uniform:
    """Draws in an array of the device."""

    def __init__(self, array: torch.Tensor) -> None:
        self.array = array

    def last(self, rows: np.ndarray | None = None) -> np.ndarray:
        drawn: np.ndarray = self.array.to("cpu").numpy()
        return drawn if rows is None else drawn[..., rows, :]
