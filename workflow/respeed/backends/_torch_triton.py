"""What comes between the products as one kernel each, on CUDA devices where Triton can compile.

What the kernels are not made for, such as arrays with gaps, is left to torch's own operations. The kernels are
operators of torch's, `torch.ops.respeed`: its dispatcher, and who listens to it such as a profiler, sees each as one
operation with what it reads and what it writes.
"""

from typing import Any

import torch
import triton
from torch import Tensor

from respeed.backends import _triton_kernels as kernels
from respeed.backends._torch_between import ByTorch, Scratch

# The most that a line search may have.
LENGTHS: int = kernels.LANES.value
MANY: int = kernels.MANY.value

_library = torch.library.Library("respeed", "DEF")


def sigmoid(out: Tensor, bias: Tensor | None, scale: float) -> None:
    _sigmoid(out, bias, None, out, scale)


def sample(out: Tensor, bias: Tensor | None, draws: Tensor, sample: Tensor, scale: float) -> None:
    _sigmoid(out, bias, draws, sample, scale)


def _sigmoid(out: Tensor, bias: Tensor | None, draws: Tensor | None, sample: Tensor, scale: float) -> None:
    stack, samples = (array if array.dim() == 3 else array[None] for array in (out, sample))
    inner, columns = stack[0].numel(), stack.shape[2]
    # What a kernel does not use stands for itself: of a type of its own, it would be another variant.
    kernels.SIGMOID(
        (_blocks(inner), len(stack)),
        out, out if bias is None else bias, out if draws is None else draws, sample,
        inner, columns, stack.stride(0), samples.stride(0), scale,
        BIASED=bias is not None, SAMPLED=draws is not None,
    )  # fmt: skip


def mask(x: Tensor, draws: Tensor, share: float, out: Tensor) -> None:
    kernels.MASK((_blocks(out.numel()),), x, draws, out, out.numel(), share)


def softmax_error(logits: Tensor, labels: Tensor, out: Tensor, costs: Tensor) -> None:
    rows, columns = logits.shape
    kernels.SOFTMAX_ERROR((rows,), logits, labels, out, costs, columns)


def coordinate_step(
    left: Tensor, coefficients: Tensor, diagonal: Tensor, penalty: float, going: Tensor, out: Tensor
) -> None:
    arrays, count, columns = (left, coefficients, diagonal, going, out), out.numel(), out.shape[1]
    kernels.COORDINATE_STEP((_blocks(count),), *arrays, count, columns, penalty)


def line_search(
    direction: Tensor,
    moved: Tensor,
    left: Tensor,
    coefficients: Tensor,
    penalty: float,
    steps: Tensor,
    least: float,
    objective: Tensor,
    going: Tensor,
    least_of_norm: float = 0.0,
) -> None:
    rows, columns = direction.shape
    arrays = direction, moved, left, coefficients, steps, objective, going
    kernels.LINE_SEARCH((rows,), *arrays, columns, penalty, least, least_of_norm)


def gradient_step(bases: Tensor, product: Tensor, target: Tensor, rate: float, out: Tensor) -> None:
    rows, columns = bases.shape
    kernels.GRADIENT_STEP((rows,), bases, product, target, out, columns, rate)


def _blocks(elements: int) -> int:
    return -(-elements // MANY)


_WRITTEN = {
    sigmoid: ("out",), sample: ("out", "sample"), mask: ("out",), softmax_error: ("out", "costs"),
    coordinate_step: ("out",), line_search: ("left", "coefficients", "objective", "going"), gradient_step: ("out",),
}  # fmt: skip
for _operator, _arrays in _WRITTEN.items():
    _library.define(_operator.__name__ + torch.library.infer_schema(_operator, mutates_args=_arrays))
    _library.impl(_operator.__name__, _operator, "CUDA")


# Beyond, a place within an array would not fit into 32 bits; and so many matrices a launch may have.
MOST, MOST_MATRICES = 2**31 - 2**16, 2**16 - 1
operators = torch.ops.respeed


class ByTriton(ByTorch):
    adds_biases = True
    scratch_bytes = 0  # all lengths of a line search are tried within a row's program

    def __init__(self, scratch: Scratch) -> None:
        super().__init__(scratch)
        self.facts = f"triton {triton.__version__}"
        self._steps: dict[tuple[float, ...], Tensor] = {}

    def sigmoid(self, out: Tensor, bias: Tensor | None, scale: float) -> None:
        way: Any = operators if _stacked(out, bias) and not (bias is None and scale == 1.0) else super()
        way.sigmoid(out, bias, scale)

    def sample(self, out: Tensor, bias: Tensor | None, draws: Tensor, sample: Tensor, scale: float) -> None:
        way: Any = operators if _stacked(out, bias) and _stacked(sample) and _whole(draws) else super()
        way.sample(out, bias, draws, sample, scale)

    def mask(self, x: Tensor, draws: Tensor, share: float, out: Tensor) -> None:
        way: Any = operators if _whole(x, draws, out) else super()
        way.mask(x, draws, share, out)

    def softmax_error(self, logits: Tensor, labels: Tensor, out: Tensor, costs: Tensor) -> None:
        way: Any = operators if _whole(logits, labels, out, costs) else super()
        way.softmax_error(logits, labels, out, costs)

    def coordinate_step(
        self, left: Tensor, coefficients: Tensor, diagonal: Tensor, penalty: float, going: Tensor, out: Tensor
    ) -> None:
        way: Any = operators if _whole_fp32(left, coefficients, diagonal, going, out) else super()
        way.coordinate_step(left, coefficients, diagonal, penalty, going, out)

    def line_search(
        self,
        direction: Tensor,
        moved: Tensor,
        left: Tensor,
        coefficients: Tensor,
        penalty: float,
        lengths: tuple[float, ...],
        least: float,
        objective: Tensor,
        going: Tensor,
        least_of_norm: float = 0.0,
    ) -> None:
        arrays, state = (direction, moved, left, coefficients), (objective, going, least_of_norm)
        if not _whole_fp32(*arrays, objective, going) or len(lengths) > LENGTHS:
            super().line_search(*arrays, penalty, lengths, least, *state)
            return
        if lengths not in self._steps:
            padded = [*lengths, *[0.0] * (LENGTHS - len(lengths))]
            self._steps[lengths] = torch.tensor(padded, device=direction.device)
        steps = self._steps[lengths]
        operators.line_search(*arrays, penalty, steps, least, *state)

    def gradient_step(self, bases: Tensor, product: Tensor, target: Tensor, rate: float, out: Tensor) -> None:
        way: Any = operators if _whole_fp32(bases, product, target, out) else super()
        way.gradient_step(bases, product, target, rate, out)


def _whole(*arrays: Tensor) -> bool:
    """Whether none has gaps, is empty or is too large."""
    return all(array.is_contiguous() and 0 < array.numel() <= MOST for array in arrays)


def _whole_fp32(*arrays: Tensor) -> bool:
    return _whole(*arrays) and all(array.dtype == torch.float32 for array in arrays)


def _stacked(out: Tensor, bias: Tensor | None = None) -> bool:
    """Whether gaps are only between the matrices of a stack, and a bias has none."""
    matrices = out if out.dim() == 3 else out[None]
    fits = len(matrices) <= MOST_MATRICES and max(matrices.stride(0), len(matrices)) <= MOST
    return fits and _whole(matrices[0]) and (bias is None or _whole(bias))
