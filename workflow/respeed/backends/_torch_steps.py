"""What comes between the products, by torch's own operations: on accelerators, and wherever precision is low."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from respeed.backends import Activation, Draws, Item
from respeed.backends._torch import Torch

# In place, one operation each.
FORWARD: dict[Activation, Callable[[torch.Tensor], object]] = {
    "none": lambda out: None,
    "sigmoid": torch.sigmoid_,
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
        # A bias of one dimension as the product's addend is what libraries fold into the product.
        weights = weights.mT if transpose else weights
        if out.dim() == 2:
            torch.addmm(bias.view(-1), x, weights, out=out)
        else:
            torch.baddbmm(bias, x, weights, out=out)
        FORWARD[activation](out)
        if scale != 1.0:
            out.mul_(scale)

    def activation_backward(self, out: torch.Tensor, error: torch.Tensor, *, activation: Activation) -> None:
        BACKWARD[activation](error, out)

    def labels(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.array(values, np.int64)).to(self._device)

    def softmax_error(self, logits: torch.Tensor, labels: torch.Tensor, out: torch.Tensor, costs: torch.Tensor) -> None:
        # In low precision a probability near 1 would lose what it misses 1 by.
        low, places = out.dtype.itemsize < 4, labels[:, None]
        wide = self._scratch(out, torch.float32) if low else out
        torch.log_softmax(self._scratch(out, torch.float32, "logits").copy_(logits) if low else logits, 1, out=wide)
        costs.copy_(torch.gather(wide, 1, places, out=self._scratch(costs, wide.dtype, "costs"))).neg_()
        wide.exp_().scatter_(1, places, -1.0, reduce="add")
        if low:
            out.copy_(wide)

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
        self.dense_layer(x, weights, bias, out, activation="sigmoid", transpose=transpose)
        draws.array.uniform_(generator=self._random)
        self._compare(draws.array, out, sample)
        if scale != 1.0:
            out.mul_(scale)

    def _compare(self, draws: torch.Tensor, probabilities: torch.Tensor, sample: torch.Tensor) -> None:
        torch.lt(draws, probabilities, out=sample)

    def mask(self, x: torch.Tensor, share: float, out: torch.Tensor, draws: Any) -> None:
        draws.array.uniform_(generator=self._random)
        self._where_least(draws.array, share, out)
        out.mul_(x)

    def _where_least(self, draws: torch.Tensor, least: float, out: torch.Tensor) -> None:
        """out <- 1 where a draw is at least so large, else 0."""
        torch.ge(draws, least, out=out)

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
        torch.sub(bases, product, alpha=rate, out=out).add_(target, alpha=rate)
        out.div_(torch.linalg.vector_norm(out, dim=1, keepdim=True).clamp_(min=1.0))


class _Uniform:
    """Draws in an array of the device."""

    def __init__(self, array: torch.Tensor) -> None:
        self.array = array

    def last(self, rows: np.ndarray | None = None) -> np.ndarray:
        drawn: np.ndarray = self.array.to("cpu").numpy()
        return drawn if rows is None else drawn[..., rows, :]
